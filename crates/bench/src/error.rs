//! Why a measurement could not be made.

use std::{io, path::PathBuf};

/// Why a measurement could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A program could not be run to its end.
    #[error("{program}: {reason}")]
    Program {
        /// Which.
        program: String,
        /// Why.
        reason: String,
    },
    /// A link between two network namespaces could not be made.
    #[error("a link of that rate cannot be made: {reason}")]
    Link {
        /// Why.
        reason: String,
    },
    /// A file stays in the page cache: another process has it mapped, or its file system keeps
    /// everything in memory.
    #[error("{}: cannot be dropped from the page cache; another process may have it mapped", path.display())]
    NotCold {
        /// Which.
        path: PathBuf,
    },
    /// A volume could not be made, opened or closed.
    #[error(transparent)]
    Volume(#[from] luks::cryptsetup::CryptsetupError),
    /// A signal asked for the end.
    #[error("interrupted; nothing more was measured")]
    Interrupted,
    /// An arm did other work than the time before, so its times cannot be compared.
    #[error("{arm}: {reason}")]
    Work {
        /// Which.
        arm: String,
        /// What differs.
        reason: String,
    },
}

impl Error {
    /// For `map_err` on an operation on `path`.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::File { path, source }
    }
}
