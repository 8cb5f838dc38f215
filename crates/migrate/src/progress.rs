//! How far a run is, how fast, and how long it may still take.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use crate::{Phase, Side, moved_table::MovedTable, shared::RunState};

/// Period over which rates are averaged.
const WINDOW: Duration = Duration::from_secs(30);

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Work {
    /// Rows are copied.
    Copy,
    /// Changes of the source are applied until the target has caught up.
    Follow,
    /// Rows of both ends are compared.
    Compare,
}

/// How far a run is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Phase of the migration.
    pub phase: Phase,
    /// What the run is doing.
    pub work: Work,
    /// Rows that this run has copied and committed.
    pub copied_rows: u64,
    /// Bytes of rows that this run has copied, as texts, also of those that are not committed yet.
    pub copied_bytes: u64,
    /// How much of [`Self::total_bytes`] is at the target, including what earlier runs have copied.
    pub done_bytes: u64,
    /// Bytes of all tables with their indexes, as the source estimates them.
    pub total_bytes: u64,
    /// Bytes per second that are copied, as texts.
    pub bytes_per_second: u64,
    /// The server that limits the speed of copying.
    pub limited_by: Option<Side>,
    /// Changed rows that this run has applied.
    pub applied_rows: u64,
    /// Age of the newest change that was applied; zero if the target has every change. `None` before the first change.
    pub lag: Option<Duration>,
    /// Number of chunks so far.
    pub chunks: usize,
    /// Number of chunks that were equal and have not changed since then.
    pub verified_chunks: usize,
    /// Time until every row is copied, or compared; `None` until it can be estimated.
    pub eta: Option<Duration>,
}

/// Estimated bytes that are at the target, and of all tables.
pub(crate) fn bytes(tables: &[MovedTable], state: &RunState) -> (u64, u64) {
    let mut done = 0_u64;
    let mut total = 0_u64;
    for (moved, (map, copied)) in tables.iter().zip(state.chunk_maps.iter().zip(&state.copied)) {
        let estimate = moved.table.bytes;
        let loading = state.loading.get(&moved.number).map_or(0, |size| size.rows);
        let rows = copied.rows.saturating_add(loading);
        let part = if map.is_complete() { estimate } else { share(estimate, rows, moved.table.rows) };
        done = done.saturating_add(part);
        total = total.saturating_add(estimate);
    }
    (done, total)
}

/// The part of an estimate in `bytes` that `rows` of about `all` rows make up: always less than the whole.
fn share(bytes: u64, rows: u64, all: u64) -> u64 {
    let rows = rows.min(all.saturating_sub(1));
    let share = u128::from(bytes).saturating_mul(rows.into()).checked_div(all.max(1).into());
    u64::try_from(share.unwrap_or(0)).unwrap_or(u64::MAX)
}

/// Rates over the last half minute.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    samples: VecDeque<(Instant, Sample)>,
}

/// Values of the counters at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    pub(crate) copied_bytes: u64,
    /// Amount of work done, in the unit of `total` in [`Pace::left`].
    pub(crate) done: u64,
    /// How long readers have waited for loaders.
    pub(crate) waits_for_target: Duration,
    /// How long loaders have waited for readers.
    pub(crate) waits_for_source: Duration,
}

impl Pace {
    pub(crate) fn note(&mut self, now: Instant, sample: Sample) {
        // The counter has gone back, so another kind of work has begun.
        if self.samples.back().is_some_and(|(_, last)| sample.done < last.done) {
            self.samples.clear();
        }
        self.samples.push_back((now, sample));
        while self.samples.front().is_some_and(|(at, _)| now.duration_since(*at) > WINDOW) {
            self.samples.pop_front();
        }
    }

    /// Starts counting again for the next kind of work.
    pub(crate) fn restart(&mut self) {
        self.samples.clear();
    }

    pub(crate) fn bytes_per_second(&self) -> u64 {
        let Some((time, first, last)) = self.ends() else { return 0 };
        per_second(last.copied_bytes.saturating_sub(first.copied_bytes), time)
    }

    pub(crate) fn limited_by(&self) -> Option<Side> {
        let (_, first, last) = self.ends()?;
        let target = last.waits_for_target.saturating_sub(first.waits_for_target);
        let source = last.waits_for_source.saturating_sub(first.waits_for_source);
        match target.cmp(&source) {
            std::cmp::Ordering::Greater => Some(Side::Target),
            std::cmp::Ordering::Less => Some(Side::Source),
            std::cmp::Ordering::Equal => None,
        }
    }

    /// The estimated time until `total` is done; `None` until a hundredth of it is done.
    pub(crate) fn left(&self, total: u64) -> Option<Duration> {
        let (time, first, last) = self.ends()?;
        let rate = per_second(last.done.saturating_sub(first.done).saturating_mul(1000), time);
        let left = total.saturating_sub(last.done).saturating_mul(1000).checked_div(rate)?;
        (last.done.saturating_mul(100) > total).then(|| Duration::from_secs(left))
    }

    fn ends(&self) -> Option<(Duration, Sample, Sample)> {
        let ((began, first), (ended, last)) = (self.samples.front()?, self.samples.back()?);
        let time = ended.duration_since(*began);
        (!time.is_zero()).then_some((time, *first, *last))
    }
}

fn per_second(count: u64, time: Duration) -> u64 {
    let rate = u128::from(count).saturating_mul(1000).checked_div(time.as_millis().max(1));
    u64::try_from(rate.unwrap_or(0)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_estimated_from_the_last_half_minute() {
        let (mut pace, began) = (Pace::default(), Instant::now());
        assert_eq!((pace.left(1000), pace.bytes_per_second(), pace.limited_by()), (None, 0, None));
        // The first samples are slow, and the loaders wait for the source.
        for second in 0..=60_u64 {
            let fast = second.saturating_sub(20);
            let sample = Sample {
                copied_bytes: fast * 50,
                done: 20 + fast * 10,
                waits_for_target: Duration::from_millis(fast * 700),
                waits_for_source: Duration::from_millis(second * 100),
            };
            pace.note(began + Duration::from_secs(second), sample);
        }
        assert_eq!(pace.left(620), Some(Duration::from_secs(20)));
        assert_eq!((pace.bytes_per_second(), pace.limited_by()), (50, Some(Side::Target)));
        // Less than a hundredth is done.
        assert_eq!(pace.left(1_000_000), None);
        pace.note(began + Duration::from_secs(61), Sample::default());
        assert_eq!((pace.left(620), pace.samples.len()), (None, 1));
    }

    #[test]
    fn a_table_that_is_larger_than_its_estimate_is_not_done_early() {
        assert_eq!((share(1000, 50, 100), share(1000, 500, 100), share(1000, 5, 0)), (500, 990, 0));
    }
}
