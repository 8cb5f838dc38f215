//! `sealant backup report`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ::backup::calendar::Calendar;
use ::backup::config::ReportFiles;
use ::report::{calendar_messages, write_calendar_html, write_calendar_metrics, write_calendar_table, write_json_line};
use clap::Args;

use super::HostSelection;
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
///
/// Files that the section `report` of the configuration names are used unless an option names another one: `html`,
/// `prometheus`, `restores` and `allowed_signers`. `sealant backup run` writes the first two as well.
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
    /// Write JSON to standard output instead of the table, or also to this file; the schema is in docs/schema
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = STDOUT)]
    json: Option<PathBuf>,
}

/// Value of `--json` without a file.
const STDOUT: &str = "-";

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
        let json_file = self.json.as_deref().filter(|path| *path != Path::new(STDOUT));
        let (config, repository, host) = self.selection.open_configured()?;
        // The files of the configuration are about its host.
        let configured = if host == config.host { config.report } else { ReportFiles::default() };
        let chosen = |given: &Option<PathBuf>, configured: Option<PathBuf>| given.clone().or(configured);
        let html = chosen(&self.html, configured.html);
        let prometheus = chosen(&self.prometheus, configured.prometheus);
        html.iter().chain(&prometheus).try_for_each(|path| file::check_writable(path))?;
        json_file.map(file::check_writable).transpose()?;
        let restores = chosen(&self.restores, configured.restores);
        let signers = chosen(&self.allowed_signers, configured.allowed_signers);
        let calendar = Calendar::read(&repository, &host, restores.as_deref(), signers.as_deref(), self.max_age)?;
        write_files(&calendar, html.as_deref(), prometheus.as_deref())?;
        self.write(&calendar, json_file)?;
        Ok(if calendar.is_healthy() { Exit::Clean } else { Exit::Findings })
    }

    fn write(&self, calendar: &Calendar, json_file: Option<&Path>) -> Result<(), Failure> {
        match (&self.json, json_file) {
            (Some(_), None) => return to_stdout(&|out| Ok(write_json_line(calendar, out)?)),
            (_, Some(path)) => file::replace(path, &|out| Ok(write_json_line(calendar, out)?))?,
            (None, None) => {}
        }
        to_stdout(&|out| write_calendar_table(calendar, out).map_err(std::io::Error::from))?;
        say(&calendar_messages(calendar));
        Ok(())
    }
}

/// Writes the files of a report that are named.
pub(super) fn write_files(calendar: &Calendar, html: Option<&Path>, prometheus: Option<&Path>) -> Result<(), Failure> {
    if let Some(path) = html {
        file::replace(path, &|out| Ok(write_calendar_html(calendar, out)?))?;
    }
    if let Some(path) = prometheus {
        file::replace_metrics(path, &|out| Ok(write_calendar_metrics(calendar, out)?))?;
    }
    Ok(())
}
