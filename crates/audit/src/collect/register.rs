//! Reads the register of keys, and the state of the copies that it names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use register::{CopyRecord, CopyState, Fingerprints, Register, RegisterFile, fingerprint};

use super::view::View;
use super::{page_proofs, proofs};
use crate::access;
use crate::facts::files::FileFact;
use crate::facts::register::{RegisterFacts, RegisteredCopy, RegisteredKey};
use crate::facts::{Observed, Unavailable};

/// Which register to read, and what to compare it with.
pub(super) struct Query<'a> {
    pub(super) state_dir: &'a Path,
    /// Name of the register.
    pub(super) server_name: String,
    /// Path of the data directory; a copy in it would be lost with it.
    pub(super) datadir: Option<PathBuf>,
    /// The keys that the server's key store has now.
    pub(super) held: Observed<Fingerprints>,
}

/// Content of the register.
///
/// # Errors
/// [`Unavailable`] if it does not exist, cannot be read, or belongs to another server.
pub(super) fn read(query: Query<'_>) -> Observed<RegisterFacts> {
    let path = register::path(query.state_dir, &query.server_name);
    let unseen = |why: String| Unavailable {
        what: "the register of keys".to_owned(),
        why,
        remedy: "name its directory with --state-dir, as `sealant rotate` and `sealant keys` were given it".to_owned(),
    };
    match RegisterFile::read_unlocked(query.state_dir, &query.server_name) {
        Ok(Some(register)) => Ok(facts(&path, &register, query)),
        Ok(None) => Err(unseen(format!("there is no register {}", path.display()))),
        Err(error) => Err(unseen(error.to_string())),
    }
}

fn facts(path: &Path, register: &Register, query: Query<'_>) -> RegisterFacts {
    let datadir = query.datadir.and_then(|path| std::fs::canonicalize(path).ok());
    let none = Fingerprints::new();
    let held = query.held.as_ref().unwrap_or(&none);
    let copies = register.copies.iter().map(|(path, copy)| of_copy(path, copy, held, datadir.as_deref()));
    let keys = register
        .keys
        .iter()
        .map(|(name, key)| (name.clone(), RegisteredKey { first_seen: key.first_seen, rotated: key.rotated }));
    let backups = register.backups.iter().map(|(path, backup)| (path.display().to_string(), backup.keys.clone()));
    RegisterFacts {
        path: path.display().to_string(),
        last_rotated: register.last_rotated.clone(),
        keys: keys.collect(),
        copies: copies.chain(without_hash(register)).collect(),
        backups: backups.collect(),
        held: query.held.map(|held| held.into_keys().collect()),
    }
}

fn of_copy(path: &Path, copy: &CopyRecord, held: &Fingerprints, datadir: Option<&Path>) -> RegisteredCopy {
    let inside =
        || std::fs::canonicalize(path).ok().zip(datadir).is_some_and(|(path, datadir)| path.starts_with(datadir));
    let differs = |(name, found): &(&String, &String)| held.get(*name).is_some_and(|now| now != *found);
    RegisteredCopy {
        path: path.display().to_string(),
        proven: copy.proven,
        state: copy.state(path),
        no_copy: inside().then(|| "lies in the data directory, and is lost together with it".to_owned()),
        keys: copy.keys.keys().cloned().collect(),
        differing: copy.keys.iter().filter(differs).map(|(name, _)| name.clone()).collect(),
    }
}

/// Copies recorded by earlier versions, without a hash.
fn without_hash(register: &Register) -> impl Iterator<Item = RegisteredCopy> {
    let mut found: BTreeMap<&PathBuf, (Timestamp, BTreeSet<String>)> = BTreeMap::new();
    for (name, key) in &register.keys {
        if let (Some(path), Some(proven)) = (&key.copy, key.copy_proven)
            && !register.copies.contains_key(path)
        {
            found.entry(path).or_insert_with(|| (proven, BTreeSet::new())).1.insert(name.clone());
        }
    }
    found.into_iter().map(|(path, (proven, keys))| RegisteredCopy {
        path: path.display().to_string(),
        proven,
        state: CopyState::NoHash,
        no_copy: None,
        keys,
        differing: BTreeSet::new(),
    })
}

/// The keys in the server's key stores.
///
/// # Errors
/// [`Unavailable`] if there is no file with them, or one cannot be read.
pub(super) fn held(
    view: &View,
    files: &[FileFact],
    live_stores: &[PathBuf],
    key_file: &page_proofs::KeyFileSettings,
) -> Observed<Fingerprints> {
    let unseen = |why: String| Unavailable {
        what: "the keys that the server holds".to_owned(),
        why,
        remedy: access::AS_SERVER_USER.to_owned(),
    };
    let mut held: Option<Fingerprints> = None;
    for file in files {
        let keys = if proofs::is_store(file, live_stores) {
            proofs::read_store(view, file).map(|keyring| fingerprint::of_keyring(&keyring))
        } else if page_proofs::is_store(file, key_file) {
            key_file.load(view, file).map(|keys| fingerprint::of_key_file(&keys))
        } else {
            continue;
        };
        let keys = keys.map_err(|error| unseen(format!("{}: {error}", file.path)))?;
        held.get_or_insert_default().extend(keys);
    }
    held.ok_or_else(|| unseen("no file with the server's keys was found".to_owned()))
}
