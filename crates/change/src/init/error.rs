//! Errors of setting up or checking a keyring.

use std::{borrow::Cow, io, path::PathBuf};

/// Why a keyring was not set up or not proven. No message contains a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server, or a statement, failed.
    #[error(transparent)]
    Change(#[from] crate::Error),
    /// The server's files or keyring cannot be used.
    #[error(transparent)]
    Keys(#[from] crate::rotate::Error),
    /// No server was given.
    #[error("no server is named")]
    NoServer,
    /// The server has keys already.
    #[error("{server}: {keyring} is active already")]
    Active {
        /// The server.
        server: String,
        /// Component or plug-in.
        keyring: String,
    },
    /// Something else is configured already.
    #[error("{}: {reason}", path.display())]
    Configured {
        /// Path of the file.
        path: PathBuf,
        /// What it contains.
        reason: String,
    },
    /// A key file exists already.
    #[error("{}: exists already, and keys are never overwritten", path.display())]
    KeysExist {
        /// Path of the file.
        path: PathBuf,
    },
    /// The keyring would be in the data directory.
    #[error("{}: lies inside the data directory {}, with what it protects", keyring.display(), datadir.display())]
    InsideDatadir {
        /// Path of the keyring.
        keyring: PathBuf,
        /// Path of the data directory.
        datadir: PathBuf,
    },
    /// The directory is not a data directory of a supported server.
    #[error("{}: {reason}", path.display())]
    NoDatadir {
        /// Path of the directory.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The server's installation was not found on this host.
    #[error("{server}: {reason}")]
    NotFound {
        /// The server.
        server: String,
        /// What was not found.
        reason: String,
    },
    /// A directory for keys is accessible to others, or owned by another user.
    #[error("{}: {reason}", path.display())]
    Unsafe {
        /// Path of the directory.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A file could not be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Look {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// An option file cannot be read.
    #[error("{0}")]
    OptionFile(#[source] server::Error),
    /// A file could not be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// No keys could be generated, or a key file is not valid.
    #[error("{}: {source}", path.display())]
    Keyring {
        /// Path of the file.
        path: PathBuf,
        /// The error.
        source: keyring::KeyringError,
    },
}

impl Error {
    /// The next step, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(
            match self {
                Self::Change(crate::Error::Server(error)) => return error.hint().map(Cow::into_owned),
                Self::Keys(error) => return error.hint(),
                Self::NoServer => {
                    "give mysql://USER@HOST:PORT or --socket PATH, or --config FILE for a server that does not run"
                }
                Self::Active { .. } => "prove it with `sealant keyring check`",
                Self::Configured { .. } => "complete or remove the existing configuration by hand; nothing was written",
                Self::KeysExist { .. } => {
                    "name another file with --keyring-file; if these keys are this server's, configure it by hand"
                }
                Self::InsideDatadir { .. } => {
                    "leave --keyring-file out, or add --inside-datadir if a copy of the data may hold its keys"
                }
                Self::NoDatadir { .. } => "give the server's own data directory with --datadir",
                Self::NotFound { .. } => {
                    "run it on the server's host, as root; name what it cannot find with --plugin-dir and --daemon-dir"
                }
                Self::Unsafe { .. } => {
                    "name another directory, or give it to the server's user alone: mode 0700 or 0750"
                }
                Self::Look { .. } | Self::Write { .. } => "run it as root",
                Self::Change(_) | Self::OptionFile(_) | Self::Keyring { .. } => return None,
            }
            .to_owned(),
        )
    }
}
