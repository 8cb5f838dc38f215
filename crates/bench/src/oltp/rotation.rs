//! A rotation of keys in the middle of a run: how long it takes, and how much throughput falls meanwhile.

use std::{
    thread,
    time::{Duration, Instant},
};

use files::quantity::short_seconds;
use server::{
    Connection, Error,
    dialect::{
        innodb::{MARIADB_WAKE_THREADS, mariadb_pending},
        statement::ROTATE_MASTER_KEY,
        variable::MARIADB_TABLESPACES,
    },
};

use crate::{stats::median, tls::OLTP_DATABASE};

/// Width of the slices of time in which completed operations are counted.
pub(super) const SLICE: Duration = Duration::from_millis(100);
/// Throughput below this share of that before counts as a dip.
const DIP: f64 = 0.9;
/// Pages that MariaDB's background threads may rewrite in a second. Its default of 100 would take a run of many minutes.
pub(super) const PAGES_PER_SECOND: u32 = 5000;
/// Number of MariaDB's background threads.
pub(super) const THREADS: u8 = 2;
const LIMIT: Duration = Duration::from_secs(300);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What a rotation did to the throughput of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dip {
    /// Duration of the rotation.
    seconds: f64,
    /// Throughput meanwhile, in units of that before.
    share: f64,
    /// The longest time that throughput stayed below [`DIP`] of that before, since the rotation began.
    low_seconds: f64,
}

/// Rotates MySQL's master key, or lets MariaDB decrypt and encrypt all tables again in the background, which is the
/// nearest that it has. Returns the time that it took.
pub(super) fn rotate(connection: &mut Connection, mariadb: bool) -> Result<Duration, Error> {
    let begin = Instant::now();
    if mariadb {
        for (value, encrypt) in [("OFF", false), ("ON", true)] {
            connection.query(&format!("SET GLOBAL {MARIADB_TABLESPACES} = {value}"))?;
            wait_for_background(connection, &mariadb_pending(OLTP_DATABASE, encrypt))?;
        }
    } else {
        connection.query(ROTATE_MASTER_KEY)?;
    }
    Ok(begin.elapsed())
}

/// Waits until MariaDB's threads have no page of the tables left.
fn wait_for_background(connection: &mut Connection, pending: &str) -> Result<(), Error> {
    let begin = Instant::now();
    while connection.query(pending)?.scalar() != Some("0") && begin.elapsed() < LIMIT {
        connection.query(MARIADB_WAKE_THREADS)?;
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

impl Dip {
    /// Compares the operations of each slice before and during a rotation that began after `start`; `None` if the run
    /// is too short to tell.
    pub(super) fn measure(slices: &[u64], start: Duration, took: Duration) -> Option<Self> {
        let (first, last) = (slice(start), slice(start + took));
        // Clients begin during the first slice.
        let before = mean(slices.get(1..first)?)?;
        let meanwhile = mean(slices.get(first..=last.min(slices.len().checked_sub(1)?))?)?;
        let (mut longest, mut low) = (0_u32, 0_u32);
        for count in slices.get(first..)? {
            low = if number(*count) < DIP * before { low + 1 } else { 0 };
            longest = longest.max(low);
        }
        let low_seconds = (SLICE * longest).as_secs_f64();
        Some(Self { seconds: took.as_secs_f64(), share: meanwhile / before, low_seconds })
    }

    /// A note on the dips of all runs.
    pub(super) fn note(all: &[Self], mariadb: bool) -> Option<String> {
        let of = |value: fn(&Self) -> f64| median(&all.iter().map(value).collect::<Vec<_>>());
        let what = match mariadb {
            true => format!(
                "all pages decrypted and encrypted again in the background, at most {PAGES_PER_SECOND} a second,"
            ),
            false => "a rotation of the master key".to_owned(),
        };
        Some(format!(
            "rotation: {what} took {} (median of {} runs); throughput meanwhile was {:.0} % of that before, and below \
             {:.0} % for {} at a time",
            short_seconds(of(|dip| dip.seconds)?),
            all.len(),
            of(|dip| dip.share)? * 100.0,
            DIP * 100.0,
            short_seconds(of(|dip| dip.low_seconds)?),
        ))
    }
}

/// Index of the slice that holds a point in time.
pub(super) fn slice(since_begin: Duration) -> usize {
    usize::try_from(since_begin.as_millis() / SLICE.as_millis()).unwrap_or(usize::MAX)
}

fn mean(counts: &[u64]) -> Option<f64> {
    let sum = number(counts.iter().sum());
    (sum > 0.0).then(|| sum / number(counts.len() as u64))
}

#[allow(clippy::cast_precision_loss, reason = "a number of operations")]
fn number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dip_has_a_depth_and_a_length() {
        let slices = [1, 10, 10, 10, 4, 6, 10, 10];
        let dip = Dip::measure(&slices, Duration::from_millis(400), Duration::from_millis(150)).unwrap();
        assert_eq!(dip, Dip { seconds: 0.15, share: 0.5, low_seconds: 0.2 });
        let note = Dip::note(&[dip], false).unwrap();
        assert!(note.contains("took 150 ms (median of 1 runs); throughput meanwhile was 50 %"), "{note}");
        assert!(note.ends_with("below 90 % for 200 ms at a time"), "{note}");
    }

    #[test]
    fn a_run_that_is_too_short_shows_no_dip() {
        assert_eq!(Dip::measure(&[5, 5], Duration::from_millis(50), Duration::from_millis(10)), None);
        assert_eq!(Dip::measure(&[], Duration::ZERO, Duration::ZERO), None);
        assert_eq!(Dip::note(&[], true), None);
    }
}
