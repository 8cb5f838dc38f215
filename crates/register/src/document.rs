//! The register's content.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{CopyRecord, CopyState, Error, SCHEMA, fingerprint::version_of, sha256_of};

/// The keys of one server, with their copies and the backups that need them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Register {
    /// Name and version of the document, `sealant.key-register/1`.
    pub schema: String,
    /// The server's UUID; on MariaDB, [`crate::server_name`].
    pub server_uuid: String,
    /// Address of the last connection.
    pub server: String,
    /// Keys by name.
    pub keys: BTreeMap<String, KeyRecord>,
    /// For each rotate option, when a run last rotated that key and proved it.
    #[serde(default)]
    pub last_rotated: BTreeMap<String, Timestamp>,
    /// Inspected backups of data, by directory.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub backups: BTreeMap<PathBuf, BackupRecord>,
    /// Proven copies of the keyring, by path. Registers of earlier versions lack this map; there, only
    /// [`KeyRecord::copy`] names copies.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub copies: BTreeMap<PathBuf, CopyRecord>,
    /// A run that started and did not finish.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<Unfinished>,
}

/// An inspected backup of data, and the keys that it needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupRecord {
    /// Time of the last inspection.
    pub seen: Timestamp,
    /// Names of the keys that its files need.
    pub keys: BTreeSet<String>,
}

/// History of one key: when it was seen, rotated and copied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRecord {
    /// When a run first saw it.
    pub first_seen: Option<Timestamp>,
    /// When a rotation replaced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotated: Option<Timestamp>,
    /// Whether the keyring had it when it was last read. Servers remove binary log keys that they no longer need.
    pub in_keyring: bool,
    /// When a copy was last proven to contain it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_proven: Option<Timestamp>,
    /// Path of that copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy: Option<PathBuf>,
    /// Number of files that need it, by kind, when they were last counted.
    #[serde(default)]
    pub needed_by: BTreeMap<String, u64>,
}

/// A run that started and did not finish.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfinished {
    /// Path of the key backup that the user asked for.
    pub file: PathBuf,
    /// Start of the run.
    pub started: Timestamp,
    /// Newest InnoDB master key at the start.
    pub master_key: Option<String>,
    /// Newest binary log key at the start.
    pub binlog_key: Option<String>,
    /// Key backups that the run wrote, or was about to write.
    pub backups: Vec<Written>,
    /// Fingerprints of the tablespace keys that the run replaces, as of its start, by path of the file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data_keys: BTreeMap<PathBuf, u32>,
    /// Number of the MariaDB key that gets a new version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_id: Option<u32>,
    /// Newest version of that key at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_version: Option<u32>,
}

/// A key backup written by an unfinished run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Path of the age file.
    pub path: PathBuf,
    /// Its SHA-256, to distinguish it from other files at that path.
    pub sha256: String,
    /// Names of the keys in it.
    pub keys: BTreeSet<String>,
}

impl Unfinished {
    /// The newest version of a MariaDB key when the run began; `None` if the run was for another key, or that is not
    /// known. Older registers have the version without the number of the key; then the names of the keys in the backup
    /// that was written first tell.
    #[must_use]
    pub fn version_at_start(&self, key_id: u32) -> Option<u32> {
        match self.key_id {
            Some(id) => self.key_version.filter(|_| id == key_id),
            None => {
                let names = &self.backups.first()?.keys;
                let newest = names.iter().filter_map(|name| version_of(name, key_id)).max();
                newest.filter(|newest| self.key_version == Some(*newest))
            }
        }
    }
}

impl Register {
    /// An empty register.
    #[must_use]
    pub fn new(server_uuid: &str) -> Self {
        Self { schema: SCHEMA.to_owned(), server_uuid: server_uuid.to_owned(), ..Self::default() }
    }

    /// Records the keys in the keyring and the number of files, by kind, that need each key.
    pub fn record_seen(&mut self, held: &BTreeSet<String>, needed: &BTreeMap<String, BTreeMap<String, u64>>) {
        let now = Timestamp::now();
        for name in held.iter().chain(needed.keys()).filter(|name| !name.is_empty()) {
            self.keys.entry(name.clone()).or_default().first_seen.get_or_insert(now);
        }
        for (name, record) in &mut self.keys {
            record.in_keyring = held.contains(name);
            record.needed_by = needed.get(name).cloned().unwrap_or_default();
        }
    }

    /// Names of the keys that the keyring had when it was last read.
    #[must_use]
    pub fn in_keyring(&self) -> BTreeSet<String> {
        self.keys.iter().filter(|(_, record)| record.in_keyring).map(|(name, _)| name.clone()).collect()
    }

    /// State of the copy at `path`. Reads the file.
    #[must_use]
    pub fn copy_state(&self, path: &Path) -> CopyState {
        self.copies.get(path).map_or(CopyState::NoHash, |copy| copy.state(path))
    }

    /// Removes copies that no key refers to.
    pub fn forget_unused_copies(&mut self) {
        let keys = &self.keys;
        self.copies.retain(|path, _| keys.values().any(|key| key.copy.as_ref() == Some(path)));
    }
}

impl Unfinished {
    /// Whether a key backup with the keys `names` may be written to `path`: either nothing exists there, or this run
    /// wrote what exists, and each of its keys is in `names` or in another backup of this run. The backup the user
    /// asked for does not count as another: it is replaced, too.
    ///
    /// # Errors
    /// [`Error::Copy`].
    pub fn may_replace(&self, path: &Path, names: &BTreeSet<String>) -> Result<bool, Error> {
        let Some(found) = sha256_of(path)? else { return Ok(true) };
        let current = |written: &&Written| written.path == path && written.sha256 == found;
        let Some(current) = self.backups.iter().find(current) else { return Ok(false) };
        let mut lost: BTreeSet<&String> = current.keys.difference(names).collect();
        for other in self.backups.iter().filter(|other| other.path != path && other.path != self.file) {
            if !lost.is_empty() && other.is_unchanged()? {
                lost.retain(|name| !other.keys.contains(*name));
            }
        }
        Ok(lost.is_empty())
    }
}

impl Written {
    /// Whether the file is still what the run wrote.
    ///
    /// # Errors
    /// [`Error::Copy`].
    pub fn is_unchanged(&self) -> Result<bool, Error> {
        Ok(sha256_of(&self.path)?.as_ref() == Some(&self.sha256))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_a_backup_of_an_unfinished_run_without_other_keys_may_be_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("b");
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        fs::write(&path, "encrypted").unwrap();
        let written = Written { path: path.clone(), sha256: files::sha256_hex(b"encrypted"), keys: names(&["a", "b"]) };
        let run = |backups| Unfinished {
            file: path.clone(),
            started: Timestamp::UNIX_EPOCH,
            master_key: None,
            binlog_key: None,
            backups,
            data_keys: BTreeMap::new(),
            key_id: None,
            key_version: None,
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
    fn a_key_that_the_server_removed_is_not_lost_while_an_earlier_backup_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let (file, before) = (directory.path().join("b"), directory.path().join("b.before"));
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let written = |path: &Path, keys: &[&str]| {
            fs::write(path, "encrypted").unwrap();
            Written { path: path.to_owned(), sha256: files::sha256_hex(b"encrypted"), keys: names(keys) }
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
            key_id: None,
            key_version: None,
        };
        assert!(run.may_replace(&file, &names(&["new", "newer"])).unwrap());
        assert!(!run.may_replace(&before, &names(&["new", "newer"])).unwrap(), "the other one may go next");
        fs::remove_file(&before).unwrap();
        assert!(!run.may_replace(&file, &names(&["new", "newer"])).unwrap());
    }
}
