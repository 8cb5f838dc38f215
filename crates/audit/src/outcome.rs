//! What an audit ends with: the contract of `--format json`, schema [`SCHEMA`].
//!
//! Fields are only ever added. The committed schema is `docs/schema/audit-1.json`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::checks::WAIVER_EXPIRED;
use crate::coverage::Coverage;
use crate::facts::{Facts, Scope, Unseen};
use crate::finding::{Finding, Severity, Status};

/// The name of the schema.
pub const SCHEMA: &str = "sealant.audit/1";

/// Servers, findings, coverage map and their sum.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Outcome {
    /// [`SCHEMA`].
    pub schema: String,
    /// The release that judged.
    pub sealant: String,
    /// When it judged.
    pub judged_at: Timestamp,
    /// The servers and directories that were audited.
    pub servers: Vec<Server>,
    /// Findings: worst first, then by check, server and artefact.
    pub findings: Vec<Finding>,
    /// Where data rests and moves, and what of it is encrypted.
    pub coverage: Vec<Coverage>,
    /// Counts.
    pub summary: Summary,
}

/// One audited server or directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Server {
    /// What the audit was pointed at.
    pub target: String,
    /// `MySQL`, `Percona Server`, `MariaDB`; none if only bytes were seen.
    pub flavor: Option<String>,
    /// Version text.
    pub version: Option<String>,
    /// `@@hostname`.
    pub hostname: Option<String>,
    /// `@@server_uuid`.
    pub server_uuid: Option<String>,
    /// The data directory.
    pub datadir: Option<String>,
    /// The account the audit used.
    pub account: Option<String>,
    /// When its facts were gathered.
    pub collected_at: Option<Timestamp>,
    /// Which sources were open.
    pub scope: Scope,
    /// What could not be looked at at all.
    pub gaps: Vec<Unseen>,
    /// Why it could not be audited; none if it was.
    pub error: Option<String>,
}

/// Counts over all findings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Findings by status.
    pub by_status: BTreeMap<String, usize>,
    /// Failures by severity.
    pub failures: BTreeMap<String, usize>,
    /// The worst failure.
    pub worst: Option<Severity>,
    /// Whether every check could be judged.
    pub complete: bool,
    /// Waivers that are expired or name no check of ours.
    pub bad_waivers: usize,
    /// Servers that could not be audited.
    pub unreachable: usize,
}

impl Server {
    /// The head line of audited facts.
    #[must_use]
    pub fn of(facts: &Facts) -> Self {
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

    /// The head line of a server that could not be audited.
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
    /// An outcome with no server in it.
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

    /// Takes in the outcomes of a fleet.
    pub fn absorb_all(&mut self, others: impl IntoIterator<Item = Self>) {
        for other in others {
            self.servers.extend(other.servers);
            self.findings.extend(other.findings);
            self.coverage.extend(other.coverage);
        }
        self.finish();
    }

    /// Sorts and counts; to be called after any change of the findings.
    pub fn finish(&mut self) {
        self.findings.sort_by(|a, b| {
            let key = |f: &Finding| (std::cmp::Reverse(f.status), std::cmp::Reverse(f.severity));
            key(a).cmp(&key(b)).then_with(|| (&a.id, &a.server, &a.artefact).cmp(&(&b.id, &b.server, &b.artefact)))
        });
        self.summary = Summary::of(self);
    }

    /// Whether some failure is at least this severe.
    #[must_use]
    pub fn reaches(&self, severity: Severity) -> bool {
        self.summary.worst.is_some_and(|worst| worst >= severity)
    }
}

impl Summary {
    fn of(outcome: &Outcome) -> Self {
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
