//! Recognises the keys of tablespaces without decrypting them.
//!
//! Page 0 has the wrapped key and, in clear text, the CRC-32C of key and initialisation vector, which are 64 random
//! bytes. The CRC does not change when a master key is rotated. A new key has the same CRC with a probability of 2^-32;
//! it is then taken for the old key. The same applies to the header of the redo log.
//! Source: formats, "Encryption info on page 0"; seen on MySQL 9.7: a rebuild changes it, a rotation does not.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use innodb::crypt::wrapped::Wrapped;
use serde::Serialize;

use super::data_files;

/// Fingerprint of each tablespace's key.
pub(super) type Fingerprints = BTreeMap<PathBuf, u32>;

/// Numbers of tablespaces with and without a new key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DataKeys {
    /// Tablespaces with another key than before, or recreated ones.
    pub new: u64,
    /// Tablespaces that keep their key; see the leftovers.
    pub kept: u64,
}

/// Fingerprint of a tablespace's key; `None` if it has none, or page 0 is not on disk.
pub(super) fn of_tablespace(path: &Path) -> Option<u32> {
    match Wrapped::find(&data_files::head(path)?)? {
        Wrapped::Tablespace(key) => Some(key.key_checksum()),
        _ => None,
    }
}

/// Fingerprints of those files that exist.
pub(super) fn of_all<'p>(paths: impl Iterator<Item = &'p Path>) -> Fingerprints {
    paths.filter_map(|path| Some((path.to_owned(), of_tablespace(path)?))).collect()
}
