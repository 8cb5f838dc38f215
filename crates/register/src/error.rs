//! Errors of the register.

use std::{io, path::PathBuf};

/// Why the register, or a copy that it names, could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The register cannot be read or written, or belongs to another server or version.
    #[error("{}: the register of keys: {reason}", path.display())]
    Unusable {
        /// The register's file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Another run holds the server's lock.
    #[error("{}: another run is working on this server", path.display())]
    Busy {
        /// The lock file.
        path: PathBuf,
    },
    /// A copy of keys cannot be read.
    #[error("{}: {source}", path.display())]
    Copy {
        /// Path of the copy.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// No directory for state is known: no `--state-dir`, and the user has no home directory.
    #[error("no directory for state is known")]
    NoStateDir,
}

impl Error {
    /// Whether an option is missing from the command line.
    #[must_use]
    pub const fn is_misuse(&self) -> bool {
        matches!(self, Self::NoStateDir)
    }

    /// The next step, if there is one.
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
