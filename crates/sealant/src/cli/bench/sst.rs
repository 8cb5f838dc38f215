//! `sealant bench sst`: measures how long a node takes to join a Galera cluster, and what the donor's clients notice of
//! it.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;

use ::bench::suite::sst::{Method, SstSuite};
use clap::Args;

use super::output::Output;
use crate::cli::sst::PROGRAM;
use crate::cli::value::{self, Word};
use crate::exit::{self, Exit};
use crate::output::message::Failure;
use crate::process::{current_program, ended_by_signals};

/// Measure how long nodes take to join a Galera cluster, with this program and other methods
///
/// Starts a node on a copy of DIR, with a client that commits without pause, and lets other nodes join it. Measures the
/// time from the start of the joining server until it is Synced, and the longest commit on the donor meanwhile. For
/// this program, it also shows how long the donor was frozen and what `sealant snapshot estimate` predicted. A change
/// of membership delays the commits of a cluster with any method.
///
/// Everything runs on this machine, over loopback, below each directory of --into: give one on each file system to
/// compare. The donor's page cache is as the last run left it.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct BenchSst {
    /// Data directory of a stopped MariaDB server, which is copied
    datadir: PathBuf,
    /// Directories below which clusters are made and removed, separated by commas
    #[arg(long, value_name = "DIR", value_delimiter = ',', required = true)]
    into: Vec<PathBuf>,
    /// Server program to start
    #[arg(long, value_name = "PROGRAM", default_value = "/usr/sbin/mariadbd")]
    mariadbd: PathBuf,
    /// Library of the Galera provider
    #[arg(long, value_name = "FILE", default_value = "/usr/lib/galera/libgalera_smm.so")]
    provider: PathBuf,
    /// State transfer methods, separated by commas
    #[arg(long, value_name = "NAME", value_parser = value::word(METHODS), value_delimiter = ',', default_value = "rsync,mariabackup,sealant")]
    methods: Vec<Method>,
    /// Number of rounds
    #[arg(long, value_name = "N", default_value = "3")]
    rounds: NonZeroU32,
    /// Option for all servers, such as --innodb-buffer-pool-size=1G (repeatable)
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    server_option: Vec<OsString>,
    #[command(flatten)]
    output: Output,
}

const METHODS: &[Word<Method>] = &[
    ("rsync", Method::Rsync, "Blocks the donor during the copy; in plaintext"),
    ("mariabackup", Method::Mariabackup, "Through socat with TLS; both sides verify the other's certificate"),
    ("sealant", Method::Sealant, "This program"),
];

const EXAMPLES: &str = "\
Examples:
  sealant bench sst /backup/datadir --into /var/tmp
  sealant bench sst /backup/datadir --into /mnt/btrfs,/mnt/xfs,/var/tmp --rounds 5 --raw samples.jsonl";

const EXITS: exit::Codes =
    &[(Exit::Clean, "measured"), (Exit::Failed, "a server could not be run, or a node did not join")];

impl BenchSst {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        // Servers are stopped and files removed when a signal ends the measurement.
        let stopped = ended_by_signals()?;
        let suite = SstSuite {
            program: current_program()?,
            program_name: PROGRAM,
            datadir: &self.datadir,
            into: &self.into,
            mariadbd: &self.mariadbd,
            provider: &self.provider,
            methods: &self.methods,
            rounds: self.rounds,
            server_options: &self.server_option,
            stopped: &stopped,
        };
        suite.check()?;
        self.output.check()?;
        self.output.measure("How long nodes take to join a cluster", |watch| suite.run(watch))
    }
}
