//! Why a keyring was not set up or not proven.

use std::{borrow::Cow, io, path::PathBuf};

/// Why a keyring was not set up or not proven. No message holds a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server, or a statement.
    #[error(transparent)]
    Change(#[from] crate::Error),
    /// The server's files or keyring.
    #[error(transparent)]
    Keys(#[from] crate::rotate::Error),
    /// No server is named.
    #[error("no server is named")]
    NoServer,
    /// Keys are there already.
    #[error("{server}: {keyring} is active already")]
    Active {
        /// The server.
        server: String,
        /// The component or plug-in.
        keyring: String,
    },
    /// Something is configured already, in another way.
    #[error("{}: {reason}", path.display())]
    Configured {
        /// The file.
        path: PathBuf,
        /// What it says.
        reason: String,
    },
    /// A file with keys is there already.
    #[error("{}: is there already, and keys are never overwritten", path.display())]
    KeysExist {
        /// The file.
        path: PathBuf,
    },
    /// The keyring would lie in the data directory.
    #[error("{}: lies inside the data directory {}, with what it protects", keyring.display(), datadir.display())]
    InsideDatadir {
        /// The keyring.
        keyring: PathBuf,
        /// The data directory.
        datadir: PathBuf,
    },
    /// This is no data directory of a server that is known.
    #[error("{}: {reason}", path.display())]
    NoDatadir {
        /// The directory.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The server on this host cannot be found.
    #[error("{server}: {reason}")]
    NotFound {
        /// The server.
        server: String,
        /// What is missing.
        reason: String,
    },
    /// A directory for keys is open to others, or another's.
    #[error("{}: {reason}", path.display())]
    Unsafe {
        /// The directory.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Something could not be looked at.
    #[error("{}: cannot be read: {source}", path.display())]
    Look {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// An option file cannot be read.
    #[error("{0}")]
    OptionFile(#[source] server::Error),
    /// Something could not be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No keys could be made, or a key file is not what it should be.
    #[error("{}: {source}", path.display())]
    Keyring {
        /// The file.
        path: PathBuf,
        /// Why.
        source: keyring::KeyringError,
    },
}

impl Error {
    /// The next step, where there is one.
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
                Self::Configured { .. } => "finish or remove by hand what somebody began there; nothing was written",
                Self::KeysExist { .. } => {
                    "name another place with --keyring-file; if these keys are this server's, configure it by hand"
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
