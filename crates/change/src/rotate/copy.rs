//! A keyring, read once into memory: the bytes that are proven are those that are backed up.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    thread::sleep,
};

use keyring::{KeyName, LostKeys, MariaDbKeys, MysqlKeyring};
use register::{Fingerprints, fingerprint, mariadb_name};
use verify::Keys;
use zeroize::Zeroizing;

use super::Error;
use crate::KeyStore;

/// How often a keyring is read again: the server may be writing it.
const REREADS: usize = 4;

/// Bytes of a keyring or key file, wiped on drop, and its parsed keys.
pub(crate) struct KeyringCopy {
    path: PathBuf,
    bytes: Zeroizing<Vec<u8>>,
    parsed: ParsedKeys,
}

/// The parsed keys of a server.
pub(crate) enum ParsedKeys {
    MySql(MysqlKeyring),
    /// A key file, with the content of its password file if there is one.
    MariaDb(MariaDbKeys, Option<Password>),
}

/// Content of a password file.
pub(crate) struct Password {
    pub(crate) bytes: Zeroizing<Vec<u8>>,
}

/// Kind of a server's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyKind {
    /// Master key of tablespaces and the redo log.
    Master,
    /// Master key of binary and relay logs.
    BinaryLog,
}

impl ParsedKeys {
    /// Reads the file as [`KeyringCopy::read`] does; or fetches the keys from the service that it names.
    pub(crate) fn open(store: &KeyStore) -> Result<Self, Error> {
        if !store.names_service() {
            return KeyringCopy::read(store).map(|copy| copy.parsed);
        }
        let path = store.path();
        let failed = |source| Error::KeyService { path: path.to_owned(), source };
        let bytes = keyring::read_file(path).map_err(failed)?;
        match store {
            KeyStore::MySql(_) => MysqlKeyring::open(&bytes).map(Self::MySql),
            KeyStore::MariaDb { .. } => MariaDbKeys::open(&bytes, None).map(|keys| Self::MariaDb(keys, None)),
        }
        .map_err(failed)
    }

    /// Names of the server's own keys.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        match self {
            Self::MySql(keyring) => keyring.names().map(str::to_owned).collect(),
            Self::MariaDb(keys, _) => keys.ids().map(|(id, version)| mariadb_name(id, version)).collect(),
        }
    }

    /// Fingerprints of the server's own keys.
    pub(crate) fn fingerprints(&self) -> Fingerprints {
        match self {
            Self::MySql(keyring) => fingerprint::of_keyring(keyring),
            Self::MariaDb(keys, _) => fingerprint::of_key_file(keys),
        }
    }

    /// Converts the keys for opening files; no other keys are included.
    pub(crate) fn into_keys(self) -> Keys {
        match self {
            Self::MySql(keyring) => Keys::from(keyring),
            Self::MariaDb(keys, _) => Keys::from(keys),
        }
    }
}

impl KeyringCopy {
    /// Reads the file, repeatedly if it is incomplete; or fetches the keys from the service that it names.
    pub(crate) fn read(store: &KeyStore) -> Result<Self, Error> {
        if store.names_service() {
            return Self::read_once(store).map_err(|(path, source)| Error::KeyService { path, source });
        }
        let mut pauses = files::reread_pauses(REREADS);
        loop {
            let (path, source) = match Self::read_once(store) {
                Ok(copy) => return Ok(copy),
                Err(failed) => failed,
            };
            match pauses.next() {
                Some(pause) if !is_final(&source) => sleep(pause),
                _ => return Err(Error::KeyringFile { path, source }),
            }
        }
    }

    fn read_once(store: &KeyStore) -> Result<Self, (PathBuf, keyring::Error)> {
        let read = |path: &Path| keyring::read_file(path).map_err(|error| (path.to_owned(), error));
        if store.names_service() {
            let path = store.path();
            return Self::fetch(store, &read(path)?).map_err(|error| (path.to_owned(), error));
        }
        match store {
            KeyStore::MySql(path) => Self::from_mysql(path, read(path)?).map_err(|error| (path.clone(), error)),
            KeyStore::MariaDb { file, password } => {
                let password = match password {
                    Some(path) => Some(Password { bytes: read(path)? }),
                    None => None,
                };
                let bytes = read(file)?;
                let secret = password.as_ref().map(|password| password.bytes.as_slice());
                let keys = MariaDbKeys::load(&bytes, secret).map_err(|error| (file.clone(), error))?;
                Ok(Self { path: file.clone(), bytes, parsed: ParsedKeys::MariaDb(keys, password) })
            }
        }
    }

    /// Fetches the keys from the service that a configuration names. The bytes are those of a file with the same keys.
    fn fetch(store: &KeyStore, configuration: &[u8]) -> Result<Self, keyring::Error> {
        let path = store.path();
        match store {
            KeyStore::MySql(_) => {
                let keyring = MysqlKeyring::open(configuration)?.whole()?;
                let copy = Self::from_mysql(path, keyring.as_component_file()?)?;
                Ok(Self { parsed: ParsedKeys::MySql(keyring), ..copy })
            }
            KeyStore::MariaDb { .. } => {
                let keys = MariaDbKeys::open(configuration, None)?.whole()?;
                let bytes = keys.as_key_file();
                Ok(Self { path: path.to_owned(), bytes, parsed: ParsedKeys::MariaDb(keys, None) })
            }
        }
    }

    fn from_mysql(path: &Path, bytes: Zeroizing<Vec<u8>>) -> Result<Self, keyring::Error> {
        // The server accepts an empty file as a keyring without keys; here it is a truncated file.
        if bytes.is_empty() {
            return Err(keyring::Error::Empty);
        }
        let keyring = MysqlKeyring::load(&bytes)?;
        Ok(Self { path: path.to_owned(), bytes, parsed: ParsedKeys::MySql(keyring) })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The password of an encrypted key file.
    pub(crate) fn password(&self) -> Option<&Password> {
        match &self.parsed {
            ParsedKeys::MariaDb(_, password) => password.as_ref(),
            ParsedKeys::MySql(_) => None,
        }
    }

    /// Whether both copies are identical, byte for byte.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let secret = |copy: &Self| copy.password().map(|password| password.bytes.clone());
        self.bytes == other.bytes && secret(self) == secret(other)
    }

    /// The keys, for opening files; no other keys are included.
    pub(crate) fn keys(&self) -> Result<Keys, Error> {
        let mut keys = Keys::default();
        let added = match &self.parsed {
            ParsedKeys::MySql(_) => keys.add_keyring_bytes(&self.bytes, &self.path),
            ParsedKeys::MariaDb(_, password) => {
                let password = password.as_ref().map(|password| password.bytes.as_slice());
                keys.add_key_file_bytes(&self.bytes, password, &self.path)
            }
        };
        added?;
        Ok(keys)
    }

    /// Names of the server's own keys.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        self.parsed.names()
    }

    /// Fails if a name has different keys, of which a rotation would prove one. A fetched keyring has none.
    pub(crate) fn refuse_several(&self) -> Result<(), Error> {
        let ParsedKeys::MySql(keyring) = &self.parsed else { return Ok(()) };
        let refused = |source| Error::SeveralKeys { path: self.path.clone(), source };
        keyring.refuse_several().map_err(refused)
    }

    /// Fingerprints of the server's own keys.
    pub(crate) fn fingerprints(&self) -> Fingerprints {
        self.parsed.fingerprints()
    }

    /// The error for a key that the running server has, but this copy of its store does not.
    pub(crate) fn behind(&self, key: &str, store: &KeyStore) -> Error {
        let (is_in_service, lost) = (store.names_service(), self.lost());
        Error::KeyringBehind { path: self.path.clone(), key: key.to_owned(), is_in_service, lost }
    }

    /// Keys that the store names, but does not give.
    pub(crate) fn lost(&self) -> LostKeys {
        match &self.parsed {
            ParsedKeys::MySql(keyring) => keyring.lost(),
            ParsedKeys::MariaDb(keys, _) => keys.lost(),
        }
    }

    /// Keys that the service calls compromised, as messages name them.
    pub(crate) fn compromised(&self) -> Vec<String> {
        match &self.parsed {
            ParsedKeys::MySql(keyring) => keyring.compromised().iter().map(ToString::to_string).collect(),
            ParsedKeys::MariaDb(..) => Vec::new(),
        }
    }

    /// As [`Self::compromised`], after a rotation: a key that is not among the `used` needs no advice.
    pub(crate) fn still_compromised(&self, used: &BTreeSet<String>) -> Vec<String> {
        let ParsedKeys::MySql(keyring) = &self.parsed else { return Vec::new() };
        let says = |key: &keyring::CompromisedKey| match used.contains(&key.name) {
            true => key.to_string(),
            false => format!(
                "the KMIP service calls {} compromised; no file of this server uses it any more, but older backups may",
                key.name.escape_debug()
            ),
        };
        keyring.compromised().iter().map(says).collect()
    }

    /// The newest version of a MariaDB key.
    pub(crate) fn newest_version(&self, key_id: u32) -> Option<u32> {
        let ParsedKeys::MariaDb(keys, _) = &self.parsed else { return None };
        keys.newest_version(key_id)
    }

    /// The error for a MariaDB key without any version: there never was one, or the service has withdrawn all.
    pub(crate) fn lacks(&self, key_id: u32) -> Error {
        let path = self.path.clone();
        let ParsedKeys::MariaDb(keys, _) = &self.parsed else { return Error::NoSuchKey { path, key_id } };
        match keys.newest_withdrawn(key_id) {
            Some(gone) => Error::KeyService { path, source: keyring::Error::NewestWithdrawn { key: gone.to_string() } },
            None => Error::NoSuchKey { path, key_id },
        }
    }

    /// Writes a new version of a MariaDB key into the service that this configuration names.
    pub(crate) fn add_version(&self, configuration: &[u8], key_id: u32) -> Result<(), keyring::Error> {
        match &self.parsed {
            ParsedKeys::MariaDb(keys, _) => keys.add_version(configuration, key_id),
            ParsedKeys::MySql(_) => Err(keyring::Error::NotRecognised),
        }
    }

    /// The server's newest key of a kind.
    pub(crate) fn newest(&self, kind: KeyKind, server_uuid: &str) -> Option<String> {
        let ParsedKeys::MySql(keyring) = &self.parsed else { return None };
        let numbered = keyring.names().filter_map(|name| Some((number(kind, name, server_uuid)?, name)));
        numbered.max_by_key(|(number, _)| *number).map(|(_, name)| name.to_owned())
    }

    /// Whether this copy has every key of `other`, with the same bytes.
    pub(crate) fn includes(&self, other: &Self) -> bool {
        match (&self.parsed, &other.parsed) {
            (ParsedKeys::MySql(current), ParsedKeys::MySql(other)) => {
                let same = |(name, key): (&str, &keyring::Key)| {
                    current.get(name).is_some_and(|current| current.as_bytes() == key.as_bytes())
                };
                other.iter().all(same)
            }
            (ParsedKeys::MariaDb(current, _), ParsedKeys::MariaDb(other, _)) => {
                let bytes = |keys: &MariaDbKeys, (id, version)| {
                    keys.get(id, version).map(|key| Zeroizing::new(key.as_bytes().to_vec()))
                };
                other.ids().all(|id| bytes(current, id) == bytes(other, id))
            }
            _ => false,
        }
    }
}

/// Whether a retry is useless.
const fn is_final(error: &keyring::Error) -> bool {
    matches!(error, keyring::Error::WrongKind { .. } | keyring::Error::TooLarge { .. } | keyring::Error::UnknownVersion)
}

/// Number of a key of this kind and server.
fn number(kind: KeyKind, name: &str, server_uuid: &str) -> Option<u32> {
    let (of, owner, number) = match KeyName::parse(name) {
        KeyName::InnodbMaster { owner, number } => (KeyKind::Master, owner, number),
        KeyName::Replication { owner, number } => (KeyKind::BinaryLog, owner, number),
        _ => return None,
    };
    (of == kind && owner.eq_ignore_ascii_case(server_uuid)).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(ids: &[(&str, &str)]) -> KeyringCopy {
        let element = |(id, byte): &(&str, &str)| {
            let data = byte.repeat(32);
            format!(r#"{{"user":"","data_id":"{id}","data_type":"AES","data":"{data}","extension":[]}}"#)
        };
        let elements: Vec<String> = ids.iter().map(element).collect();
        let text = format!(r#"{{"version":"1.0","elements":[{}]}}"#, elements.join(","));
        KeyringCopy::from_mysql(Path::new("k"), Zeroizing::new(text.into_bytes())).unwrap()
    }

    #[test]
    fn the_newest_key_belongs_to_the_server() {
        let copy = copy(&[
            ("INNODBKey-u-9", "aa"),
            ("INNODBKey-u-10", "ab"),
            ("INNODBKey-other-11", "ac"),
            ("MySQLReplicationKey_u_3", "ad"),
            ("MySQLReplicationKey_u", "ae"),
        ]);
        assert_eq!(copy.newest(KeyKind::Master, "U").as_deref(), Some("INNODBKey-u-10"));
        assert_eq!(copy.newest(KeyKind::BinaryLog, "u").as_deref(), Some("MySQLReplicationKey_u_3"));
        assert_eq!(copy.newest(KeyKind::BinaryLog, "v"), None);
    }

    #[test]
    fn a_copy_that_lacks_a_key_or_has_another_under_its_name_does_not_include() {
        let (one, both) = (copy(&[("a", "aa")]), copy(&[("a", "aa"), ("b", "bb")]));
        assert!(both.includes(&one) && !one.includes(&both));
        assert!(!copy(&[("a", "ab"), ("b", "bb")]).includes(&one));
    }

    #[test]
    fn an_empty_file_is_no_keyring() {
        assert!(matches!(KeyringCopy::from_mysql(Path::new("k"), Zeroizing::default()), Err(keyring::Error::Empty)));
    }
}
