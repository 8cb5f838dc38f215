//! Errors of key sources.

use std::io;
use std::path::{Path, PathBuf};

/// Why a source gave no key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// A file or device did not appear in time.
    #[error("{}: did not appear in time", path.display())]
    Absent {
        /// Path of the file or device.
        path: PathBuf,
    },
    /// A file cannot be read or holds no key.
    #[error("{}: {source}", path.display())]
    Io {
        /// Path of the file or device.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The path is a directory, a pipe or a device.
    #[error("{}: is not a file", path.display())]
    NotAFile {
        /// Path of the file or device.
        path: PathBuf,
    },
    /// The device that holds the file has no file system that can be mounted.
    #[error("{}: cannot be mounted", device.display())]
    NotMounted {
        /// The device.
        device: PathBuf,
    },
    /// The program cannot be started, or its output is not a key.
    #[error("{}: {reason}", program.display())]
    Program {
        /// Path of the program.
        program: PathBuf,
        /// The reason, as messages give it.
        reason: String,
    },
    /// The program failed or took too long.
    #[error("{}: failed, or gave no key in time", program.display())]
    ProgramFailed {
        /// Path of the program.
        program: PathBuf,
    },
    /// The address of Vault cannot be used.
    #[error("--vault-addr {}: {reason}", address.escape_debug())]
    Address {
        /// The address, as given.
        address: String,
        /// The reason, as messages give it.
        reason: &'static str,
    },
    /// The path of the secret is malformed.
    #[error(
        "--vault-path {}: must be a path such as secret/data/mysqldata, of letters, digits and - _ . ~ /",
        path.escape_debug()
    )]
    SecretPath {
        /// The path, as given.
        path: String,
    },
    /// No certificates to trust were given.
    #[error("https needs --vault-ca FILE")]
    NoAuthorities,
    /// A file of certificates cannot be used.
    #[error("{}: {reason}", path.display())]
    Authorities {
        /// Path of the file or device.
        path: PathBuf,
        /// The reason, as messages give it.
        reason: String,
    },
    /// The token file holds no token.
    #[error("{}: holds no Vault token", path.display())]
    NoToken {
        /// Path of the file or device.
        path: PathBuf,
    },
    /// Vault gave no key.
    #[error("{uri}: {reason}")]
    Vault {
        /// The full address of the request.
        uri: String,
        /// The reason, as messages give it.
        reason: String,
    },
}

impl SourceError {
    /// The next step for the user, if there is one.
    #[must_use]
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoAuthorities => Some("Vault's own, or the system's, such as /etc/ssl/certs/ca-certificates.crt"),
            _ => None,
        }
    }

    /// Whether the request can never work, independent of the state of files and networks.
    #[must_use]
    pub const fn is_misuse(&self) -> bool {
        matches!(self, Self::Address { .. } | Self::SecretPath { .. } | Self::NoAuthorities)
    }

    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}
