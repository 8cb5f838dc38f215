//! Computes how many server connections to keep ready, from the arrivals of clients.
//!
//! The number suffices for the clients that connect while a new connection is being opened, at the rate of the busiest
//! recent moment. It never exceeds the number of clients that connected within the maximum age of a ready connection.
//! So at most as many connections are closed unused as clients are served.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// Time span in which arrivals are counted.
const BIN: Duration = Duration::from_millis(100);
/// How long the busiest moment is remembered.
const MEMORY: Duration = Duration::from_secs(10);
/// How long the maximum of used links is remembered.
const USE_MEMORY: Duration = Duration::from_secs(60);
/// Factor by which simultaneous openings may take longer than a single one.
const MARGIN: f64 = 3.0;

/// Reserve for clients that connect in pairs.
const SPARE: usize = 4;

/// Recent observations.
#[derive(Debug)]
pub(super) struct Demand {
    /// Start of each span with arrivals, and their number.
    arrivals: VecDeque<(Instant, u32)>,
    /// Time to open a connection without contention, close to the observed minimum. A mean would grow with the number
    /// of simultaneous openings, which would grow in turn.
    fetch: Duration,
    /// Maximum number of used links in each second.
    in_use: VecDeque<(Instant, usize)>,
}

impl Default for Demand {
    fn default() -> Self {
        Self { arrivals: VecDeque::new(), fetch: Duration::from_millis(5), in_use: VecDeque::new() }
    }
}

impl Demand {
    /// Records the arrival of a client.
    pub(super) fn arrived(&mut self, now: Instant) {
        match self.arrivals.back_mut() {
            Some((begin, count)) if now.saturating_duration_since(*begin) < BIN => *count = count.saturating_add(1),
            _ => self.arrivals.push_back((now, 1)),
        }
    }

    /// Records the time to open a connection.
    pub(super) fn fetched(&mut self, took: Duration) {
        self.fetch = took.min(self.fetch + took / 64);
    }

    /// Records the number of used links.
    pub(super) fn used(&mut self, now: Instant, count: usize) {
        match self.in_use.back_mut() {
            Some((begin, most)) if now.saturating_duration_since(*begin) < Duration::from_secs(1) => {
                *most = count.max(*most);
            }
            _ => self.in_use.push_back((now, count)),
        }
    }

    /// Number of connections to keep ready.
    pub(super) fn target(&mut self, now: Instant, age: Duration, least: usize, most: usize) -> usize {
        forget(&mut self.arrivals, now, MEMORY);
        let recent = self.arrivals.iter().filter(|(begin, _)| now.saturating_duration_since(*begin) <= age);
        let came: usize = recent.map(|(_, count)| *count as usize).sum();
        let busiest = self.arrivals.iter().map(|(_, count)| *count).max().unwrap_or(0);
        let rate = f64::from(busiest) / BIN.as_secs_f64();
        let needed = (rate * self.fetch.as_secs_f64() * MARGIN).ceil();
        // A number of clients within seconds: far below the limits of rounding.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded by the counts above")]
        let needed = needed.clamp(0.0, 1e6) as usize + SPARE;
        needed.min(came).max(least).min(most)
    }

    /// Recent maximum of simultaneously used links.
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

    const MAX_AGE: Duration = Duration::from_secs(5);

    fn target(demand: &mut Demand, now: Instant) -> usize {
        demand.target(now, MAX_AGE, 0, 200)
    }

    #[test]
    fn without_clients_no_connection_is_kept_ready() {
        let (mut demand, now) = (Demand::default(), Instant::now());
        assert_eq!(target(&mut demand, now), 0);
        demand.arrived(now);
        assert_eq!(target(&mut demand, now), 1, "not more than came");
        assert_eq!(target(&mut demand, now + MAX_AGE * 2), 0);
        assert_eq!(demand.target(now + MAX_AGE * 3, MAX_AGE, 4, 200), 4);
    }

    #[test]
    fn the_target_follows_arrival_rate_and_connect_time() {
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
    fn the_peak_of_used_links_is_remembered_for_a_while() {
        let (mut demand, now) = (Demand::default(), Instant::now());
        demand.used(now, 900);
        demand.used(now + Duration::from_secs(2), 3);
        assert_eq!(demand.peak(now + Duration::from_secs(50)), 900);
        assert_eq!(demand.peak(now + Duration::from_secs(61)), 3);
    }
}
