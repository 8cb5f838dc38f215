//! `sealant keyring migrate`: copies all keys of a MySQL server from one keyring to another, between files and a Vault.
//!
//! The source must open the data directory. Keys are only added to the target. If the target already has a key of the
//! same name, it must be the same key. Afterwards every key is read from the target and compared, and the target alone
//! must open the data directory. The source is never changed, so that running the command again completes an
//! interrupted run.

mod comparison;
mod configuration;
mod in_use;

use std::{
    fmt::{self, Display},
    path::{Path, PathBuf},
};

use findings::Step;
use innodb::server_file::{DICTIONARY, FIRST_SYSTEM};
use keyring::{KeyLocation, LoadedBy, StoredKey};
use serde::Serialize;

use self::comparison::{keys_of, missing, of_store};
use crate::{
    Error, KeyStore,
    keyring::{KeyringProof, prove_and_list},
};

/// Name and version of the JSON document.
pub const SCHEMA: &str = "sealant.keyring-migrate/1";

/// Options of a migration.
#[derive(Clone, Debug)]
pub struct MigrationRequest {
    /// The keyring file, or the configuration of a component or plug-in, that has the keys.
    pub from: PathBuf,
    /// The keyring file, or the configuration of a component or plug-in, that receives the keys. A keyring file need
    /// not exist yet.
    pub to: PathBuf,
    /// The data directory that both must open.
    pub datadir: PathBuf,
}

/// A migration that may be carried out.
#[derive(Debug)]
pub struct KeyringMigration {
    datadir: PathBuf,
    from: KeyLocation,
    to: KeyLocation,
    keys: Vec<StoredKey>,
    missing: Vec<StoredKey>,
    new_file: LoadedBy,
    target_is_new_file: bool,
    /// Secrets stored beside the source's keys that are not keys.
    other_secrets: Vec<String>,
    /// Keys that the source has more than once.
    repeated: Vec<String>,
    /// Keys that the source has destroyed.
    destroyed: Vec<String>,
    /// Keys that the source calls compromised.
    compromised: Vec<String>,
    proof: Proof,
}

/// Result of proving a keyring.
#[derive(Clone, Debug)]
struct Proof {
    encrypted_files: u64,
    /// Files that no keyring opens, because they are damaged where their key is.
    damaged: Vec<PathBuf>,
}

/// A plan, or the result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct MigrationReport {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The source, as messages name it.
    pub from: String,
    /// The target.
    pub to: String,
    /// The data directory.
    pub datadir: PathBuf,
    /// All keys of the source.
    pub keys: Vec<MigratedKey>,
    /// Encrypted files of the data directory, all of which the source opens and, once done, the target.
    pub encrypted_files: u64,
    /// Remarks.
    pub notes: Vec<String>,
    /// What the administrator must do next.
    pub next: Vec<Step>,
    /// Whether the target has every key and was proven.
    pub done: bool,
}

/// A key of the source.
#[derive(Clone, Debug, Serialize)]
pub struct MigratedKey {
    /// Name of the key.
    pub name: String,
    /// The account that owns it; `None` for the server's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Its state in the target.
    pub state: KeyState,
}

/// State of a key in the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyState {
    /// It would be added.
    Missing,
    /// It was there before.
    There,
    /// It was added.
    Added,
}

/// Reads both keyrings and proves that the source opens the data directory. Changes nothing.
///
/// # Errors
/// The reasons that prevent the migration.
pub fn plan(request: &MigrationRequest) -> Result<KeyringMigration, Error> {
    let datadir = request.datadir.clone();
    if !datadir.join(FIRST_SYSTEM).exists() {
        let reason = format!("has no {FIRST_SYSTEM}, so it is no data directory");
        return Err(Error::NoDatadir { path: datadir, reason });
    }
    let MigrationRequest { from, to, .. } = request;
    let from = KeyLocation::open(from, Some(&datadir)).map_err(of_store(from.display()))?;
    let to = KeyLocation::open_target(to, Some(&datadir)).map_err(of_store(to.display()))?;
    if from.is_same(&to) {
        return Err(Error::SameKeyring { keyring: to.to_string() });
    }
    let source = keys_of(&from)?;
    let keys = source.stored();
    if keys.is_empty() {
        return Err(Error::NoKeysToMigrate { keyring: from.to_string() });
    }
    let missing = missing(&keys, &to)?;
    // MySQL 5.7 has no dictionary and loads a plug-in.
    let new_file = if datadir.join(DICTIONARY).exists() { LoadedBy::Component } else { LoadedBy::Plugin };
    if !missing.is_empty() {
        to.can_add(&missing, new_file).map_err(of_store(&to))?;
        refuse_in_use(&to)?;
    }
    let proof = opened(&datadir, &from)?;
    let (target_is_new_file, other_secrets) = (to.is_new_file(), source.other_secrets().to_vec());
    let repeated = source.repeated().iter().map(ToString::to_string).collect();
    let destroyed = source.withdrawn().iter().map(ToString::to_string).collect();
    let compromised = source.compromised().iter().map(ToString::to_string).collect();
    Ok(KeyringMigration {
        datadir,
        from,
        to,
        keys,
        missing,
        new_file,
        target_is_new_file,
        other_secrets,
        repeated,
        destroyed,
        compromised,
        proof,
    })
}

impl KeyringMigration {
    /// Whether no key is missing in the target.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.missing.is_empty()
    }

    /// The plan as a report.
    #[must_use]
    pub fn report(&self) -> MigrationReport {
        self.report_of(&self.proof, KeyState::Missing, false)
    }

    /// Adds the missing keys, reads all of them again, and proves that the target alone opens the data directory.
    ///
    /// # Errors
    /// After an error, keys that were added remain; the same command completes the run.
    pub fn carry_out(self) -> Result<MigrationReport, Error> {
        if !self.is_complete() {
            // A server may have started since the plan was confirmed.
            refuse_in_use(&self.to)?;
            self.to.add(&self.missing, self.new_file).map_err(of_store(&self.to))?;
        }
        let lacking = missing(&self.keys, &self.to)?;
        if let Some(first) = lacking.first() {
            return Err(Error::KeyNotStored { keyring: self.to.to_string(), key: first.name.clone() });
        }
        let proof = opened(&self.datadir, &self.to)?;
        // A server that still uses the source may have made a key meanwhile.
        let new = missing(&keys_of(&self.from)?.stored(), &self.to)?;
        if let Some(first) = new.first() {
            return Err(Error::KeyMadeMeanwhile { keyring: self.from.to_string(), key: first.name.clone() });
        }
        // A server that started meanwhile has read the target without the new keys, and may overwrite the target
        // without them.
        if !self.is_complete() {
            refuse_in_use(&self.to)?;
        }
        Ok(self.report_of(&proof, KeyState::Added, true))
    }

    fn report_of(&self, proof: &Proof, state_of_missing: KeyState, done: bool) -> MigrationReport {
        let is_missing = |key: &StoredKey| self.missing.iter().any(|missing| missing.is_same(key));
        let keys = self.keys.iter().map(|key| MigratedKey {
            name: key.name.clone(),
            user: Some(key.user.clone()).filter(|user| !user.is_empty()),
            state: if is_missing(key) { state_of_missing } else { KeyState::There },
        });
        MigrationReport {
            schema: SCHEMA,
            from: self.from.to_string(),
            to: self.to.to_string(),
            datadir: self.datadir.clone(),
            keys: keys.collect(),
            encrypted_files: proof.encrypted_files,
            notes: self.notes(proof),
            next: configuration::steps(&self.from, &self.to, self.new_file, &self.datadir),
            done,
        }
    }

    fn notes(&self, proof: &Proof) -> Vec<String> {
        let (from, to) = (&self.from, &self.to);
        let mut notes = Vec::new();
        if self.target_is_new_file {
            let format = match self.new_file {
                LoadedBy::Component => "component_keyring_file",
                LoadedBy::Plugin => "the plug-in keyring_file",
            };
            notes.push(format!("{to} is a new keyring file, in the format of {format}"));
        }
        if proof.encrypted_files == 0 {
            notes.push(
                "no file of the data directory is encrypted: the keys are compared, but nothing is opened".into(),
            );
        }
        let damaged = proof.damaged.iter().map(|file| {
            format!(
                "{} is damaged where its key is, so no keyring opens it: `sealant verify` says more",
                file.display()
            )
        });
        notes.extend(damaged);
        let others = self.other_secrets.iter();
        notes
            .extend(others.map(|secret| format!("the secret {secret} beside the keys of {from} is no key, and stays")));
        notes.extend(self.repeated.iter().map(|key| format!("in {from}, {key}: it is copied once")));
        notes.extend(self.destroyed.iter().map(|key| format!("{key}, so it does not move")));
        notes.extend(self.compromised.iter().cloned());
        match in_use::server_with(from) {
            Ok(Some(pid)) => notes.push(format!(
                "the server with process id {pid} uses {from}: rotate no key until it uses {to}, or run this again \
                 after it has stopped"
            )),
            Ok(None) => {}
            Err(error) => notes.push(error.to_string()),
        }
        notes
    }
}

/// Fails if a running server uses the target, which would not see new keys and could write it without them.
fn refuse_in_use(to: &KeyLocation) -> Result<(), Error> {
    match in_use::server_with(to)? {
        Some(pid) => Err(Error::KeyringInUse { keyring: to.to_string(), pid }),
        None => Ok(()),
    }
}

/// Proves that the keyring opens all encrypted files.
fn opened(datadir: &Path, keyring: &KeyLocation) -> Result<Proof, Error> {
    let (KeyringProof { encrypted_files, .. }, damaged) =
        prove_and_list(datadir, &KeyStore::MySql(keyring.path().to_owned()))?;
    Ok(Proof { encrypted_files, damaged })
}

impl Display for KeyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "to add",
            Self::There => "there",
            Self::Added => "added",
        })
    }
}
