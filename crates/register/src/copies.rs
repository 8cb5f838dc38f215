//! Proven copies of keyrings and key files, and whether they have changed since.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use files::{
    regular::{self, Links},
    sha256_hex,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Error, Fingerprints};

/// Largest copy that is read: twice the largest keyring.
const MAX_BYTES: u64 = 128 << 20;

/// A copy, as it was when it was proven.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyRecord {
    /// When it was proven.
    pub proven: Timestamp,
    /// SHA-256 of the file in hexadecimal digits.
    pub sha256: String,
    /// Fingerprints of the keys in it.
    pub keys: Fingerprints,
    /// The password file that opens the copy, and its SHA-256.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<(PathBuf, String)>,
}

/// State of a copy that was proven earlier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum CopyState {
    /// Unchanged, byte for byte.
    Stands,
    /// The file or its password file is missing.
    Gone,
    /// The file or its password file has other content.
    Changed,
    /// The file is unchanged, but the key store has another key of this name now.
    OtherKey,
    /// The file cannot be read.
    Unread {
        /// What failed.
        reason: String,
    },
    /// An earlier version wrote the record, without a hash.
    NoHash,
}

impl CopyRecord {
    /// Compares the file at `path` with this record.
    #[must_use]
    pub fn state(&self, path: &Path) -> CopyState {
        let password = self.password.as_ref().map(|(path, hash)| (path.as_path(), hash));
        for (path, hash) in [(path, &self.sha256)].into_iter().chain(password) {
            match sha256_of(path) {
                Ok(Some(found)) if found == *hash => {}
                Ok(Some(_)) => return CopyState::Changed,
                Ok(None) => return CopyState::Gone,
                Err(error) => return CopyState::Unread { reason: error.to_string() },
            }
        }
        CopyState::Stands
    }
}

/// SHA-256 of a file in hexadecimal digits; `None` if the file does not exist.
///
/// # Errors
/// [`Error::Copy`].
pub fn sha256_of(path: &Path) -> Result<Option<String>, Error> {
    match regular::read(path, Links::Followed, MAX_BYTES) {
        Ok(bytes) => Ok(Some(sha256_hex(&bytes))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Copy { path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_copy_is_unchanged_only_if_its_bytes_and_its_password_file_are() {
        let directory = tempfile::tempdir().unwrap();
        let (copy, password) = (directory.path().join("copy"), directory.path().join("password"));
        fs::write(&copy, "encrypted").unwrap();
        let record = |password| CopyRecord {
            proven: Timestamp::UNIX_EPOCH,
            sha256: sha256_hex(b"encrypted"),
            keys: Fingerprints::new(),
            password,
        };
        let plain = record(None);
        let locked = record(Some((password.clone(), sha256_hex(b"secret"))));
        assert_eq!((plain.state(&copy), locked.state(&copy)), (CopyState::Stands, CopyState::Gone));
        fs::write(&password, "secret").unwrap();
        assert_eq!(locked.state(&copy), CopyState::Stands);
        fs::write(&password, "other").unwrap();
        assert_eq!(locked.state(&copy), CopyState::Changed);
        fs::write(&copy, "seale").unwrap();
        assert_eq!(plain.state(&copy), CopyState::Changed);
        fs::remove_file(&copy).unwrap();
        assert_eq!(plain.state(&copy), CopyState::Gone);
        fs::create_dir(&copy).unwrap();
        assert!(matches!(plain.state(&copy), CopyState::Unread { .. }));
    }
}
