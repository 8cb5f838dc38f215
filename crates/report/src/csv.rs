//! CSV (RFC 4180) for spreadsheets: one line for each finding.

use std::borrow::Cow;
use std::io::Write;

use audit::finding::{EvidenceGrade, Finding, Status};
use audit::outcome::{Outcome, Server};

use crate::Error;
use crate::labels::incomplete;
use crate::text::visible;

/// Column names. Columns are only ever added, at the end.
const HEAD: &str = "server,id,status,severity,artefact,grade,message,remediation,cost,standards,waiver,fingerprint\r\n";

/// Writes the header and a line per finding. Each server that could not be audited gets a line without an id. If the
/// audit is incomplete, a last line without an id says so.
///
/// # Errors
/// [`Error::Write`].
pub(crate) fn write(outcome: &Outcome, out: &mut dyn Write) -> Result<(), Error> {
    out.write_all(HEAD.as_bytes())?;
    outcome.servers.iter().filter(|server| server.error.is_some()).try_for_each(|server| unaudited(server, out))?;
    outcome.findings.iter().try_for_each(|finding| line(finding, out))?;
    incomplete(outcome).map_or(Ok(()), |missing| without_id("", "report", &missing, out))
}

fn unaudited(server: &Server, out: &mut dyn Write) -> Result<(), Error> {
    let error = server.error.as_deref().unwrap_or("");
    without_id(&server.target, "server", error, out)
}

/// A line without a check.
fn without_id(server: &str, artefact: &str, message: &str, out: &mut dyn Write) -> Result<(), Error> {
    let status = Status::Unknown.as_str();
    fields(&[server, "", status, "", artefact, "", message, "", "", "", "", ""], out)
}

fn line(finding: &Finding, out: &mut dyn Write) -> Result<(), Error> {
    fields(
        &[
            &finding.server,
            &finding.id,
            finding.status.as_str(),
            finding.severity.as_str(),
            &finding.artefact,
            finding.grade.map_or("", EvidenceGrade::as_str),
            &finding.message,
            finding.remediation.as_deref().unwrap_or(""),
            finding.cost.as_deref().unwrap_or(""),
            &finding.standards.join("; "),
            finding.waiver.as_deref().unwrap_or(""),
            &finding.fingerprint,
        ],
        out,
    )
}

fn fields(values: &[&str], out: &mut dyn Write) -> Result<(), Error> {
    let line: Vec<String> = values.iter().map(|value| field(value)).collect();
    out.write_all(line.join(",").as_bytes())?;
    out.write_all(b"\r\n")?;
    Ok(())
}

/// A field on one line, quoted if necessary. A value that a spreadsheet would take for a formula gets an apostrophe
/// before it (CWE-1236).
fn field(value: &str) -> String {
    let formula = value.trim_start().starts_with(['=', '+', '-', '@']) || value.starts_with(['\t', '\r', '\n']);
    let safe: Cow<'_, str> = if formula { format!("'{}", visible(value)).into() } else { visible(value) };
    if safe.contains([',', '"', ';', ' ']) { format!("\"{}\"", safe.replace('"', "\"\"")) } else { safe.into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{golden, rich, small};
    use crate::text::collect;

    #[test]
    fn formulas_are_defused_and_quotes_doubled() {
        assert_eq!(field("=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
        assert_eq!(field("@SUM(A1)"), "'@SUM(A1)");
        assert_eq!(field("-1"), "'-1");
        assert_eq!(field("\t=1"), "'\\t=1");
        assert_eq!(field("a,b"), "\"a,b\"");
        assert_eq!(field("a\r\nb"), r"a\r\nb");
        assert_eq!(field("plain"), "plain");
    }

    #[test]
    fn every_line_has_every_column() {
        let outcome = rich();
        let text = collect(|out| write(&outcome, out)).unwrap();
        assert_eq!(text.matches("\r\n").count(), text.matches('\n').count());
        for line in text.lines() {
            let mut quoted = false;
            let commas = line.chars().filter(|c| {
                quoted ^= *c == '"';
                *c == ',' && !quoted
            });
            assert_eq!(commas.count(), HEAD.matches(',').count(), "{line}");
        }
    }

    #[test]
    fn the_bytes_are_as_promised() {
        golden("small.csv", &collect(|out| write(&small(), out)).unwrap());
    }
}
