//! `sealant bench tls`: measures what TLS costs the clients of a database server.

use std::path::PathBuf;
use std::time::Duration;

use ::bench::Settings;
use ::bench::suite::tls::TlsSuite;
use clap::Args;

use super::effort::Effort;
use super::output::Output;
use crate::cli::value;
use crate::exit::{self, Exit};
use crate::output::message::Failure;
use crate::process::{current_program, ended_by_signals};

/// Measure what TLS costs clients: per connection, per query, per byte
///
/// Starts an empty server on the loopback interface, using the installed `mariadbd` or `mysqld`, and removes it
/// afterwards. A minimal client connects to it in plaintext; with TLS 1.2 and 1.3 of the server itself, with
/// certificates of ECDSA P-256, RSA 2048 and RSA 4096, in full and in resumed handshakes; through `ssh -L` and a pair
/// of stunnels, if these are installed; and through `sealant tunnel`. The command-line client, started for each
/// connection, shows what scripts pay. sysbench, with --oltp, shows what a busy application pays.
///
/// Connections are measured one after the other, then queries on one connection, then large results. A relay in this
/// program simulates round trips: it delays bytes by half of one in each direction, and a new connection by the time of
/// TCP's own handshake. Kinds of keys, and sizes of results, are compared without round trips only, since what they
/// cost is processor time.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct BenchTls {
    /// Server program to start [default: `mariadbd` or `mysqld`, from PATH or /usr/sbin]
    #[arg(long, value_name = "PROGRAM")]
    server_program: Option<PathBuf>,
    /// Round-trip times to simulate, in milliseconds, separated by commas
    #[arg(long, value_name = "MS", value_delimiter = ',', default_values_t = [0, 1, 40, 170], value_parser = clap::value_parser!(u16).range(..=2000))]
    round_trips: Vec<u16>,
    /// Sizes of results to measure, in bytes or with k, M or G, separated by commas
    #[arg(long, value_name = "SIZE", value_delimiter = ',', default_value = "1k,1M,100M", value_parser = value::decimal_bytes)]
    sizes: Vec<u64>,
    /// Also measure transactions of sysbench (oltp_read_write) with this many clients; sysbench must be installed
    #[arg(long, value_name = "CLIENTS", value_parser = clap::value_parser!(u32).range(1..=1000))]
    oltp: Option<u32>,
    /// Measure only this program and the server's own TLS
    #[arg(long)]
    no_peers: bool,
    /// Directory for the server's files [default: the directory for temporary files]
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// How long each arm runs in each round; a number alone is in milliseconds
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = value::milliseconds(10, 60_000))]
    span: Duration,
    #[command(flatten)]
    effort: Effort,
    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  sealant bench tls
  sealant bench tls --round-trips 0,40 --html tls.html --raw tls.jsonl
  sealant bench tls --round-trips 0 --sizes 1G --oltp 8 --span 5s
  sealant bench tls --server-program /usr/sbin/mysqld --round-trips 0 --sizes 100M --no-peers";

const EXITS: exit::Codes = &[
    (Exit::Clean, "measured"),
    (Exit::Failed, "the server or a connection to it could not be started, or an answer was wrong"),
];

impl BenchTls {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        self.output.check()?;
        let into = self.into.clone().unwrap_or_else(std::env::temp_dir);
        // Servers are stopped and files removed when a signal ends the measurement.
        let stopped = ended_by_signals()?;
        let suite = TlsSuite {
            program: current_program()?,
            server: self.server_program.as_deref(),
            round_trips: &self.round_trips,
            sizes: &self.sizes,
            oltp: self.oltp,
            no_peers: self.no_peers,
            into: &into,
            span: self.span,
            settings: Settings { stopped: Some(&stopped), ..self.effort.settings() },
        };
        self.output.measure("What TLS costs clients", |watch| suite.run(watch))
    }
}
