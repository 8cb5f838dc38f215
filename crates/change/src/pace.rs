//! How much of the tables a run has rewritten, and how fast.

use std::{fmt, time::Duration};

use files::quantity::{eta, rate, size};

/// Counts the bytes of completed steps, and the time that these steps took: waits between steps do not count.
pub(crate) struct Pace {
    done: u64,
    total: u64,
    took: Duration,
}

impl Pace {
    /// `total`: bytes of all steps.
    pub(crate) const fn new(total: u64) -> Self {
        Self { done: 0, total, took: Duration::ZERO }
    }

    /// Adds a completed step.
    pub(crate) fn add(&mut self, bytes: u64, took: Duration) {
        if bytes > 0 {
            self.done = self.done.saturating_add(bytes);
            self.took = self.took.saturating_add(took);
        }
    }
}

impl fmt::Display for Pace {
    /// The end of a status line: empty if nothing is rewritten.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.total == 0 {
            return Ok(());
        }
        write!(f, "  {} of {}", size(self.done), size(self.total))?;
        if self.done == 0 {
            return Ok(());
        }
        let rate = rate(self.done, self.took);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a human-readable figure")]
        let per_second = rate as u64;
        write!(f, ", {}/s{}", size(per_second), eta(self.done, self.total, rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_rate_and_remaining_time_are_those_of_completed_steps() {
        let mut pace = Pace::new(40 << 20);
        assert_eq!(pace.to_string(), "  0 B of 40.0 MiB");
        pace.add(0, Duration::from_secs(1000));
        pace.add(10 << 20, Duration::from_secs(2));
        assert_eq!(pace.to_string(), "  10.0 MiB of 40.0 MiB, 5.0 MiB/s  ETA 00:06");
        assert_eq!(Pace::new(0).to_string(), "");
    }
}
