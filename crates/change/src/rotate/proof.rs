//! Proves from the bytes of a running server's files which keys they use.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::{NonZeroU64, NonZeroUsize},
    path::{Path, PathBuf},
    thread::{self, sleep},
    time::{Duration, Instant},
};

use files::regular::{self, Links};
use innodb::file_kind::{FileKind, report_name};
use innodb::page::layout::MAX_PAGE_BYTES;
use innodb::server_file::REDO_DIRECTORY;
use innodb::tablespace::TablespaceKind;
use innodb::verify::{Check, RequiredKey, Verdict};
use register::mariadb_name;
use serde::Serialize;
use verify::{Depth, FileResult, Plan, Settings};

use super::{
    Error,
    copy::{KeyKind, KeyringCopy},
    data_keys::{self, Fingerprints},
};
use crate::Session;

/// Number of times that a file is read again if the server may be writing it.
const REREADS: usize = 8;
/// Polling interval for files that do not use the new keys yet.
const SETTLE_POLL: Duration = Duration::from_millis(250);

/// Result of proving a copy of a keyring.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Proof {
    /// Number of files examined.
    pub files: u64,
    /// Number of encrypted files, all of which were opened.
    pub encrypted_files: u64,
    /// Tablespaces whose page 0 is not on disk, so that nothing can be proven about them.
    pub unwritten_files: u64,
}

/// A file that still uses an older key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OldKeyFile {
    /// Path of the file.
    pub file: PathBuf,
    /// The key that it names; `None` if its page 0 is not on disk, so that nothing is proven.
    pub key: Option<String>,
}

/// The keys that files should use; `None` where that is not checked.
#[derive(Clone, Debug, Default)]
pub(super) struct ExpectedKeys {
    pub(super) master: Option<String>,
    pub(super) binary_log: Option<String>,
    /// Fingerprints that tablespaces should no longer have.
    pub(super) not: Fingerprints,
    /// Files that the server lists as encrypted; if their bytes do not confirm it, they are not proven.
    pub(super) encrypted: BTreeSet<PathBuf>,
    /// Name of a MariaDB key with its version, and the tablespaces that should use it.
    pub(super) mariadb: Option<(String, BTreeSet<PathBuf>)>,
}

impl ExpectedKeys {
    /// Expects only the newest key of one kind.
    pub(super) fn newest(kind: KeyKind, name: &str) -> Self {
        let name = Some(name.to_owned());
        match kind {
            KeyKind::Master => Self { master: name, ..Self::default() },
            KeyKind::BinaryLog => Self { binary_log: name, ..Self::default() },
        }
    }
}

/// Numbers of files that use the wanted keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OnNewKey {
    pub(super) tablespaces: u64,
    pub(super) redo: u64,
    pub(super) binary_logs: u64,
}

/// Result of examining the files.
pub(super) struct FileScan {
    files: BTreeMap<PathBuf, FileResult>,
}

impl FileScan {
    /// Proves that only the keys of `copy` suffice to open every encrypted file in `places`.
    pub(super) fn prove(locations: &[PathBuf], copy: &KeyringCopy) -> Result<Self, Error> {
        let mut seen = Self { files: look(locations, copy)? };
        for pause in files::reread_pauses(REREADS) {
            let unopened: Vec<PathBuf> = seen.unopened().map(|file| file.path.clone()).collect();
            if unopened.is_empty() {
                return Ok(seen);
            }
            sleep(pause);
            seen.rescan(&unopened, copy)?;
        }
        let encrypted = seen.encrypted().count() as u64;
        let files: Vec<PathBuf> = seen.unopened().map(|file| file.path.clone()).collect();
        if files.is_empty() {
            return Ok(seen);
        }
        let (keyring, opened) = (copy.path().to_owned(), encrypted.saturating_sub(files.len() as u64));
        Err(Error::KeyringOpensNotAll { keyring, opened, encrypted, files, lost: copy.lost() })
    }

    /// Names of the keys that a file needs.
    pub(super) fn used_keys(&self) -> BTreeSet<String> {
        self.encrypted().flat_map(key_names).collect()
    }

    /// Examines files without the wanted keys again, until `settle_timeout` has passed or the server is gone: the
    /// server writes page 0 with a delay.
    pub(super) fn wait_until_settled(
        &mut self,
        wanted: &ExpectedKeys,
        copy: &KeyringCopy,
        session: &mut Session<'_>,
        settle_timeout: Duration,
    ) -> Result<(), Error> {
        let began = Instant::now();
        loop {
            let old_key_files: Vec<PathBuf> = self.old_key_files(wanted).into_iter().map(|old| old.file).collect();
            if old_key_files.is_empty() || began.elapsed() >= settle_timeout {
                return Ok(());
            }
            sleep(SETTLE_POLL);
            session.query("DO 0")?;
            self.rescan(&old_key_files, copy)?;
        }
    }

    pub(super) fn rescan(&mut self, paths: &[PathBuf], copy: &KeyringCopy) -> Result<(), Error> {
        let wider: Vec<PathBuf> = paths.iter().map(|path| self.location_of(path)).collect();
        for path in paths {
            self.files.remove(path);
        }
        let there: Vec<PathBuf> = wider.into_iter().filter(|path| path.exists()).collect();
        there.iter().for_each(|path| evict(path));
        self.files.extend(look(&there, copy)?);
        Ok(())
    }

    /// Path under which a file is reported. For a file of the redo log this is the directory: the log consists of
    /// several files, of which only the newest names the key.
    fn location_of(&self, path: &Path) -> PathBuf {
        let redo = self.files.get(path).is_some_and(|file| file.kind == Some(FileKind::Redo));
        let directory = path.parent().filter(|directory| directory.ends_with(REDO_DIRECTORY));
        directory.filter(|_| redo).unwrap_or(path).to_owned()
    }

    fn encrypted(&self) -> impl Iterator<Item = &FileResult> {
        self.files.values().filter(|file| file.key.is_some())
    }

    fn unopened(&self) -> impl Iterator<Item = &FileResult> {
        self.encrypted().filter(|file| is_shut(file))
    }

    /// Counts the files: examined, encrypted, and not yet on disk.
    pub(super) fn proof(&self) -> Proof {
        Proof {
            files: self.files.len() as u64,
            encrypted_files: self.encrypted().count() as u64,
            unwritten_files: self.files.values().filter(|file| is_unwritten(file)).count() as u64,
        }
    }

    /// Files that use other keys than the wanted ones, or none yet.
    pub(super) fn old_key_files(&self, wanted: &ExpectedKeys) -> Vec<OldKeyFile> {
        let old_key_file = |file: &FileResult| {
            let names = key_names(file);
            let other = wanted_for(file, wanted).is_some_and(|wanted| !is_on(&names, &wanted));
            let moved = wanted.mariadb.as_ref().is_some_and(|(_, files)| files.contains(&file.path));
            // A rebuilt table names its key as soon as page 0 is on disk.
            let unwritten = (wanted.master.is_some() && is_unwritten(file)) || (moved && names.is_empty());
            let unproven = file.key.is_none() && wanted.encrypted.contains(&file.path);
            let same = || wanted.not.get(&file.path).is_some_and(|old| has_key(&file.path, *old));
            (other || unwritten || unproven || same())
                .then(|| OldKeyFile { file: file.path.clone(), key: names.into_iter().next() })
        };
        // A file created in the meantime has not been examined.
        let unseen = wanted.encrypted.iter().filter(|path| !self.files.contains_key(*path) && path.exists());
        let unseen = unseen.map(|path| OldKeyFile { file: path.clone(), key: None });
        self.files.values().filter_map(old_key_file).chain(unseen).collect()
    }

    /// The files that name another key than the wanted one.
    pub(super) fn behind(&self, wanted: &ExpectedKeys) -> Vec<PathBuf> {
        let old_key_files = self.old_key_files(wanted).into_iter();
        old_key_files.filter(|file| file.key.is_some()).map(|old| old.file).collect()
    }

    /// Whether the file exists and uses the wanted key.
    pub(super) fn carries(&self, path: &Path, wanted: &ExpectedKeys) -> bool {
        let file = self.files.get(path);
        file.is_some_and(|file| wanted_for(file, wanted).is_some_and(|key| is_on(&key_names(file), &key)))
    }

    /// Encrypted tablespaces.
    pub(super) fn tablespaces(&self) -> impl Iterator<Item = &FileResult> {
        self.encrypted().filter(|file| file.is_tablespace() && !is_temporary(file))
    }

    /// Numbers of files that use the wanted keys.
    pub(super) fn on_new_key(&self, wanted: &ExpectedKeys) -> OnNewKey {
        let mut on = OnNewKey::default();
        for file in self.encrypted() {
            let names = key_names(file);
            if wanted_for(file, wanted).is_some_and(|wanted| is_on(&names, &wanted)) {
                match file.kind {
                    Some(FileKind::Tablespace) => on.tablespaces += 1,
                    Some(FileKind::Redo) => on.redo += 1,
                    _ => on.binary_logs += 1,
                }
            }
        }
        on
    }

    /// For each key, the number of files that need it, by kind of file.
    pub(super) fn needed(&self) -> BTreeMap<String, BTreeMap<String, u64>> {
        let mut needed: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        for file in self.encrypted() {
            for key in key_names(file) {
                *needed.entry(key).or_default().entry(report_name::of_kind(file.kind).to_owned()).or_default() += 1;
            }
        }
        needed
    }
}

/// Has page 0 read from the disk: the server may have written it around the page cache.
fn evict(path: &Path) {
    if let Ok(file) = regular::open(path, Links::Refused) {
        files::evict(&file, 0, NonZeroU64::new(MAX_PAGE_BYTES as u64));
    }
}

fn look(locations: &[PathBuf], copy: &KeyringCopy) -> Result<BTreeMap<PathBuf, FileResult>, Error> {
    let keys = copy.keys()?;
    let jobs = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let settings = Settings { jobs, depth: Depth::FirstPages, progress: &|_| {} };
    let report = verify::run(&Plan::scan_server(locations), &keys, &settings);
    // Ignore a file that the server has dropped in the meantime.
    if let Some(unread) = report.errors.into_iter().find(|unread| unread.path.symlink_metadata().is_ok()) {
        return Err(Error::Unread { path: unread.path, reason: unread.reason });
    }
    Ok(report.files.into_iter().map(|file| (file.path.clone(), file)).collect())
}

/// Whether the keys do not open a file. Other damage is not the keyring's fault, but may occur in the same file.
fn is_shut(file: &FileResult) -> bool {
    let by_key = |check| matches!(check, Check::Key | Check::KeyOpens);
    matches!(file.verdict, Verdict::MissingKey | Verdict::WrongKey | Verdict::Unverifiable)
        || file.findings.iter().any(|finding| by_key(finding.check))
}

/// Whether the file of a new table is not written yet: the table is in memory and in the redo log first.
fn is_unwritten(file: &FileResult) -> bool {
    file.is_tablespace() && file.verdict == Verdict::Unidentified
}

/// Names of the keys that a file needs.
pub(crate) fn key_names(file: &FileResult) -> Vec<String> {
    match &file.key {
        // The public bootstrap key has no name.
        Some(RequiredKey::MySql { name, .. } | RequiredKey::MysqlBinlog { name }) if !name.is_empty() => {
            vec![name.clone()]
        }
        Some(RequiredKey::MariaDb { key_id, versions }) => {
            versions.iter().map(|version| mariadb_name(*key_id, version.0)).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether a tablespace is temporary: recreated at every start, and never rewrapped.
fn is_temporary(file: &FileResult) -> bool {
    file.tablespace.is_some_and(TablespaceKind::is_temporary)
}

fn is_on(names: &[String], wanted: &str) -> bool {
    !names.is_empty() && names.iter().all(|name| name == wanted)
}

/// Whether a tablespace still has this key, or its page 0 is not on disk.
fn has_key(path: &Path, fingerprint: u32) -> bool {
    data_keys::of_tablespace(path).is_none_or(|found| found == fingerprint)
}

/// The key that a file should use.
fn wanted_for(file: &FileResult, wanted: &ExpectedKeys) -> Option<String> {
    match file.key.as_ref()? {
        RequiredKey::MySql { .. } if !is_temporary(file) => wanted.master.clone(),
        RequiredKey::MysqlBinlog { .. } => wanted.binary_log.clone(),
        RequiredKey::MariaDb { .. } => {
            let (name, files) = wanted.mariadb.as_ref()?;
            files.contains(&file.path).then(|| name.clone())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::KeyStore;

    const TESTDATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata");

    #[test]
    fn a_file_that_the_server_calls_encrypted_and_that_is_not_on_disk_is_named() {
        let sample = |name: &str| Path::new(TESTDATA).join(name);
        let copy = KeyringCopy::read(&KeyStore::MySql(sample("keyring/mysql97-component-file.json"))).unwrap();
        let datadir = tempfile::tempdir().unwrap();
        let at = |name: &str| datadir.path().join(name);
        fs::copy(sample("tablespace/mysql97-16k-encrypted.ibd"), at("t.ibd")).unwrap();
        // As after a rebuild: an auxiliary table has a new name.
        fs::write(at("fts_2.ibd"), vec![0; 7 * 16384]).unwrap();
        let seen = FileScan::prove(&[datadir.path().to_owned()], &copy).unwrap();
        assert_eq!(seen.proof().encrypted_files, 1);
        assert_eq!(seen.old_key_files(&ExpectedKeys::default()), []);
        fs::write(at("later.ibd"), "").unwrap();
        let encrypted = ["t.ibd", "fts_2.ibd", "later.ibd", "dropped.ibd"].map(at).into();
        let old_key_files = seen.old_key_files(&ExpectedKeys { encrypted, ..ExpectedKeys::default() });
        let named: Vec<_> = old_key_files.iter().map(|old| (old.file.clone(), old.key.clone())).collect();
        assert_eq!(named, [(at("fts_2.ibd"), None), (at("later.ibd"), None)]);
    }
}
