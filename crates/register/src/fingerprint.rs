//! By which keys are recognised without being written down.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{Context, SHA256};
use keyring::{MariaDbKeys, MysqlKeyring};

/// Fingerprints of keys, by their names.
///
/// A fingerprint is 32 bits of a hash of name and key, from which nobody gets the key. Another key of the same name
/// has another one, but for one case in four thousand million.
pub type Fingerprints = BTreeMap<String, String>;

/// Those of the server's keys in a keyring.
#[must_use]
pub fn of_keyring(keyring: &MysqlKeyring) -> Fingerprints {
    keyring.iter().map(|(name, key)| (name.to_owned(), fingerprint(name, key.as_bytes()))).collect()
}

/// Those of the keys of MariaDB's key file.
#[must_use]
pub fn of_key_file(keys: &MariaDbKeys) -> Fingerprints {
    let named = keys.ids().filter_map(|(id, version)| Some((mariadb_name(id, version), keys.get(id, version)?)));
    named.map(|(name, key)| (name.clone(), fingerprint(&name, key.as_bytes()))).collect()
}

/// How a key of MariaDB is called in reports and registers.
#[must_use]
pub fn mariadb_name(id: u32, version: u32) -> String {
    format!("{id} version {version}")
}

fn fingerprint(name: &str, key: &[u8]) -> String {
    let mut hash = Context::new(&SHA256);
    for part in [b"sealant key fingerprint\0".as_slice(), name.as_bytes(), b"\0", key] {
        hash.update(part);
    }
    hash.finish().as_ref().iter().take(4).map(|byte| format!("{byte:02x}")).collect()
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
