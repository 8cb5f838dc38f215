//! Errors of the parts of a backup.

use std::io;

/// Why a part of a backup cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The lists of a manifest cannot be kept in their files.
    #[error("the temporary file with the list of all parts cannot be written: {0}")]
    Lists(#[source] io::Error),
    /// A malformed description of a repository.
    #[error("{0}")]
    Repository(&'static str),
    /// A malformed receipt.
    #[error("it is not a receipt of a backup: {0}")]
    Receipt(String),
    /// A malformed declaration of a prune.
    #[error("it does not declare a prune: {0}")]
    Prune(String),
    /// A malformed record of tests of keyring copies.
    #[error("not a record of tests of keyring copies: {0}")]
    KeyCheckRecord(String),
    /// A malformed record of restores.
    #[error("not a record of restores: {0}")]
    RestoreRecord(String),
    /// A malformed manifest.
    #[error("line {line} is not valid in a manifest: {reason}")]
    Manifest {
        /// Line, from 1.
        line: u64,
        /// The broken rule.
        reason: &'static str,
    },
    /// A malformed pack.
    #[error("it is not a pack of a backup: {0}")]
    Pack(&'static str),
    /// An object's content differs from its receipt.
    #[error("it has {found_bytes} bytes and SHA-256 {found}; its receipt has {bytes} bytes and {expected}")]
    Digest {
        /// SHA-256 in the receipt.
        expected: crate::Digest,
        /// SHA-256 of the object.
        found: crate::Digest,
        /// Length in the receipt, in bytes.
        bytes: u64,
        /// Length of the object, in bytes.
        found_bytes: u64,
    },
    /// Encryption or decryption failed.
    #[error(transparent)]
    Age(#[from] agefile::Error),
    /// The format is newer than this release.
    #[error("its format is {found}, this release supports {known}: use a newer release of sealant")]
    Version {
        /// The version that was found.
        found: String,
        /// The versions that are supported.
        known: &'static str,
    },
}

impl Error {
    /// Advice for the user on what to do next, if there is any.
    #[must_use]
    pub const fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Age(agefile::Error::NoMatch) => "the receipt names the recipients; `sealant backup show` lists them",
            Self::Digest { .. } => "`sealant backup check all --objects` finds all damaged objects",
            Self::Age(error) => return error.hint(),
            _ => return None,
        })
    }
}
