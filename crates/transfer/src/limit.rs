//! Bandwidth limit over all connections or uploads.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

/// Rate limiter for bytes.
#[derive(Debug)]
pub struct Limiter {
    bytes_per_second: f64,
    /// Time at which everything reserved so far will have been sent at the configured rate.
    due: Mutex<Instant>,
    /// Number of callers that wait.
    waiting: AtomicUsize,
}

/// A part of the bandwidth. Its holder counts as waiting until this is dropped.
#[derive(Debug)]
pub struct Reservation<'l> {
    /// How long to wait before sending.
    pub wait: Duration,
    limiter: &'l Limiter,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.limiter.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Maximum unused time that later sends can make up for.
const SLACK: Duration = Duration::from_millis(50);

impl Limiter {
    /// A limiter to this rate.
    #[must_use]
    pub fn new(bytes_per_second: u64) -> Self {
        #[allow(clippy::cast_precision_loss, reason = "a rate")]
        let bytes_per_second = bytes_per_second.max(1) as f64;
        Self { bytes_per_second, due: Mutex::new(Instant::now()), waiting: AtomicUsize::new(0) }
    }

    /// Reserves bandwidth for `bytes`. The caller has to wait for [`Reservation::wait`] before it
    /// sends them.
    pub fn reserve(&self, bytes: u64) -> Reservation<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Reservation { wait: self.wait_for(bytes), limiter: self }
    }

    /// Whether a caller waits now.
    pub(crate) fn has_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    fn wait_for(&self, bytes: u64) -> Duration {
        let Ok(mut due) = self.due.lock() else { return Duration::ZERO };
        let now = Instant::now();
        #[allow(clippy::cast_precision_loss, reason = "a rate")]
        let takes = Duration::from_secs_f64(bytes as f64 / self.bytes_per_second);
        let earliest = now.checked_sub(SLACK).unwrap_or(now);
        let begin = (*due).max(earliest);
        *due = begin + takes;
        drop(due);
        begin.saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_spread_over_time() {
        let limiter = Limiter::new(1);
        let last = (0..4).map(|_| limiter.reserve(50).wait).last().unwrap();
        // 200 bytes take 200 s. The last 50 s need no wait, and at most [`SLACK`] is caught up.
        assert!(last >= Duration::from_secs(140), "{last:?}");
        let reserved = limiter.reserve(1);
        assert!(limiter.has_waiting());
        drop(reserved);
        assert!(!limiter.has_waiting());
    }
}
