//! Keys of tablespaces themselves, told apart without opening them.
//!
//! Page 0 holds the wrapped key and, in the clear, the CRC-32C of the key and its initialisation vector,
//! which are 64 random bytes: it stays the same when a master key is rotated, and differs for another key
//! but for one case in four thousand million, in which a new key is taken for the old one. The same holds
//! for the header of the redo log.
//! Source: formats, "Encryption info on page 0"; that a rebuild changes it and a rotation does not was
//! seen on MySQL 9.7.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use innodb::crypt::wrapped::Wrapped;
use serde::Serialize;

use super::data_files;

/// Which key each tablespace has.
pub(super) type Fingerprints = BTreeMap<PathBuf, u32>;

/// Tablespaces by whether they have a new key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DataKeys {
    /// Tablespaces that have another key than before, or that are made anew.
    pub new: u64,
    /// Tablespaces that keep theirs, see the leftovers.
    pub kept: u64,
}

/// The fingerprint of a tablespace's key; `None` if it has none, or none on disk yet.
pub(super) fn of_tablespace(path: &Path) -> Option<u32> {
    match Wrapped::find(&data_files::head(path)?)? {
        Wrapped::Tablespace(key) => Some(key.key_checksum()),
        _ => None,
    }
}

/// Those of these files that are there.
pub(super) fn of_all<'p>(paths: impl Iterator<Item = &'p Path>) -> Fingerprints {
    paths.filter_map(|path| Some((path.to_owned(), of_tablespace(path)?))).collect()
}
