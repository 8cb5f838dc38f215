//! Errors that prevent verification.

use std::{
    io,
    path::{Path, PathBuf},
};

/// Why nothing can be verified. Faults of single files are in the report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A key store cannot be used.
    #[error("{}: {source}", path.display())]
    KeyStore {
        /// Path of the store.
        path: PathBuf,
        /// What is wrong with the store.
        source: keyring::Error,
    },
    /// A path does not exist, or cannot be inspected.
    #[error("{}: {}", path.display(), reason(source))]
    Path {
        /// Path of the file or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

/// Human-readable text of a system error.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

/// The next step after a system error, if there is one.
pub(crate) fn next_step(error: &io::Error) -> Option<&'static str> {
    (error.kind() == io::ErrorKind::PermissionDenied).then_some("run as the server's user or as root")
}

impl Error {
    /// The next step, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Path { source, .. } => next_step(source),
            Self::KeyStore { source, .. } => source.hint(),
        }
    }

    /// The fault of a key store, if that is the error.
    #[must_use]
    pub fn key_store_fault(&self) -> Option<&keyring::Error> {
        match self {
            Self::KeyStore { source, .. } => Some(source),
            Self::Path { .. } => None,
        }
    }

    pub(crate) fn key_store(path: &Path) -> impl Fn(keyring::Error) -> Self + '_ {
        |source| Self::KeyStore { path: path.to_path_buf(), source }
    }
}
