//! `sealant bench transfer`: measures how fast a directory is copied, compared with usual methods.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use ::bench::suite::transfer::TransferSuite;
use ::bench::{COPY_PEERS, Rate, Rounds, Settings};
use clap::Args;
use clap::builder::PossibleValuesParser;

use super::output::Output;
use super::server::ServerOptions;
use crate::cli::key_stores::KeyStores;
use crate::cli::value;
use crate::exit::{self, Exit};
use crate::output::file::check_directory;
use crate::output::message::Failure;
use crate::process::{current_program, ended_by_signals};

/// Measure how fast a directory is copied, compared with usual methods
///
/// Copies DIR into an empty directory with `sealant receive` and `sealant send`, and with every other tool whose
/// programs are in PATH: `cp -r`; `tar` through `socat`, in plaintext and with TLS of OpenSSL; the same through `zstd
/// -1 -T2` and through `age`; `rsync` to a daemon, with one process, and with four that copy a file each. The time
/// starts with the sender, while the receiver is already listening, and ends when both sides have ended and the file
/// system is flushed. Before each copy the source is read into the page cache and the target is emptied. After it,
/// unmeasured, every byte is compared; a copy that differs ends the measurement.
///
/// `mariabackup` into `socat` with TLS copies from a running server, so it takes part only if --server-socket names
/// one. Its copy is only checked to have every tablespace at full length; a server can use it after `mariabackup
/// --prepare`, which is not measured.
///
/// DIR is only read. It must not change: the directory of a stopped server, or a snapshot. Copies need as much space as
/// DIR.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct BenchTransfer {
    /// Directory to copy
    #[arg(value_name = "DIR")]
    source: PathBuf,
    /// Directory in which copies are made and removed [default: the directory for temporary files]
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// Number of rounds [default: until the intervals are narrow]
    #[arg(long, value_name = "N")]
    rounds: Option<NonZeroU32>,
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = value::time)]
    #[arg(help = value::time_help("Time for all rounds"))]
    budget: Duration,
    /// Other tools to compare with, separated by commas [default: those whose programs are installed]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = peer_names(), conflicts_with = "no_peers")]
    peers: Vec<String>,
    /// Measure only this program
    #[arg(long)]
    no_peers: bool,
    /// Measure tools that use OpenSSL a second time without the processor's AES instructions (x86-64)
    #[arg(long)]
    peers_without_aes: bool,
    /// Copy over a link with this bandwidth, such as 1Gbit, between two network namespaces; needs root, iproute2, and
    /// veth and sch_tbf in the kernel. `cp` is left out, since it uses no network
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,
    /// Number of connections that carry data [default: as for `sealant send`]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    streams: Option<u16>,
    /// Compression of `sealant send`; several, separated by commas, are compared with each other [default: as for
    /// `sealant send`]
    #[arg(long, value_name = "HOW", value_delimiter = ',', value_parser = value::compression)]
    compress: Vec<String>,
    #[command(flatten)]
    keys: KeyStores,
    #[command(flatten)]
    server: ServerOptions,
    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  sealant bench transfer /snap/mysql --into /var/tmp
  sealant bench transfer /snap/mysql --keyring keyring --rate 1Gbit --html transfer.html
  sealant bench transfer /snap/mysql --peers cp,tar-socat-tls --peers-without-aes --rounds 10
  sealant bench transfer /snap/mysql --server-socket /run/mysqld/mysqld.sock --server-user root";

const EXITS: exit::Codes = &[
    (Exit::Clean, "measured"),
    (Exit::Failed, "a program could not be run, a copy differed from its source, or there is no room"),
];

impl BenchTransfer {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        self.check()?;
        let into = self.into.clone().unwrap_or_else(std::env::temp_dir);
        // Servers are stopped and files removed when a signal ends the measurement.
        let stopped = ended_by_signals()?;
        let suite = TransferSuite {
            program: current_program()?,
            source: &self.source,
            into: &into,
            peers: &self.peers,
            no_peers: self.no_peers,
            peers_without_aes: self.peers_without_aes,
            rate: self.rate,
            compress: &self.compress,
            send: self.send_options(),
            settings: Settings { stopped: Some(&stopped), ..self.settings() },
        };
        let peers = suite.choose(self.server.is_given())?;
        let tree = suite.tree()?;
        let served = self.server.served(&tree)?;
        self.output.measure("How fast a directory is copied", |watch| suite.run(&tree, peers, served.as_ref(), watch))
    }

    /// Checks before a long run what could fail.
    fn check(&self) -> Result<(), Failure> {
        check_directory(&self.source)?;
        self.output.check()
    }

    fn send_options(&self) -> Vec<OsString> {
        let mut options = self.keys.options();
        options.extend(self.streams.map(|streams| format!("--streams={streams}").into()));
        options
    }

    fn settings(&self) -> Settings<'_> {
        let rounds = self.rounds.map_or(Rounds::UntilNarrow, Rounds::Exactly);
        Settings { rounds, budget: self.budget, ..Settings::default() }
    }
}

fn peer_names() -> PossibleValuesParser {
    PossibleValuesParser::new(COPY_PEERS.iter().map(|peer| peer.name))
}
