//! `ev-incomplete`.

use std::collections::{BTreeMap, BTreeSet};

use findings::Severity;

use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade, Finding, Status};

pub(crate) const CHECK: Check = Check {
    id: "ev-incomplete",
    title: "Something could not be judged because a grant, a file or a record is missing",
    severity: Severity::Medium,
    explanation: "A result that could not be judged is not a PASS. Every UNKNOWN of the other checks names the \
        missing evidence. This check lists them by cause: one finding for each missing grant or file, with all checks \
        that need it. Results covered by a waiver are left out.",
    applies: "every audit",
    fix: "give the audit what the finding names, or record a waiver",
    cost: "none",
    standards: &["NIST SP 800-53r5 CA-7"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

/// Checks and artefacts without a verdict because of one missing fact.
#[derive(Default)]
struct Missing<'a> {
    checks: BTreeSet<&'a str>,
    first: Option<&'a Finding>,
    artefacts: BTreeSet<&'a str>,
    remedies: BTreeSet<&'a str>,
    whys: BTreeSet<&'a str>,
    results: usize,
}

/// Maximum number of reasons, and of names in a sentence.
const MAX_REASONS: usize = 20;
const MAX_NAMES: usize = 4;

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    if cx.findings.is_empty() {
        return Err(Unavailable {
            what: "the findings of the other checks".to_owned(),
            why: "no other check was run".to_owned(),
            remedy: "run the audit without restricting it to ev-incomplete".to_owned(),
        });
    }
    let mut missing: BTreeMap<String, Missing<'_>> = BTreeMap::new();
    let open =
        |finding: &&Finding| finding.status == Status::Unknown && cx.rules.waivers.covering(finding, cx.now).is_none();
    for finding in cx.findings.iter().filter(open) {
        missing.entry(thing(remedy(finding), &finding.artefact)).or_default().add(finding);
    }
    let mut results = CheckResults::new();
    for (thing, missing) in &missing {
        results.push(missing.result(thing));
    }
    let text = format!("all {} results of the other checks rest on evidence", cx.findings.len());
    results.pass_if_clean(CheckResult::pass("audit", EvidenceGrade::Reported, text));
    Ok(results)
}

fn remedy(finding: &Finding) -> &str {
    finding.remediation.as_deref().unwrap_or(&finding.message)
}

/// What is missing, by the remedy without names of artefacts, so that each step is one finding.
fn thing(remedy: &str, artefact: &str) -> String {
    // Report a missing grant once, even if there are alternatives.
    if let Some((_, grant)) = remedy.split_once("GRANT ")
        && let Some((grant, _)) = grant.split_once(" TO ")
    {
        return format!("GRANT {grant}");
    }
    if let Some(step) = access::step(remedy) {
        return step.to_owned();
    }
    let is_name = artefact.len() > 1 && artefact.contains(['/', '\'', '.', '#']);
    let unnamed = if is_name { remedy.replace(artefact, "…") } else { remedy.to_owned() };
    let word = |word: &str| if word.starts_with('/') { "…".to_owned() } else { word.to_owned() };
    unnamed.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

impl<'a> Missing<'a> {
    fn add(&mut self, finding: &'a Finding) {
        self.checks.insert(&finding.id);
        self.artefacts.insert(&finding.artefact);
        self.remedies.insert(remedy(finding));
        self.whys.insert(&finding.message);
        self.first.get_or_insert(finding);
        self.results = self.results.saturating_add(1);
    }

    fn result(&self, thing: &str) -> CheckResult {
        let why = self.first.map_or("", |finding| finding.message.as_str());
        let results = if self.results == 1 { "1 result".to_owned() } else { format!("{} results", self.results) };
        let message = format!(
            "{results} of {} {} unknown: {why}",
            some(&self.checks),
            if self.results == 1 { "is" } else { "are" }
        );
        let checks = self.checks.iter().copied().collect::<Vec<_>>().join(", ");
        let seen = |observation: String| Evidence::Host { source: "audit".to_owned(), observation };
        let result = CheckResult::fail(thing, EvidenceGrade::Reported, message)
            .evidence(seen(format!("checks that need it: {checks}")))
            .fix(self.fix(thing));
        self.whys.iter().take(MAX_REASONS).fold(result, |result, why| result.evidence(seen((*why).to_owned())))
    }

    fn fix(&self, thing: &str) -> String {
        let shortest = self.remedies.iter().min_by_key(|remedy| remedy.len()).copied().unwrap_or(thing);
        if self.remedies.len() == 1 || thing.starts_with("GRANT ") {
            return shortest.to_owned();
        }
        format!("{thing}; concerned: {}", some(&self.artefacts))
    }
}

/// The first few names.
fn some(names: &BTreeSet<&str>) -> String {
    let shown: Vec<&str> = names.iter().copied().take(MAX_NAMES).collect();
    match names.len().saturating_sub(shown.len()) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::rules::Rules;
    use crate::testing::mysql;

    fn finding(id: &str, status: Status, remedy: &str) -> Finding {
        Finding {
            id: id.to_owned(),
            status,
            severity: Severity::High,
            server: "test".to_owned(),
            artefact: "server".to_owned(),
            grade: None,
            message: "accounts: error 1142: denied".to_owned(),
            evidence: Vec::new(),
            remediation: Some(remedy.to_owned()),
            remedies: Vec::new(),
            cost: None,
            standards: Vec::new(),
            waiver: None,
            fingerprint: String::new(),
        }
    }

    const GRANT: &str = "GRANT SELECT ON mysql.user TO audit@localhost";

    #[test]
    fn one_missing_grant_is_one_finding() {
        let before = [
            finding("auth-weak-plugin", Unknown, GRANT),
            finding("auth-root-remote", Unknown, GRANT),
            finding("key-backup-missing", Unknown, "attest it"),
            finding("exp-log-raw", Pass, ""),
        ];
        let found = mysql().judge_with(&CHECK, &Rules::default(), &before);
        assert_eq!(found.iter().map(|f| f.status).collect::<Vec<_>>(), [Fail, Fail]);
        assert_eq!(found[0].remediation.as_deref(), Some(GRANT));
        assert!(found[0].message.contains("auth-root-remote, auth-weak-plugin"));
    }

    #[test]
    fn one_step_is_one_finding_however_many_artefacts_need_it() {
        let of = |artefact: &str, remedy: &str| Finding {
            artefact: artefact.to_owned(),
            ..finding("host-disk-unencrypted", Unknown, remedy)
        };
        let attest = |path: &str| of(path, &format!("attest the volume in a waiver, artefact {path}"));
        let before = [
            attest("/var/lib/mysql"),
            attest("/var/log/mysql"),
            of("server", "run on the server's host"),
            of("/etc/keys", "run on the server's host as a user who can read /etc/keys"),
            of("server", "GRANT PROCESS ON *.* TO 'a'@'b'"),
            of("server", "GRANT PROCESS ON *.* TO a@b; or run on the server's host"),
        ];
        let found = mysql().judge_with(&CHECK, &Rules::default(), &before);
        let artefacts: Vec<&str> = found.iter().map(|f| f.artefact.as_str()).collect();
        assert_eq!(
            artefacts,
            ["GRANT PROCESS ON *.*", "attest the volume in a waiver, artefact …", access::AS_SERVER_USER]
        );
        assert!(found[1].remediation.as_deref().unwrap().contains("/var/lib/mysql, /var/log/mysql"));
        assert_eq!(found[0].remediation.as_deref(), Some("GRANT PROCESS ON *.* TO 'a'@'b'"));
    }

    #[test]
    fn complete_evidence_passes_and_no_other_check_proves_nothing() {
        let before = [finding("exp-log-raw", Pass, "")];
        assert_eq!(mysql().judge_with(&CHECK, &Rules::default(), &before)[0].status, Pass);
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
    }
}
