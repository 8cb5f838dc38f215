//! Combines what all sources know about a key.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use jiff::Timestamp;
use keyring::KeyName;
use register::{CopyState, Register};
use serde::Serialize;

use super::{
    back_end::AvailableKeys,
    uses::{EncryptedFileKind, KeyNeeds, KeyUsage},
};
use crate::keyring::is_cut_off;

/// Use of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyUse {
    /// Wraps the keys of MySQL's tablespaces and redo log.
    InnodbMaster,
    /// Wraps the passwords of MySQL's binary and relay logs.
    BinaryLog,
    /// A MariaDB key, which encrypts pages and logs directly.
    #[serde(rename = "mariadb")]
    MariaDb,
    /// Unknown use.
    Other,
}

/// Everything known about a key, without the key.
#[derive(Clone, Debug, Serialize)]
pub struct KeyEntry {
    /// Name; on MariaDB id and version.
    pub id: String,
    /// Use of the key.
    pub kind: KeyUse,
    /// Whether new data is encrypted with it; `None` on MariaDB, where each table names its key.
    pub newest: Option<bool>,
    /// Whether the back end has it; `None` if unknown.
    pub held: Option<bool>,
    /// Whether the running server has it in memory; `None` if unknown.
    pub in_memory: Option<bool>,
    /// Files that need it.
    pub used_by: BTreeMap<EncryptedFileKind, KeyUsage>,
    /// When the register first saw it.
    pub first_seen: Option<Timestamp>,
    /// When a rotation replaced it.
    pub rotated: Option<Timestamp>,
    /// When a copy of the keyring was last proven to contain it.
    pub copy_proven: Option<Timestamp>,
    /// Path of that copy.
    pub copy: Option<PathBuf>,
    /// Current state of that copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_state: Option<CopyState>,
    /// Backups of data that need it.
    pub backups: Vec<PathBuf>,
}

impl KeyEntry {
    /// Whether every file that needs the key can be opened: the back end has it and it opens its files; or only backups
    /// need it, the running server does not use it, and a proven copy exists.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let opens = self.used_by.values().all(|uses| uses.shut == 0);
        let there = match self.held {
            Some(held) => held || !(self.is_missing() || self.lacks_copy()),
            None => self.used_by.is_empty(),
        };
        opens && there
    }

    /// Whether the server needs it but the back end does not have it: it is lost when the server stops.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.held == Some(false) && (!self.used_by.is_empty() || self.in_memory == Some(true))
    }

    fn lacks_copy(&self) -> bool {
        let lost = matches!(self.copy_state, None | Some(CopyState::Gone | CopyState::Changed | CopyState::OtherKey));
        !self.backups.is_empty() && lost
    }

    /// Whether any known file or backup needs it.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        !self.used_by.is_empty() || !self.backups.is_empty()
    }
}

/// All keys that the back end has, that files need, or that the register knows.
pub(super) fn list(
    available: &AvailableKeys,
    needs: &KeyNeeds,
    register: &Register,
    server_uuid: &str,
) -> Vec<KeyEntry> {
    let mut names: BTreeSet<&String> = needs.by_key.keys().chain(register.keys.keys()).collect();
    names.extend(available.held.iter().flatten());
    names.extend(available.in_memory.iter().flatten().filter(|name| !is_cut_off(name)));
    names.extend(register.backups.values().flat_map(|backup| &backup.keys));
    // The register also lists keyring entries that are not keys.
    names.retain(|name| KeyName::parse(name) != KeyName::ReplicationMarker);
    let mut sorted: Vec<(Rank, &String)> = names.into_iter().map(|name| (rank(name), name)).collect();
    sorted.sort();
    let newest = newest(&sorted, available, server_uuid);
    let paths: BTreeSet<&PathBuf> = register.keys.values().filter_map(|record| record.copy.as_ref()).collect();
    let states: BTreeMap<&PathBuf, CopyState> =
        paths.into_iter().map(|path| (path, register.copy_state(path))).collect();
    let exchanged = |entry: &KeyEntry, path: &PathBuf| {
        let proven = register.copies.get(path).and_then(|copy| copy.keys.get(&entry.id));
        proven.zip(available.fingerprints.get(&entry.id)).is_some_and(|(proven, now)| proven != now)
    };
    let state_of = |entry: KeyEntry| {
        let state = entry.copy.as_ref().and_then(|path| match states.get(path) {
            Some(CopyState::Stands) if exchanged(&entry, path) => Some(CopyState::OtherKey),
            state => state.cloned(),
        });
        KeyEntry { copy_state: state, ..entry }
    };
    let entry = |(rank, name): &(Rank, &String)| entry(name, rank.0, &newest, available, needs, register);
    sorted.iter().map(entry).map(state_of).collect()
}

fn entry(
    name: &str,
    kind: KeyUse,
    newest: &[&String],
    available: &AvailableKeys,
    needs: &KeyNeeds,
    register: &Register,
) -> KeyEntry {
    let record = register.keys.get(name).cloned().unwrap_or_default();
    let backups = register.backups.iter().filter(|(_, backup)| backup.keys.contains(name));
    let versioned = matches!(kind, KeyUse::InnodbMaster | KeyUse::BinaryLog);
    KeyEntry {
        id: name.to_owned(),
        kind,
        newest: versioned.then(|| newest.iter().any(|newest| *newest == name)),
        held: available.held.as_ref().map(|held| held.contains(name)),
        in_memory: available.in_memory.as_ref().map(|names| names.contains(name)),
        used_by: needs.by_key.get(name).cloned().unwrap_or_default(),
        first_seen: record.first_seen,
        rotated: record.rotated,
        copy_proven: record.copy_proven,
        copy: record.copy,
        copy_state: None,
        backups: backups.map(|(path, _)| path.clone()).collect(),
    }
}

/// Kind, owner, number, version: the sort order of keys.
type Rank = (KeyUse, String, u32, u32);

fn rank(name: &str) -> Rank {
    match KeyName::parse(name) {
        KeyName::InnodbMaster { owner, number } => (KeyUse::InnodbMaster, owner, number, 0),
        KeyName::Replication { owner, number } => (KeyUse::BinaryLog, owner, number, 0),
        _ => match name.split_once(" version ").map(|(id, version)| (id.parse(), version.parse())) {
            Some((Ok(id), Ok(version))) => (KeyUse::MariaDb, String::new(), id, version),
            _ => (KeyUse::Other, String::new(), 0, 0),
        },
    }
}

/// The newest key of each kind that the back end has for this server.
fn newest<'n>(sorted: &[(Rank, &'n String)], available: &AvailableKeys, server_uuid: &str) -> Vec<&'n String> {
    let held = |name: &String| available.held.as_ref().is_none_or(|held| held.contains(name));
    let last = |kind: KeyUse| {
        let current = |(rank, name): &&(Rank, &'n String)| {
            rank.0 == kind && rank.1.eq_ignore_ascii_case(server_uuid) && held(name)
        };
        sorted.iter().filter(current).max_by_key(|(rank, _)| rank.2).map(|(_, name)| *name)
    };
    [KeyUse::InnodbMaster, KeyUse::BinaryLog].into_iter().filter_map(last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_listed_by_kind_and_number() {
        let mut names =
            ["10 version 1", "INNODBKey-u-10", "other", "2 version 1", "INNODBKey-u-9", "MySQLReplicationKey_u_3"];
        names.sort_by_key(|name| rank(name));
        let sorted =
            ["INNODBKey-u-9", "INNODBKey-u-10", "MySQLReplicationKey_u_3", "2 version 1", "10 version 1", "other"];
        assert_eq!(names, sorted);
    }
}
