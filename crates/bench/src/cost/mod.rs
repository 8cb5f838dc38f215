//! What encryption costs on this machine: experiments on several layers within a time limit, in one report.
//!
//! A [`Part`] is a suite with its settings. The results of each part are kept until all parts are done, so that the
//! same command resumes after an interruption. [`Layer`]s compare encrypted and unencrypted arms in the same terms for
//! every part.

mod advice;
mod compare;
mod layer;
mod part;
mod saved;
mod shape;
mod unmeasured;

use std::{
    borrow::Cow,
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

pub use self::{
    advice::Advice,
    compare::{
        ArmComparison, COMPARISON_SCHEMA, Comparison, FigureComparison, LayerComparison, LayerFigure, MedianDifference,
    },
    layer::{Change, Layer},
    part::Part,
    shape::{DataRecord, DataShape},
    unmeasured::Unmeasured,
};
use self::{
    part::{Limits, default_tables},
    saved::Saved,
};
use crate::{
    Environment, Error, Record, Sample, TableSet,
    predict::Calibration,
    suite::{
        Watch,
        oltp::{check_directory, check_program},
    },
    tls::is_mariadb,
};

/// Name and version of the JSON document.
pub const COST_SCHEMA: &str = "sealant.cost/1";

/// A note on a part that had less time than it should have.
const SHORTENED: &str = "earlier parts took longer than planned, so that this one had the least time only: its runs are \
                         short, and its intervals wide";

/// Parameters of the measurement.
#[derive(Debug)]
pub struct CostSuite<'a> {
    /// This program.
    pub program: PathBuf,
    /// The name by which servers start it for a state transfer.
    pub sst_program: &'static str,
    /// The server program; by default the first of `families` that is found.
    pub server: Option<&'a Path>,
    /// Names of server programs to look for.
    pub families: &'a [&'static str],
    /// Directory below which servers live, and results are kept until all parts are done.
    pub directory: &'a Path,
    /// The parts, in this order.
    pub parts: &'a [Part],
    /// Rows in each of the tables; with [`Self::like`], as many bytes at most.
    pub rows: u32,
    /// Sizes of the tables of a server that the data is made like.
    pub like: Option<&'a DataShape>,
    /// Time for all parts together.
    pub time: Duration,
    /// Set to true to end the measurement.
    pub stopped: &'a Arc<AtomicBool>,
}

/// A report of all parts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CostRecord {
    /// [`COST_SCHEMA`].
    pub schema: Cow<'static, str>,
    /// The machine, before the first part.
    pub environment: Environment,
    /// Product and version of the server, for example `MySQL 9.7.4`.
    pub server: String,
    /// The data; `None` in reports of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataRecord>,
    /// What each layer costs.
    pub layers: Vec<Layer>,
    /// What has no figures, and why.
    #[serde(default)]
    pub unmeasured: Vec<Unmeasured>,
    /// What single operations of encryption cost here, for [`crate::predict`]; `None` in reports of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// Advice that follows from the results.
    pub advice: Vec<Advice>,
    /// The file with every sample, if they were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples_file: Option<PathBuf>,
    /// The parts with all their figures.
    pub parts: Vec<PartRecord>,
}

/// One part with its figures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartRecord {
    /// Which part was measured.
    pub part: Part,
    /// Its figures.
    pub record: Record,
}

/// Results of all parts.
#[derive(Debug)]
pub struct CostOutcome {
    /// The report.
    pub record: CostRecord,
    /// The samples behind it.
    pub samples: Vec<Sample>,
    /// Parts that an earlier, interrupted run had measured.
    pub resumed: Vec<Part>,
    /// Parts that could not be measured, and why.
    pub failed: Vec<(Part, Error)>,
    /// Files with the results of these parts, from which the same command would resume.
    saved: Vec<PathBuf>,
}

impl CostOutcome {
    /// Removes the results of the parts of this report. Call it once the report is written.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn forget(&self) -> Result<(), Error> {
        saved::remove(&self.saved)
    }
}

impl CostSuite<'_> {
    /// Checks the parameters before anything is started.
    ///
    /// # Errors
    /// [`Error`]: as the suites of its parts, and [`Error::TooLittleTime`] if the time does not suffice for intervals.
    pub fn check(&self) -> Result<ReadySuite, Error> {
        let server = self.find_server()?;
        check_directory(self.directory)?;
        let saved = Saved::read(self.directory, &server.version, self.rows, self.like, self.parts)?;
        let tables = self.tables(&saved);
        let missing = self.missing(&saved, &server);
        self.check_time(&missing, tables)?;
        missing.iter().try_for_each(|part| part.check(self, &server, tables))?;
        Ok(ReadySuite { server, tables, saved })
    }

    /// Runs all parts that an earlier run has not measured. A part that fails does not end the others, unless it is the
    /// first.
    ///
    /// # Errors
    /// [`Error`]: the first part could not be measured, or the measurement was interrupted. Results of completed parts are
    /// kept.
    pub fn run(&self, ready: ReadySuite, watch: &Watch<'_>) -> Result<CostOutcome, Error> {
        let environment = Environment::now(self.directory);
        let end = Instant::now() + self.time;
        let ReadySuite { server, tables, mut saved } = ready;
        let calibration = saved.calibration(|| {
            watch("calibration");
            Calibration::measure(self.directory)
        })?;
        let resumed = saved.parts();
        let mut missing = self.missing(&saved, &server);
        let mut failed = Vec::new();
        while let Some(part) = missing.first().copied() {
            let left = end.saturating_duration_since(Instant::now());
            let limits = self.limits(part, &missing, tables, left);
            let is_short = limits.is_none();
            // If an earlier part has taken longer than planned, this part gets the least time that it needs.
            let limits = limits.unwrap_or_else(|| Limits::least(part, tables));
            let outcome = part.run(self, &server, tables, limits, &|text| watch(&format!("{part}: {text}")));
            let outcome = outcome.map(|mut outcome| {
                outcome.record.notes.extend(is_short.then(|| SHORTENED.to_owned()));
                outcome
            });
            let is_stopped = self.stopped.load(Ordering::Relaxed);
            match outcome {
                Ok(outcome) if !outcome.interrupted => saved.keep(part, outcome)?,
                Ok(_) => return Err(Error::Interrupted),
                Err(_) if is_stopped => return Err(Error::Interrupted),
                // If nothing can be measured, the next parts would fail, too.
                Err(error) if saved.parts().is_empty() => return Err(error),
                Err(error) => failed.push((part, error)),
            }
            if is_stopped {
                return Err(Error::Interrupted);
            }
            missing.remove(0);
        }
        let data = DataRecord::new(&tables, saved.like());
        let files = saved.files();
        let (parts, samples) = saved.into_results();
        let layers = layer::layers(&parts);
        let advice = advice::advice(&parts, &layers);
        let unmeasured = unmeasured::unmeasured(self, &failed, &server);
        let record = CostRecord {
            schema: COST_SCHEMA.into(),
            environment: first_environment(&parts).cloned().unwrap_or(environment),
            server: server.to_string(),
            data: Some(data),
            layers,
            unmeasured,
            calibration: Some(calibration),
            advice,
            samples_file: None,
            parts,
        };
        Ok(CostOutcome { record, samples, resumed, failed, saved: files })
    }

    /// The tables that are measured.
    fn tables(&self, saved: &Saved) -> TableSet {
        let tables = default_tables(self.rows);
        saved.like().map_or(tables, |like| like.scaled(tables.bytes()))
    }

    /// The parts without a result that this server has, in the order in which they are measured: transactions come last,
    /// because they can use what others leave of their time.
    fn missing(&self, saved: &Saved, server: &CheckedServer) -> Vec<Part> {
        let done = saved.parts();
        let is_missing = |part: &Part| !done.contains(part) && unmeasured::obstacle(*part, server).is_none();
        let mut missing: Vec<Part> = self.parts.iter().copied().filter(is_missing).collect();
        missing.sort_by_key(|part| part.is_of_transactions());
        missing
    }

    /// Refuses a time that does not suffice for intervals of all these parts, and says which does.
    fn check_time(&self, parts: &[Part], tables: TableSet) -> Result<(), Error> {
        let all = weights(parts);
        let needed = |part: &&Part| part.least_time(tables).saturating_mul(all) / part.weight();
        let short = parts.iter().filter(|part| self.limits(**part, parts, tables, self.time).is_none());
        match short.max_by_key(needed) {
            Some(part) => Err(Error::TooLittleTime { part: part.to_string(), needed: needed(&part) }),
            None => Ok(()),
        }
    }

    /// The part's share of the time that is left, if these parts are still to be measured; `None` if it does not suffice
    /// for intervals.
    fn limits(&self, part: Part, missing: &[Part], tables: TableSet, left: Duration) -> Option<Limits> {
        part.limits(left.saturating_mul(part.weight()) / weights(missing).max(1), tables)
    }

    fn find_server(&self) -> Result<CheckedServer, Error> {
        self.server.map_or(Ok(()), check_program)?;
        let program = crate::suite::server_program(self.server, self.families)?;
        let version = crate::tls::version_of(&program)?;
        Ok(CheckedServer { program, version })
    }
}

fn weights(parts: &[Part]) -> u32 {
    parts.iter().map(|part| part.weight()).sum()
}

/// The machine before the part that was measured first.
fn first_environment(parts: &[PartRecord]) -> Option<&Environment> {
    parts.iter().map(|part| &part.record.environment).min_by_key(|environment| environment.time)
}

/// A measurement that can begin: its server, and what an earlier run has measured.
#[derive(Debug)]
pub struct ReadySuite {
    server: CheckedServer,
    tables: TableSet,
    saved: Saved,
}

/// A server program that can be run.
#[derive(Debug)]
pub(crate) struct CheckedServer {
    /// Its path.
    pub(crate) program: PathBuf,
    /// What `--version` prints.
    pub(crate) version: String,
}

impl fmt::Display for CheckedServer {
    /// Writes the name of the product, then the version, which has the name already if it is MariaDB's.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_mariadb(&self.version) { out.write_str(&self.version) } else { write!(out, "MySQL {}", self.version) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_is_asked_for_suffices_for_all_parts() {
        let stopped = Arc::default();
        let of = |time: Duration| CostSuite {
            program: "/usr/bin/sealant".into(),
            sst_program: "sealant",
            server: None,
            families: &[],
            directory: Path::new("/d"),
            parts: &Part::ALL,
            rows: 100_000,
            like: None,
            time,
            stopped: &stopped,
        };
        let tables = default_tables(100_000);
        let error = of(Duration::from_secs(60)).check_time(&Part::ALL, tables).unwrap_err();
        let Error::TooLittleTime { needed, .. } = error else { panic!("{error}") };
        assert!(of(needed + Duration::from_secs(1)).check_time(&Part::ALL, tables).is_ok());
        let less = of(needed - Duration::from_secs(1)).check_time(&Part::ALL, tables).unwrap_err();
        assert!(matches!(less, Error::TooLittleTime { needed: same, .. } if same == needed), "{less}");
    }
}
