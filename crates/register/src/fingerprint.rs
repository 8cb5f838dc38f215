//! Fingerprints: recognise a key without storing it.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{Context, SHA256};
use data_encoding::HEXLOWER;
use keyring::{MariaDbKeys, MysqlKeyring};

/// Fingerprints by key name.
///
/// A fingerprint is 32 bits of a hash over name and key; the key cannot be derived from it. Two keys of one name share
/// a fingerprint with a probability of 1 in 2^32.
pub type Fingerprints = BTreeMap<String, String>;

/// Fingerprints of the server's keys in a keyring.
#[must_use]
pub fn of_keyring(keyring: &MysqlKeyring) -> Fingerprints {
    keyring.iter().map(|(name, key)| (name.to_owned(), fingerprint(name, key.as_bytes()))).collect()
}

/// Fingerprints of the keys in MariaDB's key file.
#[must_use]
pub fn of_key_file(keys: &MariaDbKeys) -> Fingerprints {
    let named = keys.ids().filter_map(|(id, version)| Some((mariadb_name(id, version), keys.get(id, version)?)));
    named.map(|(name, key)| (name.clone(), fingerprint(&name, key.as_bytes()))).collect()
}

/// Name of a MariaDB key in reports and registers.
#[must_use]
pub fn mariadb_name(id: u32, version: u32) -> String {
    format!("{id} version {version}")
}

/// The version in the [`mariadb_name`] of a version of this key.
pub(crate) fn version_of(name: &str, id: u32) -> Option<u32> {
    let version = name.strip_prefix(&id.to_string())?.strip_prefix(" version ")?.parse().ok()?;
    (mariadb_name(id, version) == name).then_some(version)
}

fn fingerprint(name: &str, key: &[u8]) -> String {
    let mut hash = Context::new(&SHA256);
    for part in [b"sealant key fingerprint\0".as_slice(), name.as_bytes(), b"\0", key] {
        hash.update(part);
    }
    HEXLOWER.encode(hash.finish().as_ref().get(..4).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_key_or_name_has_another_fingerprint() {
        let one = fingerprint("1 version 1", &[1; 32]);
        assert_eq!(one.len(), 8);
        assert_eq!(one, fingerprint("1 version 1", &[1; 32]));
        assert_ne!(one, fingerprint("1 version 1", &[2; 32]));
        assert_ne!(one, fingerprint("2 version 1", &[1; 32]));
    }
}
