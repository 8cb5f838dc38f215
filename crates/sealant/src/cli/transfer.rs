//! Common to `send` and `receive`: options, events, and the report.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use ::transfer::counters::{self, Side};
use ::transfer::progress::Progress;
use ::transfer::summary::{Event, Summary, followed};
use clap::Args;
use pki::{Authorities, Identity};
use report::{no_transfer_report_message, write_transfer_event, write_transfer_report};

use crate::output::file;
use crate::output::message::{Failure, say, warning};
use crate::output::progress::{Quiet, StatusLine};

/// Certificates of the site, used instead of a pairing code.
#[derive(Debug, Args)]
#[command(next_help_heading = "Certificates")]
pub(crate) struct Certificates {
    /// This side's certificate and its chain, PEM
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "tls_ca"])]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key of this side's certificate, PEM
    #[arg(long, value_name = "FILE", requires_all = ["tls_cert", "tls_ca"])]
    pub(crate) tls_key: Option<PathBuf>,
    /// CA certificates to trust for the other side's certificate, PEM
    #[arg(long, value_name = "FILE", requires_all = ["tls_cert", "tls_key"])]
    pub(crate) tls_ca: Option<PathBuf>,
}

impl Certificates {
    /// Reads the files, if they are given.
    pub(crate) fn read(&self) -> Result<Option<(Identity, Authorities)>, Failure> {
        let (Some(certificate), Some(key), Some(authorities)) = (&self.tls_cert, &self.tls_key, &self.tls_ca) else {
            return Ok(None);
        };
        let identity = Identity::from_files(certificate, key).map_err(::transfer::Error::from)?;
        let authorities = Authorities::from_file(authorities).map_err(::transfer::Error::from)?;
        Ok(Some((identity, authorities)))
    }
}

/// How to follow a transfer.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Following {
    /// Write events to standard output, one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write a JSON report to this file at the end; the schema is in docs/schema
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Also add this transfer to the totals in this file, for `sealant monitor` and node_exporter's textfile collector
    #[arg(long, value_name = "FILE")]
    pub(crate) prometheus: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) quiet: Quiet,
}

impl Following {
    /// Checks before a long run that the files can be written.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.report.iter().chain(&self.prometheus).try_for_each(|path| file::check_writable(path))
    }

    /// Writes an event, if events are requested.
    pub(crate) fn event(&self, event: &Event<'_>) {
        if self.json {
            // If the reader is gone, the transfer continues.
            let _ = write_transfer_event(event, &mut std::io::stdout().lock());
        }
    }

    /// The status line.
    pub(crate) fn status(&self) -> StatusLine {
        StatusLine::new(self.quiet.is_set() || self.json)
    }

    /// Runs `work` and shows its progress.
    pub(crate) fn follow<T>(&self, progress: &Progress, work: impl FnOnce() -> T) -> T {
        let status = self.status();
        followed(progress, &|text| status.show(text), &|event| self.event(event), work)
    }

    /// Writes the last event, the totals and the report. If one cannot be written, a committed transfer is still a success.
    pub(crate) fn over(&self, side: Side, outcome: Result<&Summary, &::transfer::Error>, progress: &Progress) {
        self.event(&Event::ended(outcome));
        if let Some(path) = &self.prometheus {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
            if let Err(error) = counters::add(path, side, outcome.is_ok(), progress, now) {
                warning(&format!("the transfer is not counted: {}: {error}", path.display()));
            }
        }
        let (Ok(summary), Some(path)) = (outcome, &self.report) else { return };
        let written = file::replace(path, &|out| Ok(write_transfer_report(summary, out)?));
        if let Err(failure) = written {
            say(&[no_transfer_report_message(&failure.error)]);
        }
    }
}
