//! What can be wrong with a pairing code or a manifest.

use std::io;

/// Prefix of every code; the number is the version of the code.
pub const PREFIX: &str = "sealant1-";

/// Why a text is not a valid pairing code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodeFault {
    /// It does not start with the prefix.
    #[error("not a pairing code: it does not begin with {PREFIX}")]
    Prefix,
    /// It has a character that does not occur in codes.
    #[error("the pairing code has the character {0:?}, which no code has: check that it was copied whole")]
    Character(char),
    /// The checksum does not match: a typing error, or part of the code is missing.
    #[error("the pairing code is mistyped or cut short: its checksum does not match")]
    Checksum,
    /// The checksum matches, but the format is of another version.
    #[error("the pairing code was made by another version of sealant")]
    Version,
}

/// What is wrong with a manifest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestFault {
    /// The manifest cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// This line does not have the format of a manifest.
    #[error("line {0} is not that of a manifest")]
    Line(usize),
    /// The list does not match the hash in the head.
    #[error("the list does not match its own hash: lines were changed or lost")]
    Tree,
}
