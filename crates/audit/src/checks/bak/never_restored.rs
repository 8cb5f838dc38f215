//! `bak-never-restored`.

use findings::{Remedy, Severity};

use super::history::{HostBackups, Recorded, for_each_host, receipt_evidence, restores};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "bak-never-restored",
    title: "No restore has proven the backups within the time that the policy sets",
    severity: Severity::Medium,
    explanation: "Only a restore shows that the identity, the keyring and the backup fit together, and how long it \
        takes. A restore counts if every page was proven and a server started on the files and found nothing wrong. \
        Judged from the records that `sealant restore --prove --record FILE` writes, in a given directory. The limit \
        is restore_max_age_days, 92 by default.",
    applies: "repositories of `sealant backup`",
    fix: "sealant restore latest --repository DIR --scratch DIR --identity FILE --allowed-signers FILE --keyring FILE \
        --prove --mysqld FILE --record FILE",
    cost: "space for the data on another machine, and the time to restore it",
    standards: &["NIST SP 800-53r5 CP-9(1)", "NIST SP 800-53r5 CP-4", "GDPR 32(1)(d)"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let files = cx.facts.files()?;
    if restores(files).next().is_some() {
        return for_each_host(cx, |host, results| {
            results.push(judge_host(cx, host, newest_proven(host, restores(files))));
        });
    }
    for_each_host(cx, |host, results| results.push_unknown(host.artefact(), no_record(host)))
}

/// The newest restore that proved one of the host's backups.
fn newest_proven<'a>(host: &HostBackups<'_>, restores: impl Iterator<Item = Recorded<'a>>) -> Option<Recorded<'a>> {
    let of_host = |sha256| host.all.iter().any(|(_, receipt)| receipt.sha256 == sha256);
    restores.filter(|(_, restore)| restore.proven && of_host(restore.receipt)).max_by_key(|(_, restore)| restore.ended)
}

fn judge_host(cx: &Context<'_>, host: &HostBackups<'_>, proven: Option<Recorded<'_>>) -> CheckResult {
    let most = cx.policy.restore_max_age_days;
    let fix =
        || Remedy::command(CHECK.fix).and(Remedy::advice("enable sealant-restore-test.timer, or another schedule"));
    let Some((file, restore)) = proven else {
        let text = format!("no recorded restore proves a backup of {}", host.host);
        return CheckResult::fail(host.artefact(), EvidenceGrade::Reported, text)
            .evidence(receipt_evidence(host.newest))
            .fix(fix());
    };
    let days = cx.now.duration_since(restore.ended).as_hours() / 24;
    let text = format!("the newest restore that proves a backup of {} is {days} days old", host.host);
    let result = if days > most {
        CheckResult::fail(host.artefact(), EvidenceGrade::Reported, format!("{text}; the policy allows {most}"))
            .fix(fix())
    } else {
        CheckResult::pass(host.artefact(), EvidenceGrade::Reported, text)
    };
    let observation = format!("restore of the backup with receipt {}, ended {:.0}", restore.receipt, restore.ended);
    result.evidence(Evidence::Host { source: file.path.clone(), observation })
}

fn no_record(host: &HostBackups<'_>) -> Unavailable {
    Unavailable {
        what: format!("whether a backup of {} was ever restored", host.host),
        why: "no record of a restore is in the given directories".to_owned(),
        remedy: format!("{}, and name the directory of that file with --backup DIR", CHECK.fix),
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::testing::{hours_ago, receipt, with_receipt};
    use super::super::tests::in_set;
    use super::*;
    use crate::facts::backup::RecordedRestore;
    use crate::facts::files::Content;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql};

    fn with_restore(days: i64, proven: bool, number: u64) -> FactsBuilder {
        let made = with_receipt(FactsBuilder::nothing(), receipt(1, hours_ago(3000)));
        let of = receipt(number, hours_ago(0)).sha256;
        let restores = vec![RecordedRestore { receipt: of, ended: hours_ago(24 * days), proven }];
        in_set(made, "restores.json", Content::RestoreRecords { restores })
    }

    #[test]
    fn a_proven_restore_counts_until_it_is_too_old() {
        assert_eq!(with_restore(92, true, 1).statuses(&CHECK), [Pass]);
        assert_eq!(with_restore(93, true, 1).statuses(&CHECK), [Fail]);
        assert_eq!(with_restore(1, false, 1).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn the_restore_of_another_backup_proves_nothing() {
        assert_eq!(with_restore(1, true, 2).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn without_records_nothing_is_known() {
        let made = with_receipt(FactsBuilder::nothing(), receipt(1, hours_ago(1)));
        assert_eq!(made.statuses(&CHECK), [Unknown]);
        assert_eq!(FactsBuilder::nothing().file("ca.pem", Content::Structure).statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
    }
}
