//! What the register says.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{CopyRecord, CopyState, Error, SCHEMA, sha256_of};

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
    /// Copies of the keyring that were proven. Registers of earlier versions name them with the keys only.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub copies: BTreeMap<PathBuf, CopyRecord>,
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
    /// One that knows nothing yet.
    #[must_use]
    pub fn begin(server_uuid: &str) -> Self {
        Self { schema: SCHEMA.to_owned(), server_uuid: server_uuid.to_owned(), ..Self::default() }
    }

    /// Notes which keys the keyring holds and which files ask for, by kind, as seen now.
    pub fn sighted(&mut self, held: &BTreeSet<String>, needed: &BTreeMap<String, BTreeMap<String, u64>>) {
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
    #[must_use]
    pub fn in_keyring(&self) -> BTreeSet<String> {
        self.keys.iter().filter(|(_, record)| record.in_keyring).map(|(name, _)| name.clone()).collect()
    }

    /// What is left of a copy that a key is said to be in. Reads the file.
    #[must_use]
    pub fn copy_state(&self, path: &Path) -> CopyState {
        self.copies.get(path).map_or(CopyState::NoHash, |copy| copy.state(path))
    }

    /// Takes out copies in which no key is looked for any more.
    pub fn forget_unused_copies(&mut self) {
        let keys = &self.keys;
        self.copies.retain(|path, _| keys.values().any(|key| key.copy.as_ref() == Some(path)));
    }
}

impl Unfinished {
    /// Whether what stands at `path` may be replaced by a backup of keys with these names: nothing is
    /// there, or what this run left, and each of its keys is among them or in a backup of before the
    /// rotation that stays. The backup that was asked for does not count as such: it is replaced, too.
    ///
    /// # Errors
    /// [`Error::Copy`].
    pub fn may_replace(&self, path: &Path, names: &BTreeSet<String>) -> Result<bool, Error> {
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
    ///
    /// # Errors
    /// [`Error::Copy`].
    pub fn stands(&self) -> Result<bool, Error> {
        Ok(sha256_of(&self.path)?.as_ref() == Some(&self.sha256))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_what_an_unfinished_run_left_and_holds_no_other_keys_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("b");
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        fs::write(&path, "sealed").unwrap();
        let written = Written {
            path: path.clone(),
            sha256: server::certificate::sha256_hex(b"sealed"),
            keys: names(&["a", "b"]),
        };
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
            Written { path: path.to_owned(), sha256: server::certificate::sha256_hex(b"sealed"), keys: names(keys) }
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
}
