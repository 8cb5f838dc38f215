//! `sealant cert check`: checks whether certificates are valid, and for how long.

use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use jiff::Timestamp;
use pki::check::{CheckTarget, Criteria, Report};
use pki::{Level, Limits};
use report::{write_cert_check_json, write_cert_check_monitor, write_cert_check_table, write_unknown_check};
use server::Endpoint;

use super::HANDSHAKE_TIMEOUT;
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::Failure;
use crate::output::render::Render;

/// Check certificates: dates, chain, names, and whether the key belongs to it
///
/// Exits with 3 if something is wrong or expires soon. --monitor prints one line and exits as monitoring plug-ins do: 0
/// OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.
#[derive(Debug, Args)]
#[command(after_help = exit::help("", EXITS))]
#[command(group(ArgGroup::new("what").required(true).args(["file", "dir", "endpoint"])))]
pub(super) struct Check {
    /// Certificate to check, PEM
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Check every certificate in an authority's directory, each with its key if that exists
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Check the certificate that a running MySQL or MariaDB server presents
    #[arg(long, value_name = "HOST:PORT|SOCKET")]
    endpoint: Option<Endpoint>,
    /// Private key of the certificate, PEM
    #[arg(long, value_name = "FILE", requires = "file")]
    key: Option<PathBuf>,
    /// CA certificates that it must chain to, PEM
    #[arg(long, value_name = "FILE", conflicts_with = "dir")]
    ca: Option<PathBuf>,
    /// Host name or address that the certificate must contain (repeatable) [default: the host of --endpoint]
    #[arg(long, alias = "host", value_name = "NAME", conflicts_with = "dir")]
    client_name: Vec<String>,
    /// Warn if a certificate expires within this many days
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    warn: u32,
    /// Report as critical if a certificate expires within this many days
    #[arg(long, value_name = "DAYS", default_value_t = 7)]
    critical: u32,
    /// Print one line, and exit with the codes of monitoring plug-ins
    #[arg(long, conflicts_with = "format")]
    monitor: bool,
    #[command(flatten)]
    render: Render,
}

const EXITS: exit::Codes = &[
    (Exit::Clean, "everything is in order; with --monitor: OK"),
    (Exit::Failed, "it could not be checked; with --monitor: WARNING"),
    (Exit::Usage, "wrong usage; with --monitor also: CRITICAL"),
    (Exit::Findings, "something is wrong, or expires soon; with --monitor: UNKNOWN, it could not be checked"),
];

impl Check {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        if self.monitor {
            return self.monitor();
        }
        let report = self.report()?;
        self.render.write(&report, write_cert_check_json, write_cert_check_table)?;
        Ok(if report.level().is_some() { Exit::Findings } else { Exit::Clean })
    }

    /// One line, and the exit codes of monitoring plug-ins.
    fn monitor(&self) -> Result<Exit, Failure> {
        match self.report() {
            Err(failure) => {
                to_stdout(&|out| write_unknown_check(&failure.error, out).map_err(std::io::Error::from))?;
                Ok(Exit::MonitorUnknown)
            }
            Ok(report) => {
                to_stdout(&|out| write_cert_check_monitor(&report, out).map_err(std::io::Error::from))?;
                Ok(match report.level() {
                    None => Exit::Clean,
                    Some(Level::Warning) => Exit::MonitorWarning,
                    Some(Level::Critical) => Exit::MonitorCritical,
                })
            }
        }
    }

    /// The names to check: those that are given, or else the one that the server is reached by.
    fn hosts(&self) -> Vec<String> {
        match &self.endpoint {
            Some(endpoint @ Endpoint::Tcp { .. }) if self.client_name.is_empty() => {
                vec![endpoint.certificate_name().to_owned()]
            }
            _ => self.client_name.clone(),
        }
    }

    fn report(&self) -> Result<Report, Failure> {
        let limits = Limits { warning_days: self.warn, critical_days: self.critical };
        let criteria = Criteria { hosts: self.hosts(), limits, now: Timestamp::now() };
        let address;
        let subject = match (&self.dir, &self.endpoint) {
            (Some(directory), _) => CheckTarget::Authority(directory),
            (None, Some(endpoint)) => {
                address = PathBuf::from(endpoint.to_string());
                CheckTarget::Served { address: &address, chain: chain(endpoint)? }
            }
            (None, None) => {
                let certificate = self.file.as_deref().unwrap_or_else(|| Path::new(""));
                CheckTarget::File { certificate, key: self.key.as_deref() }
            }
        };
        Ok(criteria.check(subject, self.ca.as_deref())?)
    }
}

/// The chain that a server presents.
fn chain(endpoint: &Endpoint) -> Result<Vec<Vec<u8>>, Failure> {
    let served = server::probe::served(endpoint, None, HANDSHAKE_TIMEOUT);
    served.map_err(|error| Failure { error: error.naming(endpoint), ..Failure::from(error) })
}
