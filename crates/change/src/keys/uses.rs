//! Determines the needed keys from file headers.

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    thread,
};

use files::Reader;
use innodb::{
    SpaceId, doublewrite,
    file_kind::FileKind,
    server_file::{is_mariadb_undo, is_named_as_relay_log},
    tablespace::TablespaceKind,
    verify::{Check, Verdict},
};
use serde::Serialize;
use server::dialect::directory;
use verify::{Depth, FileResult, Plan, Settings, Unread};

use super::back_end::AvailableKeys;
use crate::{
    Error, Session,
    rotate::{data_files, proof::key_names},
};

/// Maximum number of files listed as examples.
const EXAMPLES: usize = 3;

/// Kind of a file that needs a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EncryptedFileKind {
    /// Tables, general tablespaces, `mysql.ibd`.
    Tablespace,
    /// MariaDB's `ibdata1`.
    System,
    /// Undo tablespaces.
    Undo,
    /// Temporary tablespaces, which are recreated at every start.
    Temporary,
    /// The redo log.
    Redo,
    /// Binary logs.
    BinaryLog,
    /// Relay logs.
    RelayLog,
    /// Pages in doublewrite files, by their tablespace.
    Doublewrite,
    /// Aria tables.
    Aria,
    /// Other files.
    Other,
}

/// Files of one kind that need a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KeyUsage {
    /// Number of files.
    pub files: u64,
    /// Number of files that the key does not open.
    pub shut: u64,
    /// Number of pages; only for doublewrite files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<u64>,
    /// The first files.
    pub examples: Vec<PathBuf>,
}

/// Needed keys, by key name and kind of file.
#[derive(Default)]
pub(super) struct KeyNeeds {
    pub(super) by_key: BTreeMap<String, BTreeMap<EncryptedFileKind, KeyUsage>>,
    pub(super) files: u64,
    pub(super) unread: Vec<Unread>,
    pub(super) damaged: Vec<Unread>,
}

impl KeyNeeds {
    /// Keys that the files of a running server need.
    pub(super) fn by_server(
        session: &mut Session<'_>,
        locations: &[PathBuf],
        available: &AvailableKeys,
    ) -> Result<Self, Error> {
        let relay = session.variable(directory::RELAY_LOGS)?;
        let relay = relay.and_then(|base| Path::new(&base).file_name()?.to_str().map(str::to_owned));
        Ok(Self::by_files(&Plan::scan_server(locations), available, relay.as_deref()))
    }

    /// Keys that the files of a backup directory need. A directory without such files is an error: it may be the wrong
    /// one or not mounted, and must not count as a backup that needs no key.
    pub(super) fn by_backup(directory: &Path, available: &AvailableKeys) -> Result<Self, Error> {
        let listed = std::fs::read_dir(directory);
        listed.map_err(|error| Error::Unread { path: directory.to_owned(), reason: error.to_string() })?;
        let needs = Self::by_files(&Plan::scan(&[directory.to_owned()]), available, None);
        if needs.files == 0 && needs.unread.is_empty() {
            let reason = "no file of a server here; the backup may not be mounted".to_owned();
            return Err(Error::Unread { path: directory.to_owned(), reason });
        }
        Ok(needs)
    }

    fn by_files(plan: &Plan, available: &AvailableKeys, relay: Option<&str>) -> Self {
        let jobs = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let settings = Settings { jobs, depth: Depth::FirstPages, progress: &|_| {} };
        let report = verify::run(plan, &available.keys, &settings);
        let mut needs = Self { files: report.files.len() as u64, ..Self::default() };
        // A file that the server dropped meanwhile does not count.
        needs.unread = report.errors.into_iter().filter(|unread| unread.path.symlink_metadata().is_ok()).collect();
        needs.damaged = report.files.iter().filter_map(damaged_record).collect();
        needs.damaged.extend(report.files.iter().filter_map(empty));
        for file in &report.files {
            for name in key_names(file) {
                let shut = available.readable && (is_shut(file) || !available.holds(&name));
                needs.add(name, file_kind(file, relay), &file.path, shut);
            }
        }
        let slots = report.files.iter().filter(|file| file.kind == Some(FileKind::Doublewrite)).collect::<Vec<_>>();
        if !slots.is_empty() {
            needs.add_doublewrite(&slots, &spaces(&report.files));
        }
        needs
    }

    fn add(&mut self, name: String, file_kind: EncryptedFileKind, path: &Path, shut: bool) -> &mut KeyUsage {
        let uses = self.by_key.entry(name).or_default().entry(file_kind).or_default();
        uses.files = uses.files.saturating_add(1);
        uses.shut = uses.shut.saturating_add(u64::from(shut));
        if uses.examples.len() < EXAMPLES {
            uses.examples.push(path.to_owned());
        }
        uses
    }

    /// Adds the keys that doublewrite files need: a copy of a page is encrypted with the key of its tablespace.
    fn add_doublewrite(&mut self, files: &[&FileResult], spaces: &BTreeMap<SpaceId, String>) {
        for file in files {
            let Ok(reader) = Reader::open(&file.path) else { continue };
            let name = file.path.file_name().unwrap_or_default().to_string_lossy();
            let Ok(scan) = doublewrite::scan(&reader, doublewrite::page_bytes_of_name(&name), u64::MAX) else {
                continue;
            };
            let mut pages: BTreeMap<&String, u64> = BTreeMap::new();
            for copies in scan.copies.by_space.iter().filter(|copies| copies.encrypted > 0) {
                if let Some(key) = spaces.get(&copies.space_id) {
                    *pages.entry(key).or_default() += copies.encrypted;
                }
            }
            for (key, pages) in pages {
                let uses = self.add(key.clone(), EncryptedFileKind::Doublewrite, &file.path, false);
                *uses.pages.get_or_insert(0) += pages;
            }
        }
    }

    /// Numbers of files, in the form of the register.
    pub(super) fn counts(&self) -> BTreeMap<String, BTreeMap<String, u64>> {
        let counts = |uses: &BTreeMap<EncryptedFileKind, KeyUsage>| {
            uses.iter().map(|(file_kind, uses)| (file_kind.name(), uses.files)).collect()
        };
        self.by_key.iter().map(|(name, uses)| (name.clone(), counts(uses))).collect()
    }
}

impl EncryptedFileKind {
    /// Name in JSON and in the register.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Tablespace => "tablespace",
            Self::System => "system",
            Self::Undo => "undo",
            Self::Temporary => "temporary",
            Self::Redo => "redo",
            Self::BinaryLog => "binary-log",
            Self::RelayLog => "relay-log",
            Self::Doublewrite => "doublewrite",
            Self::Aria => "aria",
            Self::Other => "other",
        }
        .to_owned()
    }
}

/// A record of a file that is damaged where it names or holds its key, so that no key can open it. A tablespace without
/// a kind has no readable page 0, which would name the key.
fn damaged_record(file: &FileResult) -> Option<Unread> {
    let cut = file.is_tablespace() && file.tablespace.is_none() && file.verdict == Verdict::Truncated;
    if file.verdict != Verdict::BadKeyInfo && !cut {
        return None;
    }
    let reason =
        file.findings.iter().find(|finding| finding.check == Check::KeyInfo).or_else(|| file.findings.first())?;
    Some(Unread { path: file.path.clone(), reason: reason.detail.clone() })
}

/// A record of an empty tablespace or log, which names no key. A server that is creating it would have written its
/// first page by now.
fn empty(file: &FileResult) -> Option<Unread> {
    let is_empty = file.path.metadata().is_ok_and(|metadata| metadata.len() == 0);
    (file.bytes == 0 && file.verdict == Verdict::Unidentified && is_empty)
        .then(|| Unread { path: file.path.clone(), reason: "the file is empty, and names no key".to_owned() })
}

/// Whether the key does not open the file. Other damage to the file does not count.
fn is_shut(file: &FileResult) -> bool {
    let by_key = |check| matches!(check, Check::Key | Check::KeyOpens);
    matches!(file.verdict, Verdict::MissingKey | Verdict::WrongKey)
        || file.findings.iter().any(|finding| by_key(finding.check))
}

fn file_kind(file: &FileResult, relay: Option<&str>) -> EncryptedFileKind {
    let name = file.path.file_name().unwrap_or_default().to_string_lossy();
    let is_relay_log = || relay.is_some_and(|relay| name.starts_with(relay)) || is_named_as_relay_log(&name);
    match file.kind {
        Some(FileKind::Tablespace) => match file.tablespace {
            Some(TablespaceKind::Undo) => EncryptedFileKind::Undo,
            // MariaDB's undo tablespaces differ from tables only by name.
            _ if is_mariadb_undo(&name) => EncryptedFileKind::Undo,
            Some(TablespaceKind::System) => EncryptedFileKind::System,
            Some(kind) if kind.is_temporary() => EncryptedFileKind::Temporary,
            _ => EncryptedFileKind::Tablespace,
        },
        Some(FileKind::Redo) => EncryptedFileKind::Redo,
        Some(kind) if kind.is_binary_log() && is_relay_log() => EncryptedFileKind::RelayLog,
        Some(kind) if kind.is_binary_log() => EncryptedFileKind::BinaryLog,
        Some(FileKind::AriaIndex | FileKind::AriaData) => EncryptedFileKind::Aria,
        _ => EncryptedFileKind::Other,
    }
}

/// The key that each tablespace needs, by space id.
fn spaces(files: &[FileResult]) -> BTreeMap<SpaceId, String> {
    let tablespaces = files.iter().filter(|file| file.is_tablespace());
    let keyed = tablespaces.filter_map(|file| Some((file, key_names(file).pop()?)));
    keyed.filter_map(|(file, name)| Some((data_files::page0(&file.path)?.space_id, name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_cut_inside_page_0_may_need_any_key() {
        let directory = tempfile::tempdir().expect("made");
        let table = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/tablespace/mysql97-16k-encrypted.ibd");
        let table = std::fs::read(table).expect("a sample");
        let damaged = |bytes: usize| {
            std::fs::write(directory.path().join("t.ibd"), &table[..bytes]).expect("written");
            KeyNeeds::by_backup(directory.path(), &AvailableKeys::none()).expect("read").damaged.len()
        };
        assert_eq!([table.len(), 16384, 8192, 1].map(damaged), [0, 0, 1, 1]);
    }

    #[test]
    fn an_empty_table_may_need_any_key() {
        let directory = tempfile::tempdir().expect("made");
        let damaged = || KeyNeeds::by_backup(directory.path(), &AvailableKeys::none()).expect("read").damaged;
        for (name, named) in [("t.ibd", 1), ("t.frm", 1), ("binlog.000001", 2)] {
            std::fs::write(directory.path().join(name), b"").expect("written");
            assert_eq!(damaged().len(), named, "{name}");
        }
        assert!(damaged().iter().any(|file| file.path.ends_with("t.ibd") && file.reason.contains("empty")));
    }
}
