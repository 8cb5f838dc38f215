//! Whether a replay has left rows of encrypted tables in the clear.

use std::{
    collections::BTreeSet,
    fs, io,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use innodb::file_suffix;
use innodb::{
    SpaceId,
    tablespace::{Encryption, TablespaceKind},
    verify::Check,
};
use verify::{Depth, FileResult, Keys, Plan, Report, Settings};

use crate::{Error, prove::options};

/// Some file systems store modification times with a resolution of two seconds.
const TIME_STEP: Duration = Duration::from_secs(2);

/// The tables of a directory that were encrypted before a replay.
pub(super) struct EncryptedTables {
    since: SystemTime,
    /// Their tablespace ids, which do not change when a table is renamed.
    tables: BTreeSet<SpaceId>,
    /// Tables that already had both encrypted and clear pages before the replay.
    mixed: BTreeSet<SpaceId>,
}

impl EncryptedTables {
    pub(super) fn new(report: &Report) -> Self {
        let now = SystemTime::now();
        let since = now.checked_sub(TIME_STEP).unwrap_or(now);
        let mut before = Self { since, tables: BTreeSet::new(), mixed: BTreeSet::new() };
        for file in report.files.iter().filter(|file| file.is_tablespace()) {
            let Some(page) = options::page0(&file.path) else { continue };
            before.tables.insert(page.space_id);
            if is_mixed(file) {
                before.mixed.insert(page.space_id);
            }
        }
        before
    }

    /// Checks the files that were written since.
    ///
    /// # Errors
    /// [`Error::ClearPages`] for a table that has clear pages now, and had none.
    pub(super) fn check(&self, datadir: &Path, keys: &Keys, streams: u16) -> Result<(), Error> {
        let failed = Error::io(datadir, "cannot be listed");
        let written = self.written(datadir).map_err(failed)?;
        let jobs = NonZeroUsize::new(usize::from(streams)).unwrap_or(NonZeroUsize::MIN);
        let settings = Settings { jobs, depth: Depth::EveryPage, progress: &|_| {} };
        let report = verify::run(&Plan::scan(&written), keys, &settings);
        let clear = report.files.iter().find(|file| self.is_clear(file));
        clear.map_or(Ok(()), |file| Err(Error::ClearPages { path: file.path.clone() }))
    }

    fn is_clear(&self, file: &FileResult) -> bool {
        let Some(page) = options::page0(&file.path) else { return false };
        let is_mixed_now = is_mixed(file) && !self.mixed.contains(&page.space_id);
        let is_new_and_clear = page.encryption == Encryption::None && !self.tables.contains(&page.space_id);
        page.kind == TablespaceKind::FilePerTable && (is_mixed_now || is_new_and_clear)
    }

    /// Files of tables in the schemas' directories.
    fn written(&self, datadir: &Path) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for schema in fs::read_dir(datadir)? {
            let schema = schema?;
            if !schema.file_type()?.is_dir() {
                continue;
            }
            for table in fs::read_dir(schema.path())? {
                let table = table?;
                let is_table = file_suffix::has(table.path(), file_suffix::TABLESPACE);
                if is_table && table.metadata()?.modified()? >= self.since {
                    found.push(table.path());
                }
            }
        }
        Ok(found)
    }
}

fn is_mixed(file: &FileResult) -> bool {
    file.findings.iter().any(|finding| finding.check == Check::Mixed)
}
