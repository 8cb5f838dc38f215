//! `sealant backup report`.

use std::path::PathBuf;
use std::time::Duration;

use ::backup::calendar::Calendar;
use ::report::{calendar_messages, write_calendar_html, write_calendar_metrics, write_calendar_table};
use clap::Args;

use super::{HostSelection, Script};
use crate::cli::value;
use crate::exit::{self, Exit};
use crate::output::file::{self, to_stdout};
use crate::output::message::{Failure, say};

/// Report how old the newest good backup is, what each backup holds, and which were restored
///
/// Reads the receipts, and checks that every object exists with its length. It needs no key, so it can run on a machine
/// that can only read the repository. A backup is good if every page of it was proven and nothing of it is missing.
///
/// Restores are part of the report if `sealant restore --record FILE` recorded them and --restores names that file.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Report {
    #[command(flatten)]
    selection: HostSelection,
    /// File in which `sealant restore --record` has recorded restores
    #[arg(long, value_name = "FILE")]
    restores: Option<PathBuf>,
    /// File of the allowed signers; without it, signatures are not verified
    #[arg(long, value_name = "FILE")]
    allowed_signers: Option<PathBuf>,
    /// Exit with 3 if the newest good backup is older than this, such as 26h
    #[arg(long, value_name = "TIME", value_parser = value::whole_seconds)]
    max_age: Option<Duration>,
    /// Also write an HTML report with a calendar to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also write metrics to this file, for node_exporter's textfile collector
    #[arg(long, value_name = "FILE")]
    prometheus: Option<PathBuf>,
    #[command(flatten)]
    script: Script,
}

const EXAMPLES: &str = "\
Examples:
  sealant backup report --max-age 26h
  sealant backup report --allowed-signers signers --restores restores.jsonl --html backups.html";

const EXITS: exit::Codes = &[
    (Exit::Clean, "nothing is missing or invalid, and the newest good backup is not older than --max-age"),
    (Exit::Failed, "the repository or the file of restores cannot be read"),
    (
        Exit::Findings,
        "the newest good backup is older than --max-age, an object is missing, a signature is invalid, or the chain is broken",
    ),
];

impl Report {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        self.html.iter().chain(&self.prometheus).try_for_each(|path| file::check_writable(path))?;
        let (repository, host) = self.selection.open_with_cache()?;
        let (restores, signers) = (self.restores.as_deref(), self.allowed_signers.as_deref());
        let calendar = Calendar::read(&repository, &host, restores, signers, self.max_age)?;
        self.write(&calendar)?;
        Ok(if calendar.is_healthy() { Exit::Clean } else { Exit::Findings })
    }

    fn write(&self, calendar: &Calendar) -> Result<(), Failure> {
        if let Some(path) = &self.html {
            file::replace(path, &|out| Ok(write_calendar_html(calendar, out)?))?;
        }
        if let Some(path) = &self.prometheus {
            file::replace_metrics(path, &|out| Ok(write_calendar_metrics(calendar, out)?))?;
        }
        if !self.script.write(calendar)? {
            to_stdout(&|out| write_calendar_table(calendar, out).map_err(std::io::Error::from))?;
            say(&calendar_messages(calendar));
        }
        Ok(())
    }
}
