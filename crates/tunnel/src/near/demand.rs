//! How many server connections should wait for clients, judged from the clients that came.
//!
//! Enough for those who come while a connection is fetched anew, at the rate of the busiest moment of
//! late; never more than came within the time that a connection may wait, so that at most as many are given up
//! unused as clients are served.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// Span that arrivals are counted by.
const BIN: Duration = Duration::from_millis(100);
/// How long the busiest moment is remembered.
const MEMORY: Duration = Duration::from_secs(10);
/// How long it is remembered how many links were in use at once.
const USE_MEMORY: Duration = Duration::from_secs(60);
/// Connections that are fetched at once may take so much longer than one.
const MARGIN: f64 = 3.0;

/// For clients that come in pairs.
const SPARE: usize = 4;

/// What was seen of late.
#[derive(Debug)]
pub(super) struct Demand {
    /// Beginning of each span in which somebody came, and how many.
    arrivals: VecDeque<(Instant, u32)>,
    /// How long fetching a connection takes if nothing holds it up: near the least that was seen. A mean
    /// would grow with the number that are fetched at once, and that number with it.
    fetch: Duration,
    /// How many links were in use, at most, in each second.
    in_use: VecDeque<(Instant, usize)>,
}

impl Default for Demand {
    fn default() -> Self {
        Self { arrivals: VecDeque::new(), fetch: Duration::from_millis(5), in_use: VecDeque::new() }
    }
}

impl Demand {
    /// A client came.
    pub(super) fn arrived(&mut self, now: Instant) {
        match self.arrivals.back_mut() {
            Some((begin, count)) if now.saturating_duration_since(*begin) < BIN => *count = count.saturating_add(1),
            _ => self.arrivals.push_back((now, 1)),
        }
    }

    /// Fetching a connection took so long.
    pub(super) fn fetched(&mut self, took: Duration) {
        self.fetch = took.min(self.fetch + took / 64);
    }

    /// So many links are in use now.
    pub(super) fn used(&mut self, now: Instant, count: usize) {
        match self.in_use.back_mut() {
            Some((begin, most)) if now.saturating_duration_since(*begin) < Duration::from_secs(1) => {
                *most = count.max(*most);
            }
            _ => self.in_use.push_back((now, count)),
        }
    }

    /// How many connections should wait.
    pub(super) fn target(&mut self, now: Instant, age: Duration, least: usize, most: usize) -> usize {
        forget(&mut self.arrivals, now, MEMORY);
        let recent = self.arrivals.iter().filter(|(begin, _)| now.saturating_duration_since(*begin) <= age);
        let came: usize = recent.map(|(_, count)| *count as usize).sum();
        let busiest = self.arrivals.iter().map(|(_, count)| *count).max().unwrap_or(0);
        let rate = f64::from(busiest) / BIN.as_secs_f64();
        let needed = (rate * self.fetch.as_secs_f64() * MARGIN).ceil();
        // A count of clients within seconds: far below where this would round.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded by the counts above")]
        let needed = needed.clamp(0.0, 1e6) as usize + SPARE;
        needed.min(came).max(least).min(most)
    }

    /// The most links that were in use at once of late.
    pub(super) fn peak(&mut self, now: Instant) -> usize {
        forget(&mut self.in_use, now, USE_MEMORY);
        self.in_use.iter().map(|(_, most)| *most).max().unwrap_or(0)
    }
}

fn forget<T>(seen: &mut VecDeque<(Instant, T)>, now: Instant, memory: Duration) {
    while seen.front().is_some_and(|(begin, _)| now.saturating_duration_since(*begin) > memory) {
        seen.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGE: Duration = Duration::from_secs(5);

    fn target(demand: &mut Demand, now: Instant) -> usize {
        demand.target(now, AGE, 0, 200)
    }

    #[test]
    fn nothing_waits_for_nobody() {
        let (mut demand, now) = (Demand::default(), Instant::now());
        assert_eq!(target(&mut demand, now), 0);
        demand.arrived(now);
        assert_eq!(target(&mut demand, now), 1, "not more than came");
        assert_eq!(target(&mut demand, now + AGE * 2), 0);
        assert_eq!(demand.target(now + AGE * 3, AGE, 4, 200), 4);
    }

    #[test]
    fn it_follows_rate_and_distance() {
        let (mut demand, now) = (Demand::default(), Instant::now());
        for number in 0..5000_u32 {
            demand.arrived(now + Duration::from_micros(200) * number);
        }
        let near = target(&mut demand, now + Duration::from_secs(1));
        for _ in 0..100 {
            demand.fetched(Duration::from_millis(40));
        }
        let distant = target(&mut demand, now + Duration::from_secs(1));
        assert!(near < 100 && distant == 200, "{near} {distant}");
    }

    #[test]
    fn what_was_in_use_is_remembered_for_a_while() {
        let (mut demand, now) = (Demand::default(), Instant::now());
        demand.used(now, 900);
        demand.used(now + Duration::from_secs(2), 3);
        assert_eq!(demand.peak(now + Duration::from_secs(50)), 900);
        assert_eq!(demand.peak(now + Duration::from_secs(61)), 3);
    }
}
