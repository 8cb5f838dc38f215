//! How long it takes to copy the tables of one server into another, compared with other common tools.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, atomic::AtomicBool},
    time::Instant,
};

use files::quantity::size;
use pki::KeyType;

use super::{
    Collected, Outcome, Watch, first_with_others,
    oltp::{check_directory, check_program},
    require_room, server_program,
};
use crate::{
    Arm, Environment, Error, Experiment, Settings, Subject, TableSet, TemporaryDirectory, Unit, Work,
    copy::{missing, programs},
    median,
    migrate::{ChangeTool, Dump, Goal, MYDUMPER_PROGRAMS, MigrationTool, MyDumper, Pair, Replication, Sealant, Side},
    oltp::{ServerSetup, disk_bytes},
    processor::children_seconds,
    tls::{authority, is_mariadb, issue, version_of},
};

const COPIED: &str = "sealant";
const VERIFIED: &str = "sealant, all rows compared";
const EXPERIMENT: &str = "tables into an empty server";
const CHANGES: &str = "changes of the source";
/// Rows of each table that are changed, in the second experiment.
const CHANGED_ROWS: u32 = 20_000;
/// Buffer pool of each server.
const POOL_BYTES: u64 = 256 << 20;
/// Options by which the target differs from the source: MariaDB has only this number to tell servers apart, and rows are
/// loaded by `LOAD DATA LOCAL`.
const TARGET_OPTIONS: [&str; 2] = ["--server-id=2", "--local-infile=ON"];
/// Options of both servers, which a source needs.
const LOG_OPTIONS: [&str; 2] = ["--loose-gtid-mode=ON", "--loose-enforce-gtid-consistency=ON"];

/// Parameters of the measurement.
#[derive(Debug)]
pub struct MigrateSuite<'a> {
    /// This program.
    pub program: PathBuf,
    /// The server program; by default the first of `families` that is found.
    pub server: Option<&'a Path>,
    /// Names of server programs.
    pub families: &'a [&'static str],
    /// Directory below which servers and their data are made and removed.
    pub directory: &'a Path,
    /// The tables that are copied.
    pub tables: TableSet,
    /// Measure only this program.
    pub no_peers: bool,
    /// Rounds and time budget.
    pub settings: Settings<'a>,
    /// Set to true to end the measurement.
    pub stopped: &'a Arc<AtomicBool>,
}

/// One tool of the comparison.
struct Contender {
    name: &'static str,
    tool: Box<dyn MigrationTool>,
}

/// CPU time of one run, in seconds.
#[derive(Clone, Copy, Debug)]
struct CpuTime {
    name: &'static str,
    /// Of the tool.
    tool: f64,
    /// Of the server with the tables.
    source: f64,
    /// Of the server that gets them.
    target: f64,
}

impl MigrateSuite<'_> {
    /// Checks the parameters before anything is started; returns the server program.
    ///
    /// # Errors
    /// [`Error`]: a directory or socket of another server is named, or no server program is found.
    pub fn check(&self) -> Result<PathBuf, Error> {
        self.server.map_or(Ok(()), check_program)?;
        check_directory(self.directory)?;
        server_program(self.server, self.families)
    }

    /// Runs the measurement with the program that [`Self::check`] returned.
    ///
    /// # Errors
    /// [`Error`]: a server or a tool fails, the target's rows differ from the source's, or there is no room.
    pub fn run(&self, server: &Path, watch: &Watch<'_>) -> Result<Outcome, Error> {
        let environment = Environment::now(self.directory);
        let mut collected = Collected::default();
        let measured = self.measure(server, &mut collected, watch);
        let interrupted = collected.end(measured, self.stopped)?;
        let subject = Subject { files: self.tables.tables.into(), bytes: self.tables.bytes(), ..Subject::default() };
        Ok(Outcome { interrupted, ..collected.finish(environment, subject) })
    }

    fn measure(&self, server: &Path, collected: &mut Collected, watch: &Watch<'_>) -> Result<(), Error> {
        let scratch = TemporaryDirectory::below(self.directory)?;
        self.check_room(&scratch)?;
        let [source, target] = ["a", "b"].map(|name| scratch.path().join(name));
        for directory in [&source, &target] {
            std::fs::create_dir(directory).map_err(Error::file(directory))?;
        }
        let (ca, authority) = authority(&scratch.path().join("certificates"))?;
        let pair = issue(&authority, "server", KeyType::EcdsaP256)?;
        let options: Vec<String> = LOG_OPTIONS.map(str::to_owned).into();
        let source = ServerSetup {
            server,
            directory: &source,
            authority: &ca,
            pair: &pair,
            mariadb: is_mariadb(&version_of(server)?),
            pool_bytes: POOL_BYTES,
            options: &options,
            tables: self.tables,
            warm_up: self.settings.warm_up,
            stopped: self.stopped,
        };
        let target_options: Vec<String> = options.iter().cloned().chain(TARGET_OPTIONS.map(str::to_owned)).collect();
        let tables = TableSet { tables: 0, ..self.tables };
        let target = ServerSetup { directory: &target, options: &target_options, tables, ..source };
        watch("two servers");
        let pair = Pair::start(&source, &target, scratch.path())?;
        collected.programs.push(pair.program());
        let contenders = self.contenders(server, collected);
        let cpu_times = Mutex::default();
        let arms = contenders.iter().map(|contender| contender.arm(&pair, self.tables.bytes(), &cpu_times));
        let compared = first_with_others(contenders.iter().map(|contender| contender.name));
        collected.run(Experiment::new(EXPERIMENT).arms(arms), &self.settings, &compared, watch)?;
        collected.notes.extend(cpu_notes(&contenders, &cpu_times.lock().unwrap_or_else(PoisonError::into_inner)));
        let sealant = self.sealant(Goal::Copied);
        let mut appliers: Vec<(&str, &dyn ChangeTool)> = vec![(COPIED, &sealant)];
        if !self.no_peers {
            appliers.push((Replication::NAME, &Replication));
        }
        let arms = appliers.iter().map(|(name, tool)| self.changes(name, *tool, &pair));
        let compared = first_with_others(appliers.iter().map(|(name, _)| *name));
        collected.run(Experiment::new(CHANGES).unit(Unit::Rows).arms(arms), &self.settings, &compared, watch)?;
        watch("memory of a migration");
        pair.reset()?;
        let peak = self.sealant(Goal::Verified).peak(&pair)?;
        pair.check()?;
        collected.notes.push(format!("{COPIED} took at most {} of memory", size(peak.resident_bytes)));
        Ok(())
    }

    /// Copies the tables, changes rows at the source, both unmeasured, and applies the changes to the target.
    fn changes<'a>(&'a self, name: &str, tool: &'a dyn ChangeTool, pair: &'a Pair<'_>) -> Arm<'a> {
        let rows = self.tables.rows.min(CHANGED_ROWS);
        Arm::self_timed(name, move || {
            pair.reset()?;
            self.sealant(Goal::Copied).migrate(pair)?;
            tool.prepare(pair, &pair.log_end(Side::Source)?)?;
            pair.change_rows(rows)?;
            let begin = Instant::now();
            tool.apply(pair)?;
            let seconds = begin.elapsed().as_secs_f64();
            pair.check()?;
            let amount = u64::from(rows).saturating_mul(self.tables.tables.into());
            Ok(Work { amount, seconds: Some(seconds), ..Work::default() })
        })
    }

    /// Two servers with the tables, and the tables as files of SQL.
    fn check_room(&self, scratch: &TemporaryDirectory) -> Result<(), Error> {
        let needed = disk_bytes(&self.tables).saturating_mul(2).saturating_add(self.tables.bytes());
        require_room(self.directory, scratch, needed)
    }

    fn sealant(&self, goal: Goal) -> Sealant {
        Sealant { program: self.program.clone(), goal }
    }

    /// This program, and the peers that are installed.
    fn contenders(&self, server: &Path, collected: &mut Collected) -> Vec<Contender> {
        let mut all = vec![
            Contender { name: COPIED, tool: Box::new(self.sealant(Goal::Copied)) },
            Contender { name: VERIFIED, tool: Box::new(self.sealant(Goal::Verified)) },
        ];
        if self.no_peers {
            return all;
        }
        match missing(MYDUMPER_PROGRAMS).as_slice() {
            [] => {
                collected.programs.extend(programs(MYDUMPER_PROGRAMS.iter().copied()));
                all.push(Contender { name: MyDumper::NAME, tool: Box::new(MyDumper) });
            }
            missing => collected.missing.push(format!("{} (needs {})", MyDumper::NAME, missing.join(", "))),
        }
        match Dump::find(server) {
            Ok(dump) => {
                collected.programs.push(dump.program());
                all.push(Contender { name: Dump::NAME, tool: Box::new(dump) });
            }
            Err(missing) => collected.missing.push(format!("{} (needs {missing})", Dump::NAME)),
        }
        all
    }
}

impl Contender {
    /// Copies all tables into an empty server. Afterwards, unmeasured, both servers' checksums are compared.
    fn arm<'a>(&'a self, pair: &'a Pair<'_>, bytes: u64, cpu_times: &'a Mutex<Vec<CpuTime>>) -> Arm<'a> {
        Arm::self_timed(self.name, move || {
            pair.reset()?;
            let before = self.cpu_time(pair)?;
            let begin = Instant::now();
            self.tool.migrate(pair)?;
            let seconds = begin.elapsed().as_secs_f64();
            let after = self.cpu_time(pair)?;
            pair.check()?;
            cpu_times.lock().unwrap_or_else(PoisonError::into_inner).push(after.since(before));
            Ok(Work { amount: bytes, seconds: Some(seconds), ..Work::default() })
        })
    }

    /// Totals so far.
    fn cpu_time(&self, pair: &Pair<'_>) -> Result<CpuTime, Error> {
        let [source, target] = [pair.cpu_seconds(Side::Source)?, pair.cpu_seconds(Side::Target)?];
        Ok(CpuTime { name: self.name, tool: children_seconds(), source, target })
    }
}

impl CpuTime {
    fn since(self, before: Self) -> Self {
        Self {
            tool: self.tool - before.tool,
            source: self.source - before.source,
            target: self.target - before.target,
            ..self
        }
    }
}

/// A note for each contender on the CPU time of a run, as the median of each part.
fn cpu_notes(contenders: &[Contender], all: &[CpuTime]) -> Vec<String> {
    let note = |name: &'static str| {
        let runs = |part| all.iter().filter(|time| time.name == name).map(part).collect::<Vec<f64>>();
        let median = |part: fn(&CpuTime) -> f64| median(&runs(part)).unwrap_or_default();
        let [tool, source, target] = [median(|time| time.tool), median(|time| time.source), median(|time| time.target)];
        format!("{name}: {tool:.1} s of CPU time for itself, {source:.1} s of the source, {target:.1} s of the target")
    };
    contenders.iter().map(|contender| note(contender.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_the_median_of_a_contenders_runs() {
        let contenders = [Contender { name: MyDumper::NAME, tool: Box::new(MyDumper) }];
        let time = |name, tool| CpuTime { name, tool, source: 1.0, target: 2.0 };
        let all =
            [time(MyDumper::NAME, 3.0), time(MyDumper::NAME, 9.0), time(MyDumper::NAME, 4.0), time(COPIED, 100.0)];
        let expected = "mydumper, myloader: 4.0 s of CPU time for itself, 1.0 s of the source, 2.0 s of the target";
        assert_eq!(cpu_notes(&contenders, &all), [expected]);
    }
}
