//! Keyring configuration of a data directory whose keys were rewrapped.
//!
//! A server reads `component_keyring_file.cnf` and the manifest `mysqld.my` in its data directory first, and does not
//! start without the keyring that they name, which is the sender's. So these files are rewritten for the keyring of the
//! receiver, and configurations of other keyring components are removed. If the keys are in a Vault, all configurations
//! are removed, because that of the Vault has a token: the administrator puts it into place. Settings of keyring
//! plug-ins that `SET PERSIST` has stored are removed from `mysqld-auto.cnf`.
//!
//! Source: docs/formats, "Key stores", confirmed on MySQL 9.7.

use keyring::{
    KeyringConfigFile, VAULT_COMPONENT, WritableKeyring, component, manifest_of_component, persisted_without_keyrings,
};

use super::staging::Staging;
use crate::{
    error::Error,
    hash::Hash,
    manifest::Manifest,
    wire::{Entry, Kind},
};

/// Maximum length of a configuration file; real files have some hundred bytes.
const MAX_BYTES: u64 = 64 << 10;
/// Maximum length of `mysqld-auto.cnf`, which has some hundred bytes for each persisted variable.
const MAX_PERSISTED_BYTES: u64 = 4 << 20;

/// Rewrites the configuration among the staged files and in the manifest. Returns whether the data
/// directory now names the receiver's keyring.
pub(crate) fn write_configuration(
    staging: &Staging,
    keyring: &WritableKeyring,
    written: &mut Manifest,
) -> Result<bool, Error> {
    let mut named = false;
    let mut others = Vec::new();
    for (number, (entry, hash)) in written.entries.iter_mut().enumerate() {
        let text = match names_keyring(entry) {
            None => continue,
            Some(kind) if is_removed(kind, keyring) => {
                staging.remove(&entry.path)?;
                others.push(number);
                continue;
            }
            Some(KeyringConfigFile::OtherConfiguration) => continue,
            Some(KeyringConfigFile::Configuration) => {
                named = true;
                Some(configuration(keyring)?)
            }
            Some(KeyringConfigFile::Persisted) => {
                persisted_without_keyrings(&staging.read(&entry.path, MAX_PERSISTED_BYTES)?)
            }
            Some(KeyringConfigFile::Manifest) => {
                let component = if keyring.is_in_vault() { VAULT_COMPONENT } else { component::NAME };
                manifest_of_component(component, &staging.read(&entry.path, MAX_BYTES)?)
            }
        };
        let Some(text) = text else { continue };
        staging.rewrite(&entry.path, text.as_bytes())?;
        entry.kind = Kind::File { bytes: text.len() as u64 };
        *hash = Some(Hash::compute(text.as_bytes()));
    }
    for number in others.into_iter().rev() {
        written.entries.remove(number);
    }
    Ok(named)
}

/// Whether a configuration of a keyring would lead a server to another keyring than this one.
fn is_removed(kind: KeyringConfigFile, keyring: &WritableKeyring) -> bool {
    match kind {
        KeyringConfigFile::OtherConfiguration => true,
        KeyringConfigFile::Configuration => keyring.is_in_vault(),
        KeyringConfigFile::Manifest | KeyringConfigFile::Persisted => false,
    }
}

/// Recognises configuration files in the root, where a server reads them.
fn names_keyring(entry: &Entry) -> Option<KeyringConfigFile> {
    let is_file = matches!(entry.kind, Kind::File { .. });
    let name = std::str::from_utf8(entry.path.as_bytes()).ok().filter(|_| is_file)?;
    KeyringConfigFile::from_name(name)
}

fn configuration(keyring: &WritableKeyring) -> Result<String, Error> {
    let unusable = |source: keyring::Error| Error::Keyring { path: keyring.path().to_owned(), source };
    let path = std::path::absolute(keyring.path()).map_err(|error| unusable(error.into()))?;
    let configuration = component::configuration(&path, component::Access::ReadWrite);
    configuration.ok_or_else(|| unusable(std::io::Error::from(std::io::ErrorKind::InvalidFilename).into()))
}
