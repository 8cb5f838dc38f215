//! Errors of certificates and their files.

use std::{
    io,
    path::{Path, PathBuf},
};

/// Why a certificate could not be made, read or used. Messages never contain a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file exists already.
    #[error("{}: already exists", path.display())]
    Exists {
        /// Path of the file.
        path: PathBuf,
    },
    /// The directory does not contain an authority.
    #[error("{}: there is no certificate authority in it: {reason}", directory.display())]
    NoAuthority {
        /// Path of the directory.
        directory: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// There is no certificate to renew.
    #[error("{}: there is no such certificate", path.display())]
    NoCertificate {
        /// Path of the file.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file has unexpected content.
    #[error("{}: {reason}", path.display())]
    Content {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The name is not allowed in a certificate or as a file name.
    #[error("{name:?} is not a valid name for a certificate: {reason}")]
    Name {
        /// The rejected name.
        name: String,
        /// The rule that it breaks.
        reason: &'static str,
    },
    /// The authority's certificate has expired.
    #[error("{}: the authority's certificate expired on {ended}", path.display())]
    AuthorityEnded {
        /// Path of its certificate.
        path: PathBuf,
        /// End of its validity.
        ended: String,
    },
    /// The key does not belong to the certificate.
    #[error("the private key does not match the certificate")]
    KeyMismatch,
    /// The TLS library cannot use a certificate, key or authority.
    #[error("{0}")]
    Tls(String),
    /// The library for certificates failed.
    #[error("the certificate cannot be created: {0}")]
    Library(String),
}

impl Error {
    /// Converts the error of a file that cannot be read.
    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Read { path: path.to_owned(), source }
    }

    /// Whether the command line names something that cannot be in a certificate.
    #[must_use]
    pub const fn is_misuse(&self) -> bool {
        matches!(self, Self::Name { .. })
    }

    /// The next step for the user, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Exists { .. } => {
                "a key is not overwritten by default: `sealant cert renew` makes a new certificate for the same key, \
                    --replace replaces both"
            }
            Self::NoAuthority { .. } => "make one with `sealant cert init --dir DIR`",
            Self::NoCertificate { .. } => "make one with `sealant cert issue`",
            Self::Read { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "run as the file's owner or as root"
            }
            Self::Write { .. } => "name a directory that this user may write",
            Self::AuthorityEnded { .. } => "renew it with `sealant cert renew --dir DIR --ca`, then its certificates",
            Self::Name { .. } => "use a host name such as db1.example.org; further names and addresses go into --san",
            _ => return None,
        })
    }
}
