//! JUnit XML for build servers: a suite for each server, a case for each finding.
//!
//! FAIL is a failure. UNKNOWN, N/A and WAIVED are skipped with their reason, so that they do not count as passed. A
//! server that could not be audited is an error.

use std::io::Write;

use audit::finding::{Finding, Status};
use audit::outcome::{Outcome, Server};

use crate::Error;
use crate::fleet::{ServerResults, server_results};
use crate::text::{visible, visible_lines};

/// Writes the suites.
///
/// # Errors
/// [`Error::Write`].
pub(crate) fn write(outcome: &Outcome, out: &mut dyn Write) -> Result<(), Error> {
    let mut server_results = server_results(outcome);
    server_results.sort_by(|a, b| a.server.target.cmp(&b.server.target));
    let count = |status| outcome.findings.iter().filter(|f| f.status == status).count();
    let errors = outcome.summary.unreachable;
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(
        out,
        "<testsuites name=\"sealant audit\" tests=\"{}\" failures=\"{}\" errors=\"{errors}\">",
        outcome.findings.len() + errors,
        count(Status::Fail)
    )?;
    let at = outcome.judged_at.strftime("%Y-%m-%dT%H:%M:%S").to_string();
    server_results.iter().try_for_each(|results| suite(results, &at, out))?;
    writeln!(out, "</testsuites>")?;
    Ok(())
}

fn suite(results: &ServerResults<'_>, at: &str, out: &mut dyn Write) -> Result<(), Error> {
    let count = |skipped: &[Status]| results.findings.iter().filter(|f| skipped.contains(&f.status)).count();
    let errors = usize::from(results.server.error.is_some());
    writeln!(
        out,
        "  <testsuite name=\"{}\" timestamp=\"{at}\" tests=\"{}\" failures=\"{}\" errors=\"{errors}\" skipped=\"{}\">",
        xml(&results.server.target),
        results.findings.len() + errors,
        count(&[Status::Fail]),
        count(&[Status::Unknown, Status::NotApplicable, Status::Waived])
    )?;
    unaudited(results.server, out)?;
    results.findings.iter().try_for_each(|finding| case(finding, out))?;
    writeln!(out, "  </testsuite>")?;
    Ok(())
}

fn unaudited(server: &Server, out: &mut dyn Write) -> Result<(), Error> {
    let Some(error) = &server.error else { return Ok(()) };
    writeln!(out, "    <testcase classname=\"sealant\" name=\"audit\">")?;
    writeln!(out, "      <error type=\"unreachable\" message=\"{}\"/>", xml(error))?;
    writeln!(out, "    </testcase>")?;
    Ok(())
}

fn case(finding: &Finding, out: &mut dyn Write) -> Result<(), Error> {
    let name = format!("    <testcase classname=\"sealant.{}\" name=\"{}\"", xml(&finding.id), xml(&finding.artefact));
    match finding.status {
        Status::Pass => writeln!(out, "{name}/>")?,
        Status::Fail => {
            writeln!(out, "{name}>")?;
            failure(finding, out)?;
            writeln!(out, "    </testcase>")?;
        }
        Status::Unknown | Status::NotApplicable | Status::Waived => {
            let why = finding.waiver.as_deref().unwrap_or(&finding.message);
            writeln!(out, "{name}>")?;
            writeln!(out, "      <skipped message=\"{}: {}\"/>", finding.status.as_str(), xml(why))?;
            writeln!(out, "    </testcase>")?;
        }
    }
    Ok(())
}

fn failure(finding: &Finding, out: &mut dyn Write) -> Result<(), Error> {
    let (severity, message) = (finding.severity.as_str(), xml(&finding.message));
    let grade = finding.grade.map_or_else(String::new, |grade| format!("evidence: {}", grade.as_str()));
    let fix = finding.remediation.as_ref().map_or_else(String::new, |fix| format!("\nfix: {}", visible_lines(fix)));
    let text = escape(&format!("{grade}{fix}"));
    writeln!(out, "      <failure type=\"{severity}\" message=\"{message}\">{text}</failure>")?;
    Ok(())
}

/// Foreign text on one line, for content and attributes. XML 1.0 cannot contain most control characters, so they are
/// made visible.
fn xml(text: &str) -> String {
    escape(&visible(text))
}

fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_well_formed, golden, rich, small};
    use crate::text::collect;

    fn junit(outcome: &Outcome) -> String {
        collect(|out| write(outcome, out)).unwrap()
    }

    #[test]
    fn hostile_names_leave_the_document_well_formed() {
        assert_well_formed(&junit(&rich()));
        assert_well_formed(&junit(&Outcome::empty("2026-11-20T12:00:00Z".parse().unwrap())));
        assert_eq!(xml("<a b=\"1\">&'\0\n"), "&lt;a b=&quot;1&quot;&gt;&amp;&apos;\\u{0}\\n");
    }

    #[test]
    fn nothing_but_a_pass_counts_as_passed() {
        let mut outcome = rich();
        outcome.servers.push(Server::failed("down", "connection refused"));
        outcome.finish();
        let text = junit(&outcome);
        let count = |what: &str| text.matches(what).count();
        assert_eq!(count("<testcase "), outcome.findings.len() + 1);
        let passed = outcome.summary.by_status["PASS"];
        assert_eq!(count("<testcase ") - count("<failure ") - count("<skipped ") - count("<error "), passed);
    }

    #[test]
    fn the_bytes_are_as_promised() {
        golden("small.junit.xml", &junit(&small()));
    }
}
