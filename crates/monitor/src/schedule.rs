//! When a server is audited next: a pure state machine, without clocks and threads.

use std::time::Duration;

/// What a round reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The results of SQL queries and of probes of the server's ports.
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
    /// Consecutive failures of light rounds, and of full ones.
    failures: [u32; 2],
}

/// Maximum wait for the next light round after failures, in light intervals.
const MOST_INTERVALS: u32 = 8;
/// Maximum time over which the first rounds of all servers are spread.
const FIRST_LIGHT: Duration = Duration::from_secs(60);
const FIRST_FULL: Duration = Duration::from_secs(3600);

impl Schedule {
    /// Spreads the first rounds of `count` servers: a fleet is not read at once, and no server waits long.
    pub(crate) fn first(intervals: Intervals, index: usize, count: usize, now: Duration) -> Self {
        let share = |whole: Duration| {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            let count = u32::try_from(count).unwrap_or(u32::MAX).max(1);
            now.saturating_add(whole.checked_div(count).unwrap_or_default().saturating_mul(index))
        };
        let full = intervals.full.checked_div(10).unwrap_or_default();
        Self { light: share(intervals.light.min(FIRST_LIGHT)), full: share(full.min(FIRST_FULL)), failures: [0; 2] }
    }

    /// Schedules the first full round one interval after the last one, which took place `ago`.
    pub(crate) fn with_full_round(self, ago: Duration, intervals: Intervals, now: Duration) -> Self {
        Self { full: now.saturating_add(intervals.full.saturating_sub(ago)).max(self.light), ..self }
    }

    /// Due time and scope of the next round. A full round includes a light one.
    pub(crate) fn next(&self) -> (Duration, Scope) {
        if self.full <= self.light { (self.full, Scope::Full) } else { (self.light, Scope::Light) }
    }

    /// A round that began at `started` succeeded.
    pub(crate) fn succeeded(&mut self, scope: Scope, started: Duration, intervals: Intervals) {
        self.failures[0] = 0;
        self.light = started.saturating_add(intervals.light);
        if scope == Scope::Full {
            self.failures[1] = 0;
            self.full = started.saturating_add(intervals.full);
        }
    }

    /// A round that began at `started` failed at `now`. A failed light round is repeated after one light interval, then
    /// after two, four, up to eight. After a failed full round a light one is due at once, because files that cannot be
    /// read do not show whether the server answers. The next full round is due after two light intervals, then four,
    /// eight, and so on, up to twice the full interval.
    pub(crate) fn failed(&mut self, scope: Scope, started: Duration, now: Duration, intervals: Intervals) {
        let [light, full] = &mut self.failures;
        let wait = |failures: &mut u32, most: Duration| {
            let factor = 1_u32.checked_shl(*failures).unwrap_or(u32::MAX);
            *failures = failures.saturating_add(1);
            intervals.light.saturating_mul(factor).min(most)
        };
        match scope {
            Scope::Light => {
                let wait = wait(light, intervals.light.saturating_mul(MOST_INTERVALS));
                self.light = started.saturating_add(wait).max(now);
                self.full = self.full.max(self.light.saturating_add(Duration::from_nanos(1)));
            }
            Scope::Full => {
                let wait = wait(full, intervals.full).saturating_mul(2);
                self.light = now;
                self.full = now.saturating_add(wait.max(Duration::from_nanos(1)));
            }
        }
    }

    /// Uses other intervals from now on. A failing server is tried at once: the cause may have been corrected.
    pub(crate) fn adapt(&mut self, intervals: Intervals, now: Duration) {
        self.light = if self.is_failing() { now } else { self.light.min(now.saturating_add(intervals.light)) };
        self.full = self.full.min(now.saturating_add(intervals.full));
    }

    /// Makes the next round a full one, as soon as possible.
    pub(crate) fn request_full(&mut self, now: Duration) {
        self.full = now.min(self.light);
    }

    /// Whether the last light round failed.
    pub(crate) const fn is_failing(&self) -> bool {
        self.failures[0] > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const EVERY: Intervals = Intervals { light: Duration::from_secs(60), full: Duration::from_secs(3600) };

    fn first() -> Schedule {
        Schedule::first(EVERY, 0, 1, Duration::ZERO)
    }

    #[test]
    fn first_rounds_are_spread() {
        let first: Vec<_> = (0..6).map(|index| Schedule::first(EVERY, index, 6, 5 * SECOND)).collect();
        let light: Vec<_> = first.iter().map(|schedule| schedule.light.as_secs()).collect();
        assert_eq!(light, [5, 15, 25, 35, 45, 55]);
        let full: Vec<_> = first.iter().map(|schedule| schedule.full.as_secs()).collect();
        assert_eq!(full, [5, 65, 125, 185, 245, 305]);
        let slow = Intervals { light: 6 * 3600 * SECOND, full: 86_400 * SECOND };
        assert_eq!(Schedule::first(slow, 1, 2, Duration::ZERO).light, 30 * SECOND);
    }

    #[test]
    fn a_full_round_replaces_a_light_one_and_light_ones_follow_it() {
        let mut schedule = first();
        assert_eq!(schedule.next(), (Duration::ZERO, Scope::Full));
        schedule.succeeded(Scope::Full, SECOND, EVERY);
        assert_eq!(schedule.next(), (61 * SECOND, Scope::Light));
        for round in 1..=60 {
            schedule.succeeded(Scope::Light, 60 * round * SECOND, EVERY);
        }
        assert_eq!(schedule.next(), (3601 * SECOND, Scope::Full));
    }

    #[test]
    fn a_server_that_fails_is_tried_less_and_less_often() {
        let mut schedule = first();
        let (mut now, mut waits) = (Duration::ZERO, Vec::new());
        for _ in 0..6 {
            schedule.failed(Scope::Light, now, now, EVERY);
            let (due, scope) = schedule.next();
            assert_eq!(scope, Scope::Light, "files are read when the server answers again");
            waits.push((due - now).as_secs());
            now = due;
        }
        assert_eq!(waits, [60, 120, 240, 480, 480, 480]);
        assert!(schedule.is_failing());
        schedule.succeeded(Scope::Light, now, EVERY);
        assert!(!schedule.is_failing());
        assert_eq!(schedule.next().1, Scope::Full);
    }

    #[test]
    fn full_rounds_that_fail_do_not_end_the_light_ones() {
        let mut schedule = first();
        let mut now = Duration::ZERO;
        let mut light = 0;
        for _ in 0..200 {
            let (due, scope) = schedule.next();
            now = now.max(due);
            match scope {
                Scope::Full => {
                    let started = now;
                    now += 600 * SECOND;
                    schedule.failed(scope, started, now, EVERY);
                }
                Scope::Light => {
                    light += 1;
                    schedule.succeeded(scope, now, EVERY);
                }
            }
            assert!(!schedule.is_failing());
        }
        assert!(light > 150, "{light}");
    }

    #[test]
    fn a_restart_does_not_repeat_full_rounds() {
        let first = Schedule::first(EVERY, 3, 6, Duration::ZERO);
        let schedule = first.with_full_round(600 * SECOND, EVERY, 7 * SECOND);
        assert_eq!((schedule.light, schedule.full), (30 * SECOND, 3007 * SECOND));
        assert_eq!(first.with_full_round(9000 * SECOND, EVERY, Duration::ZERO).next(), (30 * SECOND, Scope::Full));
    }

    #[test]
    fn other_intervals_count_at_once() {
        let mut schedule = first();
        schedule.succeeded(Scope::Full, Duration::ZERO, Intervals { light: 3600 * SECOND, full: 86_400 * SECOND });
        schedule.adapt(EVERY, 10 * SECOND);
        assert_eq!((schedule.light, schedule.full), (70 * SECOND, 3610 * SECOND));
        schedule.failed(Scope::Light, 70 * SECOND, 70 * SECOND, EVERY);
        schedule.adapt(EVERY, 80 * SECOND);
        assert_eq!(schedule.next(), (80 * SECOND, Scope::Light));
        schedule.request_full(90 * SECOND);
        assert_eq!(schedule.next().1, Scope::Full);
    }
}
