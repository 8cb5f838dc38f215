//! The report of measurements.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{Difference, Environment, Interval, OperationsRecord, PeerVerdicts, Program, range::Range};

/// Name and version of the JSON document.
pub const SCHEMA: &str = "sealant.bench/1";

/// A complete report.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: Cow<'static, str>,
    /// The machine.
    pub environment: Environment,
    /// The measured files.
    pub subject: Subject,
    /// Other programs that were used.
    pub programs: Vec<Program>,
    /// Other programs that are not installed.
    pub missing: Vec<String>,
    /// All experiments.
    pub experiments: Vec<ExperimentRecord>,
    /// Verdicts of other programs on sound files.
    pub opinions: Vec<PeerVerdicts>,
    /// Remarks about the conditions.
    pub notes: Vec<String>,
}

/// The measured files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Number of files.
    pub files: u64,
    /// Length of all files.
    pub bytes: u64,
    /// Length of the files with encrypted pages that were decrypted.
    pub opened_bytes: u64,
    /// Length of the files that are readable without a key.
    pub clear_bytes: u64,
    /// Number of files that are not sound.
    pub unsound: u64,
}

/// One experiment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExperimentRecord {
    /// Name, as reports print it.
    pub name: String,
    /// Unit of the amounts.
    pub unit: Unit,
    /// Length of a block, if reports show the time for a block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_bytes: Option<u64>,
    /// Number of rounds.
    pub rounds: u32,
    /// Why it stopped.
    pub stopped: Stop,
    /// What ratios are of.
    #[serde(default, skip_serializing_if = "ComparedBy::is_rate")]
    pub compared_by: ComparedBy,
    /// How much two equal arms differ here, in percent, if this was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution_percent: Option<f64>,
    /// The arms that were compared.
    pub arms: Vec<ArmRecord>,
    /// Comparisons between arms.
    pub ratios: Vec<RatioRecord>,
    /// What the counters of the unencrypted server predicted for some of the comparisons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predictions: Vec<PredictionRecord>,
    /// Where the processor time of an operation goes, for each arm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<CauseRecord>,
    /// Remarks.
    pub notes: Vec<String>,
}

impl ArmRecord {
    /// Whether this program did the work, rather than one that it is compared with.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.name.starts_with("sealant")
    }
}

/// One arm.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ArmRecord {
    /// Name, as reports print it.
    pub name: String,
    /// Largest amount of work in one run.
    pub amount: u64,
    /// Work per second.
    pub rate: Interval,
    /// Duration of one run.
    pub seconds: Interval,
    /// Size of the data directory that it works on, where arms differ in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_bytes: Option<u64>,
    /// Latencies and busy processors, if the arm reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<DetailRecord>,
    /// Latency and cost of single operations, if the arm reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<OperationsRecord>,
}

/// Latencies and busy processors of an arm: medians over its runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DetailRecord {
    /// Median latency of operations.
    pub p50_seconds: Interval,
    /// 99th percentile of the latency.
    pub p99_seconds: Interval,
    /// 99.9th percentile of the latency.
    pub p999_seconds: Interval,
    /// Number of busy processors in the whole machine.
    pub cores: Interval,
}

/// The relative speed of two arms.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RatioRecord {
    /// The arm in the numerator.
    pub of: String,
    /// The arm in the denominator.
    pub to: String,
    /// The ratio of their rates, or of what the experiment compares otherwise.
    pub ratio: Interval,
    /// What the ratio says about the difference of the arms.
    pub difference: Difference,
    /// Ratios of further figures.
    #[serde(default, skip_serializing_if = "FigureRatios::is_empty")]
    pub figures: FigureRatios,
}

/// Ratios of further figures of two arms, each with its interval over the rounds: 2 is twice as much.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FigureRatios {
    /// Of the durations of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<Interval>,
    /// Of the 95th percentiles of the latency of an operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_seconds: Option<Interval>,
    /// Of the CPU times of the server for an operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_seconds: Option<Interval>,
    /// Of the bytes written to the disk for an operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<Interval>,
}

impl FigureRatios {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The loss of throughput that was predicted, and the measured one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictionRecord {
    /// The arm that encrypts.
    pub of: String,
    /// The arm that it is compared with.
    pub to: String,
    /// The predicted loss, in percent of the throughput.
    pub predicted_percent: Range,
    /// The measured loss, in percent.
    pub measured_percent: Interval,
    /// How far the measured loss is outside the prediction, in percentage points; negative if it is less.
    pub error_points: f64,
}

/// Processor time of the server that one cause takes in an operation of an arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CauseRecord {
    /// Name of the arm.
    pub arm: String,
    /// What takes the time.
    pub cause: Cause,
    /// What the server's counters and the costs of single operations give, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calculated_seconds: Option<Range>,
    /// What `perf` saw, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_seconds: Option<f64>,
    /// The same in a sentence.
    pub text: String,
}

/// What takes processor time of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Encrypting and decrypting pages and logs.
    Aes,
    /// Checksums of pages.
    Checksums,
    /// Compressing and decompressing pages.
    Compression,
    /// Encrypting and decrypting TLS records.
    TlsRecords,
    /// Changing from one thread to another.
    ContextSwitches,
}

impl PredictionRecord {
    /// Compares a prediction with what was measured.
    pub(crate) fn new(ratio: &RatioRecord, predicted_percent: Range) -> Self {
        let loss = |ratio: f64| (1.0 - ratio) * 100.0;
        let Interval { estimate, low, high } = ratio.ratio;
        let measured = loss(estimate);
        let distance = predicted_percent.distance(measured);
        Self {
            of: ratio.of.clone(),
            to: ratio.to.clone(),
            predicted_percent,
            measured_percent: Interval { estimate: measured, low: loss(high), high: loss(low) },
            error_points: if measured < predicted_percent.low { -distance } else { distance },
        }
    }
}

impl ExperimentRecord {
    /// The arm with this name.
    pub(crate) fn arm(&self, name: &str) -> Option<&ArmRecord> {
        self.arms.iter().find(|arm| arm.name == name)
    }

    /// Judges the differences again, given how much two equal arms differ, in percent.
    pub(crate) fn resolve(&mut self, resolution_percent: f64) {
        self.resolve_from(0, resolution_percent);
    }

    /// The resolution: how much the arms of the first ratio, which are equal, can differ, in percent; `None` if there are
    /// too few rounds. Judges the other differences again by it. A note says so if the equal arms do differ.
    pub(crate) fn resolve_by_equal_arms(&mut self) -> Option<f64> {
        let equal = self.ratios.first()?;
        let percent = equal.ratio.spread_percent();
        match equal.difference {
            Difference::TooFewRounds => return None,
            Difference::Seen => self.notes.push(format!(
                "{} and {} are equal, but differ here: a difference of up to {percent:.1} % shows nothing",
                equal.of, equal.to
            )),
            Difference::None { .. } | Difference::WithinResolution { .. } => {}
        }
        self.resolve_from(1, percent);
        Some(percent)
    }

    fn resolve_from(&mut self, first: usize, resolution_percent: f64) {
        self.resolution_percent = Some(resolution_percent);
        for one in self.ratios.iter_mut().skip(first) {
            one.difference = one.difference.beyond(&one.ratio, resolution_percent);
        }
    }
}

/// Unit of an amount of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Bytes processed.
    #[default]
    Bytes,
    /// Connections opened.
    Connections,
    /// Queries answered.
    Queries,
    /// Transactions committed.
    Transactions,
    /// Rows written.
    Rows,
}

/// What two arms are compared by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComparedBy {
    /// Work per second.
    #[default]
    Rate,
    /// The 95th percentile of latency, if the rate is given: twice as fast is half of the latency.
    P95Latency,
}

impl ComparedBy {
    /// Whether arms are compared by their rates.
    #[must_use]
    pub const fn is_rate(&self) -> bool {
        matches!(self, Self::Rate)
    }

    /// What a reader of the ratios needs to know.
    pub(crate) const fn note(self) -> Option<&'static str> {
        match self {
            Self::Rate => None,
            Self::P95Latency => Some(
                "ratios are of the 95th percentile of latency, because the rate is given: 0.5 means that it is twice as \
                 long",
            ),
        }
    }
}

/// Why an experiment stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// Every interval is as narrow as requested.
    Narrow,
    /// The requested or the maximum number of rounds was run.
    Rounds,
    /// The time budget is used up; the intervals are wider than requested.
    Budget,
    /// A signal ended it; the completed rounds count.
    Interrupted,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measured_loss_is_within_the_prediction_or_so_many_points_off() {
        let error = |estimate: f64| {
            let ratio = RatioRecord {
                of: "tde".to_owned(),
                to: "clear".to_owned(),
                ratio: Interval { estimate, low: estimate - 0.01, high: estimate + 0.02 },
                difference: Difference::Seen,
                figures: FigureRatios::default(),
            };
            let record = PredictionRecord::new(&ratio, Range { low: 1.0, high: 4.0 });
            let Interval { estimate: measured, low, high } = record.measured_percent;
            assert!(low < measured && measured < high, "{record:?}");
            (record.error_points * 10.0).round() / 10.0
        };
        assert_eq!([0.97, 0.9, 1.0].map(error), [0.0, 6.0, -1.0]);
    }
}
