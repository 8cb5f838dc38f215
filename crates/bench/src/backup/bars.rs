//! The bars of backups: how large they may be and how long they may take, mostly next to other tools.

use super::{Changes, FULL, INCREMENTAL, OBJECTS, RESTORE, SEALANT};
use crate::{ExperimentRecord, Interval, median, ratio_interval};

/// A bar for the duration of an experiment, as a multiple of that of another tool.
struct TimeBar {
    experiment: &'static str,
    other: &'static str,
    at_most: f64,
}

const TIMES: [TimeBar; 7] = [
    TimeBar { experiment: FULL, other: "tar-zstd-age", at_most: 0.85 },
    TimeBar { experiment: FULL, other: "mariabackup-openssl", at_most: 0.5 },
    TimeBar { experiment: FULL, other: "restic", at_most: 0.3 },
    TimeBar { experiment: INCREMENTAL, other: "mariabackup-openssl", at_most: 0.5 },
    TimeBar { experiment: RESTORE, other: "tar-zstd-age", at_most: 0.7 },
    TimeBar { experiment: RESTORE, other: "mariabackup-openssl", at_most: 0.4 },
    TimeBar { experiment: RESTORE, other: "cp", at_most: 1.5 },
];

/// What an incremental backup may store, as multiples of what other tools store.
const INCREMENTS: [(&str, f64); 2] = [("mariabackup-openssl", 0.6), ("restic", 0.02)];

/// How many times smaller than the data a full backup is at least: with encrypted tables, and without.
const TIMES_SMALLER: [f64; 2] = [2.2, 2.25];
/// What an incremental backup may store of changed pages, and of all data besides.
const OF_CHANGED_PAGES: f64 = 0.65;
const OF_ALL_DATA: f64 = 0.001;
/// Bytes of objects that a core checks in a second at least.
const CHECKED_PER_SECOND: f64 = 1.5e9;
const MEMORY_BYTES: f64 = 256.0 * 1024.0 * 1024.0;

/// A figure, and the bar for it.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    pub(crate) what: String,
    pub(crate) found: Interval,
    pub(crate) limit: Limit,
}

/// What a bar demands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

impl Bar {
    /// One line: whether the bar is met, and whether the whole interval is on one side of it.
    pub(crate) fn line(&self) -> String {
        let Self { what, found: Interval { estimate, low, high }, .. } = self;
        let (is_met, is_certain, limit) = match self.limit {
            Limit::AtMost(most) => (*estimate <= most, (*low > most) == (*high > most), format!("at most {most}")),
            Limit::AtLeast(least) => {
                (*estimate >= least, (*low < least) == (*high < least), format!("at least {least}"))
            }
        };
        let verdict = if is_met { "met" } else { "missed" };
        let doubt = if is_certain { "" } else { ", but its interval includes the bar" };
        format!("bar {verdict}{doubt}: {what} {estimate:.3} ({low:.3} to {high:.3}), {limit}")
    }
}

/// Bytes that each tool stored in each round.
pub(crate) trait Stored {
    /// Those of a tool in an experiment.
    fn rounds(&self, experiment: &str, tool: &str) -> Vec<f64>;
}

/// The sizes that bars refer to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// Length of all files.
    pub(crate) data_bytes: u64,
    /// Whether tables are encrypted.
    pub(crate) is_encrypted: bool,
    /// What changed since the older copy, if there is one.
    pub(crate) changes: Option<Changes>,
    /// Peak memory of a full backup and of a restore.
    pub(crate) memory_bytes: [u64; 2],
}

/// Every bar for which there are figures.
pub(crate) fn all(experiments: &[ExperimentRecord], stored: &dyn Stored, sizes: &Sizes) -> Vec<Bar> {
    let times = TIMES.iter().filter_map(|bar| time(experiments, bar));
    times
        .chain(full_size(stored, sizes))
        .chain(increment_sizes(stored, sizes))
        .chain(objects(experiments))
        .chain(memory(sizes))
        .collect()
}

/// Ratios of experiments are those of speeds.
fn time(experiments: &[ExperimentRecord], bar: &TimeBar) -> Option<Bar> {
    let experiment = experiments.iter().find(|experiment| experiment.name == bar.experiment)?;
    let ratio = experiment.ratios.iter().find(|ratio| ratio.of == SEALANT && ratio.to == bar.other)?;
    let what = format!("{}, time as a multiple of that of {}", bar.experiment, bar.other);
    Some(Bar { what, found: ratio.ratio.inverse(), limit: Limit::AtMost(bar.at_most) })
}

fn full_size(stored: &dyn Stored, sizes: &Sizes) -> Option<Bar> {
    let ratios: Vec<f64> = stored.rounds(FULL, SEALANT).iter().map(|bytes| float(sizes.data_bytes) / bytes).collect();
    let [encrypted, clear] = TIMES_SMALLER;
    let least = if sizes.is_encrypted { encrypted } else { clear };
    let what = format!("{FULL}, data as a multiple of what is stored");
    Some(Bar { what, found: range(&ratios)?, limit: Limit::AtLeast(least) })
}

fn increment_sizes(stored: &dyn Stored, sizes: &Sizes) -> Vec<Bar> {
    let ours = stored.rounds(INCREMENTAL, SEALANT);
    let of_others = INCREMENTS.iter().filter_map(|(other, most)| {
        let found = ratio_interval(&ours, &stored.rounds(INCREMENTAL, other))?;
        let what = format!("{INCREMENTAL}, stored as a multiple of what {other} stores");
        Some(Bar { what, found, limit: Limit::AtMost(*most) })
    });
    let of_changes = sizes.changes.and_then(|changes| {
        let allowed = OF_CHANGED_PAGES * float(changes.page_bytes)
            + OF_ALL_DATA * float(sizes.data_bytes)
            + float(changes.other_bytes);
        let shares: Vec<f64> = ours.iter().map(|bytes| bytes / allowed.max(1.0)).collect();
        let what = format!("{INCREMENTAL}, stored as a share of what the changes allow");
        Some(Bar { what, found: range(&shares)?, limit: Limit::AtMost(1.0) })
    });
    of_others.chain(of_changes).collect()
}

fn objects(experiments: &[ExperimentRecord]) -> Option<Bar> {
    let experiment = experiments.iter().find(|experiment| experiment.name == OBJECTS)?;
    let Interval { estimate, low, high } = experiment.arm(SEALANT)?.rate;
    let share = |rate: f64| rate / CHECKED_PER_SECOND;
    let found = Interval { estimate: share(estimate), low: share(low), high: share(high) };
    let what = format!("{OBJECTS} on one core, as a multiple of 1.5 GB/s");
    Some(Bar { what, found, limit: Limit::AtLeast(1.0) })
}

fn memory(sizes: &Sizes) -> Vec<Bar> {
    let bar = |(what, bytes): (&str, u64)| {
        let share = float(bytes) / MEMORY_BYTES;
        let what = format!("{what}, memory as a share of 256 MiB");
        Bar { what, found: Interval { estimate: share, low: share, high: share }, limit: Limit::AtMost(1.0) }
    };
    [FULL, RESTORE].into_iter().zip(sizes.memory_bytes).map(bar).collect()
}

/// Median and range of all rounds: what is stored hardly differs.
fn range(values: &[f64]) -> Option<Interval> {
    let estimate = median(values)?;
    let [low, high] = [f64::min, f64::max].map(|of| values.iter().copied().reduce(of).unwrap_or(estimate));
    Some(Interval { estimate, low, high })
}

#[allow(clippy::cast_precision_loss, reason = "a ratio")]
const fn float(bytes: u64) -> f64 {
    bytes as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(low: f64, estimate: f64, high: f64, limit: Limit) -> String {
        Bar { what: "it".to_owned(), found: Interval { estimate, low, high }, limit }.line()
    }

    #[test]
    fn a_bar_is_met_or_missed_and_says_if_that_is_not_certain() {
        let most = Limit::AtMost(0.85);
        assert_eq!(bar(0.7, 0.8, 0.84, most), "bar met: it 0.800 (0.700 to 0.840), at most 0.85");
        assert!(bar(0.7, 0.8, 0.9, most).starts_with("bar met, but its interval includes the bar: "));
        assert!(bar(0.8, 0.9, 0.95, most).starts_with("bar missed, but its interval includes the bar: "));
        assert!(bar(0.9, 0.95, 1.0, most).starts_with("bar missed: "));
        let least = Limit::AtLeast(2.2);
        assert!(bar(2.3, 2.4, 2.5, least).starts_with("bar met: "));
        assert!(bar(2.0, 2.1, 2.15, least).starts_with("bar missed: "));
        assert!(bar(2.1, 2.3, 2.5, least).contains("includes"));
    }

    struct Fixed;

    impl Stored for Fixed {
        fn rounds(&self, experiment: &str, tool: &str) -> Vec<f64> {
            match (experiment, tool) {
                (FULL, SEALANT) => vec![400.0, 410.0, 420.0],
                (INCREMENTAL, SEALANT) => vec![10.0; 6],
                (INCREMENTAL, "restic") => vec![1000.0; 6],
                _ => Vec::new(),
            }
        }
    }

    #[test]
    fn sizes_are_held_against_the_data_the_changes_and_other_tools() {
        let changes = Some(Changes { page_bytes: 10, other_bytes: 1 });
        let sizes = Sizes { data_bytes: 1000, is_encrypted: true, changes, memory_bytes: [1 << 20, 1 << 30] };
        let lines: Vec<String> = all(&[], &Fixed, &sizes).iter().map(Bar::line).collect();
        let found: Vec<bool> = lines.iter().map(|line| line.starts_with("bar met")).collect();
        // 2.4 times smaller, 0.01 of restic, 10 of 8.5 allowed, 1 MiB, 1 GiB.
        assert_eq!(found, [true, true, false, true, false], "{lines:#?}");
    }
}
