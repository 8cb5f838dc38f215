//! The estimated cost of a copy.

use std::time::Duration;

use serde::Serialize;

use crate::choice::Provider;

/// Estimated cost of a copy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The provider that would be used.
    pub provider: Provider,
    /// Number of files.
    pub files: u64,
    /// Number of extents of all files.
    pub extents: u64,
    /// Dirty bytes left after everything was written out: what a server dirties in the meantime.
    pub dirty_bytes: u64,
    /// How long the server would be stopped, or its writes wait, in milliseconds; 0 if no server is
    /// running.
    pub freeze_ms: f64,
    /// Bytes that the copy takes on a disk until it is removed; 0 if it shares them with the data.
    pub copy_bytes: u64,
}

impl Estimate {
    /// How long the server would be stopped.
    #[must_use]
    pub fn freeze(&self) -> Duration {
        Duration::from_secs_f64(self.freeze_ms / 1000.0)
    }
}
