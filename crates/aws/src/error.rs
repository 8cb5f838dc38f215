//! Errors of credentials.

/// Why there are no credentials. No message contains a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Credentials cannot be read.
    #[error("credentials of {origin}: {reason}")]
    Unreadable {
        /// The file, program or service that they come from.
        origin: String,
        /// Why they cannot be read.
        reason: String,
    },
    /// No source has credentials.
    #[error("no credentials: none configured, none in the environment, and no metadata service ({reason})")]
    Missing {
        /// Answer of the metadata service.
        reason: String,
    },
}
