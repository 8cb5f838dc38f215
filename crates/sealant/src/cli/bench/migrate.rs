//! `sealant bench migrate`: how long it takes to copy the tables of one server into another.

use std::path::PathBuf;

use ::bench::suite::migrate::MigrateSuite;
use ::bench::{Settings, TableSet};
use clap::Args;

use super::effort::Effort;
use super::output::Output;
use super::server_program::ServerProgram;
use crate::exit::{self, Exit};
use crate::output::message::Failure;
use crate::process::{current_program, ended_by_signals};

/// Measure how long it takes to copy tables into another server, compared with other tools
///
/// Starts two servers of the installed `mariadbd` or `mysqld` below DIR, both with keys of their own, with encrypted
/// tables, logs and temporary files, and copies encrypted tables like those of sysbench from one into the other over
/// TLS: with `sealant migrate run` until all rows are copied, and until all rows are compared as well; with `mydumper`
/// and `myloader`, through a directory of files in clear text; and with `mysqldump | mysql`. All tools create the
/// indexes before the rows, and the target writes a binary log. After each run, unmeasured, it is checked that the
/// target has the same rows and encrypts them. The second experiment applies changes of rows at the source to copied
/// tables: with `sealant migrate run`, and with the servers' own replication in one thread. The notes of the report say
/// how much CPU time each tool and the two servers took, and how much memory Sealant takes. Servers and data are removed
/// afterwards.
///
/// Only servers that this command starts are used; it connects to no other.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct BenchMigrate {
    /// Directory below which servers and their data are made and removed
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    #[command(flatten)]
    server: ServerProgram,
    /// Number of tables
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=1000))]
    tables: u32,
    /// Rows in each table
    #[arg(long, value_name = "N", default_value = "100000", value_parser = clap::value_parser!(u32).range(100..=100_000_000))]
    rows: u32,
    /// Measure only this program
    #[arg(long)]
    no_peers: bool,
    #[command(flatten)]
    effort: Effort,
    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  sealant bench migrate --dir /var/tmp
  sealant bench migrate --dir /var/tmp --server mysql --rows 1000000 --rounds 5 --html migrate.html";

const EXITS: exit::Codes = &[
    (Exit::Clean, "measured"),
    (Exit::Failed, "a server or a tool failed, the target's rows differ, there is no room, or it was interrupted"),
];

impl BenchMigrate {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        self.output.check()?;
        // Servers are stopped and their files removed when a signal ends the measurement.
        let stopped = ended_by_signals()?;
        let named = self.server.named()?;
        let suite = MigrateSuite {
            program: current_program()?,
            server: named.as_deref(),
            families: self.server.families(),
            directory: &self.dir,
            tables: TableSet { tables: self.tables, rows: self.rows, ..TableSet::default() },
            no_peers: self.no_peers,
            settings: Settings { stopped: Some(&stopped), ..self.effort.settings() },
            stopped: &stopped,
        };
        let server = suite.check()?;
        self.output.measure("How long tables take into another server", |watch| suite.run(&server, watch))
    }
}
