//! What the bytes of a running server's files say of its keys.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroUsize,
    path::{Path, PathBuf},
    thread::{self, sleep},
    time::{Duration, Instant},
};

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

/// Files that a server is writing are looked at so often before they count.
const TRIES: u32 = 8;
/// Between two looks at files that the server has yet to write.
const PAUSE: Duration = Duration::from_millis(250);

/// What one copy of a keyring opened.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Proof {
    /// Files looked at.
    pub files: u64,
    /// Those that are encrypted, each of which was opened.
    pub encrypted_files: u64,
    /// Tablespaces whose page 0 is not on disk yet: nothing can be proven of them.
    pub unwritten_files: u64,
}

/// A file that still carries an older key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lagging {
    /// The file.
    pub file: PathBuf,
    /// The key it names; `None` if its page 0, which would, is not on disk yet, so that nothing is proven of it.
    pub key: Option<String>,
}

/// The keys that files should carry; `None` where that is not asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    pub(super) master: Option<String>,
    pub(super) binary_log: Option<String>,
    /// Fingerprints that tablespaces should not have any more.
    pub(super) not: Fingerprints,
    /// Files that the server calls encrypted: what their bytes do not show to be so is not proven.
    pub(super) encrypted: BTreeSet<PathBuf>,
    /// Number of a key of MariaDB, and the tablespaces that should carry it.
    pub(super) mariadb: Option<(u32, BTreeSet<PathBuf>)>,
}

impl Wanted {
    /// The newest key of a kind, and nothing else.
    pub(super) fn newest(kind: KeyKind, name: &str) -> Self {
        let name = Some(name.to_owned());
        match kind {
            KeyKind::Master => Self { master: name, ..Self::default() },
            KeyKind::BinaryLog => Self { binary_log: name, ..Self::default() },
        }
    }
}

/// How many files carry the wanted keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OnNewKey {
    pub(super) tablespaces: u64,
    pub(super) redo: u64,
    pub(super) binary_logs: u64,
}

/// What a look at the files found.
pub(super) struct Seen {
    files: BTreeMap<PathBuf, FileResult>,
}

impl Seen {
    /// Proves that the keys of `copy`, and no others, open every encrypted file in `places`.
    pub(super) fn prove(places: &[PathBuf], copy: &KeyringCopy) -> Result<Self, Error> {
        let mut seen = Self { files: look(places, copy)? };
        for attempt in 0..TRIES {
            let shut: Vec<PathBuf> = seen.shut().map(|file| file.path.clone()).collect();
            if shut.is_empty() {
                return Ok(seen);
            }
            sleep(Duration::from_millis(20 << attempt));
            seen.look_again(&shut, copy)?;
        }
        let encrypted = seen.encrypted().count() as u64;
        let shut = seen.shut().count() as u64;
        let Some(file) = seen.shut().next().map(|file| file.path.clone()) else { return Ok(seen) };
        let (keyring, opened) = (copy.path().to_owned(), encrypted.saturating_sub(shut));
        Err(Error::Change(crate::Error::KeyringOpensNotAll { keyring, opened, encrypted, file }))
    }

    /// Looks again at what does not carry the wanted keys, for as long as `patience` and as the
    /// server lives: it writes page 0 when it comes to it.
    pub(super) fn settle(
        &mut self,
        wanted: &Wanted,
        copy: &KeyringCopy,
        session: &mut Session<'_>,
        patience: Duration,
    ) -> Result<(), Error> {
        let began = Instant::now();
        loop {
            let lagging: Vec<PathBuf> = self.lagging(wanted).into_iter().map(|lagging| lagging.file).collect();
            if lagging.is_empty() || began.elapsed() >= patience {
                return Ok(());
            }
            sleep(PAUSE);
            session.ask("DO 0")?;
            self.look_again(&lagging, copy)?;
        }
    }

    pub(super) fn look_again(&mut self, paths: &[PathBuf], copy: &KeyringCopy) -> Result<(), Error> {
        let wider: Vec<PathBuf> = paths.iter().map(|path| self.place_of(path)).collect();
        for path in paths {
            self.files.remove(path);
        }
        let there: Vec<PathBuf> = wider.into_iter().filter(|path| path.exists()).collect();
        self.files.extend(look(&there, copy)?);
        Ok(())
    }

    /// The redo log is one log in many files, of which the newest tells the key.
    fn place_of(&self, path: &Path) -> PathBuf {
        let redo = self.files.get(path).is_some_and(|file| file.kind == "redo");
        let directory = path.parent().filter(|directory| directory.ends_with("#innodb_redo"));
        directory.filter(|_| redo).unwrap_or(path).to_owned()
    }

    fn encrypted(&self) -> impl Iterator<Item = &FileResult> {
        self.files.values().filter(|file| file.key.is_some())
    }

    fn shut(&self) -> impl Iterator<Item = &FileResult> {
        self.encrypted().filter(|file| is_shut(file))
    }

    /// The counts.
    pub(super) fn proof(&self) -> Proof {
        Proof {
            files: self.files.len() as u64,
            encrypted_files: self.encrypted().count() as u64,
            unwritten_files: self.files.values().filter(|file| is_unwritten(file)).count() as u64,
        }
    }

    /// Files that carry other keys than the wanted ones, or none yet.
    pub(super) fn lagging(&self, wanted: &Wanted) -> Vec<Lagging> {
        let lagging = |file: &FileResult| {
            let names = key_names(file);
            let other = wanted_for(file, wanted).is_some_and(|wanted| !is_on(&names, &wanted));
            let moved = wanted.mariadb.as_ref().is_some_and(|(_, files)| files.contains(&file.path));
            // A table that was moved names its key, once it is on disk.
            let unwritten = (wanted.master.is_some() && is_unwritten(file)) || (moved && names.is_empty());
            let unproven = file.key.is_none() && wanted.encrypted.contains(&file.path);
            let same = || wanted.not.get(&file.path).is_some_and(|old| has_key(&file.path, *old));
            (other || unwritten || unproven || same())
                .then(|| Lagging { file: file.path.clone(), key: names.into_iter().next() })
        };
        // A file that was made since has not been looked at yet.
        let unseen = wanted.encrypted.iter().filter(|path| !self.files.contains_key(*path) && path.exists());
        let unseen = unseen.map(|path| Lagging { file: path.clone(), key: None });
        self.files.values().filter_map(lagging).chain(unseen).collect()
    }

    /// Those of them that name another key.
    pub(super) fn behind(&self, wanted: &Wanted) -> Vec<PathBuf> {
        let lagging = self.lagging(wanted).into_iter();
        lagging.filter(|lagging| lagging.key.is_some()).map(|lagging| lagging.file).collect()
    }

    /// Whether that file is there and carries the wanted key.
    pub(super) fn carries(&self, path: &Path, wanted: &Wanted) -> bool {
        let file = self.files.get(path);
        file.is_some_and(|file| wanted_for(file, wanted).is_some_and(|key| is_on(&key_names(file), &key)))
    }

    /// Encrypted tablespaces.
    pub(super) fn tablespaces(&self) -> impl Iterator<Item = &FileResult> {
        self.encrypted().filter(|file| file.kind == "tablespace" && !is_temporary(file))
    }

    /// How many files carry the wanted keys.
    pub(super) fn on_new_key(&self, wanted: &Wanted) -> OnNewKey {
        let mut on = OnNewKey::default();
        for file in self.encrypted() {
            let names = key_names(file);
            if wanted_for(file, wanted).is_some_and(|wanted| is_on(&names, &wanted)) {
                match file.kind.as_str() {
                    "tablespace" => on.tablespaces += 1,
                    "redo" => on.redo += 1,
                    _ => on.binary_logs += 1,
                }
            }
        }
        on
    }

    /// Names of keys and, by kind of file, how many files ask for them.
    pub(super) fn needed(&self) -> BTreeMap<String, BTreeMap<String, u64>> {
        let mut needed: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        for file in self.encrypted() {
            for key in key_names(file) {
                *needed.entry(key).or_default().entry(file.kind.clone()).or_default() += 1;
            }
        }
        needed
    }
}

fn look(places: &[PathBuf], copy: &KeyringCopy) -> Result<BTreeMap<PathBuf, FileResult>, Error> {
    let keys = copy.keys()?;
    let jobs = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let settings = Settings { jobs, depth: Depth::FirstPages, progress: &|_| {} };
    let report = verify::run(&Plan::scan_server(places), &keys, &settings);
    // What a server dropped meanwhile is no file any more.
    if let Some(unread) = report.errors.into_iter().find(|unread| unread.path.symlink_metadata().is_ok()) {
        return Err(Error::Unread { path: unread.path, reason: unread.reason });
    }
    Ok(report.files.into_iter().map(|file| (file.path.clone(), file)).collect())
}

/// Whether the keys do not open a file. Damage of another kind is no fault of the keyring, but may
/// stand beside it.
fn is_shut(file: &FileResult) -> bool {
    let by_key = |check| matches!(check, Check::Key | Check::KeyOpens);
    matches!(file.verdict, Verdict::MissingKey | Verdict::WrongKey | Verdict::Unverifiable)
        || file.findings.iter().any(|finding| by_key(finding.check))
}

/// A new table is in memory and in the redo log before it is in its file.
fn is_unwritten(file: &FileResult) -> bool {
    file.kind == "tablespace" && file.verdict == Verdict::Unidentified
}

/// Names of the keys that a file asks for.
pub(crate) fn key_names(file: &FileResult) -> Vec<String> {
    match &file.key {
        // The public key of bootstrap has no name.
        Some(RequiredKey::MySql { name, .. } | RequiredKey::MysqlBinlog { name }) if !name.is_empty() => {
            vec![name.clone()]
        }
        Some(RequiredKey::MariaDb { key_id, versions }) => {
            versions.iter().map(|version| mariadb_name(*key_id, version.0)).collect()
        }
        _ => Vec::new(),
    }
}

/// Temporary tablespaces are made anew at every start, and not re-wrapped.
fn is_temporary(file: &FileResult) -> bool {
    file.tablespace.as_deref().is_some_and(|kind| kind.ends_with("-temporary"))
}

fn is_on(names: &[String], wanted: &str) -> bool {
    !names.is_empty() && names.iter().all(|name| name == wanted)
}

/// Whether a tablespace has that key still, or none on disk yet.
fn has_key(path: &Path, fingerprint: u32) -> bool {
    data_keys::of_tablespace(path).is_none_or(|found| found == fingerprint)
}

/// The key that a file should carry.
fn wanted_for(file: &FileResult, wanted: &Wanted) -> Option<String> {
    match file.key.as_ref()? {
        RequiredKey::MySql { .. } if !is_temporary(file) => wanted.master.clone(),
        RequiredKey::MysqlBinlog { .. } => wanted.binary_log.clone(),
        RequiredKey::MariaDb { .. } => {
            let (id, files) = wanted.mariadb.as_ref()?;
            files.contains(&file.path).then(|| mariadb_name(*id, 1))
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
        // As after a rebuild: an auxiliary table has another name than before.
        fs::write(at("fts_2.ibd"), vec![0; 7 * 16384]).unwrap();
        let seen = Seen::prove(&[datadir.path().to_owned()], &copy).unwrap();
        assert_eq!(seen.proof().encrypted_files, 1);
        assert_eq!(seen.lagging(&Wanted::default()), []);
        fs::write(at("later.ibd"), "").unwrap();
        let encrypted = ["t.ibd", "fts_2.ibd", "later.ibd", "dropped.ibd"].map(at).into();
        let lagging = seen.lagging(&Wanted { encrypted, ..Wanted::default() });
        let named: Vec<_> = lagging.iter().map(|lagging| (lagging.file.clone(), lagging.key.clone())).collect();
        assert_eq!(named, [(at("fts_2.ibd"), None), (at("later.ibd"), None)]);
    }
}
