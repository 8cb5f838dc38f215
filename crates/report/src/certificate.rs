//! Reports of installed certificates.

use std::io::Write;

use change::{Outcome, tls::Report};

use crate::{Error, json, text::visible};

/// Writes the JSON for scripts, schema `sealant.cert-install/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_certificate_json(report: &Report, out: &mut dyn Write) -> Result<(), Error> {
    json::pretty(report, out)
}

/// Writes what was done, or would be done, for people.
///
/// # Errors
/// [`Error::Write`].
pub fn write_certificate_table(report: &Report, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "{}", visible(&report.server))?;
    for step in &report.steps {
        let (state, why) = match &step.outcome {
            Outcome::Planned => ("planned", None),
            Outcome::Done => ("done", None),
            Outcome::Skipped { reason } => ("skipped", Some(reason)),
            Outcome::Failed { reason } => ("failed", Some(reason)),
        };
        writeln!(out, "  {:<8} {state:<8} {}", step.step, visible(&step.what))?;
        for line in step.statements.iter().chain(why) {
            writeln!(out, "  {:<8} {:<8} {}", "", "", visible(line))?;
        }
    }
    for note in &report.notes {
        writeln!(out, "note: {}", visible(note))?;
    }
    for (what, sha256) in [("before", &report.served_before), ("now   ", &report.served_after)] {
        if let Some(sha256) = sha256 {
            writeln!(out, "served {what}: {sha256}")?;
        }
    }
    Ok(())
}
