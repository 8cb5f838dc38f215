//! Latency and cost of single operations of a load.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::stats::{Interval, median, median_interval};

/// Significant digits of a latency.
const DIGITS: u8 = 3;
/// The largest recorded latency: ten minutes.
const LONGEST_NANOSECONDS: u64 = 600_000_000_000;

/// Latencies of the operations of a run, with three significant digits.
#[derive(Clone, Debug)]
pub struct Latencies(Histogram<u64>);

/// Latencies and costs of a run's operations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Operations {
    /// Latencies in nanoseconds, each with its number of operations.
    pub latencies: Vec<(u64, u64)>,
    /// Statements sent.
    pub statements: u64,
    /// Operations that the server rolled back, and that were repeated.
    pub restarts: u64,
    /// Operations of each client.
    pub by_client: Vec<u64>,
    /// CPU time of the client.
    pub client_cpu_seconds: f64,
    /// CPU time of the server, up to the point at which all changes of the run were written.
    pub server_cpu_seconds: f64,
    /// Part of the server's CPU time that was spent in the kernel.
    pub server_kernel_seconds: f64,
    /// Bytes that the server read from the disk.
    pub read_bytes: u64,
    /// Bytes that the server wrote to the disk, including all changes of the run.
    pub written_bytes: u64,
    /// `fsync` calls that InnoDB counts.
    pub fsyncs: u64,
    /// Work that the server counts.
    #[serde(default)]
    pub work: ServerWork,
}

/// What a server did in a run: the causes of its processor time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerWork {
    /// Pages that InnoDB read from files.
    pub pages_read: u64,
    /// Pages that InnoDB wrote to files, including all changes of the run.
    pub pages_written: u64,
    /// Bytes written to the redo log.
    pub redo_bytes: u64,
    /// Bytes written to binary logs.
    pub binlog_bytes: u64,
    /// Bytes from and to clients, without TLS.
    pub client_bytes: u64,
    /// How often a thread of the server gave the processor up, to wait.
    pub voluntary_switches: u64,
    /// How often the kernel took the processor from a thread of the server.
    pub involuntary_switches: u64,
}

/// Figures of an arm: latencies over all rounds together, other figures as medians over the rounds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OperationsRecord {
    /// Number of statements sent.
    pub statements: u64,
    /// Number of operations that the server rolled back, and that were repeated.
    pub restarts: u64,
    /// Latencies.
    pub latency: LatencyRecord,
    /// Standard deviation of the clients' shares of the operations of a run, in percent of an equal share: the median over
    /// the rounds.
    pub unfairness_percent: f64,
    /// CPU time of the client for an operation.
    pub client_cpu_seconds: Interval,
    /// CPU time of the server for an operation.
    pub server_cpu_seconds: Interval,
    /// Part of the server's CPU time that was spent in the kernel, for an operation.
    pub server_kernel_seconds: Interval,
    /// Bytes read from the disk for an operation.
    pub read_bytes: Interval,
    /// Bytes written to the disk for an operation.
    pub written_bytes: Interval,
    /// `fsync` calls for an operation.
    pub fsyncs: Interval,
    /// Work that the server counts; `None` in reports of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkRecord>,
}

/// Work of a server for an operation: medians over the rounds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct WorkRecord {
    /// Statements of clients.
    pub statements: Interval,
    /// Pages read from files.
    pub pages_read: Interval,
    /// Pages written to files.
    pub pages_written: Interval,
    /// Bytes written to the redo log.
    pub redo_bytes: Interval,
    /// Bytes written to binary logs.
    pub binlog_bytes: Interval,
    /// Bytes from and to clients, without TLS.
    pub client_bytes: Interval,
    /// How often a thread of the server gave the processor up, to wait.
    pub voluntary_switches: Interval,
    /// How often the kernel took the processor from a thread of the server.
    pub involuntary_switches: Interval,
}

/// Latencies of all operations of all rounds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LatencyRecord {
    /// The shortest.
    pub min_seconds: f64,
    /// Mean latency.
    pub mean_seconds: f64,
    /// The median.
    pub p50_seconds: f64,
    /// 95th percentile.
    pub p95_seconds: f64,
    /// 99th percentile.
    pub p99_seconds: f64,
    /// 99.9th percentile.
    pub p999_seconds: f64,
    /// The longest.
    pub max_seconds: f64,
}

impl Default for Latencies {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NANOSECONDS, DIGITS);
        Self(histogram.expect("these bounds are in order"))
    }
}

impl Latencies {
    /// Adds one latency.
    pub fn record(&mut self, nanoseconds: u64) {
        self.0.saturating_record(nanoseconds);
    }

    /// Adds a latency that several operations had.
    pub(crate) fn record_many(&mut self, nanoseconds: u64, operations: u64) {
        self.0.saturating_record_n(nanoseconds, operations);
    }

    /// Number of operations.
    pub(crate) fn count(&self) -> u64 {
        self.0.len()
    }

    /// Adds the latencies of another client or run.
    pub fn add(&mut self, other: &Self) {
        // Both histograms have the same bounds, so this cannot fail.
        let _ = self.0.add(&other.0);
    }

    /// A percentile, in seconds.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> f64 {
        seconds(self.0.value_at_percentile(percent))
    }

    /// Each latency with its number of operations.
    #[must_use]
    pub fn counts(&self) -> Vec<(u64, u64)> {
        self.0.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())).collect()
    }

    pub(crate) fn from_counts<'c>(counts: impl IntoIterator<Item = &'c (u64, u64)>) -> Self {
        let mut latencies = Self::default();
        for (value, count) in counts {
            latencies.record_many(*value, *count);
        }
        latencies
    }

    fn record_of(&self) -> LatencyRecord {
        LatencyRecord {
            min_seconds: seconds(self.0.min()),
            mean_seconds: self.0.mean() / 1e9,
            p50_seconds: self.percentile(50.0),
            p95_seconds: self.percentile(95.0),
            p99_seconds: self.percentile(99.0),
            p999_seconds: self.percentile(99.9),
            max_seconds: seconds(self.0.max()),
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "three significant digits")]
fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

impl ServerWork {
    /// Difference to the earlier totals `before`.
    pub(crate) const fn since(&self, before: &Self) -> Self {
        Self {
            pages_read: self.pages_read.saturating_sub(before.pages_read),
            pages_written: self.pages_written.saturating_sub(before.pages_written),
            redo_bytes: self.redo_bytes.saturating_sub(before.redo_bytes),
            binlog_bytes: self.binlog_bytes.saturating_sub(before.binlog_bytes),
            client_bytes: self.client_bytes.saturating_sub(before.client_bytes),
            voluntary_switches: self.voluntary_switches.saturating_sub(before.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(before.involuntary_switches),
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "a figure for one operation, not a count")]
impl OperationsRecord {
    /// Figures of the runs of an arm, each with its number of operations; `None` without runs.
    pub(crate) fn from_runs<'r>(runs: impl Iterator<Item = (u64, &'r Operations)>) -> Option<Self> {
        let runs: Vec<(f64, &Operations)> = runs.map(|(amount, run)| (amount.max(1) as f64, run)).collect();
        let each = |value: &dyn Fn(&Operations) -> f64| {
            median_interval(&runs.iter().map(|(amount, run)| value(run) / amount).collect::<Vec<_>>())
        };
        Some(Self {
            client_cpu_seconds: each(&|run| run.client_cpu_seconds)?,
            server_cpu_seconds: each(&|run| run.server_cpu_seconds)?,
            server_kernel_seconds: each(&|run| run.server_kernel_seconds)?,
            read_bytes: each(&|run| run.read_bytes as f64)?,
            written_bytes: each(&|run| run.written_bytes as f64)?,
            fsyncs: each(&|run| run.fsyncs as f64)?,
            work: Some(WorkRecord {
                statements: each(&|run| run.statements as f64)?,
                pages_read: each(&|run| run.work.pages_read as f64)?,
                pages_written: each(&|run| run.work.pages_written as f64)?,
                redo_bytes: each(&|run| run.work.redo_bytes as f64)?,
                binlog_bytes: each(&|run| run.work.binlog_bytes as f64)?,
                client_bytes: each(&|run| run.work.client_bytes as f64)?,
                voluntary_switches: each(&|run| run.work.voluntary_switches as f64)?,
                involuntary_switches: each(&|run| run.work.involuntary_switches as f64)?,
            }),
            statements: runs.iter().map(|(_, run)| run.statements).sum(),
            restarts: runs.iter().map(|(_, run)| run.restarts).sum(),
            latency: Latencies::from_counts(runs.iter().flat_map(|(_, run)| &run.latencies)).record_of(),
            unfairness_percent: median(&runs.iter().map(|(_, run)| unfairness(&run.by_client)).collect::<Vec<_>>())?,
        })
    }
}

/// Standard deviation of the clients' shares of a run, in percent of an equal share.
#[allow(clippy::cast_precision_loss, reason = "a share, not a count")]
fn unfairness(by_client: &[u64]) -> f64 {
    let clients = by_client.len().max(1) as f64;
    let mean = by_client.iter().sum::<u64>() as f64 / clients;
    if mean == 0.0 {
        return 0.0;
    }
    let variance = by_client.iter().map(|one| (*one as f64 - mean).powi(2)).sum::<f64>() / clients;
    variance.sqrt() / mean * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(latencies: Vec<(u64, u64)>, by_client: Vec<u64>, server_cpu_seconds: f64) -> (u64, Operations) {
        let amount = by_client.iter().sum();
        (amount, Operations { latencies, by_client, server_cpu_seconds, fsyncs: 2, ..Operations::default() })
    }

    #[test]
    fn percentiles_are_of_all_rounds_together() {
        // One operation in a thousand is slow, and all slow operations are in one round. Medians of rounds would not
        // show them.
        let runs = [
            run(vec![(1_000_000, 990), (500_000_000, 10)], vec![500, 500], 1.0),
            run(vec![(1_000_000, 1000)], vec![500, 500], 1.0),
            run(vec![(1_000_000, 1000)], vec![500, 500], 1.0),
        ];
        let record = OperationsRecord::from_runs(runs.iter().map(|(amount, run)| (*amount, run))).unwrap();
        assert!((record.latency.p50_seconds - 0.001).abs() < 1e-5, "{:?}", record.latency);
        assert!((record.latency.p999_seconds - 0.5).abs() < 1e-3, "{:?}", record.latency);
        assert!((record.server_cpu_seconds.estimate - 0.001).abs() < 1e-12);
        assert!((record.fsyncs.estimate - 0.002).abs() < 1e-12);
    }

    #[test]
    fn counts_give_the_same_latencies_again() {
        let mut all = Latencies::default();
        (1..=1000).for_each(|ms| all.record(ms * 1_000_000));
        let again = Latencies::from_counts(&all.counts());
        for percent in [0.1, 50.0, 95.0, 99.0, 99.9, 100.0] {
            assert_eq!(all.percentile(percent).to_bits(), again.percentile(percent).to_bits());
        }
        let relative = all.percentile(95.0) / 0.95;
        assert!((0.999..1.002).contains(&relative), "{relative}");
    }

    #[test]
    fn clients_with_equal_shares_are_fair() {
        assert_eq!(unfairness(&[7, 7]), 0.0);
        assert_eq!(unfairness(&[15, 5]), 50.0);
        assert_eq!(unfairness(&[]), 0.0);
        // A client that is favoured in one run and another one in the next are not fair to either.
        let runs = [run(Vec::new(), vec![15, 5], 1.0), run(Vec::new(), vec![5, 15], 1.0)];
        let record = OperationsRecord::from_runs(runs.iter().map(|(amount, run)| (*amount, run))).unwrap();
        assert_eq!(record.unfairness_percent, 50.0);
    }
}
