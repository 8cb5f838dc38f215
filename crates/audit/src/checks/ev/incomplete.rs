//! `ev-incomplete`.

use std::collections::{BTreeMap, BTreeSet};

use crate::check::{Check, Context, Ruling, Verdict};
use crate::facts::{Seen, Unseen};
use crate::finding::{Evidence, Finding, Grade, Severity, Status};

pub(crate) const CHECK: Check = Check {
    id: "ev-incomplete",
    title: "Something could not be judged for want of a grant, a file or a record",
    severity: Severity::Medium,
    explanation: "What could not be seen is not safe, only unseen. Every UNKNOWN of the other checks names what would show \
        it; they are brought together here, one finding for each missing thing with all checks that wait for it, so that \
        one GRANT is one line. What a waiver covers is left out.",
    applies: "every audit",
    fix: "give the audit what the finding names, or record a waiver",
    cost: "none",
    standards: &["NIST SP 800-53r5 CA-7"],
    judge,
};

/// Checks and artefacts that wait for one missing thing.
#[derive(Default)]
struct Missing<'a> {
    checks: BTreeSet<&'a str>,
    first: Option<&'a Finding>,
    artefacts: usize,
}

fn judge(cx: &Context<'_>) -> Seen<Verdict> {
    if cx.findings.is_empty() {
        return Err(Unseen {
            what: "the other checks' findings".to_owned(),
            why: "no other check was run".to_owned(),
            remedy: "run the audit without restricting it to ev-incomplete".to_owned(),
        });
    }
    let mut missing: BTreeMap<&str, Missing<'_>> = BTreeMap::new();
    let open =
        |finding: &&Finding| finding.status == Status::Unknown && cx.rules.waivers.covering(finding, cx.now).is_none();
    for finding in cx.findings.iter().filter(open) {
        let remedy = finding.remediation.as_deref().unwrap_or(&finding.message);
        let entry = missing.entry(remedy).or_default();
        entry.checks.insert(&finding.id);
        entry.first.get_or_insert(finding);
        entry.artefacts = entry.artefacts.saturating_add(1);
    }
    let mut verdict = Verdict::new();
    for (remedy, missing) in &missing {
        verdict.push(missing.ruling(remedy));
    }
    let words = format!("all {} results of the other checks rest on evidence", cx.findings.len());
    verdict.pass_if_clean(Ruling::pass("audit", Grade::Reported, words));
    Ok(verdict)
}

impl Missing<'_> {
    fn ruling(&self, remedy: &str) -> Ruling {
        let checks = self.checks.iter().copied().collect::<Vec<_>>().join(", ");
        let why = self.first.map_or("", |finding| finding.message.as_str());
        let message = format!("{} results of {checks} are unknown: {why}", self.artefacts);
        Ruling::fail(remedy, Grade::Reported, message)
            .evidence(Evidence::Host { source: "audit".to_owned(), observation: why.to_owned() })
            .fix(remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::run::Rules;
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
    fn complete_evidence_passes_and_no_other_check_proves_nothing() {
        let before = [finding("exp-log-raw", Pass, "")];
        assert_eq!(mysql().judge_with(&CHECK, &Rules::default(), &before)[0].status, Pass);
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
    }
}
