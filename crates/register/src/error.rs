//! Why the register could not be used.

use std::{io, path::PathBuf};

/// Why the register, or a copy that it names, could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It cannot be read or written, or is another server's or another version's.
    #[error("{}: the register of keys: {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Another run is at work on the same server.
    #[error("{}: another run is at work on this server", path.display())]
    Busy {
        /// The lock.
        path: PathBuf,
    },
    /// A copy of keys cannot be read.
    #[error("{}: {source}", path.display())]
    Copy {
        /// The copy.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No directory can be thought of.
    #[error("there is no directory to keep state in")]
    NoStateDir,
}

impl Error {
    /// The next step, where there is one.
    #[must_use]
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Unusable { .. } => Some("name a directory that this user may write with --state-dir"),
            Self::NoStateDir => Some("name a directory with --state-dir"),
            Self::Copy { .. } => Some("run as the user who made the copy"),
            Self::Busy { .. } => None,
        }
    }
}
