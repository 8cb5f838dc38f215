//! When a server is audited next: a pure state machine, without clocks and threads.

use std::time::Duration;

/// What a round reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// What the server tells and what its ports answer.
    Light,
    /// Its files and its host, too.
    Full,
}

impl Scope {
    /// Both, the light one first.
    pub const ALL: [Self; 2] = [Self::Light, Self::Full];

    /// The word in metrics and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Full => "full",
        }
    }
}

/// Time between the starts of two rounds of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Intervals {
    pub(crate) light: Duration,
    pub(crate) full: Duration,
}

/// Due times of a server's next rounds; times are since the start of the monitor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    light: Duration,
    full: Duration,
    failures: u32,
}

/// The longest wait after failures is this many light intervals.
const MOST_INTERVALS: u32 = 8;

impl Schedule {
    /// Spreads the first rounds of `count` servers over one light interval, and over a tenth of one full interval:
    /// a fleet is not read at once, and no server waits a day for its first full round.
    pub(crate) fn first(intervals: Intervals, index: usize, count: usize) -> Self {
        let share = |whole: Duration| {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            let count = u32::try_from(count).unwrap_or(u32::MAX).max(1);
            whole.checked_div(count).unwrap_or_default().saturating_mul(index)
        };
        let spread = intervals.full.checked_div(10).unwrap_or_default().min(Duration::from_secs(3600));
        Self { light: share(intervals.light), full: share(spread), failures: 0 }
    }

    /// The same schedule, begun `now`.
    pub(crate) const fn after(self, now: Duration) -> Self {
        Self { light: self.light.saturating_add(now), full: self.full.saturating_add(now), ..self }
    }

    /// Moves the first full round to when it is due after one that took place `ago`.
    pub(crate) fn with_full_round(self, ago: Duration, intervals: Intervals) -> Self {
        Self { full: intervals.full.saturating_sub(ago).max(self.light), ..self }
    }

    /// Due time and scope of the next round. A full round includes a light one.
    pub(crate) fn next(&self) -> (Duration, Scope) {
        if self.full <= self.light { (self.full, Scope::Full) } else { (self.light, Scope::Light) }
    }

    /// A round that began at `started` succeeded.
    pub(crate) fn succeeded(&mut self, scope: Scope, started: Duration, intervals: Intervals) {
        self.failures = 0;
        self.light = started.saturating_add(intervals.light);
        if scope == Scope::Full {
            self.full = started.saturating_add(intervals.full);
        }
    }

    /// A round that began at `started` failed: the next one of the same scope is due after one light interval, then
    /// two, four, up to eight.
    pub(crate) fn failed(&mut self, started: Duration, intervals: Intervals) {
        let factor = 1_u32.checked_shl(self.failures).unwrap_or(MOST_INTERVALS).min(MOST_INTERVALS);
        self.failures = self.failures.saturating_add(1);
        let next = started.saturating_add(intervals.light.saturating_mul(factor));
        self.light = next;
        self.full = self.full.max(next);
    }

    /// Whether the last round failed.
    pub(crate) const fn is_failing(&self) -> bool {
        self.failures > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const EVERY: Intervals = Intervals { light: Duration::from_secs(60), full: Duration::from_secs(3600) };

    #[test]
    fn first_rounds_are_spread() {
        let first: Vec<_> = (0..6).map(|index| Schedule::first(EVERY, index, 6)).collect();
        let light: Vec<_> = first.iter().map(|schedule| schedule.light.as_secs()).collect();
        assert_eq!(light, [0, 10, 20, 30, 40, 50]);
        let full: Vec<_> = first.iter().map(|schedule| schedule.full.as_secs()).collect();
        assert_eq!(full, [0, 60, 120, 180, 240, 300]);
    }

    #[test]
    fn a_full_round_replaces_a_light_one_and_light_ones_follow_it() {
        let mut schedule = Schedule::first(EVERY, 0, 1);
        assert_eq!(schedule.next(), (Duration::ZERO, Scope::Full));
        schedule.succeeded(Scope::Full, SECOND, EVERY);
        assert_eq!(schedule.next(), (61 * SECOND, Scope::Light));
        for round in 1..60 {
            schedule.succeeded(Scope::Light, 60 * round * SECOND, EVERY);
        }
        assert_eq!(schedule.next(), (3600 * SECOND, Scope::Light));
        schedule.succeeded(Scope::Light, 3600 * SECOND, EVERY);
        assert_eq!(schedule.next(), (3601 * SECOND, Scope::Full));
    }

    #[test]
    fn a_server_that_fails_is_tried_less_and_less_often() {
        let mut schedule = Schedule::first(EVERY, 0, 1);
        let (mut now, mut waits) = (Duration::ZERO, Vec::new());
        for _ in 0..6 {
            schedule.failed(now, EVERY);
            let (due, _) = schedule.next();
            waits.push((due - now).as_secs());
            now = due;
        }
        assert_eq!(waits, [60, 120, 240, 480, 480, 480]);
        assert!(schedule.is_failing());
        schedule.succeeded(Scope::Full, now, EVERY);
        assert!(!schedule.is_failing());
        assert_eq!(schedule.next().0, now + EVERY.light);
    }

    #[test]
    fn a_restart_does_not_repeat_full_rounds() {
        let schedule = Schedule::first(EVERY, 3, 6).with_full_round(600 * SECOND, EVERY);
        assert_eq!((schedule.light, schedule.full), (30 * SECOND, 3000 * SECOND));
        let late = Schedule::first(EVERY, 3, 6).with_full_round(9000 * SECOND, EVERY);
        assert_eq!(late.next(), (30 * SECOND, Scope::Full));
    }
}
