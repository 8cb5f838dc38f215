//! Markdown (CommonMark with GitHub's tables), for tickets and pull requests.

use std::io::Write;

use audit::coverage::CoverageState;
use audit::finding::{Finding, Status};
use audit::outcome::{Outcome, Server};
use findings::Severity;

use crate::fleet::{self, server_results};
use crate::group::{Group, blind_spots, by_check, subject};
use crate::text::{capital, count, number, visible, visible_lines};
use crate::{Error, labels, verdict};

/// Maximum number of artefacts for each check.
const EXAMPLES: usize = 10;
/// Maximum number of servers.
const SERVERS: usize = 100;

/// Writes the report.
///
/// # Errors
/// [`Error::Write`].
pub(crate) fn write(outcome: &Outcome, out: &mut dyn Write) -> Result<(), Error> {
    head(outcome, out)?;
    map(outcome, out)?;
    servers(outcome, out)?;
    failures(outcome, out)?;
    waived(outcome, out)?;
    blind(outcome, out)?;
    summary(outcome, out)
}

fn head(outcome: &Outcome, out: &mut dyn Write) -> Result<(), Error> {
    let when = labels::minute(outcome.judged_at);
    match outcome.servers.as_slice() {
        [server] => {
            writeln!(out, "# Audit of {}\n", code(&server.target))?;
            writeln!(out, "**{}**\n", plain(&verdict::of_outcome(outcome).sentence))?;
            one_server(server, &when, out)
        }
        many => {
            writeln!(out, "# Audit of {}\n", count(many.len(), "server"))?;
            writeln!(out, "**{}**\n\n{when}\n", plain(&verdict::of_outcome(outcome).sentence))?;
            Ok(())
        }
    }
}

fn one_server(server: &Server, when: &str, out: &mut dyn Write) -> Result<(), Error> {
    if let Some(error) = &server.error {
        writeln!(out, "Could not be audited: {}\n", plain(error))?;
        return Ok(());
    }
    writeln!(out, "{}, {when}. Evidence: {}.\n", plain(&labels::product(server)), labels::evidence_used(server.scope))?;
    Ok(())
}

fn map(outcome: &Outcome, out: &mut dyn Write) -> Result<(), Error> {
    let rows = fleet::map(outcome);
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "## Where data rests and moves\n")?;
    writeln!(out, "| | state | layer | evidence | detail |\n|---|---|---|---|---|")?;
    for row in rows.iter().filter(|row| row.state != CoverageState::Absent) {
        let state = labels::state(row.state);
        let state = if row.state == CoverageState::Encrypted { state.to_owned() } else { format!("**{state}**") };
        let (layer, grade) = (labels::layer(row.layer), labels::grade(row.grade));
        writeln!(out, "| {} | {state} | {layer} | {grade} | {} |", plain(row.artefact), plain(&row.detail))?;
    }
    writeln!(out)?;
    Ok(())
}

fn servers(outcome: &Outcome, out: &mut dyn Write) -> Result<(), Error> {
    if outcome.servers.len() < 2 {
        return Ok(());
    }
    writeln!(out, "## Servers\n")?;
    writeln!(out, "| server | critical | high | medium | low | not seen |\n|---|--:|--:|--:|--:|--:|")?;
    let all = server_results(outcome);
    for results in all.iter().take(SERVERS) {
        let target = cell_code(&results.server.target);
        if let Some(error) = &results.server.error {
            writeln!(out, "| {target} | could not be audited: {} | | | | |", plain(error))?;
            continue;
        }
        let [_, low, medium, high, critical] = Severity::ALL.map(|severity| number(results.failures(severity)));
        writeln!(out, "| {target} | {critical} | {high} | {medium} | {low} | {} |", number(results.unknown()))?;
    }
    if all.len() > SERVERS {
        writeln!(out, "\n… and {} more servers", number(all.len() - SERVERS))?;
    }
    writeln!(out)?;
    Ok(())
}

fn failures(outcome: &Outcome, out: &mut dyn Write) -> Result<(), Error> {
    let groups = by_check(outcome.findings.iter(), Status::Fail);
    let mut last = None;
    for group in &groups {
        if last != Some(group.severity) {
            writeln!(out, "## {}\n", capital(group.severity.as_str()))?;
            last = Some(group.severity);
        }
        failure(group, outcome.servers.len() > 1, out)?;
    }
    Ok(())
}

fn failure(group: &Group<'_>, fleet: bool, out: &mut dyn Write) -> Result<(), Error> {
    match group.title() {
        title if title == group.id => writeln!(out, "### {}\n", code(group.id))?,
        title => writeln!(out, "### {} ({})\n", plain(title), code(group.id))?,
    }
    group.findings.iter().take(EXAMPLES).try_for_each(|finding| example(finding, fleet, out))?;
    if group.findings.len() > EXAMPLES {
        writeln!(out, "- … and {} more", number(group.findings.len() - EXAMPLES))?;
    }
    writeln!(out)?;
    let first = group.first();
    if let Some(fix) = &first.remediation {
        if let Some(own) = group.own_fix() {
            writeln!(out, "{own}\n")?;
        }
        writeln!(out, "{}", block(&visible_lines(fix)))?;
    }
    if let Some(cost) = &first.cost {
        writeln!(out, "Cost: {}\n", plain(cost))?;
    }
    Ok(())
}

fn example(finding: &Finding, fleet: bool, out: &mut dyn Write) -> Result<(), Error> {
    let at = if fleet { format!("{} ", code(&finding.server)) } else { String::new() };
    let grade = finding.grade.map_or_else(String::new, |grade| format!(" *({})*", grade.as_str()));
    let what = match subject(finding) {
        (Some(artefact), rest) if rest.len() == finding.message.len() => format!("{}: {}", code(artefact), plain(rest)),
        (Some(artefact), rest) => format!("{} {}", code(artefact), plain(rest)),
        (None, message) => plain(message),
    };
    writeln!(out, "- {at}{what}{grade}")?;
    Ok(())
}

fn waived(outcome: &Outcome, out: &mut dyn Write) -> Result<(), Error> {
    let groups = by_check(outcome.findings.iter(), Status::Waived);
    if groups.is_empty() {
        return Ok(());
    }
    writeln!(out, "## Waived\n")?;
    for group in &groups {
        for finding in group.findings.iter().take(EXAMPLES) {
            let why = finding.waiver.as_deref().unwrap_or("");
            writeln!(out, "- {} {}: {}", code(&finding.id), code(&finding.artefact), plain(why))?;
        }
    }
    writeln!(out)?;
    Ok(())
}

fn blind(outcome: &Outcome, out: &mut dyn Write) -> Result<(), Error> {
    let spots = blind_spots(outcome);
    if spots.is_empty() {
        return Ok(());
    }
    writeln!(out, "## Not seen, and what would show it\n")?;
    for spot in &spots {
        let remedy = if spot.remedy.is_empty() { "no remedy is known" } else { spot.remedy };
        let why = spot.reasons.first().copied().unwrap_or("");
        let checks: Vec<String> = spot.checks.iter().map(|id| code(id)).collect();
        let checks = if checks.is_empty() { String::new() } else { format!("; would judge {}", checks.join(", ")) };
        writeln!(out, "- {}: {}{checks}", code(remedy), plain(why))?;
    }
    writeln!(out)?;
    Ok(())
}

fn summary(outcome: &Outcome, out: &mut dyn Write) -> Result<(), Error> {
    let status = |status: Status| number(outcome.summary.by_status.get(status.as_str()).copied().unwrap_or(0));
    writeln!(
        out,
        "---\n\nfailed: {}, passed: {}, not seen: {}, not applicable: {}, waived: {} (sealant {})",
        status(Status::Fail),
        status(Status::Pass),
        status(Status::Unknown),
        status(Status::NotApplicable),
        status(Status::Waived),
        outcome.sealant
    )?;
    if let Some(incomplete) = labels::incomplete(outcome) {
        writeln!(out, "\n{incomplete}")?;
    }
    Ok(())
}

/// Foreign prose: escapes punctuation that has a meaning in Markdown or HTML.
pub(crate) fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 8);
    for c in visible(text).chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' | '$' => safe.extend(['\\', c]),
            c => safe.push(c),
        }
    }
    safe
}

/// A name or command as a code span, which prevents links, mentions and emphasis.
pub(crate) fn code(text: &str) -> String {
    let text = visible(text);
    let fence = "`".repeat(longest_run(&text, '`') + 1);
    let room = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{fence}{room}{text}{room}{fence}")
}

/// Code span for a table, where bars must be escaped even in code spans.
fn cell_code(text: &str) -> String {
    code(&text.replace('|', "\\|"))
}

fn block(text: &str) -> String {
    let fence = "`".repeat(longest_run(text, '`').max(2) + 1);
    format!("{fence}text\n{text}\n{fence}\n")
}

fn longest_run(text: &str, of: char) -> usize {
    text.split(|c| c != of).map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, golden, outcome_of, rich, small};
    use crate::text::collect;

    #[test]
    fn names_cannot_leave_their_code_span() {
        assert_eq!(code("demo/t1"), "`demo/t1`");
        assert_eq!(code("a``b"), "```a``b```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(cell_code("a|b"), "`a\\|b`");
        assert_eq!(block("```\nrm"), "````text\n```\nrm\n````\n");
    }

    #[test]
    fn prose_cannot_become_markup() {
        assert_eq!(plain("<script>*a* [x](y) | `b`"), "&lt;script&gt;\\*a\\* \\[x\\](y) \\| \\`b\\`");
        let text = collect(|out| write(&rich(), out)).unwrap();
        let outside_code: String = text.split('`').step_by(2).collect();
        assert!(!outside_code.contains("<script"), "{text}");
    }

    #[test]
    fn this_program_is_named_before_what_is_done_by_hand() {
        let mut clear = finding("rest-table-plaintext", Status::Fail, "d/t.ibd");
        clear.remediation = Some("ALTER TABLE d.t ENCRYPTION='Y'".to_owned());
        let text = collect(|out| write(&outcome_of(vec![clear]), out)).unwrap();
        assert!(text.contains("\nsealant encrypt run; or by hand:\n\n```text\nALTER TABLE"), "{text}");
    }

    #[test]
    fn the_bytes_are_as_promised() {
        golden("small.md", &collect(|out| write(&small(), out)).unwrap());
    }
}
