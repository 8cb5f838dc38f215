//! What the redo logs of each directory say about themselves and about tablespaces, read before everything else.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use files::{ReadAt, Reader};
use innodb::{
    Lsn,
    file_kind::{self, FileKind},
    keys::NoKeys,
    redo::{RedoFormat, checkpoint_lsn, mysql_start_lsn},
    server_file::older_redo_number,
    tablespace::Page0,
    verify::redo::{self, RedoKeyInfo},
};

use crate::{
    plan::{Plan, PlannedFile, data_directory, name as file_name},
    redo_file_set::RedoFileSet,
};

/// Number of mini-transactions after the checkpoint of a MariaDB that was shut down: the one that completes the
/// checkpoint.
const MINI_TRANSACTIONS_AT_REST: u64 = 1;

/// Keys, checkpoints and lengths from the redo logs of each directory.
#[derive(Debug, Default)]
pub(crate) struct RedoLogs {
    keys: BTreeMap<PathBuf, RedoKeyInfo>,
    checkpoints: BTreeMap<PathBuf, Lsn>,
    /// Start LSNs of MySQL's redo files that are in use.
    starts: BTreeMap<PathBuf, Vec<Lsn>>,
    /// Files whose header does not give their start.
    pub(crate) without_start: BTreeSet<PathBuf>,
    /// Files `ib_logfileN`.
    redo_file_sets: BTreeMap<PathBuf, RedoFileSet>,
    /// System tablespaces next to an empty file of the log.
    pub(crate) systems: BTreeMap<PathBuf, SystemLsns>,
}

/// LSNs in the first pages of a system tablespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SystemLsns {
    /// LSN up to which everything was written; 0 if it is not recorded.
    pub(crate) flushed: Lsn,
    /// Newest change in the pages read.
    pub(crate) newest: Lsn,
}

impl RedoLogs {
    pub(crate) fn read(plan: &Plan) -> Self {
        let mut logs = Self::default();
        for (directory, group) in &plan.groups {
            for file in group.redo.iter().filter_map(|index| plan.files.get(*index)) {
                logs.add_file(directory, file);
                if file.bytes == 0
                    && let Some(system) = group.system.first().and_then(|first| plan.files.get(*first))
                    && let Some(lsns) = SystemLsns::read(&system.path)
                {
                    logs.systems.insert(directory.clone(), lsns);
                }
            }
        }
        logs
    }

    fn add_file(&mut self, directory: &Path, file: &PlannedFile) {
        let Ok(reader) = Reader::open(&file.path) else { return };
        let mut head = vec![0; redo::HEAD_BYTES];
        let Ok(read) = reader.read_at(0, &mut head) else { return };
        head.truncate(read);
        if let Some(number) =
            older_redo_number(file_name(&file.path)).filter(|_| !is_of_another_kind(&reader, file.bytes))
        {
            let checkpoint = checkpoint_lsn(&head).is_some();
            self.redo_file_sets.entry(directory.to_path_buf()).or_default().add(number, file.bytes, checkpoint);
        }
        match mysql_start_lsn(&head) {
            _ if is_spare(&file.path) => {}
            Some(start) => self.starts.entry(directory.to_path_buf()).or_default().push(start),
            None => _ = self.without_start.insert(file.path.clone()),
        }
        if let Some(lsn) = checkpoint_lsn(&head) {
            let newest = self.checkpoints.entry(directory.to_path_buf()).or_insert(lsn);
            *newest = (*newest).max(lsn);
        }
        if let Some(info) = redo::key_info(&head) {
            let newer = self.keys.get(directory).is_none_or(|known| known.checkpoint_lsn < info.checkpoint_lsn);
            if newer {
                self.keys.insert(directory.to_path_buf(), info);
            }
        }
    }

    /// Newest checkpoint of the server that a tablespace belongs to. Its redo log is in the same directory or, for
    /// schemas and partitions, in a parent.
    pub(crate) fn checkpoint(&self, tablespace: &Path) -> Option<Lsn> {
        tablespace.ancestors().skip(1).take(3).find_map(|directory| self.checkpoints.get(directory).copied())
    }

    /// Whether MariaDB's redo log has changes newer than its checkpoint, which means that the server runs or was
    /// killed. Reads the log, which is searched as in [`Self::checkpoint`].
    pub(crate) fn has_newer_changes(&self, plan: &Plan, tablespace: &Path) -> bool {
        let mut directories = tablespace.ancestors().skip(1).take(3).filter_map(|directory| plan.groups.get(directory));
        let Some(group) = directories.find(|group| !group.redo.is_empty()) else { return false };
        let mut logs = group.redo.iter().filter_map(|index| plan.files.get(*index));
        logs.any(|log| {
            let report = Reader::open(&log.path).ok().and_then(|reader| redo::verify(&reader, &NoKeys, None).ok());
            report.is_some_and(|report| {
                has_mini_transactions(report.format) && report.file.units.total > MINI_TRANSACTIONS_AT_REST
            })
        })
    }

    /// Start LSN of the redo file after the one that starts at `start`.
    pub(crate) fn next_start(&self, redo: &Path, start: Lsn) -> Option<Lsn> {
        let starts = self.starts.get(&data_directory(redo))?;
        starts.iter().copied().filter(|next| *next > start).min()
    }

    pub(crate) fn key(&self, redo: &Path) -> Option<&RedoKeyInfo> {
        self.keys.get(&data_directory(redo))
    }

    pub(crate) fn redo_file_set(&self, redo: &Path) -> Option<(&RedoFileSet, u32)> {
        let number = older_redo_number(file_name(redo))?;
        Some((self.redo_file_sets.get(&data_directory(redo))?, number))
    }
}

impl SystemLsns {
    /// Source: `fil0fil.h` (`FIL_PAGE_FILE_FLUSH_LSN`). Only page 0 has this LSN; every page has its own at offset 16.
    fn read(path: &Path) -> Option<Self> {
        const READ_BYTES: usize = 1 << 20;
        const PAGE_LSN: usize = 16;
        const FLUSHED: usize = 26;
        let mut bytes = vec![0; READ_BYTES];
        let read = Reader::open(path).ok()?.read_at(0, &mut bytes).ok()?;
        bytes.truncate(read);
        let page_bytes = usize::try_from(Page0::parse(&bytes).ok()?.physical_page_bytes).ok()?;
        let lsn = |page: &[u8], at: usize| {
            let field = page.get(at..)?.first_chunk::<8>()?;
            Some(Lsn(u64::from_be_bytes(*field)))
        };
        let newest = bytes.chunks_exact(page_bytes.max(1)).filter_map(|page| lsn(page, PAGE_LSN)).max()?;
        Some(Self { flushed: lsn(&bytes, FLUSHED)?, newest })
    }
}

pub(crate) const fn has_mini_transactions(format: RedoFormat) -> bool {
    matches!(format, RedoFormat::MariaDbPhys | RedoFormat::MariaDbEncrypted)
}

/// Whether the file is a spare, which keeps the header of its earlier use.
pub(crate) fn is_spare(path: &Path) -> bool {
    file_name(path).ends_with("_tmp")
}

/// Whether the file begins like a file of another kind. If so, its length cannot be compared with that of a log.
fn is_of_another_kind(reader: &Reader, file_bytes: u64) -> bool {
    let mut head = vec![0; 64 << 10];
    let read = reader.read_at(0, &mut head).unwrap_or(0);
    head.truncate(read);
    file_kind::recognise(&head, "", file_bytes).is_some_and(|kind| kind != FileKind::Redo)
}
