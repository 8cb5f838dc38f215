//! The parts of the measurement: which suite each runs, with which settings.

use std::{fmt, num::NonZeroU32, sync::atomic::AtomicBool, time::Duration};

use serde::{Deserialize, Serialize};

use super::{CheckedServer, CostSuite};
use crate::{
    Arms, Changes, Driver, Environment, Error, Pace, Preset, Settings, TableSet, TemporaryDirectory, WireArm,
    disk::CipherSet,
    oltp,
    stats::MIN_ROUNDS,
    suite::{
        Outcome, Watch,
        copies::{self, CopiesSuite},
        disk::DiskSuite,
        joins::{self, JoinSuite},
        oltp::{BETWEEN_RUNS, OltpSuite},
        tls::TlsSuite,
    },
};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Transactions on data in memory.
    InMemory,
    /// Transactions on data of four times the buffer pool.
    LargerThanMemory,
    /// Transactions that are bound by commits.
    Commits,
    /// New connections, and queries on open ones.
    Connections,
    /// Backups and copies of a data directory.
    Copies,
    /// Nodes that join a Galera cluster.
    Joins,
    /// Ciphers of encrypted disks, in memory.
    Disk,
}

/// How long runs and experiments of a part take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// Duration of a run of an arm.
    span: Duration,
    /// Time for an experiment.
    budget: Duration,
    /// Time for the part, which experiments with transactions share instead.
    time: Duration,
}

const MAX_SPAN: Duration = Duration::from_secs(60);
/// Rounds that an interval needs, plus a round to warm up.
const ROUNDS: u32 = MIN_ROUNDS + 1;
/// Rounds that are run before runs become longer: the speed of a virtual machine changes by a third within minutes, and many
/// short pairs of runs find the ratio in spite of that.
const MANY_ROUNDS: u32 = 25;
/// Most rounds of joins.
const MAX_JOINS: u32 = 20;
/// Number of tables of every preset.
const TABLES: u32 = 5;

impl Part {
    /// All parts.
    pub const ALL: [Self; 7] = [
        Self::InMemory,
        Self::LargerThanMemory,
        Self::Commits,
        Self::Connections,
        Self::Copies,
        Self::Joins,
        Self::Disk,
    ];

    /// Name in options and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InMemory => "in-memory",
            Self::LargerThanMemory => "larger-than-memory",
            Self::Commits => "commits",
            Self::Connections => "connections",
            Self::Copies => "copies",
            Self::Joins => "joins",
            Self::Disk => "disk",
        }
    }

    /// What is measured, for people.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::InMemory => "Transactions, data in memory",
            Self::LargerThanMemory => "Transactions, data larger than the buffer pool",
            Self::Commits => "Transactions bound by commits",
            Self::Connections => "Connections and queries",
            Self::Copies => "Backups and copies of the data",
            Self::Joins => "Joins of a Galera node",
            Self::Disk => "Encrypted disk",
        }
    }

    /// The parts with these names; all parts if there are no names.
    #[must_use]
    pub fn named(names: &[String]) -> Vec<Self> {
        let wanted = |part: &Self| names.is_empty() || names.iter().any(|name| name == part.as_str());
        Self::ALL.into_iter().filter(wanted).collect()
    }

    /// Share of the time, relative to other parts.
    pub(super) const fn weight(self) -> u32 {
        match self {
            Self::InMemory => 26,
            Self::LargerThanMemory => 24,
            Self::Commits => 22,
            Self::Connections => 14,
            Self::Copies => 15,
            Self::Joins => 21,
            Self::Disk => 6,
        }
    }

    /// Number of arms of all experiments together, and number of experiments.
    const fn runs(self) -> (u32, u32) {
        match self {
            Self::InMemory | Self::LargerThanMemory | Self::Commits => (6, 2),
            Self::Connections => (28, 3),
            Self::Copies => (4, 2),
            Self::Joins => (2, 1),
            Self::Disk => (8, 2),
        }
    }

    /// Time before the first run.
    fn preparation(self, tables: TableSet) -> Duration {
        match self {
            Self::InMemory | Self::LargerThanMemory | Self::Commits => oltp::preparation(&tables) * 4,
            Self::Copies => copies::preparation_of(&tables),
            Self::Joins => joins::preparation_of(&tables),
            Self::Connections => Duration::from_secs(5),
            Self::Disk => Duration::ZERO,
        }
    }

    pub(super) const fn is_of_transactions(self) -> bool {
        matches!(self, Self::InMemory | Self::LargerThanMemory | Self::Commits)
    }

    /// Shortest run that gives a rate, and the pause between two runs, in which a server writes its changed pages.
    fn least_span(self, tables: TableSet) -> (Duration, Duration) {
        match self {
            Self::InMemory | Self::LargerThanMemory | Self::Commits => (Duration::from_millis(200), BETWEEN_RUNS[0]),
            Self::Copies => (copies::run_time(&tables), Duration::ZERO),
            Self::Joins => (joins::run_time(&tables), Duration::ZERO),
            Self::Connections | Self::Disk => (Duration::from_millis(50), Duration::ZERO),
        }
    }

    /// The longest pause between two runs.
    fn longest_pause(self, tables: TableSet) -> Duration {
        if self.is_of_transactions() { BETWEEN_RUNS[1] } else { self.least_span(tables).1 }
    }

    /// A run that is long enough if there is time for few rounds only. sysbench runs for whole seconds.
    fn long_span(self, tables: TableSet) -> Duration {
        match self {
            Self::InMemory | Self::LargerThanMemory | Self::Commits => Duration::from_secs(1),
            Self::Connections | Self::Disk => Duration::from_millis(200),
            Self::Copies | Self::Joins => self.least_span(tables).0,
        }
    }

    /// Time that the part needs for intervals.
    pub(super) fn least_time(self, tables: TableSet) -> Duration {
        let (span, between) = self.least_span(tables);
        self.preparation(tables) + (span + between) * self.runs().0 * ROUNDS
    }

    /// Splits this time into runs and experiments; `None` if it does not suffice for intervals.
    pub(super) fn limits(self, time: Duration, tables: TableSet) -> Option<Limits> {
        let measured = time.checked_sub(self.preparation(tables))?;
        let (arms, experiments) = self.runs();
        let (least, between) = self.least_span(tables);
        let span_of = |rounds: u32, pause: Duration| (measured / (arms * rounds)).checked_sub(pause);
        let longest = span_of(ROUNDS, between).filter(|span| *span >= least)?;
        let of_many_rounds = span_of(MANY_ROUNDS, self.longest_pause(tables)).unwrap_or_default();
        let span = longest.min(self.long_span(tables)).max(of_many_rounds);
        Some(Limits { span: span.min(MAX_SPAN), budget: measured / experiments, time })
    }

    /// Checks the parameters of the suite before anything is started.
    pub(super) fn check(self, suite: &CostSuite<'_>, server: &CheckedServer, tables: TableSet) -> Result<(), Error> {
        if self.is_of_transactions() {
            let mut suite_of_part = self.oltp(suite, server, tables, Limits::least(self, tables));
            suite_of_part.check()?;
            suite_of_part.check_room(&TemporaryDirectory::below(suite.directory)?)?;
        }
        if matches!(self, Self::Copies | Self::Joins) {
            copies::check_room(suite.directory, &TemporaryDirectory::below(suite.directory)?, &tables)?;
        }
        Ok(())
    }

    /// Measures the part.
    pub(super) fn run(
        self,
        suite: &CostSuite<'_>,
        server: &CheckedServer,
        tables: TableSet,
        limits: Limits,
        watch: &Watch<'_>,
    ) -> Result<Outcome, Error> {
        match self {
            Self::InMemory | Self::LargerThanMemory | Self::Commits => {
                self.oltp(suite, server, tables, limits).run(&server.program, watch)
            }
            Self::Connections => connections(suite, server, limits).run(watch),
            Self::Copies => copies(suite, server, tables, limits).run(watch),
            Self::Joins => joins(suite, server, tables, limits).run(watch),
            Self::Disk => disk(suite, limits).run(Environment::now(suite.directory), watch),
        }
    }

    fn oltp<'a>(
        self,
        suite: &'a CostSuite<'a>,
        server: &'a CheckedServer,
        tables: TableSet,
        limits: Limits,
    ) -> OltpSuite<'a> {
        let preset = match self {
            Self::LargerThanMemory => Preset::LargerThanMemory,
            Self::Commits => Preset::Commits,
            _ => Preset::Webinar,
        };
        let changes = Changes { span: Some(whole_seconds(limits.span)), ..Changes::default() };
        let mut scale = preset.scale().with(&changes);
        scale.tables = TableSet { uniform: scale.tables.uniform, ..tables };
        scale.pool_bytes = match self {
            // No server accepts less than 5 MiB.
            Self::LargerThanMemory => (tables.bytes() / 4).max(8 << 20),
            _ => scale.pool_bytes.max(tables.bytes() / 2 * 3),
        };
        OltpSuite {
            program: &suite.program,
            server: Some(&server.program),
            families: suite.families,
            directory: suite.directory,
            arms: arms(),
            scale,
            more_clients: &[],
            pace: Pace::Closed,
            driver: Driver::Installed,
            server_options: &[],
            settings: limits.settings(suite.stopped),
            time: Some(limits.time),
            stopped: suite.stopped,
        }
    }
}

/// The arms of transactions: of a measurement that is short of time, those of which a layer is compared.
fn arms() -> Arms {
    let mut arms = Arms::named(&[]);
    arms.wires.retain(|arm| *arm != WireArm::Socket);
    arms
}

/// Runs of a second or more are of whole seconds, as sysbench needs them.
const fn whole_seconds(span: Duration) -> Duration {
    if span.as_secs() > 0 { Duration::from_secs(span.as_secs()) } else { span }
}

fn connections<'a>(suite: &CostSuite<'a>, server: &'a CheckedServer, limits: Limits) -> TlsSuite<'a> {
    TlsSuite {
        program: suite.program.clone(),
        server: Some(&server.program),
        round_trips: &[0],
        sizes: &[10_000_000],
        oltp: None,
        no_peers: true,
        into: suite.directory,
        span: limits.span,
        settings: limits.settings(suite.stopped),
    }
}

fn copies<'a>(
    suite: &'a CostSuite<'a>,
    server: &'a CheckedServer,
    tables: TableSet,
    limits: Limits,
) -> CopiesSuite<'a> {
    CopiesSuite {
        program: &suite.program,
        server: &server.program,
        directory: suite.directory,
        tables,
        settings: limits.settings(suite.stopped),
        stopped: suite.stopped,
    }
}

/// As many rounds as the time allows.
fn joins<'a>(suite: &'a CostSuite<'a>, server: &'a CheckedServer, tables: TableSet, limits: Limits) -> JoinSuite<'a> {
    let round = joins::run_time(&tables) * Part::Joins.runs().0;
    let rounds = limits.budget.as_secs() / round.as_secs().max(1);
    let rounds = u32::try_from(rounds).unwrap_or(MAX_JOINS).clamp(MIN_ROUNDS, MAX_JOINS);
    JoinSuite {
        program: &suite.program,
        program_name: suite.sst_program,
        server: &server.program,
        directory: suite.directory,
        tables,
        rounds: NonZeroU32::new(rounds).unwrap_or(NonZeroU32::MIN),
        stopped: suite.stopped,
    }
}

/// The tables that are measured if no server is named.
pub(super) const fn default_tables(rows: u32) -> TableSet {
    TableSet { tables: TABLES, rows, uniform: false, filler_bytes: 0 }
}

fn disk<'a>(suite: &CostSuite<'a>, limits: Limits) -> DiskSuite<'a> {
    DiskSuite {
        sets: CipherSet::current(),
        sector_bytes: &[4096],
        free_disk: None,
        patterns: Vec::new(),
        no_queues: false,
        span: limits.span,
        settings: limits.settings(suite.stopped),
        cryptsetup: None,
        stopped: suite.stopped,
    }
}

impl Limits {
    /// The least time that gives intervals.
    pub(super) fn least(part: Part, tables: TableSet) -> Self {
        Self { span: part.least_span(tables).0, budget: Duration::ZERO, time: Duration::ZERO }
    }

    fn settings(self, stopped: &AtomicBool) -> Settings<'_> {
        Settings { budget: self.budget, stopped: Some(stopped), ..Settings::default() }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_time_suffices_for_intervals_and_less_does_not() {
        for part in Part::ALL {
            let least = part.least_time(default_tables(100_000));
            assert_eq!(
                part.limits(least, default_tables(100_000)).map(|limits| limits.span),
                Some(part.least_span(default_tables(100_000)).0),
                "{part}"
            );
            assert_eq!(part.limits(least - Duration::from_secs(1), default_tables(100_000)), None, "{part}");
        }
    }

    #[test]
    fn the_arms_are_those_that_layers_compare() {
        let arms = arms();
        assert_eq!((arms.servers.len() + 1, arms.wires), (4, vec![WireArm::Tcp, WireArm::TLS]));
        assert_eq!(Part::Commits.runs().0, 6);
    }

    #[test]
    fn more_time_gives_more_rounds_and_then_longer_runs() {
        let of = |minutes: u64| {
            let limits = Part::InMemory.limits(Duration::from_secs(60 * minutes), default_tables(100_000)).unwrap();
            let run = limits.span + Part::InMemory.least_span(default_tables(100_000)).1;
            (limits.span, limits.budget.div_duration_f64(run * 4))
        };
        let ((short, few), (same, more), (long, many)) = (of(3), of(4), of(30));
        assert_eq!((short, same), (Duration::from_secs(1), Duration::from_secs(1)));
        assert!(few > 6.0 && more > 1.5 * few && many > 18.0 && long > 4 * short, "{few} {more} {many} {long:?}");
    }

    #[test]
    fn a_quarter_of_an_hour_suffices_for_all_parts() {
        let all: u32 = Part::ALL.iter().map(|part| part.weight()).sum();
        for part in Part::ALL {
            let share = Duration::from_secs(15 * 60) * part.weight() / all;
            assert!(
                part.limits(share, default_tables(100_000)).is_some(),
                "{part}: {share:?} of {:?}",
                part.least_time(default_tables(100_000))
            );
        }
    }
}
