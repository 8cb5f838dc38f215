//! The keyring as it was read once: the bytes that are proven are the bytes that are backed up.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    thread::sleep,
    time::Duration,
};

use keyring::{KeyName, KeyringError, MysqlKeyring};
use verify::Keys;
use zeroize::Zeroizing;

use super::Error;

/// A server that writes its keyring may be seen doing so.
const TRIES: u32 = 5;

/// Bytes of a keyring, wiped on drop, and the names in it.
pub(super) struct KeyringCopy {
    path: PathBuf,
    bytes: Zeroizing<Vec<u8>>,
    keyring: MysqlKeyring,
}

/// Which of the server's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyKind {
    /// Master key of tablespaces and the redo log.
    Master,
    /// Master key of binary and relay logs.
    BinaryLog,
}

impl KeyringCopy {
    /// Reads the file; again, if it is not whole.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            match Self::read_once(path) {
                Err(error) if tries >= TRIES || is_final(&error) => {
                    return Err(Error::Keyring { path: path.to_owned(), source: error });
                }
                Err(_) => sleep(Duration::from_millis(20 << tries)),
                Ok(copy) => return Ok(copy),
            }
        }
    }

    fn read_once(path: &Path) -> Result<Self, KeyringError> {
        Self::of(path, keyring::read_file(path)?)
    }

    /// A copy that was read elsewhere, such as out of a backup.
    pub(super) fn of(path: &Path, bytes: Zeroizing<Vec<u8>>) -> Result<Self, KeyringError> {
        // For the server no bytes are no keys; here they are a file that was cut off.
        if bytes.is_empty() {
            return Err(KeyringError::Empty);
        }
        let keyring = MysqlKeyring::load(&bytes)?;
        Ok(Self { path: path.to_owned(), bytes, keyring })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// These keys and no others.
    pub(super) fn keys(&self) -> Result<Keys, Error> {
        let mut keys = Keys::default();
        let added = keys.add_keyring_bytes(&self.bytes, &self.path);
        added.map_err(|error| Error::Keyring { path: error.path, source: error.source })?;
        Ok(keys)
    }

    /// Names of the server's own keys.
    pub(super) fn names(&self) -> BTreeSet<String> {
        self.keyring.names().map(str::to_owned).collect()
    }

    /// The server's newest key of a kind.
    pub(super) fn newest(&self, kind: KeyKind, server_uuid: &str) -> Option<String> {
        let numbered = self.keyring.names().filter_map(|name| Some((number(kind, name, server_uuid)?, name)));
        numbered.max_by_key(|(number, _)| *number).map(|(_, name)| name.to_owned())
    }

    /// Whether every key of another copy is in this one, with the same bytes.
    pub(super) fn includes(&self, other: &Self) -> bool {
        let same = |(name, key): (&str, &keyring::Key)| {
            self.keyring.get(name).is_some_and(|own| own.as_bytes() == key.as_bytes())
        };
        other.keyring.iter().all(same)
    }
}

/// Waiting does not help.
const fn is_final(error: &KeyringError) -> bool {
    matches!(error, KeyringError::WrongKind { .. } | KeyringError::TooLarge { .. } | KeyringError::UnknownVersion)
}

/// Number of a key, if it is of that kind and that server.
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
        KeyringCopy::of(Path::new("k"), Zeroizing::new(text.into_bytes())).unwrap()
    }

    #[test]
    fn the_newest_key_is_the_servers_own() {
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
        assert!(matches!(KeyringCopy::of(Path::new("k"), Zeroizing::default()), Err(KeyringError::Empty)));
    }
}
