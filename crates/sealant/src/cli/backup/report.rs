//! `sealant backup report`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::backup::calendar::Calendar;
use ::backup::config::ReportFiles;
use ::backup::prune;
use ::report::{
    calendar_messages, calendars_are_healthy, calendars_messages, write_calendar_html, write_calendar_metrics,
    write_calendar_table, write_calendars_html, write_calendars_table, write_json_line,
};
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
///
/// With --all-hosts, the configuration is that of a keeper (see `sealant backup prune --help`), and there is a line for
/// each host of the repository, also for those that an earlier prune has seen and that have no backup any more.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Report {
    #[command(flatten)]
    selection: HostSelection,
    /// Report on all hosts of the repository, as the keeper that the configuration names
    #[arg(long, conflicts_with = "host")]
    all_hosts: bool,
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
    /// Write JSON, a line for each host, to standard output instead of the table, or also to this file; the schema is in
    /// docs/schema
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = STDOUT)]
    json: Option<PathBuf>,
}

/// Value of `--json` without a file.
const STDOUT: &str = "-";

const EXAMPLES: &str = "\
Examples:
  sealant backup report --max-age 26h
  sealant backup report --allowed-signers signers --restores restores.jsonl --html backups.html
  sealant backup report --all-hosts --max-age 26h --config /etc/sealant/keeper.toml";

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
        if self.all_hosts {
            return self.run_for_all();
        }
        let (config, repository, host) = self.selection.open_configured()?;
        // The files of the configuration are about its host.
        let configured = if host == config.host { config.report } else { ReportFiles::default() };
        let chosen = |given: &Option<PathBuf>, configured: Option<PathBuf>| given.clone().or(configured);
        let html = chosen(&self.html, configured.html);
        let prometheus = chosen(&self.prometheus, configured.prometheus);
        self.check_writable(html.as_deref(), prometheus.as_deref())?;
        let restores = chosen(&self.restores, configured.restores);
        let signers = chosen(&self.allowed_signers, configured.allowed_signers);
        let calendar = Calendar::read(&repository, &host, restores.as_deref(), signers.as_deref(), self.max_age)?;
        write_files(&calendar, html.as_deref(), prometheus.as_deref())?;
        if !self.write_json(std::slice::from_ref(&calendar))? {
            to_stdout(&|out| write_calendar_table(&calendar, out).map_err(std::io::Error::from))?;
            say(&calendar_messages(&calendar));
        }
        Ok(if calendar.is_healthy() { Exit::Clean } else { Exit::Findings })
    }

    fn run_for_all(&self) -> Result<Exit, Failure> {
        self.check_writable(self.html.as_deref(), self.prometheus.as_deref())?;
        let (keeper, repository) = self.selection.config.open_as_keeper()?;
        let signers = self.allowed_signers.as_deref().unwrap_or(&keeper.allowed_signers);
        let read =
            |host: &String| Calendar::read(&repository, host, self.restores.as_deref(), Some(signers), self.max_age);
        let hosts = prune::hosts(&repository, &keeper)?;
        let calendars = hosts.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        if let Some(path) = &self.html {
            file::replace(path, &|out| Ok(write_calendars_html(&calendars, out)?))?;
        }
        if let Some(path) = &self.prometheus {
            file::replace_metrics(path, &|out| Ok(write_calendar_metrics(&calendars, out)?))?;
        }
        if !self.write_json(&calendars)? {
            to_stdout(&|out| write_calendars_table(&calendars, out).map_err(std::io::Error::from))?;
            say(&calendars_messages(&calendars));
        }
        Ok(if calendars_are_healthy(&calendars) { Exit::Clean } else { Exit::Findings })
    }

    /// The file for JSON; `None` if it goes to standard output, or was not requested.
    fn json_file(&self) -> Option<&Path> {
        self.json.as_deref().filter(|path| *path != Path::new(STDOUT))
    }

    fn check_writable(&self, html: Option<&Path>, prometheus: Option<&Path>) -> Result<(), Failure> {
        html.into_iter().chain(prometheus).chain(self.json_file()).try_for_each(file::check_writable)
    }

    /// Writes a line of JSON for each calendar, if that was requested. Returns whether it went to standard output.
    fn write_json(&self, calendars: &[Calendar]) -> Result<bool, Failure> {
        let write = |out: &mut dyn Write| -> Result<(), ::report::Error> {
            calendars.iter().try_for_each(|calendar| write_json_line(calendar, out))
        };
        if let Some(path) = self.json_file() {
            file::replace(path, &|out| Ok(write(out)?))?;
        } else if self.json.is_some() {
            to_stdout(&|out| write(out).map_err(std::io::Error::from))?;
            return Ok(true);
        }
        Ok(false)
    }
}

/// Writes the files of a report that are named.
pub(super) fn write_files(calendar: &Calendar, html: Option<&Path>, prometheus: Option<&Path>) -> Result<(), Failure> {
    if let Some(path) = html {
        file::replace(path, &|out| Ok(write_calendar_html(calendar, out)?))?;
    }
    if let Some(path) = prometheus {
        file::replace_metrics(path, &|out| Ok(write_calendar_metrics(std::slice::from_ref(calendar), out)?))?;
    }
    Ok(())
}
