//! Whether keys open a backup, as its manifest alone tells.

use archive::{
    Manifest,
    manifest::{FileHead, MariaDbKey},
};
use aws_lc_rs::hmac;
use data_encoding::HEXLOWER;
use innodb::{KeyVersion, keys::KeySource};

use crate::heads::RedoKeys;

/// Result of a test of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyCheck {
    /// Number of files and MariaDB keys tested.
    pub needed: u64,
    /// Those that no given key decrypts.
    pub missing: Vec<String>,
}

/// Tests keys on everything in a manifest that needs a key.
#[must_use]
pub fn check(manifest: &Manifest, keys: &dyn KeySource) -> KeyCheck {
    let logs = RedoKeys::of(&manifest.files);
    let mut check_result = KeyCheck::default();
    for file in &manifest.files {
        let (path, Some(head)) = (&file.entry.path, file.head.as_ref().map(FileHead::bytes)) else { continue };
        check_result.needed = check_result.needed.saturating_add(1);
        if logs.space(path, &head, keys).is_none() {
            let wrapped = innodb::crypt::wrapped::Wrapped::find(&head);
            let key = wrapped.map(|wrapped| format!(" ({})", wrapped.master_key_name())).unwrap_or_default();
            check_result.missing.push(format!("{path}{key}"));
        }
    }
    for key in &manifest.keys {
        check_result.needed = check_result.needed.saturating_add(1);
        if key_check(keys, key.id, key.version).as_ref() != Some(key) {
            check_result.missing.push(format!("key {} version {}", key.id, key.version));
        }
    }
    check_result
}

/// A value with which the manifest alone proves whether a key file has this key.
pub(crate) fn key_check(keys: &dyn KeySource, id: u32, version: u32) -> Option<MariaDbKey> {
    let key = keys.mariadb(id, KeyVersion(version))?;
    let message = [b"sealant key check 1".as_slice(), &id.to_be_bytes(), &version.to_be_bytes()].concat();
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), &message);
    Some(MariaDbKey { id, version, check: HEXLOWER.encode(tag.as_ref().get(..8)?) })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use verify::Keys;

    use super::*;

    #[test]
    fn the_check_value_of_a_key_is_the_one_of_the_format() {
        let mut keys = Keys::default();
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/keyring/mariadb1011-keyfile");
        keys.add_key_file(Path::new(file), None).unwrap();
        let check = |id, version| key_check(&keys, id, version).map(|key| key.check);
        assert_eq!(check(1, 1).as_deref(), Some("e73408f7401c58f2"));
        assert_eq!(check(999, 1), None);
    }
}
