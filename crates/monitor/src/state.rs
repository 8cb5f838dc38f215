//! The state directory: the facts of the last rounds of each server, so that a restarted monitor knows what its
//! predecessor knew.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use audit::facts::Facts;
use data_encoding::HEXLOWER;
use files::WriteOptions;

use crate::Error;
use crate::schedule::Scope;

/// A state directory.
#[derive(Debug)]
pub(crate) struct StateDir {
    path: PathBuf,
    /// Keeps the directory locked; `None` if it is only read.
    _lock: Option<File>,
}

const LOCK: &str = "lock";

impl StateDir {
    /// Locks the directory. If it does not exist, creates it first, accessible only to its owner.
    ///
    /// # Errors
    /// [`Error::File`]; [`Error::Busy`] if another monitor has locked it.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let failed = |source: io::Error| Error::File { path: path.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        let lock = File::options().create(true).append(true).open(path.join(LOCK)).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: Some(lock) }),
            Err(TryLockError::WouldBlock) => Err(Error::Busy { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// A directory that is only read: it is not locked, and need not exist.
    pub(crate) fn read_only(path: &Path) -> Self {
        Self { path: path.to_owned(), _lock: None }
    }

    /// The facts of the server's last round of this scope. `None` if there are none, or if this release cannot use
    /// them; the next round replaces them.
    ///
    /// # Errors
    /// [`Error::File`] if there is a file that cannot be read.
    pub(crate) fn load(&self, server: &str, scope: Scope) -> Result<Option<Facts>, Error> {
        let path = self.file(server, scope);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(Error::File { path, source }),
        };
        let facts = serde_json::from_slice(&bytes).ok();
        Ok(facts.filter(|facts: &Facts| facts.schema == audit::facts::SCHEMA && facts.target == server))
    }

    /// Replaces the facts of the server's last round of this scope.
    ///
    /// # Errors
    /// [`Error::File`].
    pub(crate) fn save(&self, server: &str, scope: Scope, facts: &Facts) -> Result<(), Error> {
        let path = self.file(server, scope);
        let bytes = serde_json::to_vec(facts).map_err(io::Error::from);
        let written = bytes.and_then(|bytes| files::write_atomic(&path, &bytes, WriteOptions::SECRET.replacing(true)));
        written.map_err(|source| Error::File { path, source })
    }

    /// Path of the server's facts. A server's name may contain any character, so the file's name has only its ordinary
    /// characters, and a hash of the name.
    fn file(&self, server: &str, scope: Scope) -> PathBuf {
        const LONGEST: usize = 80;
        let readable = |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' };
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, server.as_bytes());
        let hash = HEXLOWER.encode(digest.as_ref().get(..8).unwrap_or_default());
        let name: String = server.chars().map(readable).take(LONGEST).collect();
        self.path.join(format!("{name}.{hash}.{}.json", scope.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn facts(name: &str) -> Facts {
        Facts::empty(name, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn facts_are_found_again_by_the_name_of_the_server() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(&dir.path().join("monitor")).unwrap();
        for name in ["mysql://audit@db1:3306", "mysql://audit@db1_3306", "../../etc/passwd"] {
            assert!(state.load(name, Scope::Full).unwrap().is_none());
            state.save(name, Scope::Full, &facts(name)).unwrap();
            assert_eq!(state.load(name, Scope::Full).unwrap().unwrap().target, name);
            assert!(state.load(name, Scope::Light).unwrap().is_none());
        }
        let files = std::fs::read_dir(dir.path().join("monitor")).unwrap().count();
        assert_eq!(files, 4, "three servers and the lock");
    }

    #[test]
    fn a_damaged_file_is_like_none_and_one_that_cannot_be_read_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        state.save("db1", Scope::Light, &facts("db1")).unwrap();
        let file = state.file("db1", Scope::Light);
        std::fs::write(&file, "{\"schema\":").unwrap();
        assert!(state.load("db1", Scope::Light).unwrap().is_none());
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert!(matches!(state.load("db1", Scope::Light), Err(Error::File { .. })));
    }

    #[test]
    fn one_monitor_writes_a_directory() {
        let dir = tempfile::tempdir().unwrap();
        let first = StateDir::open(dir.path()).unwrap();
        assert!(matches!(StateDir::open(dir.path()), Err(Error::Busy { .. })));
        drop(first);
        assert!(StateDir::open(dir.path()).is_ok());
    }
}
