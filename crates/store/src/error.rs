//! What can go wrong with objects.

use std::io;

use crate::Name;

/// Why an object was not put or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is none of that name.
    #[error("{location}: there is no object {name}")]
    Missing {
        /// Where the store is.
        location: String,
        /// The name.
        name: Name,
    },
    /// The system failed.
    #[error("{path}: {doing}: {source}")]
    Io {
        /// What it was about.
        path: String,
        /// What failed.
        doing: &'static str,
        /// How.
        source: io::Error,
    },
    /// The body had another length than was announced.
    #[error("{name}: {found} bytes came, and {expected} were announced")]
    Length {
        /// The name.
        name: Name,
        /// What was announced.
        expected: u64,
        /// What came.
        found: u64,
    },
}
