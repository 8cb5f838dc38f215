//! One key, as all sources together see it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use jiff::Timestamp;
use keyring::KeyName;
use register::{CopyState, Register};
use serde::Serialize;

use super::{
    back_end::Holding,
    uses::{Asked, Uses, Where},
};
use crate::keyring::is_cut_off;

/// What a key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyUse {
    /// Wraps the keys of MySQL's tablespaces and redo log.
    InnodbMaster,
    /// Wraps the passwords of MySQL's binary and relay logs.
    BinaryLog,
    /// A key of MariaDB, which opens pages and logs itself.
    #[serde(rename = "mariadb")]
    MariaDb,
    /// Not one that this program knows the use of.
    Other,
}

/// What is known of one key. Never the key.
#[derive(Clone, Debug, Serialize)]
pub struct KeyEntry {
    /// Its name; on MariaDB number and version.
    pub id: String,
    /// What it is for.
    pub kind: KeyUse,
    /// Whether new things are encrypted with it; `None` on MariaDB, where each table names its key.
    pub newest: Option<bool>,
    /// Whether the back end holds it; `None` if nobody says so.
    pub held: Option<bool>,
    /// Whether the running server has it in memory; `None` if it does not say so.
    pub in_memory: Option<bool>,
    /// Which files ask for it.
    pub used_by: BTreeMap<Where, Uses>,
    /// When it was first noted in the register.
    pub first_seen: Option<Timestamp>,
    /// When a rotation put another in its place.
    pub rotated: Option<Timestamp>,
    /// When it was proven that a backup of the keyring holds it.
    pub copy_proven: Option<Timestamp>,
    /// That backup.
    pub copy: Option<PathBuf>,
    /// What is left of that backup now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_state: Option<CopyState>,
    /// Backups of data that ask for it.
    pub backups: Vec<PathBuf>,
}

impl KeyEntry {
    /// Whether nothing that asks for it stays shut: it is held and opens its files, or it is not held, the
    /// running server does not use it, and only backups ask for it, for which a copy is known.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let opens = self.used_by.values().all(|uses| uses.shut == 0);
        let there = match self.held {
            Some(held) => held || !(self.is_missing() || self.lacks_copy()),
            None => self.used_by.is_empty(),
        };
        opens && there
    }

    /// Whether the server needs it, and it is not where keys are kept: lost when the server stops.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.held == Some(false) && (!self.used_by.is_empty() || self.in_memory == Some(true))
    }

    fn lacks_copy(&self) -> bool {
        let lost = matches!(self.copy_state, None | Some(CopyState::Gone | CopyState::Changed | CopyState::OtherKey));
        !self.backups.is_empty() && lost
    }

    /// Whether anything that is known of asks for it.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        !self.used_by.is_empty() || !self.backups.is_empty()
    }
}

/// All keys that are held, asked for, or in the register.
pub(super) fn list(holding: &Holding, asked: &Asked, register: &Register, server_uuid: &str) -> Vec<KeyEntry> {
    let mut names: BTreeSet<&String> = asked.by_key.keys().chain(register.keys.keys()).collect();
    names.extend(holding.held.iter().flatten());
    names.extend(holding.in_memory.iter().flatten().filter(|name| !is_cut_off(name)));
    names.extend(register.backups.values().flat_map(|backup| &backup.keys));
    // A rotation notes all names of a keyring, also those that are no keys.
    names.retain(|name| KeyName::parse(name) != KeyName::ReplicationMarker);
    let mut sorted: Vec<(Rank, &String)> = names.into_iter().map(|name| (rank(name), name)).collect();
    sorted.sort();
    let newest = newest(&sorted, holding, server_uuid);
    let paths: BTreeSet<&PathBuf> = register.keys.values().filter_map(|record| record.copy.as_ref()).collect();
    let states: BTreeMap<&PathBuf, CopyState> =
        paths.into_iter().map(|path| (path, register.copy_state(path))).collect();
    let exchanged = |entry: &KeyEntry, path: &PathBuf| {
        let proven = register.copies.get(path).and_then(|copy| copy.keys.get(&entry.id));
        proven.zip(holding.fingerprints.get(&entry.id)).is_some_and(|(proven, now)| proven != now)
    };
    let state_of = |entry: KeyEntry| {
        let state = entry.copy.as_ref().and_then(|path| match states.get(path) {
            Some(CopyState::Stands) if exchanged(&entry, path) => Some(CopyState::OtherKey),
            state => state.cloned(),
        });
        KeyEntry { copy_state: state, ..entry }
    };
    let entry = |(rank, name): &(Rank, &String)| entry(name, rank.0, &newest, holding, asked, register);
    sorted.iter().map(entry).map(state_of).collect()
}

fn entry(
    name: &str,
    kind: KeyUse,
    newest: &[&String],
    holding: &Holding,
    asked: &Asked,
    register: &Register,
) -> KeyEntry {
    let record = register.keys.get(name).cloned().unwrap_or_default();
    let backups = register.backups.iter().filter(|(_, backup)| backup.keys.contains(name));
    let versioned = matches!(kind, KeyUse::InnodbMaster | KeyUse::BinaryLog);
    KeyEntry {
        id: name.to_owned(),
        kind,
        newest: versioned.then(|| newest.iter().any(|newest| *newest == name)),
        held: holding.held.as_ref().map(|held| held.contains(name)),
        in_memory: holding.in_memory.as_ref().map(|names| names.contains(name)),
        used_by: asked.by_key.get(name).cloned().unwrap_or_default(),
        first_seen: record.first_seen,
        rotated: record.rotated,
        copy_proven: record.copy_proven,
        copy: record.copy,
        copy_state: None,
        backups: backups.map(|(path, _)| path.clone()).collect(),
    }
}

/// Kind, owner, number, version: the order in which keys are listed.
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

/// The newest of each kind of the server's own keys among those that are held.
fn newest<'n>(sorted: &[(Rank, &'n String)], holding: &Holding, server_uuid: &str) -> Vec<&'n String> {
    let held = |name: &String| holding.held.as_ref().is_none_or(|held| held.contains(name));
    let last = |kind: KeyUse| {
        let own = |(rank, name): &&(Rank, &'n String)| {
            rank.0 == kind && rank.1.eq_ignore_ascii_case(server_uuid) && held(name)
        };
        sorted.iter().filter(own).max_by_key(|(rank, _)| rank.2).map(|(_, name)| *name)
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
