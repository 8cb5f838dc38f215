//! The keys in the stores that the user named.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use innodb::{KeyVersion, MasterKeyId, keys::KeySource};
use keyring::{CompromisedKey, Damage, KeyName, LostKeys, MariaDbKeys, MysqlKeyring, RepeatedKey, WithdrawnKey};
use zeroize::Zeroizing;

use crate::Error;

/// Keys in memory. `Debug` shows no key bytes.
#[derive(Debug, Default)]
pub struct Keys {
    mysql: Vec<MysqlKeyring>,
    unwrapped: UnwrappedKeys,
    mariadb: Vec<MariaDbKeys>,
}

/// Keys of files that need no master key. The map's key is the form in which a file stores the key, wrapped.
#[derive(Default)]
struct UnwrappedKeys(BTreeMap<Vec<u8>, Zeroizing<Vec<u8>>>);

impl fmt::Debug for UnwrappedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} keys", self.0.len())
    }
}

/// Paths of key stores.
#[derive(Clone, Debug, Default)]
pub struct KeyStores {
    /// Keyring files of MySQL.
    pub keyrings: Vec<PathBuf>,
    /// Configuration of `component_keyring_file`, which names the keyring file.
    pub keyring_config: Option<PathBuf>,
    /// Key files of MariaDB.
    pub key_files: Vec<PathBuf>,
    /// File with the password of the key files, if they are encrypted.
    pub password_file: Option<PathBuf>,
}

/// A problem of key stores that does not prevent the use of their other keys.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyWarning {
    /// A store has entries that are unusable.
    DamagedEntries {
        /// Path of the store, as given.
        path: PathBuf,
        /// Number of unusable entries.
        entries: usize,
        /// Names of these keys, as far as they have one.
        names: Vec<String>,
    },
    /// A MySQL keyring has several keys under one name.
    Repeated {
        /// Path of the store, as given.
        path: PathBuf,
        /// The name.
        key: RepeatedKey,
    },
    /// A key file of MariaDB has several keys of one number.
    RepeatedNumber {
        /// Path of the store, as given.
        path: PathBuf,
        /// The number.
        id: String,
    },
    /// MariaDB's keys lack key 1.
    NoSystemKey {
        /// Path of the store, as given.
        path: PathBuf,
    },
    /// A service no longer has this key.
    Withdrawn(WithdrawnKey),
    /// A service calls this key compromised.
    Compromised(CompromisedKey),
    /// The keys may be swapped to disk.
    NotLocked,
}

impl fmt::Display for KeyWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DamagedEntries { path, entries, names } => {
                write!(f, "{}: {entries} of its entries cannot be used", path.display())?;
                if names.is_empty() {
                    return f.write_str("; `sealant audit` names them");
                }
                let listed: Vec<String> = names.iter().map(|name| name.escape_debug().to_string()).collect();
                write!(f, ": {}", listed.join(", "))?;
                if names.len() < *entries { f.write_str("; `sealant audit` names the others") } else { Ok(()) }
            }
            Self::Repeated { path, key } => write!(f, "{}: {key}", path.display()),
            Self::RepeatedNumber { path, id } => {
                write!(f, "{}: key {id} is there more than once; the last one counts", path.display())
            }
            Self::NoSystemKey { path } => {
                write!(f, "{}: key 1, without which MariaDB does not start, is not there", path.display())
            }
            Self::Withdrawn(key) => key.fmt(f),
            Self::Compromised(key) => key.fmt(f),
            Self::NotLocked => {
                f.write_str("keys could not be locked in memory and may reach the swap; raise `ulimit -l`")
            }
        }
    }
}

impl KeyStores {
    /// Whether any store is given.
    #[must_use]
    pub fn any(&self) -> bool {
        !self.keyrings.is_empty() || self.keyring_config.is_some() || !self.key_files.is_empty()
    }

    /// Files that contain keys, their location, or their password.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        let lists = [&self.keyrings, &self.key_files].into_iter().flatten();
        lists.chain(&self.keyring_config).chain(&self.password_file).cloned().collect()
    }

    /// The MySQL keyring file: the first one given, or the one in the configuration.
    ///
    /// # Errors
    /// The configuration cannot be read, or refers to a data directory.
    pub fn keyring_file(&self) -> Result<Option<PathBuf>, Error> {
        match (self.keyrings.first(), &self.keyring_config) {
            (Some(keyring), _) => Ok(Some(keyring.clone())),
            (None, Some(config)) => keyring::keyring_path(config, None).map(Some).map_err(Error::key_store(config)),
            (None, None) => Ok(None),
        }
    }

    /// Reads every store. `datadir` is as in [`add_keyring_config`](Keys::add_keyring_config).
    ///
    /// # Errors
    /// As [`Keys::add_keyring`].
    pub fn read(&self, datadir: Option<&Path>) -> Result<(Keys, Vec<KeyWarning>), Error> {
        let (mut keys, mut warnings) = (Keys::default(), Vec::new());
        for path in &self.keyrings {
            keys.add_keyring(path)?;
            warnings.extend(keys.mysql.last().into_iter().flat_map(|keyring| of_keyring(path, keyring)));
        }
        if let Some(path) = &self.keyring_config {
            keys.add_keyring_config(path, datadir)?;
            warnings.extend(keys.mysql.last().into_iter().flat_map(|keyring| of_keyring(path, keyring)));
        }
        for path in &self.key_files {
            keys.add_key_file(path, self.password_file.as_deref())?;
            warnings.extend(keys.mariadb.last().into_iter().flat_map(|keys| of_key_file(path, keys)));
        }
        warnings.extend(keys.withdrawn().cloned().map(KeyWarning::Withdrawn));
        warnings.extend(keys.compromised().cloned().map(KeyWarning::Compromised));
        if keys.locked() == Some(false) {
            warnings.push(KeyWarning::NotLocked);
        }
        Ok((keys, warnings))
    }
}

/// What is wrong with single keys of a MySQL keyring.
fn of_keyring(path: &Path, keyring: &MysqlKeyring) -> Vec<KeyWarning> {
    let repeated =
        keyring.repeated().iter().map(|key| KeyWarning::Repeated { path: path.to_owned(), key: key.clone() });
    damaged(path, keyring.unusable_entries(), keyring.unusable()).into_iter().chain(repeated).collect()
}

/// What is wrong with single keys of MariaDB.
fn of_key_file(path: &Path, keys: &MariaDbKeys) -> Vec<KeyWarning> {
    let path = || path.to_owned();
    let others = keys.damage().iter().filter_map(|damage| match damage {
        Damage::Duplicate { id } => Some(KeyWarning::RepeatedNumber { path: path(), id: id.clone() }),
        Damage::NoSystemKey => Some(KeyWarning::NoSystemKey { path: path() }),
        _ => None,
    });
    damaged(&path(), keys.unusable().len(), keys.unusable()).into_iter().chain(others).collect()
}

fn damaged(path: &Path, entries: usize, names: &[String]) -> Option<KeyWarning> {
    let warning = || KeyWarning::DamagedEntries { path: path.to_owned(), entries, names: names.to_vec() };
    (entries > 0).then(warning)
}

impl Keys {
    /// Loads a MySQL keyring file of any kind that contains the keys themselves. Returns the damage to single keys.
    ///
    /// # Errors
    /// [`Error`] names the file and the reason.
    pub fn add_keyring(&mut self, path: &Path) -> Result<Vec<Damage>, Error> {
        let bytes = keyring::read_file(path).map_err(Error::key_store(path))?;
        self.add_keyring_bytes(&bytes, path)
    }

    /// Like [`add_keyring`](Self::add_keyring), from bytes in memory, so that exactly these bytes are proven. `path` is
    /// their origin; the caller wipes them.
    ///
    /// # Errors
    /// As [`add_keyring`](Self::add_keyring).
    pub fn add_keyring_bytes(&mut self, bytes: &[u8], path: &Path) -> Result<Vec<Damage>, Error> {
        let keyring = MysqlKeyring::open(bytes).map_err(Error::key_store(path))?;
        let damage = keyring.damage().to_vec();
        self.mysql.push(keyring);
        Ok(damage)
    }

    /// Loads the keyring file that a component's configuration names. With `read_local_config` the server reads the
    /// configuration in `datadir`.
    ///
    /// # Errors
    /// As [`add_keyring`](Self::add_keyring).
    pub fn add_keyring_config(&mut self, path: &Path, datadir: Option<&Path>) -> Result<Vec<Damage>, Error> {
        let keyring = keyring::keyring_path(path, datadir).map_err(Error::key_store(path))?;
        self.add_keyring(&keyring)
    }

    /// Loads a MariaDB key file; `password_file` has the password of an encrypted one.
    ///
    /// # Errors
    /// As [`add_keyring`](Self::add_keyring).
    pub fn add_key_file(&mut self, path: &Path, password_file: Option<&Path>) -> Result<Vec<Damage>, Error> {
        let password = match password_file {
            Some(path) => Some(keyring::read_file(path).map_err(Error::key_store(path))?),
            None => None,
        };
        let bytes = keyring::read_file(path).map_err(Error::key_store(path))?;
        self.add_key_file_bytes(&bytes, password.as_ref().map(|password| password.as_slice()), path)
    }

    /// Like [`add_key_file`](Self::add_key_file), from bytes in memory. `path` is the origin of the key file; the
    /// caller wipes the bytes.
    ///
    /// # Errors
    /// As [`add_keyring`](Self::add_keyring).
    pub fn add_key_file_bytes(
        &mut self,
        bytes: &[u8],
        password: Option<&[u8]>,
        path: &Path,
    ) -> Result<Vec<Damage>, Error> {
        let keys = MariaDbKeys::open(bytes, password).map_err(Error::key_store(path))?;
        let damage = keys.damage().to_vec();
        self.mariadb.push(keys);
        Ok(damage)
    }

    /// Adds the key of a file, which stores it as the bytes `wrapped`.
    pub fn add_unwrapped(&mut self, wrapped: Vec<u8>, key: Zeroizing<Vec<u8>>) {
        self.unwrapped.0.insert(wrapped, key);
    }

    /// Keys that a service no longer has.
    pub fn withdrawn(&self) -> impl Iterator<Item = &WithdrawnKey> {
        self.mysql.iter().flat_map(MysqlKeyring::withdrawn).chain(self.mariadb.iter().flat_map(MariaDbKeys::withdrawn))
    }

    /// Keys that the stores name, but do not give.
    #[must_use]
    pub fn lost(&self) -> LostKeys {
        let of_mysql = self.mysql.iter().map(MysqlKeyring::lost);
        of_mysql.chain(self.mariadb.iter().map(MariaDbKeys::lost)).fold(LostKeys::default(), LostKeys::and)
    }

    /// Keys that a service calls compromised.
    pub fn compromised(&self) -> impl Iterator<Item = &CompromisedKey> {
        self.mysql.iter().flat_map(MysqlKeyring::compromised)
    }

    /// Whether all keys are locked against swapping; `None` without keys.
    #[must_use]
    pub fn locked(&self) -> Option<bool> {
        let any = !self.mysql.is_empty() || !self.mariadb.is_empty();
        any.then(|| self.mysql.iter().all(MysqlKeyring::locked) && self.mariadb.iter().all(MariaDbKeys::locked))
    }
}

impl From<MysqlKeyring> for Keys {
    fn from(keyring: MysqlKeyring) -> Self {
        Self { mysql: vec![keyring], ..Self::default() }
    }
}

impl From<MariaDbKeys> for Keys {
    fn from(keys: MariaDbKeys) -> Self {
        Self { mariadb: vec![keys], ..Self::default() }
    }
}

impl KeySource for Keys {
    fn mysql(&self, name: &str) -> Option<Zeroizing<[u8; 32]>> {
        self.mysql.iter().find_map(|keyring| fixed(keyring.get(name)?.as_bytes()))
    }

    fn mysql_of_any_length(&self, name: &str) -> Option<Zeroizing<Vec<u8>>> {
        let key = self.mysql.iter().find_map(|keyring| keyring.get(name))?;
        Some(Zeroizing::new(key.as_bytes().to_vec()))
    }

    fn mysql_numbered(&self, wanted: MasterKeyId) -> Vec<Zeroizing<[u8; 32]>> {
        let keys = self.mysql.iter().flat_map(MysqlKeyring::iter);
        keys.filter(
            |(name, _)| matches!(KeyName::parse(name), KeyName::InnodbMaster { number, .. } if number == wanted.0),
        )
        .filter_map(|(_, key)| fixed(key.as_bytes()))
        .collect()
    }

    fn mariadb(&self, id: u32, version: KeyVersion) -> Option<Zeroizing<Vec<u8>>> {
        let key = self.mariadb.iter().find_map(|keys| keys.get(id, version.0))?;
        Some(Zeroizing::new(key.as_bytes().to_vec()))
    }

    fn unwrapped(&self, wrapped: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        self.unwrapped.0.get(wrapped).cloned()
    }

    fn has_mysql(&self) -> bool {
        !self.mysql.is_empty() || !self.unwrapped.0.is_empty()
    }

    fn has_mariadb(&self) -> bool {
        !self.mariadb.is_empty()
    }
}

fn fixed(key: &[u8]) -> Option<Zeroizing<[u8; 32]>> {
    key.try_into().ok().map(Zeroizing::new)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_file_of_a_store_is_listed_and_none_is_needed() {
        let none = KeyStores::default();
        assert!(!none.any() && none.files().is_empty() && none.read(None).unwrap().1.is_empty());
        let stores = KeyStores {
            key_files: vec![PathBuf::from("keys.enc")],
            password_file: Some(PathBuf::from("pw")),
            ..KeyStores::default()
        };
        assert!(stores.any());
        assert_eq!(stores.files(), [PathBuf::from("keys.enc"), PathBuf::from("pw")]);
    }

    #[test]
    fn warnings_say_which_keys_are_missing_and_what_to_do() {
        let damaged = |names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            KeyWarning::DamagedEntries { path: PathBuf::from("/k/keyring"), entries: 2, names }.to_string()
        };
        assert_eq!(damaged(&[]), "/k/keyring: 2 of its entries cannot be used; `sealant audit` names them");
        assert_eq!(damaged(&["a", "b"]), "/k/keyring: 2 of its entries cannot be used: a, b");
        assert!(KeyWarning::NotLocked.to_string().ends_with("may reach the swap; raise `ulimit -l`"));
    }

    #[test]
    fn repeated_keys_are_not_called_unusable() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let element = |byte: &str| {
            let data = byte.repeat(32);
            format!(r#"{{"user":"","data_id":"k","data_type":"AES","data":"{data}","extension":[]}}"#)
        };
        let said = |elements: &[String]| {
            fs::write(at("keyring"), format!(r#"{{"version":"1.0","elements":[{}]}}"#, elements.join(","))).unwrap();
            let stores = KeyStores { keyrings: vec![at("keyring")], ..KeyStores::default() };
            let warnings = stores.read(None).unwrap().1;
            let known = warnings.iter().filter(|warning| **warning != KeyWarning::NotLocked);
            known.map(ToString::to_string).collect::<Vec<_>>()
        };
        let same = said(&[element("aa"), element("aa")]).concat();
        assert!(same.ends_with("keyring: k is there more than once, as the same key"), "{same}");
        let other = said(&[element("aa"), element("bb")]).concat();
        assert!(other.ends_with("there are different keys of the name k, of which the first is used"), "{other}");
        fs::write(at("keys"), format!("2;{0}\n2;{0}\n", "5a".repeat(16))).unwrap();
        let stores = KeyStores { key_files: vec![at("keys")], ..KeyStores::default() };
        let warnings = stores.read(None).unwrap().1;
        assert!(warnings.contains(&KeyWarning::RepeatedNumber { path: at("keys"), id: "2".to_owned() }));
        assert!(warnings.contains(&KeyWarning::NoSystemKey { path: at("keys") }), "{warnings:?}");
    }

    #[test]
    fn a_missing_store_is_reported() {
        let stores = KeyStores { keyrings: vec![PathBuf::from("/no/such/keyring")], ..KeyStores::default() };
        assert!(stores.read(None).unwrap_err().to_string().starts_with("/no/such/keyring: "));
    }
}
