//! `sealant backup list`.

use std::io::Write;

use archive::Receipt;
use clap::Args;
use jiff::Timestamp;
use report::size;
use serde::Serialize;

use super::{Configured, print_json};
use crate::exit::{self, Exit};
use crate::output::message::Failure;

/// Show which backups there are
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct List {
    #[command(flatten)]
    config: Configured,
    /// Backups of this host [default: the one of the configuration]
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// For scripts, schema sealant.backup-list/1
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  sealant backup list
  sealant backup list --json";

const EXITS: exit::Codes = &[
    (Exit::Clean, "they are listed"),
    (Exit::Failed, "the repository or a receipt in it cannot be read"),
    (Exit::Usage, "wrong usage"),
];

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    host: String,
    backups: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    number: u64,
    ended: Timestamp,
    good: bool,
    full: bool,
    bytes: u64,
    stored: u64,
    packs: usize,
    receipt: String,
}

impl List {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let (config, repository) = self.config.open()?;
        let host = self.host.unwrap_or(config.host);
        let mut backups = Vec::new();
        for number in repository.numbers(&host)?.0 {
            if let Some((link, _)) = repository.receipt(&host, number)? {
                backups.push(Line::of(&link.receipt, link.sha256.to_string()));
            }
        }
        let report = Report { schema: "sealant.backup-list/1", host, backups };
        if self.json {
            print_json(&report)?
        } else {
            report.print()?
        }
        Ok(Exit::Clean)
    }
}

impl Line {
    fn of(receipt: &Receipt, sha256: String) -> Self {
        Self {
            number: receipt.number,
            ended: receipt.ended,
            good: receipt.is_good(),
            full: receipt.full,
            bytes: receipt.bytes.data,
            stored: receipt.bytes.stored,
            packs: receipt.packs.len(),
            receipt: sha256,
        }
    }
}

impl Report {
    fn print(&self) -> Result<(), Failure> {
        crate::output::file::to_stdout(&|out: &mut dyn Write| {
            writeln!(
                out,
                "{:>6}  {:20}  {:12}  {:>10}  {:>10}  receipt",
                "number", "ended", "state", "data", "stored"
            )?;
            for line in &self.backups {
                let (ended, state) =
                    (line.ended.strftime("%Y-%m-%dT%H:%M:%SZ"), if line.good { "good" } else { "not proven" });
                let (data, stored) = (size(line.bytes), size(line.stored));
                writeln!(
                    out,
                    "{:>6}  {ended:20}  {state:12}  {data:>10}  {stored:>10}  {}",
                    line.number, line.receipt
                )?;
            }
            writeln!(out, "{} backups of {}", self.backups.len(), self.host)
        })
    }
}
