//! Outcome of an audit: the schema [`SCHEMA`] of `--format json`.
//!
//! Fields are only ever added. The committed schema is `docs/schema/audit-1.json`.

use std::collections::BTreeMap;

use findings::Severity;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::checks::WAIVER_EXPIRED;
use crate::coverage::Coverage;
use crate::facts::{Facts, Scope, Unavailable};
use crate::finding::{Finding, Status};

/// The name of the schema.
pub const SCHEMA: &str = "sealant.audit/1";

/// Servers, findings, coverage map and totals.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Outcome {
    /// [`SCHEMA`].
    pub schema: String,
    /// Release that judged.
    pub sealant: String,
    /// Time of judgement.
    pub judged_at: Timestamp,
    /// Audited servers and directories.
    pub servers: Vec<Server>,
    /// Findings: worst first, then by check, server and artefact.
    pub findings: Vec<Finding>,
    /// Coverage map: which data is encrypted.
    pub coverage: Vec<Coverage>,
    /// Totals.
    pub summary: Summary,
}

/// The overall result of an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// A waiver is expired or names an unknown check. Until it is corrected, it is unclear which failures were
    /// accepted.
    BadWaiver,
    /// A server could not be audited.
    Unreachable,
    /// A failure reaches the chosen severity.
    Failing,
    /// Something could not be judged, although the caller required everything to be.
    Incomplete,
    /// None of these.
    Clean,
}

/// An audited server or directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Server {
    /// Target of the audit.
    pub target: String,
    /// `MySQL`, `Percona Server`, `MariaDB`; `None` if only files were read.
    pub flavor: Option<String>,
    /// Version text.
    pub version: Option<String>,
    /// `@@hostname`.
    pub hostname: Option<String>,
    /// `@@server_uuid`.
    pub server_uuid: Option<String>,
    /// Path of the data directory.
    pub datadir: Option<String>,
    /// Account of the audit.
    pub account: Option<String>,
    /// When its facts were collected.
    pub collected_at: Option<Timestamp>,
    /// Sources that were available.
    pub scope: Scope,
    /// What was not available.
    pub gaps: Vec<Unavailable>,
    /// Why it could not be audited; `None` if it was.
    pub error: Option<String>,
}

/// Totals over all findings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of findings by status.
    pub by_status: BTreeMap<String, usize>,
    /// Number of failures by severity.
    pub failures: BTreeMap<String, usize>,
    /// Severity of the worst failure.
    pub worst: Option<Severity>,
    /// Whether every check could be judged.
    pub complete: bool,
    /// Number of waivers that are expired or name an unknown check.
    pub bad_waivers: usize,
    /// Number of servers that could not be audited.
    pub unreachable: usize,
}

impl Server {
    /// Entry for audited facts.
    #[must_use]
    pub fn from_facts(facts: &Facts) -> Self {
        let identity = facts.sql.as_ref().map(|sql| &sql.identity);
        Self {
            target: facts.target.clone(),
            flavor: identity.map(|i| i.version.flavor.to_string()),
            version: identity.map(|i| i.version.text.clone()),
            hostname: identity.map(|i| i.hostname.clone()),
            server_uuid: identity
                .and_then(|i| i.server_uuid.clone())
                .or_else(|| facts.files.as_ref().and_then(|files| files.server_uuid.clone())),
            datadir: identity.map(|i| i.datadir.clone()),
            account: facts.sql.as_ref().map(|sql| sql.session.account.clone()),
            collected_at: Some(facts.collected_at),
            scope: facts.scope,
            gaps: facts.gaps.clone(),
            error: None,
        }
    }

    /// Entry for a server that could not be audited.
    #[must_use]
    pub fn failed(target: &str, error: &str) -> Self {
        Self {
            target: target.to_owned(),
            flavor: None,
            version: None,
            hostname: None,
            server_uuid: None,
            datadir: None,
            account: None,
            collected_at: None,
            scope: Scope::default(),
            gaps: Vec::new(),
            error: Some(error.to_owned()),
        }
    }
}

impl Outcome {
    /// An outcome without servers.
    #[must_use]
    pub fn empty(judged_at: Timestamp) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            sealant: env!("CARGO_PKG_VERSION").to_owned(),
            judged_at,
            servers: Vec::new(),
            findings: Vec::new(),
            coverage: Vec::new(),
            summary: Summary::default(),
        }
    }

    /// The outcome of a server that could not be audited.
    #[must_use]
    pub fn failed(target: &str, error: &str, judged_at: Timestamp) -> Self {
        let mut outcome = Self::empty(judged_at);
        outcome.servers.push(Server::failed(target, error));
        outcome.finish();
        outcome
    }

    /// Merges the outcomes of a fleet.
    pub fn absorb_all(&mut self, others: impl IntoIterator<Item = Self>) {
        for other in others {
            self.servers.extend(other.servers);
            self.findings.extend(other.findings);
            self.coverage.extend(other.coverage);
        }
        self.finish();
    }

    /// Sorts and counts; call it after each change of the findings.
    pub fn finish(&mut self) {
        self.findings.sort_by(|a, b| {
            let key = |f: &Finding| (std::cmp::Reverse(f.status), std::cmp::Reverse(f.severity));
            key(a).cmp(&key(b)).then_with(|| (&a.id, &a.server, &a.artefact).cmp(&(&b.id, &b.server, &b.artefact)))
        });
        self.summary = Summary::from_outcome(self);
    }

    /// The first variant of [`Conclusion`] that applies. Failures count from severity `fail_on` upwards; with `None`,
    /// no failure counts.
    #[must_use]
    pub fn conclusion(&self, fail_on: Option<Severity>, require_complete: bool) -> Conclusion {
        if self.summary.bad_waivers > 0 {
            Conclusion::BadWaiver
        } else if self.summary.unreachable > 0 {
            Conclusion::Unreachable
        } else if fail_on.is_some_and(|severity| self.reaches(severity)) {
            Conclusion::Failing
        } else if require_complete && !self.summary.complete {
            Conclusion::Incomplete
        } else {
            Conclusion::Clean
        }
    }

    /// Whether a failure has at least this severity.
    #[must_use]
    pub fn reaches(&self, severity: Severity) -> bool {
        self.summary.worst.is_some_and(|worst| worst >= severity)
    }
}

impl Summary {
    fn from_outcome(outcome: &Outcome) -> Self {
        let mut sum = Self { complete: true, ..Self::default() };
        for status in [Status::Pass, Status::Fail, Status::Unknown, Status::NotApplicable, Status::Waived] {
            sum.by_status.insert(status.as_str().to_owned(), 0);
        }
        for severity in Severity::ALL {
            sum.failures.insert(severity.as_str().to_owned(), 0);
        }
        for finding in &outcome.findings {
            *sum.by_status.entry(finding.status.as_str().to_owned()).or_default() += 1;
            sum.complete &= finding.status != Status::Unknown;
            sum.bad_waivers += usize::from(finding.id == WAIVER_EXPIRED.id && finding.status == Status::Fail);
            if finding.status == Status::Fail {
                *sum.failures.entry(finding.severity.as_str().to_owned()).or_default() += 1;
                sum.worst = sum.worst.max(Some(finding.severity));
            }
        }
        sum.unreachable = outcome.servers.iter().filter(|server| server.error.is_some()).count();
        sum.complete &= sum.unreachable == 0;
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_conclusion_is_the_first_that_applies() {
        let mut summary = Summary { bad_waivers: 1, unreachable: 1, worst: Some(Severity::High), ..Summary::default() };
        let of = |summary: &Summary, fail_on| {
            let outcome = Outcome {
                schema: SCHEMA.to_owned(),
                sealant: String::new(),
                judged_at: Timestamp::UNIX_EPOCH,
                servers: Vec::new(),
                findings: Vec::new(),
                coverage: Vec::new(),
                summary: summary.clone(),
            };
            [true, false].map(|complete| outcome.conclusion(fail_on, complete))
        };
        assert_eq!(of(&summary, Some(Severity::Low)), [Conclusion::BadWaiver; 2]);
        summary.bad_waivers = 0;
        assert_eq!(of(&summary, Some(Severity::Low)), [Conclusion::Unreachable; 2]);
        summary.unreachable = 0;
        assert_eq!(of(&summary, Some(Severity::High)), [Conclusion::Failing; 2]);
        assert_eq!(of(&summary, Some(Severity::Critical)), [Conclusion::Incomplete, Conclusion::Clean]);
        assert_eq!(of(&summary, None), [Conclusion::Incomplete, Conclusion::Clean]);
    }
}
