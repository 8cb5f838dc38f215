//! What can go wrong with a change.

use std::{io, path::PathBuf};

/// Why a change was refused or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server refused, or is gone.
    #[error("{0}")]
    Server(#[from] server::Error),
    /// The facts could not be gathered.
    #[error("{0}")]
    Audit(#[from] audit::Error),
    /// A statement failed.
    #[error("`{statement}`: {source}")]
    Statement {
        /// The statement, without secrets.
        statement: String,
        /// What the server said.
        source: server::Error,
    },
    /// The log of statements cannot be written, and nothing is changed that is not in it.
    #[error("{}: the log of statements cannot be written: {source}", path.display())]
    Log {
        /// The log.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What a run tells of itself cannot be written, or read.
    #[error("{}: {source}", path.display())]
    State {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Two runs at a time would undo each other's settings.
    #[error("{server}: another run is at work on this server")]
    AnotherRun {
        /// The server.
        server: String,
    },
    /// A limit is set for something that the server does not count.
    #[error("the server has no status variable {name}")]
    NoSuchStatus {
        /// Its name.
        name: String,
    },
    /// A tool could not be run.
    #[error("{program} cannot be run: {source}")]
    Tool {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// Somebody asked the run to end.
    #[error("canceled")]
    Canceled,
    /// No keyring is active.
    #[error("{server}: no keyring is active, so nothing can be encrypted")]
    NoKeyring {
        /// The server.
        server: String,
    },
    /// No key management plug-in is active.
    #[error("{server}: no key management plug-in is active, so nothing can be encrypted")]
    NoKeyManagement {
        /// The server.
        server: String,
    },
    /// The keyring takes no new keys.
    #[error("{server}: the keyring {keyring} is read-only, so no key can be made")]
    ReadOnlyKeyring {
        /// The server.
        server: String,
        /// The component or plug-in.
        keyring: String,
    },
    /// The file with the keys cannot be used.
    #[error("{0}")]
    Keyring(#[from] verify::KeysError),
    /// The keyring on disk does not open what is encrypted.
    #[error("{}: opens {opened} of {encrypted} encrypted files; the first that stays shut is {}", keyring.display(), file.display())]
    KeyringOpensNotAll {
        /// The keyring.
        keyring: PathBuf,
        /// Files it opens.
        opened: u64,
        /// Files that are encrypted.
        encrypted: u64,
        /// One that it does not open.
        file: PathBuf,
    },
    /// This kind of server is not supported.
    #[error("{server}: {reason}")]
    Unsupported {
        /// The server.
        server: String,
        /// What is missing.
        reason: String,
    },
}

/// `ER_NO_SUCH_TABLE`, `ER_BAD_TABLE_ERROR`, `ER_BAD_DB_ERROR`.
const GONE: [u16; 3] = [1146, 1051, 1049];

impl Error {
    /// Whether there is no use in going on.
    pub(crate) fn is_fatal(&self) -> bool {
        match self {
            Self::Statement { source, .. } => {
                !matches!(source, server::Error::Server { .. } | server::Error::AccessDenied { .. })
            }
            _ => true,
        }
    }

    /// Whether somebody ended the statement.
    pub(crate) fn is_interrupted(&self) -> bool {
        const QUERY_INTERRUPTED: u16 = 1317;
        matches!(self, Self::Statement { source: server::Error::Server { code: QUERY_INTERRUPTED, .. }, .. })
    }

    /// Whether others held the lock for too long.
    pub(crate) fn is_lock_timeout(&self) -> bool {
        const LOCK_WAIT_TIMEOUT: u16 = 1205;
        matches!(self, Self::Statement { source: server::Error::Server { code: LOCK_WAIT_TIMEOUT, .. }, .. })
    }

    /// Whether this server does not have that variable.
    pub(crate) fn is_unknown_variable(&self) -> bool {
        const UNKNOWN_SYSTEM_VARIABLE: u16 = 1193;
        matches!(self, Self::Statement { source: server::Error::Server { code: UNKNOWN_SYSTEM_VARIABLE, .. }, .. })
    }

    /// Whether the statement was about something that is not there any more.
    pub(crate) fn is_no_such_table(&self) -> bool {
        matches!(self, Self::Statement { source: server::Error::Server { code, .. }, .. } if GONE.contains(code))
    }
}
