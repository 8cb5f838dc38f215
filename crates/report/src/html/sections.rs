//! The other sections: exposed data, clients that break, standards, waivers, blind spots, and the appendix.

use std::collections::BTreeMap;

use audit::check::Check;
use audit::coverage::{CoverageState, DataState};
use audit::exposure::{Certainty, LockedOut};
use audit::finding::{Evidence, Finding, Status};
use audit::outcome::Outcome;

use super::findings::anchor;
use crate::catalogue::all;
use crate::exposure::exposed_data;
use crate::fleet::Row;
use crate::group::{begins_with_command, blind_spots, by_check, subject};
use crate::standards::requirements;
use crate::text::{Escaped, number, visible};

/// What an attacker at one location can read.
#[derive(Debug)]
pub(super) struct Exposed<'a> {
    pub(super) title: &'static str,
    pub(super) exposed_data: Vec<ExposedData<'a>>,
    pub(super) closed: String,
    pub(super) unseen: String,
}

/// One kind of exposed data.
#[derive(Debug)]
pub(super) struct ExposedData<'a> {
    pub(super) id: Escaped<'a>,
    pub(super) anchor: String,
    pub(super) severity: &'static str,
    pub(super) sentence: String,
}

impl<'a> Exposed<'a> {
    pub(super) fn new(outcome: &'a Outcome, rows: &[Row<'a>], location: DataState) -> Self {
        let title = match location {
            DataState::AtRest => "What a stolen disk shows",
            DataState::InFlight => "What a sniffer hears",
        };
        let exposed_data = exposed_data(outcome.findings.iter(), location);
        Self {
            title,
            exposed_data: exposed_data.into_iter().map(ExposedData::new).collect(),
            closed: named(rows, location, CoverageState::Encrypted),
            unseen: named(rows, location, CoverageState::Unknown),
        }
    }
}

impl<'a> ExposedData<'a> {
    fn new(data: crate::exposure::ExposedData<'a>) -> Self {
        let anchor = anchor(data.id, data.severity);
        Self { id: Escaped(data.id), anchor, severity: data.severity.as_str(), sentence: data.sentence }
    }
}

fn named(rows: &[Row<'_>], location: DataState, state: CoverageState) -> String {
    let named = rows.iter().filter(|row| row.location == location && row.state == state);
    named.map(|row| visible(row.artefact).into_owned()).collect::<Vec<String>>().join(", ")
}

/// Who is cut off when TLS is enforced.
#[derive(Debug)]
pub(super) struct Breaks<'a> {
    pub(super) rows: Vec<Broken<'a>>,
    pub(super) more: String,
    /// Relevant checks without a verdict.
    pub(super) unseen: String,
    /// Whether the checks found nobody.
    pub(super) nobody: bool,
}

/// One account, client or channel.
#[derive(Debug)]
pub(super) struct Broken<'a> {
    pub(super) server: Option<Escaped<'a>>,
    pub(super) who: Escaped<'a>,
    pub(super) why: &'static str,
    pub(super) message: Escaped<'a>,
    pub(super) fix: Escaped<'a>,
    pub(super) is_command: bool,
}

/// Maximum number of accounts, clients and channels listed.
const BROKEN: usize = 100;

impl<'a> Breaks<'a> {
    pub(super) fn new(outcome: &'a Outcome) -> Self {
        let fleet = outcome.servers.len() > 1;
        let mut checks: Vec<(LockedOut, &'static Check)> =
            all().filter_map(|check| Some((check.locked_out?, check))).collect();
        checks.sort_by_key(|(locked_out, _)| locked_out.certainty());
        let of = |check: &'static Check, status: Status| {
            outcome.findings.iter().filter(move |f| f.id == check.id && f.status == status)
        };
        let failed =
            checks.iter().flat_map(|(locked_out, check)| of(check, Status::Fail).map(|f| (f, locked_out.text())));
        let all: Vec<Broken<'a>> = failed.map(|(finding, why)| Broken::new(finding, why, fleet)).collect();
        let blind = checks.iter().filter(|(_, check)| of(check, Status::Unknown).next().is_some());
        let sure = checks.iter().filter(|(locked_out, _)| locked_out.certainty() < Certainty::Configured);
        let looked = sure.clone().any(|(_, check)| of(check, Status::Pass).next().is_some());
        Self {
            nobody: all.is_empty() && looked,
            more: if all.len() > BROKEN { number(all.len() - BROKEN) } else { String::new() },
            rows: all.into_iter().take(BROKEN).collect(),
            unseen: blind.map(|(_, check)| check.id).collect::<Vec<&str>>().join(", "),
        }
    }
}

impl<'a> Broken<'a> {
    fn new(finding: &'a Finding, why: &'static str, fleet: bool) -> Self {
        let fix = finding.remediation.as_deref().unwrap_or("");
        Self {
            server: fleet.then_some(Escaped(&finding.server)),
            who: Escaped(&finding.artefact),
            why,
            message: Escaped(&finding.message),
            fix: Escaped(fix),
            is_command: begins_with_command(finding),
        }
    }
}

/// One standard and its requirements.
#[derive(Debug)]
pub(super) struct Document<'a> {
    pub(super) name: Escaped<'a>,
    pub(super) failed: usize,
    pub(super) rows: Vec<Item<'a>>,
}

/// One requirement: its status as class and word, and its checks with theirs.
#[derive(Debug)]
pub(super) struct Item<'a> {
    pub(super) item: Escaped<'a>,
    pub(super) class: &'static str,
    pub(super) status: &'static str,
    pub(super) checks: Vec<(Escaped<'a>, &'static str)>,
}

/// The standards that the checks map to.
#[must_use]
pub(super) fn documents(outcome: &Outcome) -> Vec<Document<'_>> {
    let mut documents: BTreeMap<&str, Vec<Item<'_>>> = BTreeMap::new();
    for requirement in requirements(outcome.findings.iter()) {
        let checks = requirement.checks.iter().map(|(id, status)| (Escaped(id), status_class(*status)));
        documents.entry(requirement.document).or_default().push(Item {
            item: Escaped(requirement.item),
            class: status_class(requirement.status),
            status: status_text(requirement.status),
            checks: checks.collect(),
        });
    }
    let gaps = |rows: &[Item<'_>]| rows.iter().filter(|row| row.class == "fail").count();
    documents.into_iter().map(|(name, rows)| Document { name: Escaped(name), failed: gaps(&rows), rows }).collect()
}

const fn status_class(status: Status) -> &'static str {
    match status {
        Status::Pass => "pass",
        Status::Fail => "fail",
        Status::Unknown => "unknown",
        Status::Waived => "waived",
        Status::NotApplicable => "na",
    }
}

const fn status_text(status: Status) -> &'static str {
    match status {
        Status::Pass => "met, as far as checked",
        Status::Fail => "gap",
        Status::Unknown => "not seen",
        Status::Waived => "waived",
        Status::NotApplicable => "not applicable",
    }
}

/// A check whose findings are listed briefly.
#[derive(Debug)]
pub(super) struct Listed<'a> {
    pub(super) id: Escaped<'a>,
    pub(super) severity: &'static str,
    pub(super) lines: Vec<Line<'a>>,
    pub(super) more: String,
}

/// One of its findings.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub(super) server: Option<Escaped<'a>>,
    pub(super) artefact: Option<Escaped<'a>>,
    pub(super) message: Escaped<'a>,
    pub(super) grade: &'static str,
    pub(super) waiver: Option<Escaped<'a>>,
}

/// Maximum number of findings for each listed check.
const LINES: usize = 10;

/// The findings of one status, by check.
#[must_use]
pub(super) fn listed(outcome: &Outcome, status: Status) -> Vec<Listed<'_>> {
    let fleet = outcome.servers.len() > 1;
    let groups = by_check(outcome.findings.iter(), status).into_iter();
    groups
        .map(|group| Listed {
            id: Escaped(group.id),
            severity: group.severity.as_str(),
            more: if group.findings.len() > LINES { number(group.findings.len() - LINES) } else { String::new() },
            lines: group.findings.into_iter().take(LINES).map(|finding| Line::new(finding, fleet)).collect(),
        })
        .collect()
}

impl<'a> Line<'a> {
    fn new(finding: &'a Finding, fleet: bool) -> Self {
        let (artefact, message) = subject(finding);
        Self {
            server: fleet.then_some(Escaped(&finding.server)),
            artefact: artefact.map(Escaped),
            message: Escaped(message),
            grade: finding.grade.map_or("", audit::finding::EvidenceGrade::as_str),
            waiver: finding.waiver.as_deref().map(Escaped),
        }
    }
}

/// Facts that one grant, file or option would reveal.
#[derive(Debug)]
pub(super) struct Unseen<'a> {
    pub(super) remedy: Escaped<'a>,
    pub(super) is_command: bool,
    pub(super) reasons: Vec<Escaped<'a>>,
    pub(super) checks: Vec<Escaped<'a>>,
    pub(super) servers: String,
}

/// Maximum number of reasons for each blind spot.
const REASONS: usize = 6;

/// All blind spots.
#[must_use]
pub(super) fn unseen(outcome: &Outcome) -> Vec<Unseen<'_>> {
    let all = outcome.servers.len();
    let spots = blind_spots(outcome).into_iter();
    spots
        .map(|spot| Unseen {
            remedy: Escaped(if spot.remedy.is_empty() { "no remedy is known" } else { spot.remedy }),
            is_command: spot.is_command,
            reasons: spot.reasons.iter().take(REASONS).map(|reason| Escaped(reason)).collect(),
            checks: spot.checks.iter().map(|id| Escaped(id)).collect(),
            servers: if all > 1 { format!("{} of {}", number(spot.servers.len()), number(all)) } else { String::new() },
        })
        .collect()
}

/// All statements that the findings rest on, with their results.
#[derive(Debug)]
pub(super) struct Answers<'a> {
    pub(super) statements: Vec<Statement<'a>>,
    pub(super) more: String,
}

/// One statement.
#[derive(Debug)]
pub(super) struct Statement<'a> {
    pub(super) sql: Escaped<'a>,
    pub(super) answers: Vec<Escaped<'a>>,
    pub(super) more: String,
}

/// Maximum number of statements, and of results for each.
const STATEMENTS: usize = 300;
const ANSWERS: usize = 30;

/// Statements in alphabetical order, with their distinct results.
#[must_use]
pub(super) fn answers(outcome: &Outcome) -> Answers<'_> {
    let mut by_sql: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for evidence in outcome.findings.iter().flat_map(|finding| &finding.evidence) {
        if let Evidence::Query { sql, answer } = evidence {
            by_sql.entry(sql).or_default().push(answer);
        }
    }
    let more = if by_sql.len() > STATEMENTS { number(by_sql.len() - STATEMENTS) } else { String::new() };
    let statements = by_sql.into_iter().take(STATEMENTS).map(|(sql, answers)| Statement::new(sql, answers));
    Answers { statements: statements.collect(), more }
}

impl<'a> Statement<'a> {
    fn new(sql: &'a str, mut answers: Vec<&'a str>) -> Self {
        answers.sort_unstable();
        answers.dedup();
        let more = if answers.len() > ANSWERS { number(answers.len() - ANSWERS) } else { String::new() };
        Self { sql: Escaped(sql), answers: answers.into_iter().take(ANSWERS).map(Escaped).collect(), more }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, outcome_of, rich};

    #[test]
    fn live_sessions_and_accounts_show_who_breaks() {
        let outcome = rich();
        let breaks = Breaks::new(&outcome);
        let seen: Vec<_> = breaks.rows.iter().map(|row| (row.who.0, row.why)).collect();
        assert!(seen.contains(&("report@10.20.3.17", "connected in clear now")), "{seen:?}");
        assert!(seen.contains(&("report@%", "may log in without TLS")), "{seen:?}");
    }

    #[test]
    fn nobody_breaks_only_if_somebody_looked() {
        assert!(!Breaks::new(&outcome_of(Vec::new())).nobody);
        let outcome = outcome_of(vec![finding("tls-live-plaintext", Status::Pass, "server")]);
        assert!(Breaks::new(&outcome).nobody);
    }

    #[test]
    fn the_appendix_has_every_statement_once() {
        let outcome = rich();
        let all = answers(&outcome);
        let unique: std::collections::BTreeSet<&str> = all.statements.iter().map(|s| s.sql.0).collect();
        assert_eq!(unique.len(), all.statements.len());
        assert!(all.statements.iter().all(|s| !s.answers.is_empty()));
    }
}
