//! `sealant cert install`: another certificate for a running server.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::change::tls::{Error, Report, Request, plan, run};
use ::change::{Outcome, StatementLog};
use clap::{Args, ValueEnum};
use server::{Endpoint, Options, Target};

use super::check::endpoint;
use crate::cli::change::{Server, confirm};
use crate::exit::Exit;
use crate::output::file::to_stdout;
use crate::output::message::{Failure, warning};

/// Install a certificate into a running MySQL or MariaDB server, and prove that it is served
///
/// Judges the certificate first. Then replaces the files that the server names (ssl_cert, ssl_key, ssl_ca),
/// has the server read them (ALTER INSTANCE RELOAD TLS, FLUSH SSL), and looks at it with a handshake from
/// outside. If that does not show the new certificate, files and server are brought back to what they were.
/// Open connections stay as they are. Run it on the server's host, as root or as the server's user.
#[derive(Debug, Args)]
pub(super) struct Install {
    #[command(flatten)]
    server: Server,
    /// The new certificate, PEM
    #[arg(long, value_name = "FILE", help_heading = "Certificate")]
    cert: PathBuf,
    /// Its key, PEM
    #[arg(long, value_name = "FILE", help_heading = "Certificate")]
    key: PathBuf,
    /// Its authority, PEM
    #[arg(long, value_name = "FILE", help_heading = "Certificate")]
    ca: PathBuf,
    /// A name that the certificate must be for (repeatable)
    #[arg(long, value_name = "NAME", help_heading = "Certificate")]
    host: Vec<String>,
    /// Leave the server's file of authorities as it is
    #[arg(long, help_heading = "Certificate")]
    keep_ca: bool,
    /// Clients with certificates of the old authorities stay trusted
    #[arg(long, conflicts_with = "keep_ca", help_heading = "Certificate")]
    trust_old_ca: bool,
    /// Do not judge the certificate first: what the server or the handshake refuses is rolled back
    #[arg(long, help_heading = "Certificate")]
    skip_checks: bool,
    /// Where to look at the server from outside [default: its port on this host, or its socket]
    #[arg(long, value_name = "HOST:PORT|SOCKET", value_parser = endpoint)]
    outside: Option<Endpoint>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Show the plan and change nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Append every change to this file, before it is made
    #[arg(long, value_name = "FILE", default_value = "sealant-statements.jsonl", help_heading = "Output")]
    log: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Table,
    /// For scripts, schema sealant.cert-install/1
    Json,
}

/// For the handshakes from outside.
const PATIENCE: Duration = Duration::from_secs(10);

impl Install {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let (target, options) = self.server.connection()?;
        let request = self.request();
        if self.dry_run || !self.yes {
            let planned = self.planned(&target, &options, &request)?;
            if self.dry_run {
                self.write(&planned)?;
                return Ok(Exit::Clean);
            }
            confirm("cert install --dry-run", &|out| write_table(&planned, out))?;
        }
        let log = open(&self.log, &target)?;
        let (report, ended) = run(&target, &options, &request, &log);
        if let Some(report) = &report {
            self.write(report)?;
        }
        match (ended, report) {
            (Ok(()), _) => Ok(Exit::Clean),
            // Only the old files could not be removed.
            (Err(error), Some(report)) if report.done => {
                warning(&error.to_string());
                Ok(Exit::Clean)
            }
            (Err(error), _) => Err(failure(&error)),
        }
    }

    fn planned(&self, target: &Target, options: &Options, request: &Request) -> Result<Report, Failure> {
        let log = open(Path::new("/dev/null"), target)?;
        plan(target, options, request, &log).map_err(|error| failure(&error))
    }

    fn request(&self) -> Request {
        Request {
            certificate: self.cert.clone(),
            key: self.key.clone(),
            ca: self.ca.clone(),
            keep_ca: self.keep_ca,
            trust_old_ca: self.trust_old_ca,
            hosts: self.host.clone(),
            outside: self.outside.clone(),
            skip_checks: self.skip_checks,
            timeout: PATIENCE,
        }
    }

    fn write(&self, report: &Report) -> Result<(), Failure> {
        match self.format {
            Format::Table => to_stdout(&|out| write_table(report, out)),
            Format::Json => to_stdout(&|out| {
                serde_json::to_writer_pretty(&mut *out, report)?;
                writeln!(out)
            }),
        }
    }
}

fn open(log: &Path, target: &Target) -> Result<StatementLog, Failure> {
    let log = StatementLog::open(log, &target.to_string(), &target.user);
    log.map_err(|error| failure(&Error::from(error)))
}

fn write_table(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", report.server)?;
    for step in &report.steps {
        let (state, why) = match &step.outcome {
            Outcome::Planned => ("planned", None),
            Outcome::Done => ("done", None),
            Outcome::Skipped { reason } => ("skipped", Some(reason)),
            Outcome::Failed { reason } => ("failed", Some(reason)),
        };
        writeln!(out, "  {:<8} {state:<8} {}", step.step, step.what)?;
        for line in step.statements.iter().chain(why) {
            writeln!(out, "  {:<8} {:<8} {line}", "", "")?;
        }
    }
    report.notes.iter().try_for_each(|note| writeln!(out, "note: {note}"))?;
    let served = |what: &str, sha256: &Option<String>, out: &mut dyn Write| match sha256 {
        Some(sha256) => writeln!(out, "served {what}: {sha256}"),
        None => Ok(()),
    };
    served("before", &report.served_before, out)?;
    served("now   ", &report.served_after, out)
}

fn failure(error: &Error) -> Failure {
    let failure = Failure::new(error.to_string());
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
