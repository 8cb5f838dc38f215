//! The state directory: the last facts about each server, so that a restarted monitor knows what its predecessor knew.

use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use audit::facts::Facts;
use data_encoding::HEXLOWER;
use files::WriteOptions;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Error;

/// A state directory that this process alone writes.
#[derive(Debug)]
pub(crate) struct StateDir {
    path: PathBuf,
    /// Holds the lock.
    _lock: Option<File>,
}

/// What is stored about a server.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Stored {
    /// When its files and its host were last read.
    pub(crate) full_at: Option<Timestamp>,
    /// Facts of the last round; files and host are those of the last full one.
    pub(crate) facts: Facts,
}

const LOCK: &str = "lock";

impl StateDir {
    /// Creates the directory, accessible only to its owner, if it does not exist, and locks it.
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

    /// The directory for reading only: without a lock, and it need not exist.
    pub(crate) fn read_only(path: &Path) -> Self {
        Self { path: path.to_owned(), _lock: None }
    }

    /// What is stored about the server. Files that are missing or cannot be used are the same: the next round replaces
    /// them.
    pub(crate) fn load(&self, server: &str) -> Option<Stored> {
        let bytes = std::fs::read(self.file(server)).ok()?;
        let stored: Stored = serde_json::from_slice(&bytes).ok()?;
        (stored.facts.schema == audit::facts::SCHEMA && stored.facts.target == server).then_some(stored)
    }

    /// Replaces what is stored about the server.
    ///
    /// # Errors
    /// [`Error::File`].
    pub(crate) fn save(&self, server: &str, stored: &Stored) -> Result<(), Error> {
        let path = self.file(server);
        let bytes = serde_json::to_vec(stored).map_err(io::Error::from);
        let written = bytes.and_then(|bytes| files::write_atomic(&path, &bytes, WriteOptions::SECRET.replacing(true)));
        written.map_err(|source| Error::File { path, source })
    }

    /// Names of servers may contain any character: the file's name is the readable part of it, and a hash.
    fn file(&self, server: &str) -> PathBuf {
        const LONGEST: usize = 80;
        let readable = |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' };
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, server.as_bytes());
        let hash = HEXLOWER.encode(digest.as_ref().get(..8).unwrap_or_default());
        let name: String = server.chars().map(readable).take(LONGEST).collect();
        self.path.join(format!("{name}.{hash}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(name: &str) -> Stored {
        Stored { full_at: None, facts: Facts::empty(name, Timestamp::UNIX_EPOCH) }
    }

    #[test]
    fn facts_are_found_again_by_the_name_of_the_server() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(&dir.path().join("monitor")).unwrap();
        for name in ["mysql://audit@db1:3306", "mysql://audit@db1_3306", "../../etc/passwd"] {
            assert!(state.load(name).is_none());
            state.save(name, &stored(name)).unwrap();
            assert_eq!(state.load(name).unwrap().facts.target, name);
        }
        let files = std::fs::read_dir(dir.path().join("monitor")).unwrap().count();
        assert_eq!(files, 4, "three servers and the lock");
    }

    #[test]
    fn a_damaged_file_is_like_none() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        state.save("db1", &stored("db1")).unwrap();
        std::fs::write(state.file("db1"), "{\"full_at\":null,\"facts\":{}}").unwrap();
        assert!(state.load("db1").is_none());
        state.save("db1", &stored("db1")).unwrap();
        assert!(state.load("db1").is_some());
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
