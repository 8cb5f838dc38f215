//! The status line of a run of `sealant migrate`.

use ::migrate::{Progress, Work};
use files::quantity::clock;

use crate::{size, text::number};

/// The status line of a run, in 80 columns: how much is done, the rate, what limits it, how far the target is behind,
/// and the time that is left.
#[must_use]
pub fn migrate_status_line(progress: &Progress) -> String {
    let fields = match progress.work {
        Work::Copy => copied(progress),
        Work::Compare => vec![format!("compare {} %", equal(progress)), applied(progress)],
        Work::Follow => {
            vec!["follow".to_owned(), applied(progress), format!("{} % of the chunks compared", equal(progress))]
        }
    };
    let lag = progress.lag.map(|lag| format!("lag {} s", lag.as_secs()));
    let eta = progress.eta.map(|left| format!("ETA {}", clock(left.as_secs())));
    fields.into_iter().chain(lag).chain(eta).collect::<Vec<_>>().join("  ")
}

fn copied(progress: &Progress) -> Vec<String> {
    let (done, total) = (percent(progress.done_bytes, progress.total_bytes), size(progress.total_bytes));
    let rate = format!("{}/s", size(progress.bytes_per_second));
    let limit = progress.limited_by.map(|side| format!("limited by: {side}"));
    [Some(format!("copy {done} % of {total}")), Some(rate), limit].into_iter().flatten().collect()
}

fn applied(progress: &Progress) -> String {
    format!("{} changes applied", number(progress.applied_rows))
}

fn equal(progress: &Progress) -> u64 {
    let count = |chunks: usize| u64::try_from(chunks).unwrap_or(u64::MAX);
    percent(count(progress.verified_chunks), count(progress.chunks))
}

fn percent(done: u64, total: u64) -> u64 {
    done.saturating_mul(100).checked_div(total).unwrap_or(100).min(100)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use migrate::{Phase, Side};

    use super::*;

    fn progress(work: Work) -> Progress {
        Progress {
            phase: Phase::Copy,
            work,
            copied_rows: 1 << 40,
            copied_bytes: 1 << 50,
            done_bytes: 87 << 30,
            total_bytes: 212 << 30,
            bytes_per_second: 98 << 20,
            limited_by: Some(Side::Target),
            applied_rows: 1_234_567_890,
            lag: Some(Duration::from_millis(400)),
            chunks: 13_000,
            verified_chunks: 5_070,
            eta: Some(Duration::from_secs(21 * 3600 + 601)),
        }
    }

    #[test]
    fn the_line_fits_80_columns() {
        let lines = [Work::Copy, Work::Follow, Work::Compare].map(|work| migrate_status_line(&progress(work)));
        let expected = [
            "copy 41 % of 212.0 GiB  98.0 MiB/s  limited by: target  lag 0 s  ETA 21:10:01",
            "follow  1,234,567,890 changes applied  39 % of the chunks compared  lag 0 s  ETA 21:10:01",
            "compare 39 %  1,234,567,890 changes applied  lag 0 s  ETA 21:10:01",
        ];
        assert_eq!(lines, expected);
        // A run that follows the source has no end to estimate.
        let follows = Progress { eta: None, ..progress(Work::Follow) };
        let longest = [&lines[0], &migrate_status_line(&follows), &lines[2]].map(|line| line.chars().count());
        assert!(longest.iter().all(|columns| *columns <= 80), "{longest:?}");
        let empty = Progress { total_bytes: 0, limited_by: None, lag: None, eta: None, ..progress(Work::Copy) };
        assert_eq!(migrate_status_line(&empty), "copy 100 % of 0 B  98.0 MiB/s");
    }
}
