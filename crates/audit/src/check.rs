//! Definition of a check: metadata and a pure function.

use findings::{Remedy, Severity};
use jiff::Timestamp;
use sniff::Service;

use crate::access;
use crate::artefact::Artefacts;
use crate::channel::packets;
use crate::exposure::{ClosedBy, Exposes, LockedOut};
use crate::facts::{Facts, Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade, Finding, Status};
use crate::policy::Policy;
use crate::rules::Rules;

/// A check: identity, reasons, and judgement.
///
/// Everything known about a check is in its definition: `sealant checks`, the documentation, the report and `sealant
/// encrypt` read it from there. The table of all checks is [`crate::checks::all`].
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// Permanent identifier: `area-what`.
    pub id: &'static str,
    /// One line about what is wrong when it fails.
    pub title: &'static str,
    /// Severity of a failure, unless the finding has another one.
    pub severity: Severity,
    /// Why it matters and where the evidence comes from, in a few sentences.
    pub explanation: &'static str,
    /// The servers that it applies to.
    pub applies: &'static str,
    /// The general remedy; each finding has the exact command.
    pub fix: &'static str,
    /// Cost of the remedy: locks, time, space.
    pub cost: &'static str,
    /// Requirements it maps to, such as `PCI DSS 4.0.1 3.5.1`.
    pub standards: &'static [&'static str],
    /// What a failure exposes, and to whom.
    pub exposes: Exposes,
    /// What can close a failure.
    pub closed_by: ClosedBy,
    /// How certain it is that enforced TLS would cut off the clients that a failure names; `None` if it would not.
    pub locked_out: Option<LockedOut>,
    /// The judgement.
    pub judge: fn(&Context<'_>) -> Observed<CheckResults>,
}

/// Input of a check.
#[derive(Debug)]
pub struct Context<'a> {
    /// The collected facts.
    pub facts: &'a Facts,
    /// Artefacts at rest.
    pub artefacts: &'a Artefacts<'a>,
    /// Limits of the site.
    pub policy: &'a Policy,
    /// Time of judgement.
    pub now: Timestamp,
    /// Waivers, and which checks run; only the closing checks use them.
    pub rules: &'a Rules,
    /// Adds to a remedy the check whose remedy must come first, if there is one. The id is that of the remedy's own
    /// check.
    pub in_order: fn(&Facts, &str, Remedy) -> Remedy,
    /// Findings of all other checks, for the closing checks; otherwise empty.
    pub findings: &'a [Finding],
    /// The baseline and its findings, for the closing checks.
    pub baseline: Option<(&'a Facts, &'a [Finding])>,
}

/// Results of a check, before its id, title and standards are added: see [`Finding`].
#[derive(Debug, Default)]
pub struct CheckResults {
    list: Vec<CheckResult>,
}

/// One result of a check: its judgement of one artefact.
#[derive(Debug)]
pub struct CheckResult {
    status: Status,
    severity: Option<Severity>,
    artefact: String,
    grade: Option<EvidenceGrade>,
    message: String,
    evidence: Vec<Evidence>,
    remedy: Option<Remedy>,
}

impl CheckResults {
    /// No results yet, which becomes UNKNOWN unless something is added.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The check does not apply to this server, for this reason.
    #[must_use]
    pub fn not_applicable(why: impl Into<String>) -> Self {
        Self { list: vec![CheckResult::new(Status::NotApplicable, "server", None, why)] }
    }

    /// One result.
    #[must_use]
    pub fn one(result: CheckResult) -> Self {
        Self { list: vec![result] }
    }

    /// Adds a result.
    pub fn push(&mut self, result: CheckResult) {
        self.list.push(result);
    }

    /// Adds UNKNOWN for `artefact`.
    pub fn push_unknown(&mut self, artefact: impl Into<String>, unavailable: Unavailable) {
        self.list.push(CheckResult::unknown(artefact, unavailable));
    }

    /// Adds `pass` if nothing failed or is unknown so far.
    pub fn pass_if_clean(&mut self, pass: CheckResult) {
        if self.list.iter().all(|result| matches!(result.status, Status::Pass | Status::NotApplicable)) {
            self.list.push(pass);
        }
    }

    /// Replaces a pass for the whole server by UNKNOWN: not everything could be examined.
    #[must_use]
    pub fn or_unknown(mut self, artefact: impl Into<String>, unavailable: Unavailable) -> Self {
        self.list.retain(|result| result.status != Status::Pass || result.artefact != "server");
        self.push_unknown(artefact, unavailable);
        self
    }

    /// Whether a result is a failure.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.list.iter().any(|result| result.status == Status::Fail)
    }

    /// Whether there are no results.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl CheckResult {
    /// Whether it is a failure.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.status == Status::Fail
    }

    fn new(
        status: Status,
        artefact: impl Into<String>,
        grade: Option<EvidenceGrade>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            status,
            severity: None,
            artefact: artefact.into(),
            grade,
            message: message.into(),
            evidence: Vec::new(),
            remedy: None,
        }
    }

    /// The evidence shows a gap.
    #[must_use]
    pub fn fail(artefact: impl Into<String>, grade: EvidenceGrade, message: impl Into<String>) -> Self {
        Self::new(Status::Fail, artefact, Some(grade), message)
    }

    /// The evidence shows that everything is in order.
    #[must_use]
    pub fn pass(artefact: impl Into<String>, grade: EvidenceGrade, message: impl Into<String>) -> Self {
        Self::new(Status::Pass, artefact, Some(grade), message)
    }

    /// The evidence is not available.
    #[must_use]
    pub fn unknown(artefact: impl Into<String>, unavailable: Unavailable) -> Self {
        let mut result =
            Self::new(Status::Unknown, artefact, None, format!("{}: {}", unavailable.what, unavailable.why));
        result.remedy = Some(unavailable.into_remedy());
        result
    }

    /// Sets a severity other than the check's.
    #[must_use]
    pub const fn severity(mut self, severity: Severity) -> Self {
        self.severity = Some(severity);
        self
    }

    /// Adds what packets showed of these services, if any were seen.
    #[must_use]
    pub(crate) fn with_packets(mut self, cx: &Context<'_>, services: &[Service]) -> Self {
        if let Some(seen) = packets::seen_of(cx.facts, services) {
            self.message = format!("{}; {seen}", self.message);
        }
        self
    }

    /// Adds a piece of evidence.
    #[must_use]
    pub fn evidence(mut self, evidence: Evidence) -> Self {
        self.evidence.push(evidence);
        self
    }

    /// Sets the remedy; plain text is advice.
    #[must_use]
    pub fn fix(mut self, remedy: impl Into<Remedy>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

impl Check {
    /// Judges, and converts the results to findings. Returns at least one.
    #[must_use]
    pub fn findings(&self, cx: &Context<'_>) -> Vec<Finding> {
        let results = (self.judge)(cx)
            .unwrap_or_else(|unavailable| CheckResults::one(CheckResult::unknown("server", unavailable)));
        if results.is_empty() {
            let nothing = Unavailable {
                what: self.title.to_owned(),
                why: "no evidence for or against was found".to_owned(),
                remedy: format!("{}, as a user who can read its data directory", access::RUNNING),
            };
            return vec![self.to_finding(CheckResult::unknown("server", nothing), cx)];
        }
        results.list.into_iter().map(|result| self.to_finding(result, cx)).collect()
    }

    fn to_finding(self, result: CheckResult, cx: &Context<'_>) -> Finding {
        let failed = result.status == Status::Fail;
        let remedy = result.remedy.or_else(|| failed.then(|| self.fix.into()));
        let remedy = remedy.map(|remedy| if failed { (cx.in_order)(cx.facts, self.id, remedy) } else { remedy });
        let version = cx.facts.sql.as_ref().map(|sql| sql.identity.version.to_string());
        let cost = failed.then_some(self.cost);
        Finding {
            id: self.id.to_owned(),
            status: result.status,
            severity: result.severity.unwrap_or(self.severity),
            server: cx.facts.target.clone(),
            fingerprint: format!("{}|{}|{}", self.id, cx.facts.target, result.artefact),
            artefact: result.artefact,
            grade: result.grade,
            message: result.message,
            evidence: result.evidence,
            remediation: remedy.as_ref().map(ToString::to_string),
            remedies: remedy.map(|remedy| remedy.into_steps(version, cost)).unwrap_or_default(),
            cost: cost.map(str::to_owned),
            standards: self.standards.iter().map(|s| (*s).to_owned()).collect(),
            waiver: None,
        }
    }
}
