//! Key stores of every kind: recognised and judged, and keys of MySQL's stores are read.

use keyring::{ExportKey, MysqlKeyring};

pub(crate) fn run(bytes: &[u8]) {
    let _ = keyring::recognise(bytes, "", bytes.len() as u64);
    let _ = keyring::inspect(bytes);
    if let Ok(key) = ExportKey::load(bytes) {
        assert_eq!((key.key().as_bytes().len(), key.iv().as_bytes().len()), (32, 32));
    }
    if let Ok(keyring) = MysqlKeyring::load(bytes) {
        for (name, key) in keyring.iter() {
            assert!(!name.is_empty() && !key.as_bytes().is_empty());
            assert!(keyring.get(name).is_some());
        }
    }
}
