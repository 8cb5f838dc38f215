//! `sealant keyring migrate`: copies all keys of a MySQL server from one keyring to another, between files and a Vault.
//!
//! The source must open the data directory. Keys are only added to the target; one that has the same name there must be
//! the same key. Afterwards every key is read from the target and compared, and the target alone must open the data
//! directory. The source is never changed, so that running the command again completes an interrupted run.

mod configuration;
mod in_use;

use std::{
    fmt::{self, Display},
    path::{Path, PathBuf},
};

use findings::Step;
use innodb::server_file::{DICTIONARY, FIRST_SYSTEM};
use keyring::{KeyLocation, LoadedBy, MysqlKeyring, StoredKey};
use serde::Serialize;

use crate::{Error, KeyStore, prove};

/// Name and version of the JSON document.
pub const SCHEMA: &str = "sealant.keyring-migrate/1";

/// Options of a migration.
#[derive(Clone, Debug)]
pub struct MigrationRequest {
    /// The keyring file, or the configuration of a component or plug-in, that has the keys.
    pub from: PathBuf,
    /// The same for the keyring that shall get them; a file may not exist yet.
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
    encrypted_files: u64,
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
    let open = |path: &PathBuf| KeyLocation::open(path, Some(&datadir)).map_err(of_store(path.display()));
    let (from, to) = (open(&request.from)?, open(&request.to)?);
    if from.is_same(&to) {
        return Err(Error::SameKeyring { keyring: to.to_string() });
    }
    let keys = whole(&from, from.keys())?.stored();
    if keys.is_empty() {
        return Err(Error::NoKeysToMigrate { keyring: from.to_string() });
    }
    let missing = missing(&keys, &to)?;
    if !missing.is_empty()
        && let Some(pid) = in_use::server_with(&to)
    {
        return Err(Error::KeyringInUse { keyring: to.to_string(), pid });
    }
    let encrypted_files = opened(&datadir, &from)?;
    // MySQL 5.7 has no dictionary and loads a plug-in.
    let new_file = if datadir.join(DICTIONARY).exists() { LoadedBy::Component } else { LoadedBy::Plugin };
    Ok(KeyringMigration { datadir, from, to, keys, missing, new_file, encrypted_files })
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
        self.report_of(KeyState::Missing, false)
    }

    /// Adds the missing keys, reads all of them again, and proves that the target alone opens the data directory.
    ///
    /// # Errors
    /// After an error, keys that were added remain; the same command completes the run.
    pub fn carry_out(self) -> Result<MigrationReport, Error> {
        if !self.is_complete() {
            self.to.add(&self.missing, self.new_file).map_err(of_store(&self.to))?;
        }
        let lacking = missing(&self.keys, &self.to)?;
        if let Some(first) = lacking.first() {
            return Err(Error::KeyNotStored { keyring: self.to.to_string(), key: first.name.clone() });
        }
        opened(&self.datadir, &self.to)?;
        // A server that still uses the source may have made a key meanwhile.
        let new = missing(&whole(&self.from, self.from.keys())?.stored(), &self.to)?;
        if let Some(first) = new.first() {
            return Err(Error::KeyMadeMeanwhile { keyring: self.from.to_string(), key: first.name.clone() });
        }
        Ok(self.report_of(KeyState::Added, true))
    }

    fn report_of(&self, state_of_missing: KeyState, done: bool) -> MigrationReport {
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
            encrypted_files: self.encrypted_files,
            notes: self.notes(),
            next: configuration::steps(&self.from, &self.to, self.new_file, &self.datadir),
            done,
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.encrypted_files == 0 {
            notes
                .push("no file of the data directory is encrypted, so the keys are compared, but opens nothing".into());
        }
        if let Some(pid) = in_use::server_with(&self.from) {
            notes.push(format!(
                "the server with process id {pid} uses {}: rotate no key until it uses {}, or run this again after it \
                 has stopped",
                self.from, self.to
            ));
        }
        notes
    }
}

/// The keys of the source that the target lacks. A key of the same name that is another one is an error.
fn missing(keys: &[StoredKey], to: &KeyLocation) -> Result<Vec<StoredKey>, Error> {
    let there = whole(to, to.keys_so_far())?;
    if let Some(withdrawn) = there.withdrawn().iter().find(|gone| keys.iter().any(|key| key.name == gone.name)) {
        return Err(Error::KeyWithdrawn { keyring: to.to_string(), reason: withdrawn.to_string() });
    }
    let there = there.stored();
    let named = |key: &StoredKey| there.iter().find(|other| (&other.name, &other.user) == (&key.name, &key.user));
    let other: Vec<String> = keys
        .iter()
        .filter(|key| named(key).is_some_and(|found| !found.is_same(key)))
        .map(|key| key.name.clone())
        .collect();
    if !other.is_empty() {
        return Err(Error::OtherKeys { keyring: to.to_string(), keys: other });
    }
    Ok(keys.iter().filter(|key| named(key).is_none()).cloned().collect())
}

/// A keyring of which no entry is damaged: one that is would be lost in silence.
fn whole(location: &KeyLocation, keys: Result<MysqlKeyring, keyring::Error>) -> Result<MysqlKeyring, Error> {
    let keys = keys.map_err(of_store(location))?;
    match keys.damage().len() {
        0 => Ok(keys),
        entries => Err(Error::KeyringDamaged { keyring: location.to_string(), entries }),
    }
}

/// Number of encrypted files, all of which the keyring opens.
fn opened(datadir: &Path, keyring: &KeyLocation) -> Result<u64, Error> {
    prove(datadir, &KeyStore::MySql(keyring.path().to_owned())).map(|opened| opened.encrypted_files)
}

fn of_store<'a>(keyring: impl Display + 'a) -> impl Fn(keyring::Error) -> Error + 'a {
    move |source| Error::KeyLocation { keyring: keyring.to_string(), source }
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
