//! Errors of a migration.

use thiserror::Error;

/// Why a migration, or a step of one, could not be done.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A server refused a statement, or the connection to it failed.
    #[error("{side}: {error}")]
    Server {
        /// `source` or `target`.
        side: crate::Side,
        /// The server's or the connection's error.
        error: server::Error,
    },
}
