//! Errors of reading a log.

use std::{borrow::Cow, io};

use crate::Fault;

/// Why the events of a file or of a server cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file does not begin like a log.
    #[error("not a binary log")]
    NotALog,
    /// The log is encrypted, and its key was not given, or is wrong.
    #[error("no key opens the log: {key}")]
    Key {
        /// Name of the key.
        key: String,
    },
    /// The header of an encrypted log is damaged.
    #[error("the head of the encrypted log is damaged")]
    Head,
    /// The system cannot read the file.
    #[error("cannot read at offset {offset}: {source}")]
    Read {
        /// Offset in the file.
        offset: u64,
        /// The system's error.
        source: io::Error,
    },
    /// An event of a file is damaged.
    #[error("event at {position}: {fault}")]
    Event {
        /// Position of the event in the log.
        position: u64,
        /// Why it cannot be decoded.
        fault: Fault,
    },
    /// An event that a server sent is damaged.
    #[error("event after {file}:{position}: {fault}")]
    Stream {
        /// Name of the log.
        file: String,
        /// End of the event before it.
        position: u64,
        /// Why the event cannot be decoded.
        fault: Fault,
    },
    /// The position cannot be requested: the command has only 32 bits for it.
    #[error("position {0} is beyond 4 GiB, which can be reached by GTID only")]
    Position(u64),
    /// The server cannot send its log from this position on.
    #[error("the server cannot send its binary log: {message}")]
    Unavailable {
        /// The server's message.
        message: String,
    },
    /// The account may log in, but not read the log.
    #[error("the account may not read the binary log: {message}")]
    Privilege {
        /// The server's message.
        message: String,
    },
    /// Error of the connection to the server.
    #[error(transparent)]
    Server(#[from] server::Error),
}

impl Error {
    /// Distinguishes a missing privilege from other errors of the server: MySQL reports both a missing privilege and a
    /// wrong password as access denied.
    #[must_use]
    pub fn of_account(error: server::Error) -> Self {
        match error {
            server::Error::AccessDenied { message, .. } => Self::Privilege { message },
            error if error.is_privilege() => Self::Privilege { message: error.to_string() },
            other => Self::Server(other),
        }
    }

    /// The next step, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Key { .. } => Some("give the key store that was in use when the log was written".into()),
            Self::Unavailable { .. } => {
                Some("if the server has purged the log, start from a newer copy and keep logs for longer".into())
            }
            Self::Privilege { .. } => Some(
                "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO this account (MariaDB: BINLOG MONITOR instead \
                 of REPLICATION CLIENT)"
                    .into(),
            ),
            Self::Server(error) => error.hint(),
            _ => None,
        }
    }
}
