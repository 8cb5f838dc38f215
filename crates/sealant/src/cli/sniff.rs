//! `sealant sniff`: watches the packets of a server's ports.

use std::path::PathBuf;
use std::time::Duration;

use ::sniff::{Outcome, Ports, Verdict, read_file, watch};
use clap::Args;
use clap::builder::TypedValueParser;
use report::{sniff_begun_message, sniff_messages, write_sniff_json, write_sniff_table};

use crate::cli::value;
use crate::exit::{self, Exit};
use crate::output::message::{Failure, say};
use crate::output::render::Render;
use crate::process::ended_by_signals;

/// Watch the packets of a server's ports, and tell from their bytes which connections are encrypted
///
/// Follows every connection from its first bytes: MySQL's protocols before and after the switch to TLS, replication,
/// Group Replication, Galera and its state transfers, and backup streams. Of TLS it shows the version and the cipher
/// suite. Nothing is sent, and nothing on the server is changed. No content is stored: only a few bytes of protocol
/// headers are shown.
///
/// Only packets that this host sends or receives over TCP are seen, not the traffic of Unix sockets. It needs root or
/// the capability CAP_NET_RAW; --pcap reads a file that another program captured, and needs neither.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Sniff {
    /// How long to watch; a signal (Ctrl-C) ends it earlier, with what was seen so far
    #[arg(long = "for", value_name = "TIME", default_value = "30s", value_parser = value::time, conflicts_with = "pcap")]
    time: Duration,
    /// Watch this network interface only
    #[arg(long, value_name = "NAME", conflicts_with = "pcap")]
    interface: Option<String>,
    /// Read the packets from this file, pcap or pcapng
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Watch this port (repeatable) [default: 3306, 33060, 33061, 33062, 4444, 4567 and 4568; with --pcap, all ports]
    #[arg(long = "port", value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    ports: Vec<u16>,
    /// Exit with 3 if such traffic is seen
    #[arg(long, value_name = "STATE", default_value = "clear", value_parser = fail_on())]
    fail_on: FailOn,
    #[command(flatten)]
    render: Render,
}

const EXAMPLES: &str = "\
Examples:
  sealant sniff
  sealant sniff --for 5m --interface eth0 --format json
  sealant sniff --port 3307 --fail-on unknown
  sealant sniff --pcap capture.pcap";

const EXITS: exit::Codes = &[
    (Exit::Clean, "all connections that were seen are encrypted, or --fail-on never"),
    (Exit::Failed, "packets could not be watched, or the file could not be read"),
    (Exit::Findings, "traffic in clear text was seen, or unknown traffic with --fail-on unknown"),
    (
        Exit::Incomplete,
        "nothing was seen in clear text, but some traffic was not recognised, or there was none to judge",
    ),
];

/// What is a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailOn {
    Clear,
    Unknown,
    Never,
}

fn fail_on() -> impl TypedValueParser<Value = FailOn> {
    value::word(&[
        ("clear", FailOn::Clear, "Traffic in clear text"),
        ("unknown", FailOn::Unknown, "Traffic in clear text, or not recognised"),
        ("never", FailOn::Never, "None"),
    ])
}

impl Sniff {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let outcome = self.outcome()?;
        self.render.write(&outcome, write_sniff_json, write_sniff_table)?;
        say(&sniff_messages(&outcome));
        Ok(exit(outcome.verdict, self.fail_on))
    }

    fn outcome(&self) -> Result<Outcome, Failure> {
        let named = (!self.ports.is_empty()).then(|| Ports::numbered(self.ports.iter().copied()));
        if let Some(path) = &self.pcap {
            return Ok(read_file(path, &named.unwrap_or_else(Ports::any))?);
        }
        let stop = ended_by_signals()?;
        let ports = named.unwrap_or_else(Ports::usual);
        let begun = || say(&[sniff_begun_message(self.time)]);
        Ok(watch(&ports, self.interface.as_deref(), self.time, &stop, begun)?)
    }
}

const fn exit(verdict: Verdict, fail_on: FailOn) -> Exit {
    match (verdict, fail_on) {
        (_, FailOn::Never) | (Verdict::Encrypted, _) => Exit::Clean,
        (Verdict::Clear, _) | (Verdict::Unknown, FailOn::Unknown) => Exit::Findings,
        (Verdict::Unknown | Verdict::Nothing, _) => Exit::Incomplete,
    }
}
