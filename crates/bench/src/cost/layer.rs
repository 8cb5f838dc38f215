//! What each layer of encryption costs, in the same terms for every part.

use serde::{Deserialize, Serialize};

use super::{Part, PartRecord};
use crate::{
    ArmRecord, ExperimentRecord, Interval, OperationsRecord, RatioRecord, ServerArm, WireArm,
    suite::{
        copies::{BACKUP, CLEAR_COPIES, COPY, ENCRYPTED_COPY},
        oltp::{AT_REST, ON_THE_WIRE},
        sst::{JOINED, Method},
        tls::{CONNECTING, PLAIN, QUERYING, TUNNEL},
    },
};

/// What one layer costs in one situation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Layer {
    /// What is encrypted.
    pub layer: String,
    /// The part that measured it.
    pub part: Part,
    /// Name of the experiment.
    pub experiment: String,
    /// Rate with the layer, in units of the rate without it.
    pub throughput: RatioRecord,
    /// 95th percentile of the latency of a transaction, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_seconds: Option<Change>,
    /// CPU time of the server for a transaction, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_seconds: Option<Change>,
    /// Bytes written to the disk for a transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<Change>,
    /// Size of the data directory, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_bytes: Option<Change>,
    /// Time for one connection or query, or for a backup, copy or join, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<Change>,
}

/// A figure without the layer, and with it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Without the layer.
    pub without: f64,
    /// With the layer: `without` times `ratio`, if there is one. A median over all rounds of its own could differ in the
    /// other direction than the ratios within rounds.
    pub with: f64,
    /// The figure with the layer, in units of that without it; `None` if it does not vary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Interval>,
}

/// A baseline arm and an arm with the layer: what is encrypted, how the experiment's name ends, the arm, and its
/// baseline.
struct Comparison {
    layer: &'static str,
    experiment: &'static str,
    of: &'static str,
    to: &'static str,
}

const TRANSACTIONS: [Comparison; 3] = [
    Comparison { layer: "tables", experiment: AT_REST, of: ServerArm::TABLES.as_str(), to: ServerArm::CLEAR.as_str() },
    Comparison {
        layer: "tables, logs, temporary files",
        experiment: AT_REST,
        of: ServerArm::EVERYTHING.as_str(),
        to: ServerArm::CLEAR.as_str(),
    },
    Comparison {
        layer: "open connections: TLS 1.3",
        experiment: ON_THE_WIRE,
        of: WireArm::TLS.as_str(),
        to: WireArm::Tcp.as_str(),
    },
];

const CONNECTIONS: [Comparison; 6] = [
    Comparison { layer: "new connections: TLS 1.3, ECDSA", experiment: CONNECTING, of: "TLS 1.3 ECDSA", to: PLAIN },
    Comparison {
        layer: "new connections: TLS 1.3, RSA-2048",
        experiment: CONNECTING,
        of: "TLS 1.3 RSA-2048",
        to: PLAIN,
    },
    Comparison {
        layer: "new connections: TLS 1.3, RSA-4096",
        experiment: CONNECTING,
        of: "TLS 1.3 RSA-4096",
        to: PLAIN,
    },
    Comparison { layer: "new connections: sealant tunnel", experiment: CONNECTING, of: TUNNEL, to: PLAIN },
    Comparison { layer: "queries: TLS 1.3", experiment: QUERYING, of: "TLS 1.3", to: PLAIN },
    Comparison { layer: "queries: sealant tunnel", experiment: QUERYING, of: TUNNEL, to: PLAIN },
];

const COPIES: [Comparison; 3] = [
    Comparison {
        layer: "backup: encrypted tables",
        experiment: BACKUP,
        of: ServerArm::TABLES.as_str(),
        to: ServerArm::CLEAR.as_str(),
    },
    Comparison { layer: "copy: sealant, not tar-socat", experiment: COPY, of: ENCRYPTED_COPY, to: CLEAR_COPIES[0] },
    Comparison { layer: "copy: sealant, not cp", experiment: COPY, of: ENCRYPTED_COPY, to: CLEAR_COPIES[1] },
];

const JOINS: [Comparison; 1] = [Comparison {
    layer: "join: sealant (TLS 1.3), not rsync",
    experiment: JOINED,
    of: Method::Sealant.name(),
    to: Method::Rsync.name(),
}];

/// The layers of all parts, in their order.
pub(super) fn layers(parts: &[PartRecord]) -> Vec<Layer> {
    let mut layers = Vec::new();
    for PartRecord { part, record } in parts {
        let comparisons: &[Comparison] = match part {
            Part::InMemory | Part::LargerThanMemory | Part::Commits => &TRANSACTIONS,
            Part::Connections => &CONNECTIONS,
            Part::Copies => &COPIES,
            Part::Joins => &JOINS,
            Part::Disk => &[],
        };
        layers.extend(comparisons.iter().filter_map(|comparison| layer(*part, comparison, &record.experiments)));
    }
    layers
}

fn layer(part: Part, comparison: &Comparison, experiments: &[ExperimentRecord]) -> Option<Layer> {
    let experiment = experiments.iter().find(|one| one.name.contains(comparison.experiment))?;
    let compared = |ratio: &&RatioRecord| is_arm(&ratio.of, comparison.of) && is_arm(&ratio.to, comparison.to);
    let throughput = experiment.ratios.iter().find(compared)?.clone();
    let arm = |name: &str| experiment.arms.iter().find(|arm| is_arm(&arm.name, name));
    let (without, with) = (arm(comparison.to)?, arm(comparison.of)?);
    let ratios = throughput.figures.clone();
    let each = |arm: &ArmRecord| match part {
        Part::Connections => Some(1.0 / arm.rate.estimate.max(f64::MIN_POSITIVE)),
        Part::Copies | Part::Joins => Some(arm.seconds.estimate),
        _ => None,
    };
    let ratio_of_each = match part {
        Part::Connections => Some(throughput.ratio.inverse()),
        _ => ratios.seconds,
    };
    Some(Layer {
        layer: comparison.layer.to_owned(),
        part,
        experiment: experiment.name.clone(),
        throughput,
        p95_seconds: operations(without, with, ratios.p95_seconds, |record| record.latency.p95_seconds),
        server_cpu_seconds: operations(without, with, ratios.server_cpu_seconds, |record| {
            record.server_cpu_seconds.estimate
        }),
        written_bytes: operations(without, with, ratios.written_bytes, |record| record.written_bytes.estimate),
        data_bytes: without.data_bytes.zip(with.data_bytes).map(|(without, with)| Change::of_bytes(without, with)),
        seconds: each(without).zip(each(with)).map(|(without, with)| Change::new(without, with, ratio_of_each)),
    })
}

/// Whether an arm has this name, after which a file system may follow.
fn is_arm(name: &str, wanted: &str) -> bool {
    name.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(", "))
}

fn operations(
    without: &ArmRecord,
    with: &ArmRecord,
    ratio: Option<Interval>,
    figure: impl Fn(&OperationsRecord) -> f64,
) -> Option<Change> {
    Some(Change::new(figure(without.operations.as_ref()?), figure(with.operations.as_ref()?), ratio))
}

impl Change {
    fn new(without: f64, measured: f64, ratio: Option<Interval>) -> Self {
        Self { without, with: ratio.map_or(measured, |ratio| without * ratio.estimate), ratio }
    }

    #[allow(clippy::cast_precision_loss, reason = "a size for people")]
    const fn of_bytes(without: u64, with: u64) -> Self {
        Self { without: without as f64, with: with as f64, ratio: None }
    }

    /// The increase with the layer, in percent; `None` if the figure without it is zero.
    #[must_use]
    pub fn percent(&self) -> Option<f64> {
        (self.without > 0.0).then(|| (self.with / self.without - 1.0) * 100.0)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::Path;

    use super::*;
    use crate::{ComparedBy, Difference, Environment, FigureRatios, Record, SCHEMA, Stop, Subject, Unit};

    /// A part with one experiment and two arms, the baseline first. Rates are units per second.
    pub(in crate::cost) fn part(part: Part, name: &str, rates: [(&str, f64); 2]) -> PartRecord {
        let exactly = |estimate: f64| Interval { estimate, low: estimate * 0.99, high: estimate * 1.01 };
        let arms = rates.map(|(name, rate)| ArmRecord {
            name: name.to_owned(),
            amount: 100,
            rate: exactly(rate),
            seconds: exactly(1.0),
            data_bytes: None,
            detail: None,
            operations: None,
        });
        let ratio = exactly(rates[1].1 / rates[0].1);
        let ratios = vec![RatioRecord {
            of: rates[1].0.to_owned(),
            to: rates[0].0.to_owned(),
            ratio,
            difference: Difference::judge(&ratio, 6),
            figures: FigureRatios::default(),
        }];
        let experiment = ExperimentRecord {
            name: name.to_owned(),
            unit: Unit::Transactions,
            block_bytes: None,
            rounds: 6,
            stopped: Stop::Rounds,
            compared_by: ComparedBy::Rate,
            resolution_percent: None,
            arms: arms.into(),
            ratios,
            predictions: Vec::new(),
            causes: Vec::new(),
            notes: Vec::new(),
        };
        let record = Record {
            schema: SCHEMA.into(),
            environment: Environment::now(Path::new("/")),
            subject: Subject::default(),
            programs: Vec::new(),
            missing: Vec::new(),
            experiments: vec![experiment],
            opinions: Vec::new(),
            notes: Vec::new(),
        };
        PartRecord { part, record }
    }

    #[test]
    fn layers_are_ratios_of_what_is_encrypted_to_what_is_not() {
        let parts = [
            part(Part::Commits, "oltp_update_index, encrypted at rest", [("clear", 1000.0), ("tde", 900.0)]),
            part(Part::Connections, "connections, one after the other, loopback", [(PLAIN, 4000.0), (TUNNEL, 2000.0)]),
        ];
        let found = layers(&parts);
        let names: Vec<&str> = found.iter().map(|layer| layer.layer.as_str()).collect();
        assert_eq!(names, ["tables", "new connections: sealant tunnel"]);
        assert!((found[0].throughput.ratio.estimate - 0.9).abs() < 1e-9);
        let each = found[1].seconds.unwrap();
        assert_eq!((each.without, each.with, each.percent()), (0.00025, 0.0005, Some(100.0)));
        let ratio = each.ratio.unwrap();
        assert!((ratio.estimate - 2.0).abs() < 1e-9 && ratio.low < 2.0 && ratio.high > 2.0, "{ratio:?}");
    }

    #[test]
    fn a_figure_with_the_layer_agrees_with_its_interval() {
        let ratio = Interval { estimate: 1.04, low: 1.01, high: 1.08 };
        let change = Change::new(100.0, 98.0, Some(ratio));
        assert!((change.with - 104.0).abs() < 1e-9, "{change:?}");
        assert_eq!(Change::new(100.0, 98.0, None).with.to_bits(), 98.0_f64.to_bits());
    }

    #[test]
    fn a_join_has_a_time_on_any_file_system_and_a_backup_the_size_of_its_data() {
        let mut backup = part(Part::Copies, BACKUP, [("clear", 100.0), ("tde", 90.0)]);
        let arms = &mut backup.record.experiments[0].arms;
        (arms[0].data_bytes, arms[1].data_bytes) = (Some(100), Some(110));
        let joins = part(Part::Joins, JOINED, [("rsync, ext4", 100.0), ("sealant, ext4", 150.0)]);
        let found = layers(&[backup, joins]);
        assert_eq!(found[0].data_bytes, Some(Change { without: 100.0, with: 110.0, ratio: None }));
        assert_eq!(found[1].layer, "join: sealant (TLS 1.3), not rsync");
        assert_eq!(found[1].seconds, Some(Change { without: 1.0, with: 1.0, ratio: None }));
        assert_eq!(found[1].data_bytes, None);
    }
}
