//! How much of the tables a run has rewritten, and how fast.

use std::{fmt, time::Duration};

use files::quantity::{eta, rate, size};

use crate::{Outcome, StepReport};

/// Counts the bytes that steps rewrote, and the time that these steps took: waits between steps do not count.
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

    /// Counts a step that ended. The bytes of a step that was not executed are subtracted from the total.
    pub(crate) fn add(&mut self, step: &StepReport) {
        if step.outcome != Outcome::Done {
            self.total = self.total.saturating_sub(step.bytes);
        } else if step.bytes > 0 {
            self.done = self.done.saturating_add(step.bytes);
            self.took = self.took.saturating_add(Duration::from_secs_f64(step.seconds));
        }
    }

    /// Bytes rewritten so far, and the total: these bytes and those of the steps that have not ended.
    pub(crate) const fn bytes(&self) -> (u64, u64) {
        (self.done, self.total)
    }
}

impl fmt::Display for Pace {
    /// A part of a status line: empty if nothing is rewritten.
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
    use crate::Step;

    fn ended(bytes: u64, outcome: Outcome, seconds: f64) -> StepReport {
        Step { bytes, ..Step::quiet("", "", ()) }.report(Vec::new(), outcome, seconds)
    }

    #[test]
    fn bytes_rate_and_remaining_time_are_those_of_completed_steps() {
        let mut pace = Pace::new(40 << 20);
        assert_eq!(pace.to_string(), "  0 B of 40.0 MiB");
        pace.add(&ended(0, Outcome::Done, 1000.0));
        pace.add(&ended(10 << 20, Outcome::Done, 2.0));
        assert_eq!(pace.to_string(), "  10.0 MiB of 40.0 MiB, 5.0 MiB/s  ETA 00:06");
        assert_eq!(Pace::new(0).to_string(), "");
    }

    #[test]
    fn skipped_and_failed_steps_leave_the_total() {
        let mut pace = Pace::new(40 << 20);
        pace.add(&ended(10 << 20, Outcome::Skipped { reason: "the table is gone".to_owned() }, 9.0));
        assert_eq!(pace.to_string(), "  0 B of 30.0 MiB");
        pace.add(&ended(10 << 20, Outcome::Done, 2.0));
        pace.add(&ended(10 << 20, Outcome::Failed { reason: "locked".to_owned() }, 60.0));
        assert_eq!(pace.to_string(), "  10.0 MiB of 20.0 MiB, 5.0 MiB/s  ETA 00:02");
        assert_eq!(pace.bytes(), (10 << 20, 20 << 20));
    }
}
