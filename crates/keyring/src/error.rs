//! Why a key store could not be looked at.

use std::io;

/// A key store cannot be inspected. Damage inside a recognised store is no error: see
/// [`StoreSummary::damage`](crate::StoreSummary::damage).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyringError {
    /// No bytes. For MySQL's file keyrings that means "no keys".
    #[error("the key store is empty")]
    Empty,
    /// None of the known stores.
    #[error("not a known key store")]
    NotRecognised,
    /// Larger than any key store.
    #[error("larger than {limit} bytes, not a key store")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// The operating system refused.
    #[error("cannot read the key store: {0}")]
    Io(#[from] io::Error),
}
