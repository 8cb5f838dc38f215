//! What is reported of measurements.

use serde::Serialize;

use crate::{Environment, Interval, Opinion, Program, Stop, Unit};

/// Name and version of the JSON document.
pub const SCHEMA: &str = "sealant.bench/1";

/// Everything that was measured in one go.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Where it was measured.
    pub environment: Environment,
    /// What it was measured on.
    pub subject: Subject,
    /// Other programs that took part.
    pub programs: Vec<Program>,
    /// What would have taken part, but is not on this machine.
    pub missing: Vec<String>,
    /// The experiments.
    pub experiments: Vec<ExperimentRecord>,
    /// What other programs say of files that are sound.
    pub opinions: Vec<Opinion>,
    /// What a reader has to know of the conditions.
    pub notes: Vec<String>,
}

/// The files that were measured on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Subject {
    /// How many.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of files with encrypted units that were opened.
    pub opened_bytes: u64,
    /// Bytes of files that are readable without a key.
    pub clear_bytes: u64,
    /// Files that are not sound.
    pub unsound: u64,
}

/// One experiment.
#[derive(Clone, Debug, Serialize)]
pub struct ExperimentRecord {
    /// Its name.
    pub name: String,
    /// What is counted.
    pub unit: Unit,
    /// Bytes of a block, if the time of one is what counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_bytes: Option<u64>,
    /// Rounds that were run.
    pub rounds: u32,
    /// Why not more.
    pub stopped: Stop,
    /// The arms.
    pub arms: Vec<ArmRecord>,
    /// Comparisons between them.
    pub ratios: Vec<RatioRecord>,
    /// What a reader has to know of it.
    pub notes: Vec<String>,
}

/// One arm.
#[derive(Clone, Debug, Serialize)]
pub struct ArmRecord {
    /// Its name.
    pub name: String,
    /// What one run did at most.
    pub amount: u64,
    /// What it did in a second.
    pub rate: Interval,
    /// Wall time of one run.
    pub seconds: Interval,
    /// What arms know that have single operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<DetailRecord>,
}

/// Latencies and processors of an arm: medians over its runs.
#[derive(Clone, Debug, Serialize)]
pub struct DetailRecord {
    /// Half of the operations took no longer.
    pub p50_seconds: Interval,
    /// 99 of 100 took no longer.
    pub p99_seconds: Interval,
    /// 999 of 1000 took no longer.
    pub p999_seconds: Interval,
    /// Processors of the whole machine that were busy.
    pub cores: Interval,
}

/// How many times as fast one arm is as another.
#[derive(Clone, Debug, Serialize)]
pub struct RatioRecord {
    /// The arm above the line.
    pub of: String,
    /// The arm below it.
    pub to: String,
    /// The ratio of their rates.
    pub ratio: Interval,
}
