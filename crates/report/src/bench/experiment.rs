//! One experiment: rates of its arms, ratios, latencies and costs of operations.

use std::io::Write;

use ::bench::{
    ArmRecord, CauseRecord, ComparedBy, Difference, ExperimentRecord, Interval, OperationsRecord, PredictionRecord,
    RatioRecord, Stop, Unit,
};

use super::figures::Cell;
use super::notes;
use crate::Error;
use crate::text::{columns, count, pad, visible};

const NUMBER: usize = 10;
const INTERVAL: usize = 18;
const ERROR: usize = 22;
/// Number of comparisons in a conclusion.
const CONCLUSIONS: usize = 3;

/// How a unit is displayed.
pub(crate) struct UnitDisplay {
    /// Title of a chart of rates.
    pub(crate) title: &'static str,
    /// Column heading of the rate.
    pub(crate) rate: &'static str,
    pub(crate) rate_scale: f64,
    /// Column heading of the time.
    time: &'static str,
}

pub(crate) const fn display(unit: Unit) -> UnitDisplay {
    match unit {
        Unit::Bytes => UnitDisplay { title: "Throughput", rate: "MB/s", rate_scale: 1e-6, time: "SECONDS" },
        Unit::Connections => UnitDisplay { title: "New connections", rate: "conn/s", rate_scale: 1.0, time: "MS EACH" },
        Unit::Queries => UnitDisplay { title: "Queries", rate: "queries/s", rate_scale: 1.0, time: "MS EACH" },
        Unit::Transactions => UnitDisplay { title: "Transactions", rate: "trx/s", rate_scale: 1.0, time: "MS EACH" },
        Unit::Rows => UnitDisplay { title: "Rows", rate: "rows/s", rate_scale: 1.0, time: "SECONDS" },
    }
}

impl UnitDisplay {
    /// The rate, in the unit of its column heading.
    pub(crate) fn rate_of(&self, arm: &ArmRecord) -> Interval {
        scaled(&arm.rate, self.rate_scale)
    }
}

/// Column heading of the times of an experiment.
pub(crate) fn time_heading(experiment: &ExperimentRecord) -> &'static str {
    if experiment.block_bytes.is_some() { "NS EACH" } else { display(experiment.unit).time }
}

/// Seconds of a run, or milliseconds of one of its operations if a run has many.
pub(crate) fn time_of(experiment: &ExperimentRecord, arm: &ArmRecord) -> f64 {
    if let Some(bytes) = experiment.block_bytes {
        #[allow(clippy::cast_precision_loss, reason = "bytes of a sector")]
        return bytes as f64 * 1e9 / arm.rate.estimate.max(f64::MIN_POSITIVE);
    }
    if let Some(operations) = &arm.operations {
        return operations.latency.mean_seconds * 1e3;
    }
    match experiment.unit {
        Unit::Bytes | Unit::Rows => arm.seconds.estimate,
        Unit::Connections | Unit::Queries | Unit::Transactions => 1000.0 / arm.rate.estimate.max(f64::MIN_POSITIVE),
    }
}

/// Three significant digits.
pub(crate) fn figure(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        ..0.1 => format!("{value:.4}"),
        ..1.0 => format!("{value:.3}"),
        ..10.0 => format!("{value:.2}"),
        ..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

pub(crate) fn experiment(experiment: &ExperimentRecord, out: &mut dyn Write) -> Result<(), Error> {
    let arms = experiment.arms.iter().map(|arm| columns(&arm.name));
    let ratios = experiment.ratios.iter().map(|ratio| columns(&ratio_name(ratio)));
    let width = arms.chain(ratios).chain([columns(&experiment.name)]).max().unwrap_or(0);
    let name = pad(&visible(&experiment.name), width);
    let rounds = experiment_rounds(experiment);
    let (UnitDisplay { rate, .. }, time) = (display(experiment.unit), time_heading(experiment));
    writeln!(out, "{name}{rate:>NUMBER$}{:>INTERVAL$}{time:>NUMBER$}   {rounds}", "95 %")?;
    for one in &experiment.arms {
        arm(experiment, one, width, out)?;
    }
    for one in &experiment.ratios {
        ratio(one, width, out)?;
    }
    latencies(experiment, width, out)?;
    operations(experiment, width, out)?;
    predictions(experiment, width, out)?;
    causes(&experiment.causes, out)?;
    resolution(experiment).map_or(Ok(()), |text| writeln!(out, "  {text}"))?;
    notes(&experiment.notes, "  ", out)
}

/// Column headings for the latency of single operations and busy processors.
pub(crate) const LATENCIES: [&str; 4] = ["p50", "p99", "p99.9", "cores"];

/// Latency of single operations, as percentiles in milliseconds, and the number of busy processors.
fn latencies(experiment: &ExperimentRecord, width: usize, out: &mut dyn Write) -> Result<(), Error> {
    let arms: Vec<_> = experiment.arms.iter().filter_map(|arm| Some((arm, latency_columns(arm)?))).collect();
    if arms.is_empty() {
        return Ok(());
    }
    write!(out, "{}", pad("  latency in ms, busy cores", width))?;
    LATENCIES.iter().try_for_each(|heading| write!(out, "{heading:>NUMBER$}"))?;
    for (arm, columns) in arms {
        write!(out, "\n{}", pad(&visible(&arm.name), width))?;
        columns.iter().try_for_each(|figure| write!(out, "{figure:>NUMBER$}"))?;
    }
    Ok(writeln!(out)?)
}

/// Column headings for the latencies of all rounds together.
pub(crate) const OPERATION_LATENCIES: [&str; 6] = ["min", "mean", "p95", "max", "unfair %", "repeated"];
/// Column headings for the cost of one operation.
pub(crate) const OPERATION_COSTS: [&str; 6] = ["client µs", "server µs", "kernel µs", "KiB read", "KiB out", "fsyncs"];

/// Latencies of all rounds together, and the cost of one operation.
fn operations(experiment: &ExperimentRecord, width: usize, out: &mut dyn Write) -> Result<(), Error> {
    let arms: Vec<_> = experiment.arms.iter().filter_map(|arm| Some((arm, arm.operations.as_ref()?))).collect();
    if arms.is_empty() {
        return Ok(());
    }
    let mut table = |title: &str, headings: [&str; 6], columns: fn(&OperationsRecord) -> [String; 6]| {
        write!(out, "{}", pad(title, width))?;
        headings.iter().try_for_each(|heading| write!(out, "{heading:>NUMBER$}"))?;
        for (arm, operations) in &arms {
            write!(out, "\n{}", pad(&visible(&arm.name), width))?;
            columns(operations).iter().try_for_each(|figure| write!(out, "{figure:>NUMBER$}"))?;
        }
        writeln!(out)
    };
    table("  latency in ms, all rounds", OPERATION_LATENCIES, operation_latencies)?;
    Ok(table("  for each", OPERATION_COSTS, operation_costs)?)
}

/// Milliseconds, and the unfairness between clients.
pub(crate) fn operation_latencies(operations: &OperationsRecord) -> [String; 6] {
    let latency = &operations.latency;
    let [min, mean, p95, max] = [latency.min_seconds, latency.mean_seconds, latency.p95_seconds, latency.max_seconds]
        .map(|seconds| format!("{:.3}", seconds * 1e3));
    [min, mean, p95, max, format!("{:.1}", operations.unfairness_percent), operations.restarts.to_string()]
}

/// Microseconds of CPU time, KiB of the disk, calls.
pub(crate) fn operation_costs(operations: &OperationsRecord) -> [String; 6] {
    let by = |of: &Interval, factor: f64| figure(of.estimate * factor);
    [
        by(&operations.client_cpu_seconds, 1e6),
        by(&operations.server_cpu_seconds, 1e6),
        by(&operations.server_kernel_seconds, 1e6),
        by(&operations.read_bytes, 1.0 / 1024.0),
        by(&operations.written_bytes, 1.0 / 1024.0),
        by(&operations.fsyncs, 1.0),
    ]
}

/// Heading of [`CauseRecord`]s.
pub(crate) const CAUSES: &str = "where the server's processor time goes";

/// Where the processor time of a transaction goes, in sentences.
fn causes(causes: &[CauseRecord], out: &mut dyn Write) -> Result<(), Error> {
    if causes.is_empty() {
        return Ok(());
    }
    writeln!(out, "  {CAUSES}")?;
    Ok(causes.iter().try_for_each(|cause| writeln!(out, "  - {}", visible(&cause.text)))?)
}

/// Column headings for predictions.
pub(crate) const PREDICTIONS: [&str; 3] = ["predicted", "measured", "error"];

/// What was predicted and what was measured.
fn predictions(experiment: &ExperimentRecord, width: usize, out: &mut dyn Write) -> Result<(), Error> {
    if experiment.predictions.is_empty() {
        return Ok(());
    }
    let mut line = |name: &str, [predicted, measured, interval, error]: [&str; 4]| {
        let name = pad(name, width);
        writeln!(out, "{name}{predicted:>INTERVAL$}{measured:>NUMBER$}{interval:>INTERVAL$}{error:>ERROR$}")
    };
    let [predicted, measured, error] = PREDICTIONS;
    line("  % less throughput", [predicted, measured, "95 %", error])?;
    for (name, [predicted, measured, error]) in prediction_rows(experiment) {
        line(&name, [&predicted.text, &measured.text, &measured.interval, &error.text])?;
    }
    Ok(())
}

/// The compared arms, and the loss of throughput in percent: what was predicted, what was measured, and how far it is off.
pub(crate) fn prediction_rows(experiment: &ExperimentRecord) -> impl Iterator<Item = (String, [Cell; 3])> {
    let resolution = experiment.resolution_percent.unwrap_or_default();
    experiment.predictions.iter().map(move |one| prediction_cells(one, resolution))
}

fn prediction_cells(prediction: &PredictionRecord, resolution: f64) -> (String, [Cell; 3]) {
    let PredictionRecord { of, to, predicted_percent: predicted, measured_percent: measured, error_points } =
        prediction;
    let error = match error_points {
        0.0 => "none".to_owned(),
        points if measured.low <= predicted.high && predicted.low <= measured.high => {
            format!("{points:+.1}, within 95 %")
        }
        points if points.abs() <= resolution => format!("{points:+.1}, as equal arms"),
        points => format!("{points:+.1} points"),
    };
    let cells = [
        format!("{:.1} to {:.1}", predicted.low, predicted.high).into(),
        Cell::with_interval(
            format!("{:.1}", measured.estimate),
            format!("{:.1} to {:.1}", measured.low, measured.high),
        ),
        error.into(),
    ];
    (format!("{} / {}", visible(of), visible(to)), cells)
}

/// The resolution: how much two equal arms differ.
pub(crate) fn resolution(experiment: &ExperimentRecord) -> Option<String> {
    let percent = experiment.resolution_percent?;
    Some(format!("two equal arms can differ by {percent:.1} % here"))
}

/// Explains a ratio that shows no difference; empty if it shows one.
pub(crate) fn difference(ratio: &RatioRecord) -> String {
    match ratio.difference {
        Difference::Seen => String::new(),
        Difference::None { at_most_percent } => format!("no difference seen, at most {at_most_percent:.1} %"),
        Difference::WithinResolution { resolution_percent, .. } => {
            format!("no more than two equal arms can differ: {resolution_percent:.1} %")
        }
        Difference::TooFewRounds => "too few rounds for an interval".to_owned(),
    }
}

/// What an experiment shows, in a sentence: its largest differences, or without comparisons its fastest arm.
pub(crate) fn conclusion(experiment: &ExperimentRecord) -> String {
    let mut ratios: Vec<&RatioRecord> = experiment.ratios.iter().collect();
    let size = |ratio: &RatioRecord| ratio.ratio.estimate.max(f64::MIN_POSITIVE).ln().abs();
    ratios.sort_by(|one, other| size(other).total_cmp(&size(one)));
    let compared = ratios.iter().take(CONCLUSIONS);
    let said: Vec<String> = compared.map(|ratio| comparison(ratio, experiment.compared_by)).collect();
    match ratios.len().saturating_sub(said.len()) {
        _ if said.is_empty() => fastest(experiment),
        0 => said.join("; "),
        more => format!("{}; {more} more below", said.join("; ")),
    }
}

/// What a comparison of two arms shows.
fn comparison(ratio: &RatioRecord, compared_by: ComparedBy) -> String {
    let (of, to) = (visible(&ratio.of), visible(&ratio.to));
    let Interval { estimate, low, high } = ratio.ratio;
    let said = difference(ratio);
    if !said.is_empty() {
        return format!("{of} and {to}: {said}");
    }
    if compared_by == ComparedBy::P95Latency {
        let [times, least, most] = [estimate, high, low].map(|speed| figure(1.0 / speed.max(f64::MIN_POSITIVE)));
        return format!(
            "the 95th percentile of latency is {times} times as long with {of} as with {to} ({least} to {most})"
        );
    }
    match estimate {
        0.5..1.0 => format!("{of} is {} slower than {to}", percent(1.0 - estimate, 1.0 - high, 1.0 - low)),
        1.0..2.0 => format!("{of} is {} faster than {to}", percent(estimate - 1.0, low - 1.0, high - 1.0)),
        _ => format!("{of} is {} times as fast as {to} ({} to {})", figure(estimate), figure(low), figure(high)),
    }
}

/// A share and its interval.
pub(crate) fn percent(share: f64, low: f64, high: f64) -> String {
    let [share, low, high] = [share, low, high].map(|share| share * 100.0);
    format!("{share:.1} % ({low:.1} to {high:.1})")
}

fn fastest(experiment: &ExperimentRecord) -> String {
    let display = display(experiment.unit);
    let fastest = experiment.arms.iter().max_by(|one, other| one.rate.estimate.total_cmp(&other.rate.estimate));
    let Some(arm) = fastest else { return "nothing was measured".to_owned() };
    let rate = format!("{} {}", figure(display.rate_of(arm).estimate), display.rate);
    match experiment.arms.len() {
        1 => format!("{}: {rate}", visible(&arm.name)),
        _ => format!("{} is the fastest, with {rate}", visible(&arm.name)),
    }
}

/// Percentiles in milliseconds, and the number of busy processors. Percentiles are those of all operations, where they are
/// known, and otherwise medians over the runs.
pub(crate) fn latency_columns(arm: &ArmRecord) -> Option<[String; 4]> {
    let detail = arm.detail.as_ref()?;
    let of_runs = [&detail.p50_seconds, &detail.p99_seconds, &detail.p999_seconds].map(|of| of.estimate);
    let of_operations = |operations: &OperationsRecord| {
        let latency = &operations.latency;
        [latency.p50_seconds, latency.p99_seconds, latency.p999_seconds]
    };
    let [p50, p99, p999] =
        arm.operations.as_ref().map_or(of_runs, of_operations).map(|seconds| format!("{:.3}", seconds * 1e3));
    Some([p50, p99, p999, format!("{:.2}", detail.cores.estimate)])
}

pub(crate) fn experiment_rounds(experiment: &ExperimentRecord) -> String {
    let rounds = count(experiment.rounds, "round");
    let stop = match experiment.stopped {
        Stop::Narrow => "intervals narrow",
        Stop::Rounds => "all done",
        Stop::Budget => "time over",
        Stop::Interrupted => "interrupted",
    };
    format!("{rounds}, {stop}")
}

fn arm(experiment: &ExperimentRecord, arm: &ArmRecord, width: usize, out: &mut dyn Write) -> Result<(), Error> {
    let rate = display(experiment.unit).rate_of(arm);
    let interval = format!("{} to {}", figure(rate.low), figure(rate.high));
    let (rate, seconds) = (figure(rate.estimate), time_of(experiment, arm));
    let name = pad(&visible(&arm.name), width);
    Ok(writeln!(out, "{name}{rate:>NUMBER$}{interval:>INTERVAL$}{seconds:>NUMBER$.3}")?)
}

fn ratio(ratio: &RatioRecord, width: usize, out: &mut dyn Write) -> Result<(), Error> {
    let Interval { estimate, low, high } = ratio.ratio;
    let interval = format!("{} to {}", times(low), times(high));
    let times = format!("{}x", times(estimate));
    let name = pad(&ratio_name(ratio), width);
    let line = format!("{name}{times:>NUMBER$}{interval:>INTERVAL$}   {}", difference(ratio));
    Ok(writeln!(out, "{}", line.trim_end())?)
}

/// A ratio, with more digits near 1.
pub(crate) fn times(ratio: f64) -> String {
    if (0.5..2.0).contains(&ratio) { format!("{ratio:.3}") } else { figure(ratio) }
}

pub(crate) fn ratio_name(ratio: &RatioRecord) -> String {
    format!("{} / {}", visible(&ratio.of), visible(&ratio.to))
}

pub(crate) fn scaled(interval: &Interval, by: f64) -> Interval {
    Interval { estimate: interval.estimate * by, low: interval.low * by, high: interval.high * by }
}
