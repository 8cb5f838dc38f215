//! A data directory, and the server that uses it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use innodb::server_file::{ARIA_CONTROL, DICTIONARY, FIRST_SYSTEM};

use crate::{
    error::Error,
    process::{self, ServerProcess},
};

/// A data directory, and hints to find its server.
#[derive(Clone, Debug)]
pub struct DataDir {
    path: PathBuf,
    socket: Option<PathBuf>,
    pid_file: Option<PathBuf>,
}

impl DataDir {
    /// The data directory at `path`, with links resolved.
    ///
    /// # Errors
    /// [`Error::Unreadable`] if the directory does not exist; [`Error::NotADataDir`] if it has no
    /// file of a server.
    pub fn at(path: &Path) -> Result<Self, Error> {
        let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
        let resolved = fs::canonicalize(path).map_err(unreadable)?;
        if !fs::metadata(&resolved).map_err(unreadable)?.is_dir() {
            return Err(unreadable(std::io::ErrorKind::NotADirectory.into()));
        }
        // Every data directory since MySQL 5.0 has one of these, wherever InnoDB's files are.
        let known = [FIRST_SYSTEM, "mysql", DICTIONARY, ARIA_CONTROL];
        if !known.iter().any(|name| resolved.join(name).exists()) {
            return Err(Error::NotADataDir { path: resolved });
        }
        Ok(Self { path: resolved, socket: None, pid_file: None })
    }

    /// Sets the socket of its server.
    #[must_use]
    pub fn socket(self, socket: Option<PathBuf>) -> Self {
        Self { socket, ..self }
    }

    /// Sets the pid file of its server.
    #[must_use]
    pub fn pid_file(self, pid_file: Option<PathBuf>) -> Self {
        Self { pid_file, ..self }
    }

    /// Path with links resolved.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The server that has the directory open; `None` if there is none.
    ///
    /// # Errors
    /// [`Error`] if a hint names the server of another directory, or the server is hidden from this
    /// process.
    pub fn server(&self) -> Result<Option<ServerProcess>, Error> {
        process::find(&self.path, self.socket.as_deref(), self.pid_file.as_deref())
    }
}
