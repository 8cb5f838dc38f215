//! What can be wrong with the parts of a backup.

use std::io;

/// Why a part of a backup cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// It cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A receipt is not as the format has it.
    #[error("it is no receipt of a backup: {0}")]
    Receipt(String),
    /// A manifest is not as the format has it.
    #[error("line {line} is not that of a manifest: {reason}")]
    Manifest {
        /// Line, from 1.
        line: u64,
        /// Which rule it breaks.
        reason: &'static str,
    },
    /// A pack is not as the format has it.
    #[error("it is no pack of a backup: {0}")]
    Pack(&'static str),
    /// An object has another content than its receipt says.
    #[error("it has {found_bytes} bytes and SHA-256 {found}, where its receipt says {bytes} and {expected}")]
    Digest {
        /// As the receipt has it.
        expected: crate::Digest,
        /// As it is.
        found: crate::Digest,
        /// Length in the receipt.
        bytes: u64,
        /// Length as it is.
        found_bytes: u64,
    },
    /// It cannot be encrypted or decrypted.
    #[error(transparent)]
    Age(#[from] agefile::Error),
    /// A later version of the format.
    #[error("its format is {found}, and this release knows {known}: use a newer release of sealant")]
    Version {
        /// What it says.
        found: String,
        /// What is known.
        known: &'static str,
    },
}
