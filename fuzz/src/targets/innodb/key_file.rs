//! Key files of MariaDB, plain and encrypted. How the key is derived from the password is given,
//! because searching for it takes seconds.

use crate::innodb::keys::PASSWORD;
use keyring::{Derivation, MariaDbKeys};

pub(crate) fn run(bytes: &[u8]) {
    let _ = MariaDbKeys::load_derived(bytes, None, Derivation::default());
    if let Ok(keys) = MariaDbKeys::load_derived(bytes, Some(PASSWORD), Derivation::default()) {
        assert!(keys.ids().next().is_some(), "a file without keys is refused");
        for (id, version) in keys.ids() {
            let key = keys.get(id, version).expect("it was just named");
            assert!(matches!(key.as_bytes().len(), 16 | 24 | 32));
        }
    }
}
