//! Pauses between attempts, each twice as long as the one before.

use std::{iter, time::Duration};

/// Pauses between attempts, from the shortest to the longest, without an end: `take` limits their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    shortest: Duration,
    longest: Duration,
    failed: u32,
}

impl Backoff {
    /// Pauses between these limits.
    #[must_use]
    pub const fn new(shortest: Duration, longest: Duration) -> Self {
        Self { shortest, longest, failed: 0 }
    }

    /// The pause after this number of failed attempts.
    #[must_use]
    pub fn after(&self, failed: u32) -> Duration {
        let doublings = failed.saturating_sub(1);
        self.shortest.saturating_mul(2_u32.saturating_pow(doublings)).min(self.longest)
    }
}

impl Iterator for Backoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.failed = self.failed.saturating_add(1);
        Some(self.after(self.failed))
    }
}

/// Pauses before a file is read again that seems damaged because its writer is active.
pub fn reread_pauses(rereads: usize) -> iter::Take<Backoff> {
    Backoff::new(Duration::from_millis(20), Duration::from_secs(3)).take(rereads)
}

/// Pauses before a page is read again that a server may be writing.
#[must_use = "iterators do nothing unless they are used"]
pub fn page_reread_pauses(rereads: usize) -> impl Iterator<Item = Duration> {
    Backoff::new(Duration::from_millis(1), Duration::from_millis(16)).take(rereads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let seconds: Vec<u64> = Backoff::new(Duration::from_secs(1), Duration::from_secs(30))
            .take(7)
            .map(|pause| pause.as_secs())
            .collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(Backoff::new(Duration::from_secs(1), Duration::from_secs(30)).after(u32::MAX).as_secs(), 30);
    }

    #[test]
    fn the_number_of_rereads_is_limited() {
        let pauses: Vec<u128> = reread_pauses(3).map(|pause| pause.as_millis()).collect();
        assert_eq!(pauses, [20, 40, 80]);
    }
}
