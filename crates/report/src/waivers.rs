//! A template of waivers for the failures of an audit.

use std::io::Write;

use audit::checks::WAIVER_EXPIRED;
use audit::finding::{Finding, Status};
use audit::outcome::Outcome;
use jiff::ToSpan;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::group::line;
use crate::{Error, Message, labels};

/// Days after which the waivers of a template expire.
const DAYS: i64 = 90;

/// Warning that a waiver is not valid, with the check whose finding says why.
#[must_use]
pub fn bad_waiver_message() -> Message {
    Message::warning(format!("a waiver is expired or names an unknown check; see {}", WAIVER_EXPIRED.id))
}

/// Writes a waiver for every failure, without reason and approver: `--waivers` refuses each one until these are filled
/// in.
///
/// # Errors
/// [`Error::Write`].
pub fn write_waivers(outcome: &Outcome, out: &mut dyn Write) -> Result<(), Error> {
    let today = outcome.judged_at.to_zoned(TimeZone::UTC).date();
    let expires = today.checked_add(DAYS.days()).unwrap_or(today);
    writeln!(out, "# Failures found by `sealant audit` at {}.", labels::minute(outcome.judged_at))?;
    writeln!(
        out,
        "# Delete those that are to be fixed. Give each other one its reason, its approver and a date, and run"
    )?;
    writeln!(out, "# the audit with --waivers and this file.")?;
    let failures = outcome.findings.iter().filter(|finding| finding.status == Status::Fail);
    failures
        .filter(|finding| audit::waiver::can_be_waived(finding))
        .try_for_each(|finding| waiver(finding, expires, out))
}

fn waiver(finding: &Finding, expires: Date, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "\n# {}: {}", finding.severity.as_str(), line(finding))?;
    writeln!(out, "[[waiver]]\ncheck = {}", quoted(&finding.id))?;
    writeln!(out, "server = {}\nartefact = {}", quoted(&finding.server), quoted(&finding.artefact))?;
    writeln!(out, "reason = \"\"\napprover = \"\"\nexpires = {expires}")?;
    Ok(())
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use audit::waiver::Waivers;

    use super::*;
    use crate::testing::{finding, outcome_of};

    #[test]
    fn a_filled_in_skeleton_covers_every_failure() {
        let odd = "a \"b\" \\ \n\u{7f} ü.ibd";
        let outcome = outcome_of(vec![
            finding("rest-table-plaintext", Status::Fail, odd),
            finding("rest-undo-plaintext", Status::Fail, "undo_001"),
            finding("rest-redo-plaintext", Status::Pass, "redo"),
        ]);
        let mut text = Vec::new();
        write_waivers(&outcome, &mut text).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("waivers.toml");
        std::fs::write(&path, &text).unwrap();
        assert!(Waivers::load(&path).unwrap_err().to_string().contains("no reason"));
        let filled = String::from_utf8(text).unwrap().replace("= \"\"", "= \"yes\"");
        std::fs::write(&path, filled).unwrap();
        let waivers = Waivers::load(&path).unwrap();
        assert_eq!(waivers.len(), 2);
        let mut findings = outcome.findings;
        waivers.apply(&mut findings, outcome.judged_at);
        assert!(findings.iter().all(|finding| finding.status != Status::Fail));
    }
}
