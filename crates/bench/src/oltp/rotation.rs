//! A rotation of keys in the middle of a run: how long it takes, and how much throughput falls meanwhile.

use std::time::{Duration, Instant};

use files::quantity::short_seconds;
use server::{
    Connection, Rows,
    dialect::{
        innodb::{MARIADB_WAKE_THREADS, mariadb_pending},
        statement::ROTATE_MASTER_KEY,
        variable::MARIADB_TABLESPACES,
    },
};

use super::ServerSetup;
use crate::{Error, stats::median, tls::OLTP_DATABASE};

/// Width of the slices of time in which completed operations are counted.
pub(super) const SLICE: Duration = Duration::from_millis(100);
/// Throughput below this share of that before counts as a dip.
const DIP: f64 = 0.9;
/// Pages that MariaDB's background threads may rewrite in a second. Its default of 100 would take a run of many minutes.
pub(super) const PAGES_PER_SECOND: u32 = 5000;
/// Number of MariaDB's background threads.
pub(super) const THREADS: u8 = 2;
const LIMIT: Duration = Duration::from_secs(300);

/// What a rotation did to the throughput of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dip {
    /// Duration of the rotation.
    seconds: f64,
    /// Throughput meanwhile, in units of that before.
    share: f64,
    /// The longest time that throughput stayed below [`DIP`] of that before, since the rotation began.
    low_seconds: f64,
    /// Whether the load ended before the rotation did.
    outlasted: bool,
}

/// Rotates MySQL's master key, or lets MariaDB decrypt and encrypt all tables again in the background, which is the
/// nearest that it has. Returns the time that it took.
pub(super) fn rotate(connection: &mut Connection, setup: &ServerSetup<'_>) -> Result<Duration, Error> {
    let begin = Instant::now();
    if setup.mariadb {
        for (value, encrypt) in [("OFF", false), ("ON", true)] {
            ask(connection, setup, &format!("SET GLOBAL {MARIADB_TABLESPACES} = {value}"))?;
            wait_for_background(connection, setup, &mariadb_pending(OLTP_DATABASE, encrypt))?;
        }
    } else {
        ask(connection, setup, ROTATE_MASTER_KEY)?;
    }
    Ok(begin.elapsed())
}

/// Waits until MariaDB's threads have no page of the tables left.
fn wait_for_background(connection: &mut Connection, setup: &ServerSetup<'_>, pending: &str) -> Result<(), Error> {
    let begin = Instant::now();
    while ask(connection, setup, pending)?.scalar() != Some("0") {
        if begin.elapsed() > LIMIT {
            return Err(setup.failed("does not decrypt and encrypt its tables again"));
        }
        ask(connection, setup, MARIADB_WAKE_THREADS)?;
        setup.pause()?;
    }
    Ok(())
}

fn ask(connection: &mut Connection, setup: &ServerSetup<'_>, sql: &str) -> Result<Rows, Error> {
    connection.query(sql).map_err(|error| setup.failed(&format!("{sql}: {error}")))
}

impl Dip {
    /// Compares the operations of each slice before and during a rotation that began after `start` in a load of `span`;
    /// `None` if the run is too short to tell.
    pub(super) fn measure(slices: &[u64], span: Duration, start: Duration, took: Duration) -> Option<Self> {
        // The clients' last operations end after the time span, in a slice that is not full. Slices at the end in which
        // none ended are missing.
        let mut slices = slices.to_vec();
        slices.resize(slice(span), 0);
        let (first, last) = (slice(start), slice(start + took));
        // Clients begin during the first slice.
        let before = mean(slices.get(1..first)?).filter(|before| *before > 0.0)?;
        let meanwhile = mean(slices.get(first..=last.min(slices.len().checked_sub(1)?))?)?;
        let (mut longest, mut low) = (0_u32, 0_u32);
        for count in slices.get(first..)? {
            low = if number(*count) < DIP * before { low + 1 } else { 0 };
            longest = longest.max(low);
        }
        let low_seconds = (SLICE * longest).as_secs_f64();
        let (seconds, outlasted) = (took.as_secs_f64(), start + took > span);
        Some(Self { seconds, share: meanwhile / before, low_seconds, outlasted })
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
        let ended = if all.iter().any(|dip| dip.outlasted) { " (the load ended before it did)" } else { "" };
        Some(format!(
            "rotation: {what} took {}{ended} (median of {} runs); throughput meanwhile was {:.0} % of that before, and below \
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
    (!counts.is_empty()).then(|| number(counts.iter().sum()) / number(counts.len() as u64))
}

#[allow(clippy::cast_precision_loss, reason = "a number of operations")]
fn number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_dip_has_a_depth_and_a_length() {
        let slices = [1, 10, 10, 10, 4, 6, 10, 10];
        let dip = Dip::measure(&slices, millis(800), millis(400), millis(150)).unwrap();
        assert_eq!(dip, Dip { seconds: 0.15, share: 0.5, low_seconds: 0.2, outlasted: false });
        let note = Dip::note(&[dip], false).unwrap();
        assert!(note.contains("took 150 ms (median of 1 runs); throughput meanwhile was 50 %"), "{note}");
        assert!(note.ends_with("below 90 % for 200 ms at a time"), "{note}");
    }

    #[test]
    fn what_ends_after_the_time_span_is_no_dip() {
        let dip = Dip::measure(&[1, 10, 10, 10, 10, 10, 2], millis(600), millis(400), millis(100)).unwrap();
        assert_eq!(dip, Dip { seconds: 0.1, share: 1.0, low_seconds: 0.0, outlasted: false });
    }

    #[test]
    fn a_standstill_is_a_dip() {
        let dip = Dip::measure(&[1, 10, 10, 10, 0, 0, 10], millis(700), millis(400), millis(150)).unwrap();
        assert_eq!((dip.share, dip.low_seconds), (0.0, 0.2));
        let to_the_end = Dip::measure(&[1, 10, 10, 10], millis(700), millis(400), millis(500)).unwrap();
        assert_eq!(to_the_end, Dip { seconds: 0.5, share: 0.0, low_seconds: 0.3, outlasted: true });
        let note = Dip::note(&[to_the_end], true).unwrap();
        assert!(note.contains("took 500 ms (the load ended before it did) (median of 1 runs)"), "{note}");
    }

    #[test]
    fn a_run_that_is_too_short_shows_no_dip() {
        assert_eq!(Dip::measure(&[5, 5], millis(200), millis(50), millis(10)), None);
        assert_eq!(Dip::measure(&[], Duration::ZERO, Duration::ZERO, Duration::ZERO), None);
        assert_eq!(Dip::measure(&[1, 0, 0, 5], millis(400), millis(300), millis(10)), None, "nothing before");
        assert_eq!(Dip::note(&[], true), None);
    }
}
