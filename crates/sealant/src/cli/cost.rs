//! `sealant cost`: what encryption costs on this machine, layer by layer.

mod compare;
mod predict;

use std::path::PathBuf;
use std::time::Duration;

use ::bench::cost::{CostOutcome, CostSuite, DataShape, Part};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use report::{
    cost_messages, write_bench_samples, write_cost_html, write_cost_json, write_cost_markdown, write_cost_table,
};
use server::PROGRAMS;

use crate::cli::connect::{Address, Login, NoServer, connection};
use crate::cli::sst::PROGRAM;
use crate::cli::value;
use crate::exit::{self, Exit};
use crate::output::file;
use crate::output::message::{Failure, say};
use crate::output::progress::Quiet;
use crate::output::render::Render;
use crate::process::{current_program, ended_by_signals};

/// Measure what encryption costs on this machine, layer by layer, and report what to choose
///
/// Runs experiments within a time limit. Transactions are measured on data in memory, on data larger than the buffer
/// pool, and where commits are the limit; each without encryption, with encrypted tables, with all logs encrypted, and
/// over TLS. New connections, backups, copies, joins of a Galera node (with MariaDB, its Galera provider and rsync), and
/// ciphers of encrypted disks are measured, too. Every ratio has a 95 % interval. Two equal servers are compared with
/// the others, to show how small a difference this machine can tell. What `cost predict` would have said of the same load stands
/// beside what was measured. The report lists what was not measured, why, and the command that measures it.
///
/// If a server is named, the data is made like its own: as many tables of rows as long, scaled down. Only the sizes in its
/// statistics are read, never a row, and it is not loaded. The report says what they are.
///
/// Servers of the installed `mariadbd` or `mysqld` are started below DIR and removed afterwards; only they are measured.
/// A part that fails does not end the others, unless it is the first: the report names it with the reason. After an interruption or a failure
/// the same command resumes with the parts that are missing.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS), args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Cost {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    measure: Measure,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Compare(compare::Compare),
    Predict(Box<predict::Predict>),
}

#[derive(Debug, Args)]
struct Measure {
    /// Directory below which servers and their data are made and removed
    #[arg(long, value_name = "DIR", required = true)]
    dir: Option<PathBuf>,
    /// Time limit for everything, in minutes
    #[arg(long, value_name = "N", default_value = "15", value_parser = value::minutes)]
    minutes: Duration,
    /// Time limit for everything, in hours
    #[arg(long, value_name = "N", conflicts_with = "minutes", value_parser = value::hours)]
    hours: Option<Duration>,
    /// Parts to measure, separated by commas [default: all]
    #[arg(long, value_name = "PART", value_delimiter = ',', value_parser = part_names())]
    parts: Vec<String>,
    /// Server program to start [default: `mariadbd`, or else `mysqld`, from PATH or /usr/sbin]
    #[arg(long, value_name = "PROGRAM")]
    mysqld: Option<PathBuf>,
    /// Rows in each of the five tables; if a server is named, its data is scaled down to as many bytes
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(100..=100_000_000))]
    rows: u32,
    #[command(flatten, next_help_heading = "Server whose tables the data is made like")]
    like: Address,
    #[command(flatten)]
    login: Login,
    #[command(flatten)]
    output: Output,
}

const NO_SERVER: NoServer =
    NoServer { error: "no server was given", hint: "give mysql://USER@HOST:PORT, --socket PATH or --host HOST" };

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
struct Output {
    #[command(flatten)]
    render: Render,
    /// Also write an HTML report with charts to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also write the report to this file, as Markdown without charts
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Also write every sample to this file, as JSON Lines
    #[arg(long, value_name = "FILE")]
    raw: Option<PathBuf>,
    #[command(flatten)]
    quiet: Quiet,
}

const EXAMPLES: &str = "\
Examples:
  sealant cost --dir /var/tmp --html cost.html
  sealant cost --dir /var/tmp --hours 2 --mysqld /usr/sbin/mysqld --format json > cost.json
  sealant cost --dir /var/tmp --minutes 10 --parts commits,connections
  sealant cost --dir /var/tmp --socket /run/mysqld/mysqld.sock --user root --hours 1
  sealant cost compare before.json after.json
  sealant cost predict --socket /run/mysqld/mysqld.sock --user root";

const EXITS: exit::Codes = &[
    (Exit::Clean, "measured"),
    (Exit::Failed, "a server could not be started or used, there is too little disk or memory, or it was interrupted"),
    (Exit::Usage, "wrong usage, or too little time for the intervals"),
];

fn part_names() -> PossibleValuesParser {
    PossibleValuesParser::new(Part::ALL.map(Part::as_str))
}

impl Cost {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        match self.verb {
            Some(Verb::Compare(verb)) => verb.run(),
            Some(Verb::Predict(verb)) => verb.run(),
            None => self.measure.run(),
        }
    }
}

impl Measure {
    fn run(self) -> Result<Exit, Failure> {
        self.output.check()?;
        let like = self.like()?;
        // Servers are stopped and their files removed when a signal ends the measurement.
        let stopped = ended_by_signals()?;
        let suite = CostSuite {
            program: current_program()?,
            sst_program: PROGRAM,
            server: self.mysqld.as_deref(),
            families: &PROGRAMS,
            directory: self.dir.as_deref().unwrap_or_else(|| ".".as_ref()),
            parts: &Part::named(&self.parts),
            rows: self.rows,
            like: like.as_ref(),
            time: self.hours.unwrap_or(self.minutes),
            stopped: &stopped,
        };
        let ready = suite.check()?;
        let status = self.output.quiet.status_line();
        let mut outcome = suite.run(ready, &|text| status.show(text))?;
        status.clear();
        outcome.record.samples_file.clone_from(&self.output.raw);
        self.output.write(&outcome)?;
        if !outcome.failed.is_empty() {
            return Ok(Exit::Failed);
        }
        outcome.forget()?;
        Ok(Exit::Clean)
    }

    /// Sizes of the named server's tables.
    fn like(&self) -> Result<Option<DataShape>, Failure> {
        if !self.like.is_given() {
            return Ok(None);
        }
        let (target, options) = connection(&self.like, &self.login, NO_SERVER)?;
        Ok(Some(DataShape::read(&target, &options)?))
    }
}

impl Output {
    /// Checks before a long run that the files can be written.
    fn check(&self) -> Result<(), Failure> {
        let files = [&self.html, &self.markdown, &self.raw];
        files.into_iter().flatten().try_for_each(|path| file::check_writable(path))
    }

    /// Samples are written first: they cannot be obtained again.
    fn write(&self, outcome: &CostOutcome) -> Result<(), Failure> {
        let record = &outcome.record;
        say(&cost_messages(outcome));
        if let Some(path) = &self.raw {
            file::replace(path, &|out| Ok(write_bench_samples(&record.environment, &outcome.samples, out)?))?;
        }
        if let Some(path) = &self.html {
            file::replace(path, &|out| Ok(write_cost_html(record, out)?))?;
        }
        if let Some(path) = &self.markdown {
            file::replace(path, &|out| Ok(write_cost_markdown(record, out)?))?;
        }
        self.render.write_figures(record, write_cost_json, write_cost_table)
    }
}
