//! What `send` and `receive` have in common: options, events, and the report.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ::transfer::TransferError;
use ::transfer::progress::Progress;
use ::transfer::tls::identity::{Authorities, Identity};
use clap::Args;
use report::size;
use serde::Serialize;

use crate::output::file;
use crate::output::message::{Failure, warning};
use crate::output::progress::StatusLine;

/// Certificates of the site, in place of a pairing code.
#[derive(Debug, Args)]
#[command(next_help_heading = "Certificates")]
pub(crate) struct Certificates {
    /// This side's certificate chain, PEM
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "tls_ca"])]
    pub(crate) tls_cert: Option<PathBuf>,
    /// This side's private key, PEM
    #[arg(long, value_name = "FILE", requires_all = ["tls_cert", "tls_ca"])]
    pub(crate) tls_key: Option<PathBuf>,
    /// Authorities that the other side's certificate has to come from, PEM
    #[arg(long, value_name = "FILE", requires_all = ["tls_cert", "tls_key"])]
    pub(crate) tls_ca: Option<PathBuf>,
}

impl Certificates {
    /// Reads them, if they are given.
    pub(crate) fn read(&self) -> Result<Option<(Identity, Authorities)>, Failure> {
        let (Some(certificate), Some(key), Some(authorities)) = (&self.tls_cert, &self.tls_key, &self.tls_ca) else {
            return Ok(None);
        };
        let identity = Identity::from_files(certificate, key).map_err(|error| failure(&error.into()))?;
        let authorities = Authorities::from_file(authorities).map_err(|error| failure(&error.into()))?;
        Ok(Some((identity, authorities)))
    }
}

/// How to follow a transfer.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Following {
    /// Write events to standard output, one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a report in JSON to this file when the transfer is over
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// No status line on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// One event.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum Event<'e> {
    /// The receiver listens.
    Listening { address: String, code: Option<String> },
    /// What is to be sent.
    Plan { files: usize, bytes: u64 },
    /// Every second.
    Progress { bytes: u64, total_bytes: u64, wire_bytes: u64, seconds: f64, limited_by: &'e str },
    /// Everything is in place.
    Committed(&'e Summary),
    /// Nothing was committed.
    Failed { reason: String },
}

/// What a transfer did.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Summary {
    /// Schema of a report.
    pub(crate) schema: &'static str,
    /// Files, directories and links.
    pub(crate) entries: usize,
    /// Bytes of all files.
    pub(crate) bytes: u64,
    /// Of these, bytes that were there from an earlier try.
    pub(crate) kept_bytes: u64,
    /// Bytes of payload on the wire.
    pub(crate) wire_bytes: u64,
    /// Bytes of encrypted pages that travelled opened, inside TLS.
    pub(crate) opened_bytes: u64,
    /// Time.
    pub(crate) seconds: f64,
    /// BLAKE3 over the list of files.
    pub(crate) tree: String,
    /// Cipher suite of the data connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) suite: Option<&'static str>,
    /// Data connections.
    pub(crate) streams: usize,
    /// Files whose keys the receiver wrapped anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rekeyed_files: Option<usize>,
    /// Names of the master keys that they are wrapped by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) master_keys: Vec<String>,
}

pub(crate) const REPORT_SCHEMA: &str = "sealant.transfer/1";

impl Summary {
    /// One line for people.
    pub(crate) fn line(&self) -> String {
        #[allow(clippy::cast_precision_loss, reason = "figures for people")]
        let rate = (self.bytes - self.kept_bytes.min(self.bytes)) as f64 / self.seconds.max(1e-6);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "figures for people")]
        let rate = size(rate as u64);
        let kept =
            if self.kept_bytes > 0 { format!(", {} were there already", size(self.kept_bytes)) } else { String::new() };
        format!(
            "{} in {:.1} s, {rate}/s{}{kept}; tree {}",
            size(self.bytes),
            self.seconds,
            ratio(self.bytes - self.kept_bytes.min(self.bytes), self.wire_bytes),
            self.tree
        )
    }
}

fn ratio(bytes: u64, wire_bytes: u64) -> String {
    #[allow(clippy::cast_precision_loss, reason = "figures for people")]
    let ratio = bytes as f64 / wire_bytes.max(1) as f64;
    if wire_bytes > 0 && ratio >= 1.05 { format!(", ×{ratio:.1} compressed") } else { String::new() }
}

impl Following {
    /// Finds out before a long run that the report's place is wrong.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.report.as_deref().map_or(Ok(()), file::check_writable)
    }

    /// Writes an event, if they are asked for.
    pub(crate) fn event(&self, event: &Event<'_>) {
        if self.json
            && let Ok(mut line) = serde_json::to_vec(event)
        {
            line.push(b'\n');
            let mut out = std::io::stdout().lock();
            // Whoever stopped reading does not stop the transfer.
            let _ = out.write_all(&line).and_then(|()| out.flush());
        }
    }

    /// Does the work while showing how it goes on.
    pub(crate) fn follow<T: Send>(&self, progress: &Progress, work: impl FnOnce() -> T + Send) -> T {
        let status = StatusLine::new(self.quiet || self.json);
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let shown = scope.spawn(|| self.show(progress, &status, &over));
            let done = work();
            over.store(true, Ordering::Relaxed);
            shown.thread().unpark();
            done
        })
    }

    fn show(&self, progress: &Progress, status: &StatusLine, over: &AtomicBool) {
        let mut last = Instant::now();
        while !over.load(Ordering::Relaxed) {
            thread::park_timeout(Duration::from_millis(50));
            status.show(&words(progress));
            if last.elapsed() >= Duration::from_secs(1) {
                last = Instant::now();
                self.event(&Event::Progress {
                    bytes: progress.bytes.load(Ordering::Relaxed),
                    total_bytes: progress.total_bytes.load(Ordering::Relaxed),
                    wire_bytes: progress.wire_bytes.load(Ordering::Relaxed),
                    seconds: progress.elapsed().as_secs_f64(),
                    limited_by: progress.limit().name(),
                });
            }
        }
        status.clear();
    }

    /// Tells how it ended: event and report. A report that cannot be written is no reason to call what was committed a failure.
    pub(crate) fn over(&self, outcome: Result<&Summary, &TransferError>) {
        let summary = match outcome {
            Err(error) => return self.event(&Event::Failed { reason: error.to_string() }),
            Ok(summary) => summary,
        };
        self.event(&Event::Committed(summary));
        let Some(path) = &self.report else { return };
        let written = file::replace(path, &|out: &mut dyn Write| {
            serde_json::to_writer_pretty(&mut *out, summary)?;
            out.write_all(b"\n")
        });
        if let Err(failure) = written {
            warning(&format!("everything is in place, but there is no report: {}", failure.error));
        }
    }
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures for people"
)]
fn words(progress: &Progress) -> String {
    let [done, total, wire, kept] =
        [&progress.bytes, &progress.total_bytes, &progress.wire_bytes, &progress.kept_bytes]
            .map(|counter| counter.load(Ordering::Relaxed));
    if total == 0 {
        return "waiting".to_owned();
    }
    let moved = done.saturating_sub(kept);
    let rate = moved as f64 / progress.elapsed().as_secs_f64().max(0.001);
    let left = total.saturating_sub(done) as f64 / rate.max(1.0);
    let eta = if done.saturating_mul(100) > total { format!("  ETA {}", clock(left as u64)) } else { String::new() };
    let limit = progress.limit().name();
    format!(
        "{} of {}  {}/s{}  limited by: {limit}{eta}",
        size(done),
        size(total),
        size(rate as u64),
        ratio(moved, wire)
    )
}

fn clock(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes:02}:{seconds:02}") }
}

/// An error of the library for the user.
pub(crate) fn failure(error: &TransferError) -> Failure {
    Failure::from(error)
}

/// Whether a directory can be read at all, said in the words of this program.
pub(crate) fn check_source(path: &Path) -> Result<(), Failure> {
    match File::open(path).and_then(|file| file.metadata()) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(Failure::new(format!("{}: not a directory", path.display()))),
        Err(error) => Err(Failure::new(format!("{}: {error}", path.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_show_hours_only_if_there_are_any() {
        assert_eq!((clock(112), clock(3723)), ("01:52".to_owned(), "1:02:03".to_owned()));
    }
}
