//! The register: what is known of a server's keys over time, and what an unfinished run left. It
//! never holds a key.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Error,
    backup::{place, sha256_of},
};

/// Name and version of the document.
const SCHEMA: &str = "sealant.key-register/1";

/// What is known of one server's keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Register {
    /// Name and version of the document, `sealant.key-register/1`.
    pub schema: String,
    /// The server.
    pub server_uuid: String,
    /// How it was reached last.
    pub server: String,
    /// The keys, by name.
    pub keys: BTreeMap<String, KeyRecord>,
    /// When a run that proved it rotated a key last, by the option that asked for it.
    #[serde(default)]
    pub last_rotated: BTreeMap<String, Timestamp>,
    /// Backups of data that were looked at, by their directories.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub backups: BTreeMap<PathBuf, BackupRecord>,
    /// A run that has begun and not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<Unfinished>,
}

/// What is known of a backup of data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupRecord {
    /// When it was looked at last.
    pub seen: Timestamp,
    /// Names of the keys that its files ask for.
    pub keys: BTreeSet<String>,
}

/// What is known of one key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRecord {
    /// When it was seen first.
    pub first_seen: Option<Timestamp>,
    /// When a rotation put another in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotated: Option<Timestamp>,
    /// Whether the keyring had it when it was looked at last. Servers remove binary log keys that
    /// they do not need any more.
    pub in_keyring: bool,
    /// When it was proven that a backup holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_proven: Option<Timestamp>,
    /// That backup.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy: Option<PathBuf>,
    /// Files that ask for it, by kind, when they were looked at last.
    #[serde(default)]
    pub needed_by: BTreeMap<String, u64>,
}

/// A run that has begun and not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfinished {
    /// The backup it was to make.
    pub file: PathBuf,
    /// When it began.
    pub started: Timestamp,
    /// The newest InnoDB master key then.
    pub master_key: Option<String>,
    /// The newest binary log key then.
    pub binlog_key: Option<String>,
    /// Backups that it has made, or was about to make.
    pub backups: Vec<Written>,
    /// Fingerprints of the keys that tablespaces had then, where those are to be new.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data_keys: BTreeMap<PathBuf, u32>,
}

/// A backup of an unfinished run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// The age file.
    pub path: PathBuf,
    /// Its hash, by which it is told from what others put there.
    pub sha256: String,
    /// Names of the keys in it.
    pub keys: BTreeSet<String>,
}

impl Register {
    /// Notes which keys the keyring holds and which files ask for, by kind, as seen now.
    pub(crate) fn sighted(&mut self, held: &BTreeSet<String>, needed: &BTreeMap<String, BTreeMap<String, u64>>) {
        let now = Timestamp::now();
        for name in held.iter().chain(needed.keys()).filter(|name| !name.is_empty()) {
            self.keys.entry(name.clone()).or_default().first_seen.get_or_insert(now);
        }
        for (name, record) in &mut self.keys {
            record.in_keyring = held.contains(name);
            record.needed_by = needed.get(name).cloned().unwrap_or_default();
        }
    }

    /// Names of the keys that the keyring had when it was looked at last.
    pub(crate) fn in_keyring(&self) -> BTreeSet<String> {
        self.keys.iter().filter(|(_, record)| record.in_keyring).map(|(name, _)| name.clone()).collect()
    }

    /// The run that one with this backup goes on with. A file that is there already, and of no such
    /// run, is not touched.
    pub(crate) fn resumed(&self, file: &Path) -> Result<Option<Unfinished>, Error> {
        let resumed = self.unfinished.clone().filter(|run| run.file == file);
        match resumed {
            None if file.symlink_metadata().is_ok() => Err(Error::BackupExists { path: file.to_owned() }),
            resumed => Ok(resumed),
        }
    }
}

impl Unfinished {
    /// Whether what stands at `path` may be replaced by a backup of keys with these names: nothing is
    /// there, or what this run left, and each of its keys is among them or in a backup of before the
    /// rotation that stays. The backup that was asked for does not count as such: it is replaced, too.
    pub(crate) fn may_replace(&self, path: &Path, names: &BTreeSet<String>) -> Result<bool, Error> {
        let Some(found) = sha256_of(path)? else { return Ok(true) };
        let own = |written: &&Written| written.path == path && written.sha256 == found;
        let Some(own) = self.backups.iter().find(own) else { return Ok(false) };
        let mut lost: BTreeSet<&String> = own.keys.difference(names).collect();
        for other in self.backups.iter().filter(|other| other.path != path && other.path != self.file) {
            if !lost.is_empty() && other.stands()? {
                lost.retain(|name| !other.keys.contains(*name));
            }
        }
        Ok(lost.is_empty())
    }
}

impl Written {
    /// Whether it is still what was written.
    pub(crate) fn stands(&self) -> Result<bool, Error> {
        Ok(sha256_of(&self.path)?.as_ref() == Some(&self.sha256))
    }
}

/// The register on disk, which no other run changes at the same time.
#[derive(Debug)]
pub(crate) struct Ledger {
    path: PathBuf,
    pub(crate) register: Register,
    /// Held until this value goes.
    _lock: Option<File>,
}

impl Ledger {
    /// Opens the register of a server, for this run alone.
    pub(crate) fn open(directory: &Path, server_uuid: &str) -> Result<Self, Error> {
        let path = path(directory, server_uuid);
        let failed = |error: io::Error| Error::Register { path: path.clone(), reason: error.to_string() };
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
        let lock_path = path.with_extension("lock");
        let lock = OpenOptions::new().create(true).append(true).mode(0o600).open(&lock_path).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(Error::Busy { path: lock_path }),
            Err(fs::TryLockError::Error(error)) => return Err(failed(error)),
        }
        Ok(Self { register: read(&path, server_uuid)?, path, _lock: Some(lock) })
    }

    /// What a register says, without keeping others from it.
    pub(crate) fn peek(directory: &Path, server_uuid: &str) -> Result<Register, Error> {
        read(&path(directory, server_uuid), server_uuid)
    }

    /// Puts it on disk.
    pub(crate) fn save(&self) -> Result<(), Error> {
        let failed = |reason: String| Error::Register { path: self.path.clone(), reason };
        let mut bytes = serde_json::to_vec_pretty(&self.register).map_err(|error| failed(error.to_string()))?;
        bytes.push(b'\n');
        place(&self.path, &bytes, true).map_err(|error| failed(error.to_string()))
    }
}

/// The register's file of a server.
pub(crate) fn path(directory: &Path, server_uuid: &str) -> PathBuf {
    directory.join(format!("keys-{server_uuid}.json"))
}

/// What a register says; an empty one if there is none.
///
/// # Errors
/// [`Error::Register`] if it is damaged.
fn read(path: &Path, server_uuid: &str) -> Result<Register, Error> {
    let failed = |reason: String| Error::Register { path: path.to_owned(), reason };
    let empty = || Register { schema: SCHEMA.to_owned(), server_uuid: server_uuid.to_owned(), ..Register::default() };
    match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(empty()),
        Err(error) => Err(failed(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_an_unfinished_run_left_and_holds_no_other_keys_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("b");
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        fs::write(&path, "sealed").unwrap();
        let written =
            Written { path: path.clone(), sha256: super::super::backup::sha256(b"sealed"), keys: names(&["a", "b"]) };
        let run = |backups| Unfinished {
            file: path.clone(),
            started: Timestamp::UNIX_EPOCH,
            master_key: None,
            binlog_key: None,
            backups,
            data_keys: BTreeMap::new(),
        };
        let unfinished = run(vec![written]);
        assert!(unfinished.may_replace(&path, &names(&["a", "b", "c"])).unwrap());
        assert!(!unfinished.may_replace(&path, &names(&["a", "c"])).unwrap(), "b would be lost");
        assert!(!run(Vec::new()).may_replace(&path, &names(&["a", "b"])).unwrap(), "somebody else's");
        fs::write(&path, "other").unwrap();
        assert!(!unfinished.may_replace(&path, &names(&["a", "b"])).unwrap(), "somebody else's by now");
        fs::remove_file(&path).unwrap();
        assert!(unfinished.may_replace(&path, &names(&["a"])).unwrap());
    }

    #[test]
    fn a_key_that_the_server_removed_is_not_lost_while_a_backup_of_before_holds_it() {
        let directory = tempfile::tempdir().unwrap();
        let (file, before) = (directory.path().join("b"), directory.path().join("b.before"));
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let written = |path: &Path, keys: &[&str]| {
            fs::write(path, "sealed").unwrap();
            Written { path: path.to_owned(), sha256: super::super::backup::sha256(b"sealed"), keys: names(keys) }
        };
        let backups = vec![written(&before, &["old"]), written(&file, &["old", "new"])];
        let started = Timestamp::UNIX_EPOCH;
        let run = Unfinished {
            file: file.clone(),
            started,
            master_key: None,
            binlog_key: None,
            backups,
            data_keys: BTreeMap::new(),
        };
        assert!(run.may_replace(&file, &names(&["new", "newer"])).unwrap());
        assert!(!run.may_replace(&before, &names(&["new", "newer"])).unwrap(), "the other one may go next");
        fs::remove_file(&before).unwrap();
        assert!(!run.may_replace(&file, &names(&["new", "newer"])).unwrap());
    }

    #[test]
    fn one_run_at_a_time_and_a_damaged_register_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(directory.path(), "u").unwrap();
        assert!(matches!(Ledger::open(directory.path(), "u"), Err(Error::Busy { .. })));
        ledger.save().unwrap();
        drop(ledger);
        assert_eq!(Ledger::open(directory.path(), "u").unwrap().register.schema, SCHEMA);
        fs::write(path(directory.path(), "u"), "{").unwrap();
        assert!(matches!(Ledger::open(directory.path(), "u"), Err(Error::Register { .. })));
    }
}
