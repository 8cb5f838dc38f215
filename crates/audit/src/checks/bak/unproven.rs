//! `bak-unproven`.

use findings::{Remedy, Severity};

use super::history::{HostBackups, for_each_host, receipt_evidence};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::backup::BackupReceipt;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "bak-unproven",
    title: "Pages or recipients of the newest backup are not proven",
    severity: Severity::High,
    explanation: "A backup holds damaged pages as they are, and pages that no key opened may be damaged. If the \
        identity of a recipient is lost, or never existed, it decrypts nothing: each recipient is proven once, by \
        decrypting a word. Judged from the receipt of the newest backup of each host, in a repository of `sealant \
        backup` in a given directory.",
    applies: "repositories of `sealant backup`",
    fix: "repair damaged pages, give missing keys, prove each recipient with `sealant backup init`, then take a new \
        backup",
    cost: "a new backup; each holder of an identity decrypts one word",
    standards: &["NIST SP 800-53r5 CP-9(1)", "GDPR 32(1)(d)"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    for_each_host(cx, |host, results| results.push(judge_host(host)))
}

fn judge_host(host: &HostBackups<'_>) -> CheckResult {
    let receipt = host.newest.1;
    let flaws = flaws(receipt);
    let result = if flaws.is_empty() {
        let text = format!("every page and recipient of backup {} of {} was proven", receipt.number, host.host);
        CheckResult::pass(host.artefact(), EvidenceGrade::Reported, text)
    } else {
        let text = format!("backup {} of {} has {}", receipt.number, host.host, flaws.join(", "));
        CheckResult::fail(host.artefact(), EvidenceGrade::Reported, text).fix(remedy(receipt))
    };
    result.evidence(receipt_evidence(host.newest))
}

fn flaws(receipt: &BackupReceipt) -> Vec<String> {
    let pages = |count: u64, what: &str| (count > 0).then(|| format!("{count} {what}"));
    let recipients = (receipt.unproven_recipients > 0).then(|| {
        format!("{} of {} recipients that were never proven", receipt.unproven_recipients, receipt.recipients.len())
    });
    let damaged = pages(receipt.damaged_pages, "damaged pages");
    let unproven = pages(receipt.unproven_pages, "pages that no key opened");
    [damaged, unproven, recipients].into_iter().flatten().collect()
}

fn remedy(receipt: &BackupReceipt) -> Remedy {
    let repair = || {
        let text = "repair the files with damaged pages, and give the keys that are missing";
        Remedy::command(format!("sealant backup show {}", receipt.number)).then(Remedy::advice(text))
    };
    let prove = || Remedy::advice("prove each recipient with `sealant backup init`");
    let steps = match (receipt.is_good(), receipt.unproven_recipients > 0) {
        (false, true) => repair().and(prove()),
        (false, false) => repair(),
        (true, _) => prove(),
    };
    steps.then(Remedy::command("sealant backup run"))
}

#[cfg(test)]
mod tests {
    use super::super::history::testing::{hours_ago, receipt, with_damaged_receipt, with_receipt};
    use super::*;
    use crate::facts::files::Content;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql};

    fn with(change: fn(&mut BackupReceipt)) -> FactsBuilder {
        let mut newest = receipt(2, hours_ago(1));
        change(&mut newest);
        with_receipt(with_receipt(FactsBuilder::nothing(), receipt(1, hours_ago(25))), newest)
    }

    #[test]
    fn each_flaw_of_the_newest_backup_fails() {
        assert_eq!(with(|_| ()).statuses(&CHECK), [Pass]);
        assert_eq!(with(|receipt| receipt.damaged_pages = 1).statuses(&CHECK), [Fail]);
        assert_eq!(with(|receipt| receipt.unproven_pages = 1).statuses(&CHECK), [Fail]);
        let found = with(|receipt| receipt.unproven_recipients = 1).judge(&CHECK);
        assert_eq!(found[0].status, Fail);
        assert!(found[0].message.contains("1 of 2 recipients"), "{}", found[0].message);
    }

    #[test]
    fn an_older_backup_with_flaws_does_not_count() {
        let mut damaged = receipt(1, hours_ago(25));
        damaged.damaged_pages = 7;
        let made = with_receipt(with_receipt(FactsBuilder::nothing(), receipt(2, hours_ago(1))), damaged);
        assert_eq!(made.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn without_receipts_nothing_is_judged_and_a_damaged_one_is_unknown() {
        assert_eq!(FactsBuilder::nothing().file("ca.pem", Content::Structure).statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
        assert_eq!(with_damaged_receipt(FactsBuilder::nothing()).statuses(&CHECK), [Unknown]);
    }
}
