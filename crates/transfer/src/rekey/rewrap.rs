//! Wraps keys with master keys that were added to another keyring.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use innodb::file_suffix;
use innodb::{
    crypt::wrapped::{Secret, rewrap},
    keys::MasterKey,
    server_file::DICTIONARY,
};
use keyring::{AddedKey, LoadedBy, Purpose, WritableKeyring};
use zeroize::Zeroizing;

use crate::{error::Error, wire::Entry};

/// Result of rewrapping keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rekeyed {
    /// Number of files.
    pub files: usize,
    /// Names of the master keys.
    pub master_keys: Vec<String>,
    /// Path of the keyring with these keys, or of the configuration of their Vault.
    pub keyring: PathBuf,
    /// Whether the keys are in a Vault.
    pub is_in_vault: bool,
    /// The plug-in or component with which the server loads the keyring.
    pub loaded_by: LoadedBy,
    /// Whether a configuration in the data directory names the keyring.
    pub is_named: bool,
    /// Names of master keys in the keyring that interrupted attempts have added. No file of the directory needs them.
    pub unused: Vec<String>,
}

/// Summary in one sentence.
impl fmt::Display for Rekeyed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.files {
            0 => f.write_str("no file holds a wrapped key; nothing was re-wrapped"),
            files => write!(f, "the keys of {files} files are now wrapped by {}", self.master_keys.join(" and ")),
        }
    }
}

impl Rekeyed {
    /// What interrupted attempts have left in the keyring.
    #[must_use]
    pub fn about_unused(&self) -> Option<String> {
        let keyring = self.keyring.display();
        let place = if self.is_in_vault { format!("the Vault of {keyring}") } else { keyring.to_string() };
        let names = || self.unused.join(" and ");
        (!self.unused.is_empty()).then(|| {
            format!(
                "{place} also has {}, which an interrupted attempt has added; no file here needs it: it can be removed",
                names()
            )
        })
    }

    /// How to start a server on the directory.
    #[must_use]
    pub fn how_to_start(&self) -> String {
        let keyring = self.keyring.display();
        if self.is_in_vault {
            return format!(
                "start the server with the keyring that reads the Vault, and {keyring} as its configuration"
            );
        }
        if self.loaded_by == LoadedBy::Plugin {
            return format!("start MySQL 5.7 with early-plugin-load=keyring_file.so and keyring_file_data={keyring}");
        }
        if self.is_named {
            return format!(
                "component_keyring_file.cnf in the data directory names {keyring} now: start the server as it is"
            );
        }
        format!(
            "start the server with component_keyring_file, and \"path\": \"{keyring}\" in its \
             component_keyring_file.cnf"
        )
    }
}

/// New master keys, one for each purpose that is needed.
#[derive(Debug)]
pub(crate) struct MasterKeys {
    innodb: Option<MasterKey>,
    replication: Option<MasterKey>,
    names: Vec<String>,
    loaded_by: LoadedBy,
    /// Those that earlier attempts have added, by name.
    unused: Vec<String>,
}

impl MasterKeys {
    /// Generates the master keys for these kinds of secrets, and adds them to a keyring. `record` gets the name of each
    /// when it is there; `earlier` are the names of those that interrupted attempts have added to it or to another.
    pub(crate) fn add<'s>(
        keyring: &WritableKeyring,
        secrets: impl Iterator<Item = &'s Secret>,
        entries: &[Entry],
        record: &dyn Fn(&str) -> Result<(), Error>,
        earlier: Vec<String>,
    ) -> Result<Self, Error> {
        let unusable = |source| Error::Keyring { path: keyring.path().to_owned(), source };
        let unused = keyring.those_it_has(earlier).map_err(unusable)?;
        let (mut names, loaded_by) = (Vec::new(), loaded_by(entries));
        let (mut spaces, mut passwords) = (false, false);
        for secret in secrets {
            match secret {
                Secret::Space(_) => spaces = true,
                Secret::Password(_) => passwords = true,
            }
        }
        let mut master = |purpose| {
            let (name, key) = add(keyring, purpose, loaded_by)?;
            record(&name)?;
            names.push(name);
            Ok::<_, Error>(key)
        };
        let innodb = spaces.then(|| master(Purpose::Innodb)).transpose()?;
        let replication = passwords.then(|| master(Purpose::Replication)).transpose()?;
        Ok(Self { innodb, replication, names, loaded_by, unused })
    }

    /// Rewraps the key in `head`, the first bytes of a file.
    pub(crate) fn rewrap(&self, secret: &Secret, head: &mut [u8], path: impl Fn() -> PathBuf) -> Result<(), Error> {
        let master = match secret {
            Secret::Space(_) => self.innodb.as_ref(),
            Secret::Password(_) => self.replication.as_ref(),
        };
        let master = master.ok_or(Error::Stopped)?;
        let mut iv = [0; 16];
        SystemRandom::new().fill(&mut iv).map_err(|_| Error::Randomness)?;
        rewrap(head, secret, master, iv).map_err(|fault| Error::Rekey { path: path(), reason: fault.to_string() })
    }

    /// The result for this number of files.
    pub(crate) fn summary(&self, files: usize, keyring: &WritableKeyring, is_named: bool) -> Rekeyed {
        let (master_keys, is_in_vault) = (self.names.clone(), keyring.is_in_vault());
        let (loaded_by, keyring) = (self.loaded_by, keyring.path().to_owned());
        Rekeyed { files, master_keys, keyring, is_in_vault, loaded_by, is_named, unused: self.unused.clone() }
    }
}

/// Opens the keyring that gets new master keys.
///
/// # Errors
/// [`Error::Keyring`].
pub fn open_keyring(path: &Path) -> Result<WritableKeyring, Error> {
    WritableKeyring::open(path).map_err(|source| Error::Keyring { path: path.to_owned(), source })
}

/// Checks that the keyring is outside of the target, where a received file could replace it.
///
/// # Errors
/// [`Error::KeyringInside`].
pub fn check_location(target_keyring: &WritableKeyring, into: &Path) -> Result<(), Error> {
    let absolute = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
    let name = target_keyring.path().file_name().unwrap_or_default();
    match (absolute(target_keyring.directory()), absolute(into)) {
        (Ok(parent), Ok(into)) if !parent.join(name).starts_with(&into) => Ok(()),
        _ => Err(Error::KeyringInside { path: target_keyring.path().to_owned() }),
    }
}

/// Checks that the keyring has keys of these names.
pub(crate) fn check_names(
    target_keyring: &WritableKeyring,
    names: &[String],
    missing: impl Fn() -> Error,
) -> Result<(), Error> {
    let found = target_keyring.those_it_has(names.to_vec());
    let found = found.map_err(|source| Error::Keyring { path: target_keyring.path().to_owned(), source })?;
    if found.len() == names.len() { Ok(()) } else { Err(missing()) }
}

/// MySQL 5.7 stores each table's definition in a file next to it, newer versions in `mysql.ibd`.
fn loaded_by(entries: &[Entry]) -> LoadedBy {
    let has_dictionary = entries.iter().any(|entry| entry.path.as_bytes() == DICTIONARY.as_bytes());
    let has_definitions =
        || entries.iter().any(|entry| file_suffix::has(entry.path.as_path(), file_suffix::DEFINITION));
    if !has_dictionary && has_definitions() { LoadedBy::Plugin } else { LoadedBy::Component }
}

/// Adds a master key to the keyring. Returns its name and the key.
fn add(target_keyring: &WritableKeyring, purpose: Purpose, loaded_by: LoadedBy) -> Result<(String, MasterKey), Error> {
    let unusable = |source: keyring::Error| Error::Keyring { path: target_keyring.path().to_owned(), source };
    let AddedKey { name, server_uuid, number, key } = target_keyring.add(purpose, loaded_by).map_err(unusable)?;
    let key: &[u8; 32] = key.as_bytes().try_into().map_err(|_| unusable(keyring::Error::Cipher))?;
    Ok((name, MasterKey { server_uuid, number, key: Zeroizing::new(*key) }))
}
