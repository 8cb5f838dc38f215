//! Failures by severity: an entry for each check, with evidence for the first of its artefacts.

use audit::finding::{Evidence, Finding, Status};
use audit::outcome::Outcome;
use findings::Severity;

use super::remedies::{Part, parts};
use crate::catalogue;
use crate::group::{Group, by_check, subject};
use crate::text::{Escaped, capital, number, visible};

/// Maximum number of artefacts with evidence: for one server, for several.
const DETAILED: (usize, usize) = (8, 4);
/// Maximum number of further artefacts listed by name.
const NAMED: usize = 60;

/// All failures of one severity.
#[derive(Debug)]
pub(super) struct SeveritySection<'a> {
    pub(super) severity: &'static str,
    pub(super) title: String,
    pub(super) entries: Vec<Entry<'a>>,
}

/// All failures of one check.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub(super) id: Escaped<'a>,
    pub(super) anchor: String,
    pub(super) title: String,
    pub(super) extent: String,
    /// Why it matters: the first sentence of the check's explanation.
    pub(super) why: &'static str,
    /// The rest of the explanation.
    pub(super) how: &'static str,
    pub(super) detailed: Vec<Case<'a>>,
    pub(super) named: Vec<String>,
    pub(super) more: String,
    pub(super) fix: Vec<Part>,
    pub(super) more_fixes: String,
    pub(super) cost: Option<Escaped<'a>>,
    pub(super) standards: String,
}

/// One failure with its evidence.
#[derive(Debug)]
pub(super) struct Case<'a> {
    pub(super) server: Option<Escaped<'a>>,
    /// `None` if the message contains the name in the middle of a sentence.
    pub(super) artefact: Option<Escaped<'a>>,
    /// The message about the artefact.
    pub(super) message: Escaped<'a>,
    pub(super) grade: &'static str,
    pub(super) evidence: Vec<EvidenceItem>,
}

/// A piece of evidence.
#[derive(Debug)]
pub(super) struct EvidenceItem {
    pub(super) kind: &'static str,
    pub(super) source: String,
    pub(super) seen: String,
}

/// The failures, worst first.
#[must_use]
pub(super) fn severity_sections(outcome: &Outcome) -> Vec<SeveritySection<'_>> {
    let fleet = outcome.servers.len() > 1;
    let groups = by_check(outcome.findings.iter(), Status::Fail);
    let of = |severity: Severity| -> Vec<Entry<'_>> {
        groups.iter().filter(|group| group.severity == severity).map(|group| Entry::from_group(group, fleet)).collect()
    };
    let severity_sections = Severity::ALL.iter().rev().map(|severity| SeveritySection {
        severity: severity.as_str(),
        title: capital(severity.as_str()),
        entries: of(*severity),
    });
    severity_sections.filter(|section| !section.entries.is_empty()).collect()
}

impl<'a> Entry<'a> {
    fn from_group(group: &Group<'a>, fleet: bool) -> Self {
        let first = group.first();
        let findings = &group.findings;
        let detailed = if fleet { DETAILED.1 } else { DETAILED.0 };
        let named = findings.iter().skip(detailed).take(NAMED).map(|f| name(f, fleet));
        let (mut fix, more_fixes) = parts(findings);
        if let Some(text) = group.own_fix() {
            fix.insert(0, Part { label: "", text });
        }
        let (why, how) = first_sentence(catalogue::row(group.id).map_or("", |check| check.explanation));
        Self {
            id: Escaped(group.id),
            anchor: anchor(group.id, group.severity),
            title: visible(group.title()).into_owned(),
            extent: extent(group, fleet),
            why,
            how,
            detailed: findings.iter().take(detailed).map(|f| Case::from_finding(f, fleet)).collect(),
            named: named.collect(),
            more: beyond(findings.len(), detailed + NAMED),
            fix,
            more_fixes,
            cost: first.cost.as_deref().map(Escaped),
            standards: visible(&first.standards.join(" · ")).into_owned(),
        }
    }
}

/// Anchor of a group; ids of checks have only letters, digits and hyphens.
#[must_use]
pub(super) fn anchor(id: &str, severity: Severity) -> String {
    let id: String = id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    format!("{id}-{}", severity.as_str())
}

fn extent(group: &Group<'_>, fleet: bool) -> String {
    match (group.findings.len(), fleet) {
        (1, _) => String::new(),
        (n, false) => format!("{} artefacts", number(n)),
        (n, true) => format!("{} artefacts on {} servers", number(n), number(group.servers())),
    }
}

fn name(finding: &Finding, fleet: bool) -> String {
    let artefact = visible(&finding.artefact);
    if fleet { format!("{} {artefact}", visible(&finding.server)) } else { artefact.into_owned() }
}

fn beyond(all: usize, shown: usize) -> String {
    if all > shown { number(all - shown) } else { String::new() }
}

fn first_sentence(text: &str) -> (&str, &str) {
    text.find(". ").map_or((text, ""), |at| (&text[..=at], &text[at + 2..]))
}

impl<'a> Case<'a> {
    fn from_finding(finding: &'a Finding, fleet: bool) -> Self {
        let (artefact, message) = subject(finding);
        Self {
            server: fleet.then_some(Escaped(&finding.server)),
            artefact: artefact.map(Escaped),
            message: Escaped(message),
            grade: finding.grade.map_or("", audit::finding::EvidenceGrade::as_str),
            evidence: finding.evidence.iter().map(EvidenceItem::from_evidence).collect(),
        }
    }
}

impl EvidenceItem {
    fn from_evidence(evidence: &Evidence) -> Self {
        let (kind, source, seen) = match evidence {
            Evidence::Query { sql, answer } => ("query", Escaped(sql).to_string(), Escaped(answer).to_string()),
            Evidence::Bytes { path, offset, hex, meaning } => {
                let source = format!("{}, offset {offset} (0x{offset:x})", visible(path));
                let hex = if hex.is_empty() { String::new() } else { format!("{}: ", visible(hex)) };
                ("bytes", source, format!("{hex}{}", visible(meaning)))
            }
            Evidence::Wire { endpoint, observation } => {
                ("wire", Escaped(endpoint).to_string(), Escaped(observation).to_string())
            }
            Evidence::Host { source, observation } => {
                ("host", Escaped(source).to_string(), Escaped(observation).to_string())
            }
            Evidence::Option { file, line, setting } => {
                ("option file", format!("{}, line {line}", visible(file)), Escaped(setting).to_string())
            }
        };
        Self { kind, source, seen }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, outcome_of};

    #[test]
    fn a_long_group_is_cut_and_counted() {
        let many = (0..100).map(|n| finding("rest-x", Status::Fail, &format!("t{n:03}")));
        let outcome = outcome_of(many.collect());
        let severity_sections = severity_sections(&outcome);
        let entry = &severity_sections[0].entries[0];
        assert_eq!((entry.detailed.len(), entry.named.len(), entry.more.as_str()), (8, 60, "32"));
    }
}
