//! The samples of an experiment, and their statistics.

use serde::{Deserialize, Serialize};

use crate::{
    operations::{Latencies, Operations, OperationsRecord},
    record::{ArmRecord, ComparedBy, DetailRecord, ExperimentRecord, FigureRatios, RatioRecord, Stop, Unit},
    stats::{Difference, Interval, median_interval, ratio_interval},
};

/// One run of one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The part of `sealant cost` that took it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Name of the experiment.
    pub experiment: String,
    /// Name of the arm.
    pub arm: String,
    /// Round, from 0.
    pub round: u32,
    /// Position of the arm within the round, from 0.
    pub position: usize,
    /// Unit of the amount.
    #[serde(default)]
    pub unit: Unit,
    /// Amount of work.
    pub amount: u64,
    /// Wall time.
    pub seconds: f64,
    /// Latencies and CPU time, if the arm reports them.
    #[serde(flatten)]
    pub detail: Option<Detail>,
    /// Latency and cost of single operations, if the arm reports them.
    #[serde(flatten)]
    pub operations: Option<Operations>,
}

impl Sample {
    /// Its operations, if there was one.
    fn operations(&self) -> Option<&Operations> {
        self.operations.as_ref().filter(|_| self.amount > 0)
    }

    fn p95_seconds(&self) -> Option<f64> {
        let operations = self.operations()?;
        Some(Latencies::from_counts(&operations.latencies).percentile(95.0)).filter(|seconds| *seconds > 0.0)
    }

    /// A figure of one operation.
    #[allow(clippy::cast_precision_loss, reason = "a figure of one operation, not a count")]
    fn per_operation(&self, figure: impl Fn(&Operations) -> f64) -> Option<f64> {
        Some(figure(self.operations()?) / self.amount as f64)
    }
}

/// Result of an experiment: all samples, and the statistics.
#[derive(Clone, Debug)]
pub struct Samples {
    pub(crate) name: String,
    pub(crate) unit: Unit,
    pub(crate) block_bytes: Option<u64>,
    pub(crate) arms: Vec<String>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) rounds: u32,
    pub(crate) stop: Stop,
    pub(crate) compared_by: ComparedBy,
    /// The pairs of arms whose ratios are wanted.
    pub(crate) pairs: Vec<(String, String)>,
}

/// Details of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Detail {
    /// Median latency of operations.
    pub p50_seconds: f64,
    /// 99th percentile of the latency.
    pub p99_seconds: f64,
    /// 99.9th percentile of the latency.
    pub p999_seconds: f64,
    /// CPU time of the whole machine during the run.
    pub cpu_seconds: f64,
}

impl Samples {
    /// Samples that were not taken by [`Experiment::run`](crate::Experiment::run): for example, if one run gives samples
    /// of two experiments.
    #[must_use]
    pub fn from_samples(name: &str, unit: Unit, rounds: u32, all: &[Sample]) -> Self {
        let samples: Vec<Sample> = all.iter().filter(|sample| sample.experiment == name).cloned().collect();
        let mut arms: Vec<String> = Vec::new();
        for sample in &samples {
            if !arms.contains(&sample.arm) {
                arms.push(sample.arm.clone());
            }
        }
        Self {
            name: name.to_owned(),
            unit,
            block_bytes: None,
            arms,
            samples,
            rounds,
            stop: Stop::Rounds,
            compared_by: ComparedBy::Rate,
            pairs: Vec::new(),
        }
    }

    /// Compares these pairs of arms, each with the arm in the denominator last.
    #[must_use]
    pub fn compare(self, pairs: Vec<(String, String)>) -> Self {
        Self { pairs, ..self }
    }

    /// Work per second, in the order of rounds.
    #[must_use]
    pub fn rates(&self, arm: &str) -> Vec<f64> {
        #[allow(clippy::cast_precision_loss, reason = "a rate, not a count")]
        let rate = |sample: &Sample| sample.amount as f64 / sample.seconds.max(f64::MIN_POSITIVE);
        self.samples_of(arm).map(rate).collect()
    }

    /// Median of the work per second.
    #[must_use]
    pub fn rate(&self, arm: &str) -> Option<Interval> {
        median_interval(&self.rates(arm))
    }

    /// Median duration in seconds.
    #[must_use]
    pub fn seconds(&self, arm: &str) -> Option<Interval> {
        let seconds: Vec<f64> = self.samples_of(arm).map(|sample| sample.seconds).collect();
        median_interval(&seconds)
    }

    /// How many times as fast as arm `to` arm `of` is.
    #[must_use]
    pub fn ratio(&self, of: &str, to: &str) -> Option<Interval> {
        self.compared(of, to).map(|(ratio, _)| ratio)
    }

    /// The same, and the number of rounds in which both arms did something.
    fn compared(&self, of: &str, to: &str) -> Option<(Interval, usize)> {
        let speeds = self.speeds(of).into_iter().zip(self.speeds(to));
        let (of, to): (Vec<f64>, Vec<f64>) = speeds.filter(|(of, to)| *of > 0.0 && *to > 0.0).unzip();
        Some((ratio_interval(&of, &to)?, of.len()))
    }

    /// What arms are compared by, in the order of rounds: more is better, and 0 is a run without any work.
    fn speeds(&self, arm: &str) -> Vec<f64> {
        match self.compared_by {
            ComparedBy::Rate => self.rates(arm),
            ComparedBy::P95Latency => {
                self.samples_of(arm).map(|sample| sample.p95_seconds().map_or(0.0, |seconds| 1.0 / seconds)).collect()
            }
        }
    }

    /// All samples, in the order in which they were taken.
    #[must_use]
    pub fn all(&self) -> &[Sample] {
        &self.samples
    }

    /// The statistics, with the ratios that the experiment is about.
    #[must_use]
    pub fn record(&self) -> ExperimentRecord {
        ExperimentRecord {
            name: self.name.clone(),
            unit: self.unit,
            block_bytes: self.block_bytes,
            rounds: self.rounds,
            stopped: self.stop,
            compared_by: self.compared_by,
            resolution_percent: None,
            arms: self.arms.iter().filter_map(|arm| self.arm_record(arm)).collect(),
            ratios: self.pairs.iter().filter_map(|(of, to)| self.ratio_record(of, to)).collect(),
            predictions: Vec::new(),
            causes: Vec::new(),
            notes: self.compared_by.note().map(str::to_owned).into_iter().collect(),
        }
    }

    fn arm_record(&self, arm: &str) -> Option<ArmRecord> {
        let amount = self.samples_of(arm).map(|sample| sample.amount).max()?;
        let (rate, seconds, detail) = (self.rate(arm)?, self.seconds(arm)?, self.detail(arm));
        let runs = self.samples_of(arm).filter_map(|sample| Some((sample.amount, sample.operations.as_ref()?)));
        let operations = OperationsRecord::from_runs(runs);
        Some(ArmRecord { name: arm.to_owned(), amount, rate, seconds, data_bytes: None, detail, operations })
    }

    fn detail(&self, arm: &str) -> Option<DetailRecord> {
        let median = |value: &dyn Fn(&Detail, f64) -> f64| {
            let values = self.samples_of(arm).filter_map(|sample| Some(value(sample.detail.as_ref()?, sample.seconds)));
            median_interval(&values.collect::<Vec<_>>())
        };
        Some(DetailRecord {
            p50_seconds: median(&|detail, _| detail.p50_seconds)?,
            p99_seconds: median(&|detail, _| detail.p99_seconds)?,
            p999_seconds: median(&|detail, _| detail.p999_seconds)?,
            cores: median(&|detail, seconds| detail.cpu_seconds / seconds.max(f64::MIN_POSITIVE))?,
        })
    }

    fn ratio_record(&self, of: &str, to: &str) -> Option<RatioRecord> {
        let (ratio, rounds) = self.compared(of, to)?;
        let difference = Difference::judge(&ratio, u32::try_from(rounds).unwrap_or(u32::MAX));
        let figures = self.figure_ratios(of, to);
        Some(RatioRecord { of: of.to_owned(), to: to.to_owned(), ratio, difference, figures })
    }

    fn figure_ratios(&self, of: &str, to: &str) -> FigureRatios {
        let ratio = |figure: fn(&Sample) -> Option<f64>| {
            let figures =
                |arm| -> Vec<f64> { self.samples_of(arm).map(|sample| figure(sample).unwrap_or_default()).collect() };
            ratio_interval(&figures(of), &figures(to))
        };
        FigureRatios {
            seconds: ratio(|sample| Some(sample.seconds)),
            p95_seconds: ratio(Sample::p95_seconds),
            server_cpu_seconds: ratio(|sample| sample.per_operation(|operations| operations.server_cpu_seconds)),
            #[allow(clippy::cast_precision_loss, reason = "a figure for one operation, not a count")]
            written_bytes: ratio(|sample| sample.per_operation(|operations| operations.written_bytes as f64)),
        }
    }

    fn samples_of<'s>(&'s self, arm: &'s str) -> impl Iterator<Item = &'s Sample> {
        self.samples.iter().filter(move |sample| sample.arm == arm)
    }

    /// The widest interval of all ratios, or without pairs of all arms, relative to its estimate.
    pub(crate) fn widest(&self) -> f64 {
        let ratios = self.pairs.iter().filter_map(|(of, to)| self.ratio(of, to));
        let rates = self.arms.iter().filter(|_| self.pairs.is_empty()).filter_map(|arm| self.rate(arm));
        ratios.chain(rates).map(|interval| interval.relative_width()).fold(0.0, f64::max)
    }
}
