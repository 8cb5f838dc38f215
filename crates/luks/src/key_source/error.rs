//! Why a source gives no key.

use std::io;
use std::path::{Path, PathBuf};

/// Why a source gives no key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// A file or a device did not appear in time.
    #[error("{}: is not there, and did not come in time", path.display())]
    Absent {
        /// Which.
        path: PathBuf,
    },
    /// A file refuses, or holds no key.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A directory, a pipe or a device.
    #[error("{}: is not a file", path.display())]
    NotAFile {
        /// Which.
        path: PathBuf,
    },
    /// The device that the file is on holds no file system that could be mounted.
    #[error("{}: cannot be mounted", device.display())]
    NotMounted {
        /// Which.
        device: PathBuf,
    },
    /// The program cannot be started, or what it gave is no key.
    #[error("{}: {reason}", program.display())]
    Program {
        /// Which.
        program: PathBuf,
        /// Why.
        reason: String,
    },
    /// The program failed, or took too long.
    #[error("{}: failed, or gave no key in time", program.display())]
    ProgramFailed {
        /// Which.
        program: PathBuf,
    },
    /// The address of the Vault cannot be used.
    #[error("--vault-addr {}: {reason}", address.escape_debug())]
    Address {
        /// As it was given.
        address: String,
        /// Why.
        reason: &'static str,
    },
    /// The path of the secret is none.
    #[error(
        "--vault-path {}: has to be a path such as secret/data/mysqldata, of letters, digits and - _ . ~ /",
        path.escape_debug()
    )]
    SecretPath {
        /// As it was given.
        path: String,
    },
    /// Nothing says which certificates to trust.
    #[error("https needs --vault-ca FILE")]
    NoAuthorities,
    /// A file of certificates cannot be used.
    #[error("{}: {reason}", path.display())]
    Authorities {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The file of the token holds none.
    #[error("{}: holds no Vault token", path.display())]
    NoToken {
        /// Which.
        path: PathBuf,
    },
    /// Vault gave no key.
    #[error("{uri}: {reason}")]
    Vault {
        /// The whole address that was asked.
        uri: String,
        /// Why.
        reason: String,
    },
}

impl SourceError {
    /// The next step, where there is one.
    #[must_use]
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoAuthorities => Some("Vault's own, or the system's, such as /etc/ssl/certs/ca-certificates.crt"),
            _ => None,
        }
    }

    /// Whether it was asked for in a way that cannot work, whatever the state of files and networks.
    #[must_use]
    pub const fn is_misuse(&self) -> bool {
        matches!(self, Self::Address { .. } | Self::SecretPath { .. } | Self::NoAuthorities)
    }

    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}
