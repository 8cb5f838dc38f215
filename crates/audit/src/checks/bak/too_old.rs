//! `bak-too-old`.

use findings::{Remedy, Severity};

use super::history::{HostBackups, for_each_host, receipt_evidence};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::Observed;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "bak-too-old",
    title: "The newest good backup is older than the policy allows",
    severity: Severity::High,
    explanation: "What changed since the newest good backup is lost with the server. A backup is good if its run \
        proved every page: decrypted with its key, checksum right. Judged from the receipts in a repository of \
        `sealant backup` in a given directory; `sealant backup check` verifies their signatures and the objects. The \
        limit is backup_max_age_hours, 26 by default: a day, and two hours for the run.",
    applies: "repositories of `sealant backup`",
    fix: "sealant backup run",
    cost: "the time to read what has changed since the last backup",
    standards: &["NIST SP 800-53r5 CP-9", "GDPR 32(1)(c)"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    for_each_host(cx, |host, results| results.push(judge_host(cx, host)))
}

fn judge_host(cx: &Context<'_>, host: &HostBackups<'_>) -> CheckResult {
    let most = cx.policy.backup_max_age_hours;
    let fix = || Remedy::command(CHECK.fix).and(Remedy::advice("enable sealant-backup.timer, or another schedule"));
    let Some(good) = host.newest_good() else {
        let text = format!("none of the {} backups of {} is good", host.all.len(), host.host);
        return CheckResult::fail(host.artefact(), EvidenceGrade::Reported, text)
            .evidence(receipt_evidence(host.newest))
            .fix(Remedy::advice("repair the damaged pages, and give the keys that are missing").then(fix()));
    };
    let hours = cx.now.duration_since(good.1.ended).as_hours();
    let text = format!("the newest good backup of {} is {hours} hours old", host.host);
    let result = if hours >= most {
        CheckResult::fail(host.artefact(), EvidenceGrade::Reported, format!("{text}; the policy allows {most}"))
            .fix(fix())
    } else {
        CheckResult::pass(host.artefact(), EvidenceGrade::Reported, text)
    };
    result.evidence(receipt_evidence(good))
}

#[cfg(test)]
mod tests {
    use super::super::history::testing::{hours_ago, receipt, with_damaged_receipt, with_receipt};
    use super::*;
    use crate::facts::files::Content;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql};

    #[test]
    fn the_newest_good_backup_counts() {
        let young = with_receipt(FactsBuilder::nothing(), receipt(1, hours_ago(25)));
        assert_eq!(young.statuses(&CHECK), [Pass]);
        let old = with_receipt(FactsBuilder::nothing(), receipt(1, hours_ago(26)));
        assert_eq!(old.statuses(&CHECK), [Fail]);
        let mut damaged = receipt(2, hours_ago(1));
        damaged.damaged_pages = 1;
        let found = with_receipt(old, damaged.clone()).judge(&CHECK);
        assert_eq!((found.len(), found[0].status), (1, Fail));
        assert!(found[0].message.contains("26 hours"), "{}", found[0].message);
        let none_good = with_receipt(FactsBuilder::nothing(), damaged).judge(&CHECK);
        assert!(none_good[0].message.contains("none of the 1 backups"), "{}", none_good[0].message);
    }

    #[test]
    fn hosts_are_judged_apart() {
        let mut other = receipt(9, hours_ago(1));
        other.host = "db2".to_owned();
        let found =
            with_receipt(with_receipt(FactsBuilder::nothing(), receipt(1, hours_ago(100))), other).judge(&CHECK);
        let judged: Vec<_> = found.iter().map(|finding| (finding.artefact.as_str(), finding.status)).collect();
        assert_eq!(judged, [("backups of db1", Fail), ("backups of db2", Pass)]);
    }

    #[test]
    fn without_receipts_nothing_is_judged_and_a_damaged_one_is_unknown() {
        assert_eq!(FactsBuilder::nothing().file("ca.pem", Content::Structure).statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
        assert_eq!(with_damaged_receipt(FactsBuilder::nothing()).statuses(&CHECK), [Unknown]);
    }
}
