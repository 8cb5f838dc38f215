//! Progress of a copy.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Progress of a copy by [`Provider::Follow`](crate::Provider::Follow), in bytes. Other providers do not copy bytes,
/// and leave it at zero.
#[derive(Debug, Default)]
pub struct CopyProgress {
    /// Length of the files to copy when the copy began; 0 before. Files that grow, or are copied again, and the logs
    /// up to the end of the copy add to [`Self::bytes`] only.
    pub total_bytes: AtomicU64,
    /// Bytes copied.
    pub bytes: AtomicU64,
    began: OnceLock<Instant>,
}

impl CopyProgress {
    /// Time since the first byte; zero before.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.began.get().map_or(Duration::ZERO, Instant::elapsed)
    }

    pub(crate) fn begin(&self, total_bytes: u64) {
        self.began.get_or_init(Instant::now);
        self.total_bytes.store(total_bytes, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}
