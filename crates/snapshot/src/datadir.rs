//! A data directory, and the server that has it open.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rustix::process::Pid;

use crate::{error::Error, process};

/// A data directory, and how its server may be known.
#[derive(Clone, Debug)]
pub struct DataDir {
    path: PathBuf,
    socket: Option<PathBuf>,
    pid_file: Option<PathBuf>,
}

/// A running server that was proven to have a data directory open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerProcess {
    /// Its process.
    pub pid: Pid,
    /// What led to it, for messages.
    pub found_by: &'static str,
}

impl DataDir {
    /// The data directory at `path`, links resolved.
    ///
    /// # Errors
    /// [`Error::Unreadable`] if it is not there or no directory; [`Error::NotADataDir`] if nothing in it
    /// is a server's.
    pub fn at(path: &Path) -> Result<Self, Error> {
        let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
        let resolved = fs::canonicalize(path).map_err(unreadable)?;
        if !fs::metadata(&resolved).map_err(unreadable)?.is_dir() {
            return Err(unreadable(std::io::ErrorKind::NotADirectory.into()));
        }
        // One of them is in every data directory since MySQL 5.0, wherever InnoDB's own files are.
        let known = ["ibdata1", "mysql", "mysql.ibd", "aria_log_control"];
        if !known.iter().any(|name| resolved.join(name).exists()) {
            return Err(Error::NotADataDir { path: resolved });
        }
        Ok(Self { path: resolved, socket: None, pid_file: None })
    }

    /// Its server answers on this socket.
    #[must_use]
    pub fn socket(self, socket: Option<PathBuf>) -> Self {
        Self { socket, ..self }
    }

    /// Its server wrote its process id into this file.
    #[must_use]
    pub fn pid_file(self, pid_file: Option<PathBuf>) -> Self {
        Self { pid_file, ..self }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The server that has it open; `None` if none has.
    ///
    /// # Errors
    /// [`Error`] if a server was named that is not this directory's, or cannot be seen from here.
    pub fn server(&self) -> Result<Option<ServerProcess>, Error> {
        process::find(&self.path, self.socket.as_deref(), self.pid_file.as_deref())
    }
}
