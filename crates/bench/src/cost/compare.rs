//! Compares two reports: of two machines, versions or dates.

mod figures;

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use serde::Serialize;

pub use self::figures::{FigureComparison, LayerFigure};
use super::{COST_SCHEMA, CostRecord, Layer, Part, PartRecord};
use crate::{
    Environment, Error, FigureRatios, Interval, Unit, predict::ReportedCalibration, suite::oltp::EQUAL_SERVERS,
    sysbench,
};

/// Name and version of the JSON document.
pub const COMPARISON_SCHEMA: &str = "sealant.cost-compare/1";

/// Two reports side by side.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// [`COMPARISON_SCHEMA`].
    pub schema: &'static str,
    /// The machine of the first report.
    pub before: Environment,
    /// The machine of the second report.
    pub after: Environment,
    /// The server versions of both reports.
    pub servers: [String; 2],
    /// Layers that both reports have.
    pub layers: Vec<LayerComparison>,
    /// Arms that both reports have.
    pub arms: Vec<ArmComparison>,
    /// Number of layers and arms that only one report has.
    pub unmatched: usize,
    /// What else differs between the reports, so that figures may.
    pub remarks: Vec<String>,
}

/// The cost of a layer in both reports.
#[derive(Clone, Debug, Serialize)]
pub struct LayerComparison {
    /// What is encrypted.
    pub layer: String,
    /// The part in which it was measured.
    pub part: Part,
    /// Rate with the layer, in units of the rate without it, in the first report.
    pub before: Interval,
    /// The same in the second report.
    pub after: Interval,
    /// Whether the rates differ.
    pub shift: MedianDifference,
    /// What else the layer changes, as far as both reports have it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<FigureComparison>,
}

/// The rate of an arm in both reports.
#[derive(Clone, Debug, Serialize)]
pub struct ArmComparison {
    /// The part in which it was measured.
    pub part: Part,
    /// Name of the experiment.
    pub experiment: String,
    /// Name of the arm.
    pub arm: String,
    /// Unit of the rates, per second.
    pub unit: Unit,
    /// Rate in the first report.
    pub before: Interval,
    /// Rate in the second report.
    pub after: Interval,
    /// Whether the rates differ.
    pub shift: MedianDifference,
}

/// What two intervals say about the difference of their medians.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MedianDifference {
    /// The second is higher: the intervals have no value in common.
    Higher,
    /// The second is lower.
    Lower,
    /// The intervals overlap, or two equal servers differ by as much.
    NotSeen,
}

impl MedianDifference {
    /// Compares two 95 % intervals. Requiring that they do not overlap is stricter than testing their difference.
    #[must_use]
    pub fn between(before: &Interval, after: &Interval) -> Self {
        if after.low > before.high {
            Self::Higher
        } else if after.high < before.low {
            Self::Lower
        } else {
            Self::NotSeen
        }
    }

    /// As [`Self::between`], but a difference that two equal servers of one of the reports have, too, is none.
    fn beyond(before: &Interval, after: &Interval, resolution_percent: f64) -> Self {
        let percent = (after.estimate / before.estimate.max(f64::MIN_POSITIVE) - 1.0).abs() * 100.0;
        if percent > resolution_percent { Self::between(before, after) } else { Self::NotSeen }
    }
}

impl CostRecord {
    /// Reads a report that was written as JSON.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::CostFile`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bytes = fs::read(path).map_err(Error::file(path))?;
        let failed = |reason: String| Error::CostFile { path: path.to_owned(), reason };
        let record: Self = serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string()))?;
        if record.schema != COST_SCHEMA {
            return Err(failed(format!("its schema is {}, not {COST_SCHEMA}", record.schema)));
        }
        Ok(record)
    }

    /// Reads the calibration of a report: what single operations of encryption cost on the machine that wrote it.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::CostFile`].
    pub fn read_calibration(path: &Path) -> Result<ReportedCalibration, Error> {
        let failed = |reason: String| Error::CostFile { path: path.to_owned(), reason };
        let record = Self::read(path)?;
        let missing = || failed("it has no calibration: an older version of this program wrote it".to_owned());
        let calibration = record.calibration.ok_or_else(missing)?;
        match calibration.fault() {
            Some(fault) => Err(failed(format!("its calibration was not measured: {fault}"))),
            None => Ok(ReportedCalibration { calibration, path: path.to_owned(), cpu: record.environment.cpu }),
        }
    }

    /// Compares the figures that both reports have.
    #[must_use]
    pub fn compare(&self, after: &Self) -> Comparison {
        let resolution = |layer: &Layer| after.resolution(layer.part, &layer.experiment);
        let layers: Vec<LayerComparison> = self
            .layers
            .iter()
            .filter_map(|layer| {
                let part = layer.part;
                let other = after.layers.iter().find(|other| other.layer == layer.layer && other.part == part)?;
                let equal = [self, after].map(|record| record.equal_servers(part));
                let figures = figures::compare(&layer.throughput.figures, &other.throughput.figures, equal);
                let [before, after] = [layer, other].map(|layer| layer.throughput.ratio);
                let resolution = self.resolution(part, &layer.experiment).max(resolution(layer));
                let shift = MedianDifference::beyond(&before, &after, resolution);
                Some(LayerComparison { layer: layer.layer.clone(), part, before, after, shift, figures })
            })
            .collect();
        let arms: Vec<ArmComparison> = self
            .arms()
            .filter_map(|arm| {
                let same = |other: &ArmComparison| {
                    (other.part, &other.experiment, &other.arm) == (arm.part, &arm.experiment, &arm.arm)
                };
                let limit = self.resolution(arm.part, &arm.experiment).max(after.resolution(arm.part, &arm.experiment));
                let after = after.arms().find(same)?.before;
                let shift = MedianDifference::beyond(&arm.before, &after, limit);
                Some(ArmComparison { after, shift, ..arm })
            })
            .collect();
        let all = |record: &Self| record.layers.len() + record.arms().count();
        let matched = layers.len() + arms.len();
        Comparison {
            schema: COMPARISON_SCHEMA,
            before: self.environment.clone(),
            after: after.environment.clone(),
            servers: [self.server.clone(), after.server.clone()],
            unmatched: (all(self) + all(after)).saturating_sub(2 * matched),
            layers,
            arms,
            remarks: self.remarks(after),
        }
    }

    /// How much two equal servers differ in an experiment, in percent; 0 where this was not measured.
    fn resolution(&self, part: Part, experiment: &str) -> f64 {
        let records = self.parts.iter().filter(|one| one.part == part);
        let mut experiments = records.flat_map(|one| &one.record.experiments);
        experiments.find(|one| one.name == experiment).and_then(|one| one.resolution_percent).unwrap_or_default()
    }

    /// What two equal servers of a part have instead of equal figures; `None` where this was not measured.
    fn equal_servers(&self, part: Part) -> Option<&FigureRatios> {
        let records = self.parts.iter().filter(|one| one.part == part);
        let mut ratios = records.flat_map(|one| &one.record.experiments).flat_map(|experiment| &experiment.ratios);
        let equal = ratios.find(|ratio| [ratio.of.as_str(), ratio.to.as_str()] == EQUAL_SERVERS)?;
        Some(&equal.figures)
    }

    /// Whole seconds of a run of transactions, by part.
    fn run_lengths(&self) -> BTreeMap<Part, u64> {
        let parts = self.parts.iter().filter(|part| part.part.is_of_transactions());
        let length = |part: &PartRecord| {
            let arm = part.record.experiments.first()?.arms.first()?;
            Some((part.part, Duration::try_from_secs_f64(arm.seconds.estimate.round()).ok()?.as_secs()))
        };
        parts.filter_map(length).collect()
    }

    /// Whether sysbench ran transactions, rather than this program's own clients.
    fn has_sysbench(&self) -> bool {
        self.parts.iter().flat_map(|part| &part.record.programs).any(|program| program.name == sysbench::NAME)
    }

    /// What differs besides the figures, and the parts that only one report has.
    fn remarks(&self, after: &Self) -> Vec<String> {
        let mut remarks = Vec::new();
        let mut differ = |what: &str, is_different: bool| {
            if is_different {
                remarks.push(format!("A and B differ in {what}"));
            }
        };
        differ("the server's version", self.server != after.server);
        differ("the data", self.data != after.data);
        let lengths = after.run_lengths();
        let is_other = |(part, length): &(Part, u64)| lengths.get(part).is_some_and(|other| other != length);
        differ("the length of runs", self.run_lengths().into_iter().any(|one| is_other(&one)));
        differ("the program that runs the transactions", self.has_sysbench() != after.has_sysbench());
        differ("the kernel", self.environment.kernel != after.environment.kernel);
        differ("the processor", self.environment.cpu != after.environment.cpu);
        differ("the number of processors", self.environment.cores != after.environment.cores);
        differ("the version of this program", self.environment.version != after.environment.version);
        differ(
            "whether this program was built with optimisation",
            self.environment.optimised != after.environment.optimised,
        );
        remarks.extend(only("A", self, "B", after));
        remarks.extend(only("B", after, "A", self));
        remarks
    }

    /// All arms, each compared with itself.
    fn arms(&self) -> impl Iterator<Item = ArmComparison> {
        self.parts.iter().flat_map(|part| {
            part.record.experiments.iter().flat_map(|experiment| {
                experiment.arms.iter().map(|arm| ArmComparison {
                    part: part.part,
                    experiment: experiment.name.clone(),
                    arm: arm.name.clone(),
                    unit: experiment.unit,
                    before: arm.rate,
                    after: arm.rate,
                    shift: MedianDifference::NotSeen,
                })
            })
        })
    }
}

/// The parts that only one of two reports has, each with the reason that the other gives.
fn only<'r>(
    name: &'r str,
    one: &'r CostRecord,
    other_name: &'r str,
    other: &'r CostRecord,
) -> impl Iterator<Item = String> {
    let has = |record: &CostRecord, part: Part| record.parts.iter().any(|one| one.part == part);
    let missing = one.parts.iter().map(|part| part.part).filter(move |part| !has(other, *part));
    missing.map(move |part| {
        let reason = other.unmeasured.iter().find(|one| one.layer == part.title()).map(|one| one.reason.as_str());
        let reason = reason.map_or(String::new(), |reason| format!("; {other_name} says: {reason}"));
        format!("only {name} has the part {part}{reason}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::{
        Unmeasured,
        layer::{layers, tests::part},
    };

    fn record(clear: f64, encrypted: f64) -> CostRecord {
        let parts = vec![part(Part::InMemory, "x, encrypted at rest", [("clear", clear), ("tde", encrypted)])];
        CostRecord {
            schema: COST_SCHEMA.into(),
            environment: parts[0].record.environment.clone(),
            server: "10.11.0-MariaDB".to_owned(),
            data: None,
            layers: layers(&parts),
            unmeasured: Vec::new(),
            calibration: None,
            advice: Vec::new(),
            samples_file: None,
            parts,
        }
    }

    #[test]
    fn only_intervals_that_do_not_overlap_are_differences() {
        let compared = record(1000.0, 900.0).compare(&record(2000.0, 1800.0));
        assert_eq!((compared.layers.len(), compared.arms.len(), compared.unmatched), (1, 2, 0));
        assert_eq!(compared.layers[0].shift, MedianDifference::NotSeen);
        assert!(compared.arms.iter().all(|arm| arm.shift == MedianDifference::Higher));
        let slower = record(1000.0, 900.0).compare(&record(1000.0, 500.0));
        assert_eq!(
            (slower.layers[0].shift, slower.arms[0].shift),
            (MedianDifference::Lower, MedianDifference::NotSeen)
        );
        assert_eq!(slower.arms[1].shift, MedianDifference::Lower);
        assert!(slower.remarks.is_empty(), "{:?}", slower.remarks);
    }

    #[test]
    fn what_two_equal_servers_differ_by_is_no_difference() {
        let (before, mut after) = (record(1000.0, 900.0), record(1000.0, 850.0));
        assert_eq!(before.compare(&after).layers[0].shift, MedianDifference::Lower);
        after.parts[0].record.experiments[0].resolution_percent = Some(8.0);
        let compared = before.compare(&after);
        assert_eq!(
            (compared.layers[0].shift, compared.arms[1].shift),
            (MedianDifference::NotSeen, MedianDifference::NotSeen)
        );
    }

    #[test]
    fn other_conditions_and_missing_parts_are_told() {
        let (before, mut after) = (record(1000.0, 900.0), record(1000.0, 900.0));
        (after.server, after.parts) = ("9.7.4".to_owned(), Vec::new());
        let reason = "not among --parts".to_owned();
        let layer = Part::InMemory.title().to_owned();
        after.unmeasured.push(Unmeasured { layer, reason, command: String::new() });
        assert_eq!(
            before.compare(&after).remarks,
            ["A and B differ in the server's version", "only A has the part in-memory; B says: not among --parts"]
        );
    }

    #[test]
    fn what_only_one_report_has_is_counted() {
        let mut shorter = record(1000.0, 900.0);
        shorter.layers.clear();
        assert_eq!(shorter.compare(&record(1000.0, 900.0)).unmatched, 1);
    }

    #[test]
    fn a_report_is_read_back_and_other_files_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cost.json");
        let written = record(1000.0, 900.0);
        fs::write(&path, serde_json::to_vec(&written).unwrap()).unwrap();
        assert_eq!(CostRecord::read(&path).unwrap().compare(&written).unmatched, 0);
        for text in ["{}", "report", &serde_json::to_string(&CostRecord { schema: "x/1".into(), ..written }).unwrap()] {
            fs::write(&path, text).unwrap();
            assert!(matches!(CostRecord::read(&path), Err(Error::CostFile { .. })), "{text}");
        }
        fs::write(&path, serde_json::to_vec(&record(1000.0, 900.0)).unwrap()).unwrap();
        let error = CostRecord::read_calibration(&path).unwrap_err();
        assert!(error.to_string().contains("it has no calibration"), "{error}");
    }
}
