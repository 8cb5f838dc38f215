//! Reports of `sealant luks audit`: a table for people, JSON for scripts.

use std::io::Write;

use luks::{Finding, Report};

use crate::text::{count, pad, visible};
use crate::{Error, json};

/// Width of the severity column.
const SEVERITY: usize = 9;
/// Width of the code column.
const CODE: usize = 26;

/// Writes the JSON for scripts, schema `sealant.luks/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_luks_json(report: &Report, out: &mut dyn Write) -> Result<(), Error> {
    json::pretty(report, out)
}

/// Writes a description of the header at `name`, and the findings, for people.
///
/// # Errors
/// [`Error::Write`].
pub fn write_luks_table(name: &str, report: &Report, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "{}: {}", visible(name), readable(report))?;
    for line in report.header.iter().flat_map(luks::HeaderSummary::lines) {
        writeln!(out, "  {}", visible(&line))?;
    }
    for note in &report.notes {
        writeln!(out, "  note: {}", visible(note))?;
    }
    if report.keyslots_stored == Some(false) {
        writeln!(out, "  note: only the header is there; key material was not judged")?;
    }
    if !report.findings.is_empty() {
        writeln!(out, "\n{}{}DETAIL", pad("SEVERITY", SEVERITY + 1), pad("FINDING", CODE + 1))?;
    }
    for finding in &report.findings {
        line(finding, out)?;
    }
    let found = report.findings.len();
    writeln!(out, "\n{}", if found == 0 { "nothing to find fault with".to_owned() } else { count(found, "finding") })?;
    Ok(())
}

fn line(finding: &Finding, out: &mut dyn Write) -> Result<(), Error> {
    let (severity, code) = (pad(finding.severity.as_str(), SEVERITY), pad(finding.code.as_str(), CODE));
    Ok(writeln!(out, "{severity} {code} {}", visible(&finding.detail))?)
}

fn readable(report: &Report) -> &'static str {
    use luks::Readable::{No, Primary, Secondary, Yes};
    match report.readable {
        Yes => "LUKS header, whole",
        Primary => "LUKS header, only the first copy counts",
        Secondary => "LUKS header, only the second copy counts",
        No => "no LUKS header that can be read",
    }
}
