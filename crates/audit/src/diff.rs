//! Differences between two audits of a server: new, fixed, worse.

use std::collections::{BTreeMap, BTreeSet};

use findings::Severity;
use serde::{Deserialize, Serialize};

use crate::finding::{Finding, Status};

/// The changes from one outcome to a later one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// New failures.
    pub new: Vec<Change>,
    /// Failures that no longer exist.
    pub fixed: Vec<Change>,
    /// Failures that are more severe now.
    pub worse: Vec<Change>,
    /// Findings that could be judged before, but not now.
    pub lost: Vec<Change>,
    /// Number of unchanged failures.
    pub unchanged: usize,
}

/// A finding, before and after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The check.
    pub id: String,
    /// The artefact.
    pub artefact: String,
    /// Status and severity before, such as `PASS` or `FAIL medium`; `None` if there was no such finding.
    pub before: Option<String>,
    /// Status and severity after; `None` if there is no such finding.
    pub after: Option<String>,
    /// Severity after, or before if there is no finding after.
    pub severity: Severity,
    /// Message after, or before if there is no finding after.
    pub message: String,
}

impl Drift {
    /// Compares the findings of two audits of a server.
    #[must_use]
    pub fn between(before: &[Finding], after: &[Finding]) -> Self {
        let (old, new) = (index(before), index(after));
        let (blind_then, blind) = (blind(&old), blind(&new));
        let judged_then: BTreeSet<&str> = old.keys().map(|key| key.id).filter(|id| !blind_then.contains(id)).collect();
        let mut drift = Self::default();
        for (key, now) in &new {
            let was = old.get(key).copied();
            // Earlier verdicts on other artefacts count, too: an UNKNOWN is often about the whole server.
            let newly_blind = was.is_none() && now.status == Status::Unknown && judged_then.contains(key.id);
            if newly_blind { drift.lost.push(Change::new(key, None, Some(now))) } else { drift.sort_in(key, was, now) }
        }
        for (key, was) in old.iter().filter(|(key, was)| was.status == Status::Fail && !new.contains_key(*key)) {
            // If a check sees less now, a finding that is missing may still apply.
            let gone = if blind.contains(key.id) { &mut drift.lost } else { &mut drift.fixed };
            gone.push(Change::new(key, Some(was), None));
        }
        drift
    }

    /// Whether a new or worse failure has at least this severity.
    #[must_use]
    pub fn worsened(&self, severity: Severity) -> bool {
        self.new.iter().chain(&self.worse).any(|change| change.severity >= severity)
    }

    /// Whether nothing got worse.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.new.is_empty() && self.worse.is_empty() && self.lost.is_empty()
    }

    fn sort_in(&mut self, key: &Key<'_>, was: Option<&Finding>, now: &Finding) {
        let change = || Change::new(key, was, Some(now));
        let failed_before = was.is_some_and(|f| f.status == Status::Fail);
        match now.status {
            Status::Fail if !failed_before => self.new.push(change()),
            Status::Fail if was.is_some_and(|f| f.severity < now.severity) => self.worse.push(change()),
            Status::Fail => self.unchanged += 1,
            Status::Unknown if was.is_some_and(|f| f.status != Status::Unknown) => self.lost.push(change()),
            // Waived does not mean fixed.
            Status::Waived => self.unchanged += usize::from(failed_before),
            _ if failed_before => self.fixed.push(change()),
            _ => {}
        }
    }
}

/// Identity of a finding across audits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    id: &'a str,
    artefact: &'a str,
}

/// Checks without a verdict for some artefact.
fn blind<'a>(index: &BTreeMap<Key<'a>, &Finding>) -> BTreeSet<&'a str> {
    index.iter().filter(|(_, finding)| finding.status == Status::Unknown).map(|(key, _)| key.id).collect()
}

/// The worst finding for each key.
fn index(findings: &[Finding]) -> BTreeMap<Key<'_>, &Finding> {
    let mut index: BTreeMap<Key<'_>, &Finding> = BTreeMap::new();
    for finding in findings {
        let key = Key { id: &finding.id, artefact: &finding.artefact };
        let worst = index.entry(key).or_insert(finding);
        if (finding.status, finding.severity) > (worst.status, worst.severity) {
            *worst = finding;
        }
    }
    index
}

impl Change {
    fn new(key: &Key<'_>, was: Option<&Finding>, now: Option<&Finding>) -> Self {
        let state = |f: &Finding| match f.status {
            Status::Fail => format!("FAIL {}", f.severity.as_str()),
            other => other.as_str().to_owned(),
        };
        Self {
            id: key.id.to_owned(),
            artefact: key.artefact.to_owned(),
            before: was.map(state),
            after: now.map(state),
            severity: now.or(was).map_or(Severity::Info, |f| f.severity),
            message: now.or(was).map(|f| f.message.clone()).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(id: &str, artefact: &str, status: Status, severity: Severity) -> Finding {
        Finding {
            id: id.to_owned(),
            status,
            severity,
            server: "a".to_owned(),
            artefact: artefact.to_owned(),
            grade: None,
            message: "m".to_owned(),
            evidence: Vec::new(),
            remediation: None,
            remedies: Vec::new(),
            cost: None,
            standards: Vec::new(),
            waiver: None,
            fingerprint: String::new(),
        }
    }

    fn one(artefact: &str, status: Status) -> Vec<Finding> {
        vec![finding("rest-table-plaintext", artefact, status, Severity::High)]
    }

    fn between(before: &[Finding], after: &[Finding]) -> Drift {
        Drift::between(before, after)
    }

    #[test]
    fn new_fixed_and_unchanged_failures() {
        let (clear, fine) = (one("t.ibd", Status::Fail), one("server", Status::Pass));
        assert_eq!(between(&fine, &clear).new.len(), 1);
        assert_eq!(between(&clear, &fine).fixed.len(), 1);
        let same = between(&clear, &clear);
        assert!(same.is_clean() && same.unchanged == 1);
    }

    #[test]
    fn a_failure_that_cannot_be_looked_for_is_lost_not_fixed() {
        let drift = between(&one("t.ibd", Status::Fail), &one("server", Status::Unknown));
        assert_eq!((drift.fixed.len(), drift.lost.len()), (0, 2));
        assert_eq!(between(&one("server", Status::Pass), &one("server", Status::Unknown)).lost.len(), 1);
        assert_eq!(between(&one("setting", Status::Pass), &one("server", Status::Unknown)).lost.len(), 1);
        assert!(between(&one("server", Status::Unknown), &one("server", Status::Unknown)).is_clean());
    }

    #[test]
    fn a_waived_failure_is_not_fixed() {
        let drift = between(&one("t.ibd", Status::Fail), &one("t.ibd", Status::Waived));
        assert_eq!((drift.fixed.len(), drift.unchanged), (0, 1));
        assert_eq!(between(&one("t.ibd", Status::Waived), &one("t.ibd", Status::Fail)).new.len(), 1);
    }

    #[test]
    fn a_more_severe_failure_is_worse() {
        let at = |severity| [finding("key-file-perms", "/k", Status::Fail, severity)];
        let drift = between(&at(Severity::Medium), &at(Severity::Critical));
        assert_eq!((drift.worse.len(), drift.new.len()), (1, 0));
        assert!(drift.worsened(Severity::High));
    }

    #[test]
    fn the_worst_of_several_findings_of_one_artefact_counts() {
        let both = |first, second| {
            let made = |status| finding("key-cannot-open", "tablespaces", status, Severity::High);
            [made(first), made(second)]
        };
        let drift = between(&one("x", Status::Pass), &both(Status::Fail, Status::Pass));
        assert_eq!(drift.new.len(), 1);
    }
}
