//! `sealant bench transfer`: how fast a directory is copied, against what people use today.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use ::bench::suite::transfer::Suite;
use ::bench::{COPY_PEERS, Rate, Rounds, Settings};
use ::transfer::codec::effort::Compression;
use clap::Args;
use clap::builder::PossibleValuesParser;

use super::current_program;
use super::output::Output;
use super::server::ServerOptions;
use crate::cli::transfer::check_source;
use crate::cli::value;
use crate::cli::verify::KeyStores;
use crate::exit::{self, Exit};
use crate::output::message::Failure;

/// Measure how fast a directory is copied, against what people use today
///
/// Copies DIR into an empty directory with `sealant receive` and `sealant send`, and with every peer
/// whose programs are in PATH: `cp -r`; `tar` through `socat`, in the clear and with TLS of OpenSSL;
/// the same behind `zstd -1 -T2` and behind `age`; `rsync` to a daemon, one process, and four with a
/// file each. The listener waits already; the time goes from the start of the sender until both sides
/// have ended and the file system was flushed once. Before each copy the source is read into the page
/// cache and the target is emptied; after it, unmeasured, every byte is compared, and a copy that
/// differs ends the measurement.
///
/// `mariabackup` into `socat` with TLS copies from a running server, so it takes part only if
/// --server-socket names one. Of its copy it is checked that it has every tablespace in its length;
/// a server can use it after `mariabackup --prepare`, which is not measured.
///
/// DIR is only read. It has to be still: the directory of a stopped server, or a snapshot. Copies
/// need as much room as DIR.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct BenchTransfer {
    /// The directory to copy
    #[arg(value_name = "DIR")]
    source: PathBuf,
    /// Directory below which copies are made and removed; default: that for temporary files
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// Rounds; default: until the intervals are narrow
    #[arg(long, value_name = "N")]
    rounds: Option<NonZeroU32>,
    /// Time for all rounds: seconds, or with s, m or h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = value::time)]
    budget: Duration,
    /// Peers, with commas between them; default: those whose programs are there
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = peer_names(), conflicts_with = "no_peers")]
    peers: Vec<String>,
    /// Measure this program alone
    #[arg(long)]
    no_peers: bool,
    /// Measure peers that use OpenSSL once more without the processor's AES instructions (x86-64)
    #[arg(long)]
    peers_without_aes: bool,
    /// Over a link that lets so much through, such as 1Gbit, between two network namespaces; needs
    /// root, iproute2, and veth and sch_tbf in the kernel. `cp` is left out, since it uses no network
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,
    /// Connections of `sealant send`; default: as it has
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    streams: Option<u16>,
    /// Compression of `sealant send`; default: as it has. Several, with commas between them, are
    /// measured against each other
    #[arg(long, value_name = "HOW", value_delimiter = ',', value_parser = compression)]
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
    (Exit::Usage, "wrong usage"),
];

impl BenchTransfer {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        self.check()?;
        let into = self.into.clone().unwrap_or_else(std::env::temp_dir);
        let suite = Suite {
            program: current_program()?,
            source: &self.source,
            into: &into,
            peers: &self.peers,
            no_peers: self.no_peers,
            peers_without_aes: self.peers_without_aes,
            rate: self.rate,
            compress: &self.compress,
            send: self.send_options(),
            settings: self.settings(),
        };
        let peers = suite.choose(self.server.is_given())?;
        let tree = suite.tree()?;
        let served = self.server.served(&tree)?;
        self.output.measure(|watch| suite.run(&tree, peers, served.as_ref(), watch))
    }

    /// Finds out before a long run what is wrong.
    fn check(&self) -> Result<(), Failure> {
        check_source(&self.source)?;
        self.output.check()?;
        if self.peers_without_aes && !cfg!(target_arch = "x86_64") {
            return Err(Failure::usage("--peers-without-aes: OpenSSL can be told so on x86-64 only"));
        }
        Ok(())
    }

    fn send_options(&self) -> Vec<OsString> {
        let mut options = self.keys.options();
        options.extend(self.streams.map(|streams| format!("--streams={streams}").into()));
        options
    }

    fn settings(&self) -> Settings {
        let rounds = self.rounds.map_or(Rounds::UntilNarrow, Rounds::Exactly);
        Settings { rounds, budget: self.budget, ..Settings::default() }
    }
}

fn peer_names() -> PossibleValuesParser {
    PossibleValuesParser::new(COPY_PEERS.iter().map(|peer| peer.name))
}

/// As `send` understands it, handed on as it is.
fn compression(text: &str) -> Result<String, String> {
    match text.parse::<Compression>() {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
