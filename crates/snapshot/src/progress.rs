//! Progress of a copy.

use std::sync::atomic::{AtomicU64, Ordering};

/// Progress of a copy by [`Provider::Follow`](crate::Provider::Follow), in bytes. Other providers do not copy bytes, and
/// leave it at zero.
#[derive(Debug, Default)]
pub struct CopyProgress {
    /// Length of all files when the copy began; 0 before. Files that grow, or are copied again, add to [`Self::bytes`]
    /// only.
    pub total_bytes: AtomicU64,
    /// Bytes copied.
    pub bytes: AtomicU64,
}

impl CopyProgress {
    pub(crate) fn begin(&self, total_bytes: u64) {
        self.total_bytes.store(total_bytes, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}
