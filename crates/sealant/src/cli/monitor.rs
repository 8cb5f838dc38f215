//! `sealant monitor`: audits a fleet again and again, and serves the results.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use ::monitor::{Config, Level, Page, Scope, View, check_once, serve};
use clap::{Args, Subcommand};
use report::{
    write_monitor_check, write_monitor_html, write_monitor_metrics, write_monitor_openmetrics, write_unknown_check,
};

use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::{Failure, info, warning};
use crate::process::forbid_dumps;

/// Audit a fleet again and again, and serve the results as a page and as metrics
///
/// Each server has its own schedule. Light rounds read the server's tables and the answers of its ports; full rounds
/// also read its files and examine its host. A server that hangs does not delay the others. The last facts are kept on
/// disk. Changes are logged on standard error.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS), args_conflicts_with_subcommands = true)]
pub(crate) struct Monitor {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    file: ConfigFile,
}

#[derive(Debug, Args)]
struct ConfigFile {
    /// Configuration file (TOML; see docs/monitor.md)
    #[arg(long, value_name = "FILE", default_value = "/etc/sealant/monitor.toml")]
    config: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  sealant monitor --config /etc/sealant/monitor.toml
  curl http://127.0.0.1:9447/metrics
  sealant monitor check --config /etc/sealant/monitor.toml

Pages:
  /         the report of the fleet
  /metrics  for Prometheus
  /healthz  whether the monitor works

Signals:
  SIGTERM, SIGINT  stop
  SIGHUP           read the configuration, the fleet, the waivers and the certificates again";

const EXITS: exit::Codes = &[
    (Exit::Clean, "stopped on request"),
    (Exit::Failed, "could not start"),
    (Exit::Usage, "wrong usage, or a mistake in the configuration or the fleet file"),
];

#[derive(Debug, Subcommand)]
enum Command {
    Check(Check),
}

/// Audit the fleet once, and print one line as monitoring plug-ins do
///
/// What is known of files and hosts comes from the last full round of a running monitor, if there is one.
#[derive(Debug, Args)]
#[command(after_help = exit::help("", CHECK_EXITS))]
struct Check {
    #[command(flatten)]
    file: ConfigFile,
    /// Also read files and examine hosts
    #[arg(long)]
    full: bool,
}

const CHECK_EXITS: exit::Codes = &[
    (Exit::Clean, "OK"),
    (Exit::MonitorWarning, "WARNING: a failure is as severe as `warning` in the section `check` says (default medium)"),
    (Exit::MonitorCritical, "CRITICAL: a failure is as severe as `critical` there says (default high); or wrong usage"),
    (Exit::MonitorUnknown, "UNKNOWN: a server could not be audited, or the configuration cannot be used"),
];

impl Monitor {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        forbid_dumps();
        if let Some(Command::Check(check)) = self.command {
            return check.run();
        }
        serve(&self.file.config, Box::new(render), Arc::new(|text: &str| info(text)))?;
        Ok(Exit::Clean)
    }
}

/// Rendering into memory cannot fail.
fn render(page: Page, view: &View) -> Vec<u8> {
    let mut bytes = Vec::new();
    let write = match page {
        Page::Report => write_monitor_html,
        Page::Prometheus => write_monitor_metrics,
        Page::OpenMetrics => write_monitor_openmetrics,
    };
    if let Err(error) = write(view, &mut bytes) {
        warning(&error.to_string());
    }
    bytes
}

impl Check {
    fn run(&self) -> Result<Exit, Failure> {
        let scope = if self.full { Scope::Full } else { Scope::Light };
        let checked = Config::load(&self.file.config).and_then(|config| check_once(config, scope, warning));
        let check = match checked {
            Ok(check) => check,
            Err(error) => {
                to_stdout(&|out| write_unknown_check(&Failure::from(&error).error, out).map_err(io::Error::from))?;
                return Ok(Exit::MonitorUnknown);
            }
        };
        to_stdout(&|out| write_monitor_check(&check, out).map_err(io::Error::from))?;
        Ok(match check.level {
            Level::Ok => Exit::Clean,
            Level::Warning => Exit::MonitorWarning,
            Level::Unknown => Exit::MonitorUnknown,
            Level::Critical => Exit::MonitorCritical,
        })
    }
}
