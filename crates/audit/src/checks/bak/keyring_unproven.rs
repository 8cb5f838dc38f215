//! `bak-keyring-unproven`.

use findings::{Remedy, Severity};
use innodb::tablespace::Encryption;
use jiff::Timestamp;

use super::history::{HostBackups, for_each_host, receipt_evidence, restores};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::backup::RecordedKeyCheck;
use crate::facts::files::{Content, FileFact, FileFacts};
use crate::facts::host::Role;
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "bak-keyring-unproven",
    title: "No copy of the keyring was proven to open the backups",
    severity: Severity::High,
    explanation: "A backup never contains the keyring. If no copy of it opens the backup, the encrypted tables are lost \
        together with the server. The manifest of a backup is enough to test a copy. Judged from records of `sealant \
        backup keyring check --record FILE`, and of `sealant restore --prove --record FILE`, in given directories; the \
        limit is restore_max_age_days, 92 by default. Whether a copy has the keys that the server uses now is judged \
        by key-backup-missing.",
    applies: "repositories of `sealant backup` with backups of encrypted servers",
    fix: FIX,
    cost: "a moment: only the manifest of the backup is read",
    standards: &["PCI DSS 4.0.1 3.7.3", "NIST SP 800-53r5 CP-9(1)", "GDPR 32(1)(c)"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

const FIX: &str = "sealant backup keyring check latest --identity FILE --keyring COPY --record FILE";

/// A proof that a copy of the keys opens a backup, or that it does not.
struct Tested<'a> {
    file: &'a FileFact,
    at: Timestamp,
    needed: u64,
    missing: u64,
    what: &'static str,
}

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let files = cx.facts.files()?;
    for_each_host(cx, |host, results| match newest(host, files) {
        Some(tested) => results.push(judge_host(cx, host, &tested)),
        None if is_encrypted(files) => results.push(never(host)),
        None => results.push_unknown(host.artefact(), no_record(host)),
    })
}

/// The newest test of one of the host's backups. A restore proves the keys with which every page was opened.
fn newest<'a>(host: &HostBackups<'_>, files: &'a FileFacts) -> Option<Tested<'a>> {
    let of_host = |sha256| host.all.iter().any(|(_, receipt)| receipt.sha256 == sha256);
    let checks = checks(files).filter(|(_, check)| of_host(check.receipt)).map(|(file, check)| Tested {
        file,
        at: check.tested,
        needed: check.needed,
        missing: check.missing,
        what: "test of a copy of the keys",
    });
    let proven = restores(files).filter(|(_, restore)| restore.proven && of_host(restore.receipt));
    let restored = proven.map(|(file, restore)| Tested {
        file,
        at: restore.ended,
        needed: 0,
        missing: 0,
        what: "restore with proven pages",
    });
    checks.chain(restored).max_by_key(|tested| tested.at)
}

fn checks(files: &FileFacts) -> impl Iterator<Item = (&FileFact, &RecordedKeyCheck)> {
    files.files.iter().flat_map(|file| {
        let checks = match &file.content {
            Content::KeyCheckRecords { checks } => checks.as_slice(),
            _ => &[],
        };
        checks.iter().map(move |check| (file, check))
    })
}

/// Whether the server has an encrypted tablespace.
fn is_encrypted(files: &FileFacts) -> bool {
    files.files.iter().filter(|file| file.role != Role::Backup).any(|file| match &file.content {
        Content::Tablespace { scan } => match scan.page0.encryption {
            Encryption::MySql { flag_set, .. } => flag_set,
            Encryption::MariaDb { scheme, .. } => scheme == 1,
            _ => false,
        },
        _ => false,
    })
}

fn judge_host(cx: &Context<'_>, host: &HostBackups<'_>, tested: &Tested<'_>) -> CheckResult {
    let most = cx.policy.restore_max_age_days;
    let days = cx.now.duration_since(tested.at).as_hours() / 24;
    let fail = |text: String| {
        CheckResult::fail(host.artefact(), EvidenceGrade::Reported, text)
            .fix(Remedy::advice("copy the current keys to where the copy is kept").then(Remedy::command(FIX)))
    };
    let result = if tested.missing > 0 {
        fail(format!(
            "the newest test of a copy of the keys with a backup of {} found that it lacks keys: {} of {} do not open",
            host.host, tested.missing, tested.needed
        ))
    } else if days > most {
        fail(format!(
            "the newest proof that a copy of the keys opens a backup of {} is {days} days old; the policy allows {most}",
            host.host
        ))
    } else {
        let text = format!("a copy of the keys opened a backup of {} {days} days ago", host.host);
        CheckResult::pass(host.artefact(), EvidenceGrade::Reported, text)
    };
    let observation = format!("{} at {:.0}", tested.what, tested.at);
    result.evidence(Evidence::Host { source: tested.file.path.clone(), observation })
}

fn never(host: &HostBackups<'_>) -> CheckResult {
    let text =
        format!("the server has encrypted tables, and no copy of its keys was proven with a backup of {}", host.host);
    CheckResult::fail(host.artefact(), EvidenceGrade::Reported, text)
        .evidence(receipt_evidence(host.newest))
        .fix(Remedy::advice("copy the keys off this host").then(Remedy::command(FIX)))
}

fn no_record(host: &HostBackups<'_>) -> Unavailable {
    Unavailable {
        what: format!("whether a copy of the keys opens the backups of {}", host.host),
        why: "no record of a test is in the given directories, and no encrypted table was seen".to_owned(),
        remedy: format!("{FIX}, and name the directory of that file with --backup DIR"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::testing::{hours_ago, receipt, with_receipt};
    use super::super::tests::in_set;
    use super::*;
    use crate::facts::backup::RecordedRestore;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql, tablespace};

    fn encrypted() -> FactsBuilder {
        let made = FactsBuilder::nothing().file("demo/t.ibd", tablespace("encrypted", 4, 0));
        with_receipt(made, receipt(1, hours_ago(3000)))
    }

    fn tested(days: i64, missing: u64, number: u64) -> RecordedKeyCheck {
        let receipt = receipt(number, hours_ago(0)).sha256;
        RecordedKeyCheck { receipt, tested: hours_ago(24 * days), needed: 9, missing }
    }

    fn with_checks(made: FactsBuilder, checks: Vec<RecordedKeyCheck>) -> FactsBuilder {
        in_set(made, "keys.jsonl", Content::KeyCheckRecords { checks })
    }

    #[test]
    fn an_encrypted_server_fails_until_a_copy_is_proven() {
        let found = encrypted().judge(&CHECK);
        assert_eq!((found.len(), found[0].status), (1, Fail));
        assert!(found[0].remediation.as_ref().unwrap().contains("sealant backup keyring check latest"));
        assert_eq!(with_checks(encrypted(), vec![tested(92, 0, 1)]).statuses(&CHECK), [Pass]);
        assert_eq!(with_checks(encrypted(), vec![tested(93, 0, 1)]).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn the_newest_test_counts_and_one_of_another_backup_does_not() {
        let found = with_checks(encrypted(), vec![tested(2, 0, 1), tested(1, 2, 1)]).judge(&CHECK);
        assert!(found[0].status == Fail && found[0].message.contains("2 of 9"), "{}", found[0].message);
        assert_eq!(with_checks(encrypted(), vec![tested(2, 2, 1), tested(1, 0, 1)]).statuses(&CHECK), [Pass]);
        assert_eq!(with_checks(encrypted(), vec![tested(1, 0, 2)]).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn a_proven_restore_proves_the_keys() {
        let of = receipt(1, hours_ago(0)).sha256;
        let restores = |proven| vec![RecordedRestore { receipt: of, ended: hours_ago(24), proven }];
        let with =
            |proven| in_set(encrypted(), "restores.json", Content::RestoreRecords { restores: restores(proven) });
        assert_eq!((with(true).statuses(&CHECK), with(false).statuses(&CHECK)), (vec![Pass], vec![Fail]));
    }

    #[test]
    fn without_encrypted_tables_or_backups_nothing_fails() {
        let clear = with_receipt(FactsBuilder::nothing(), receipt(1, hours_ago(1)));
        assert_eq!(clear.statuses(&CHECK), [Unknown]);
        assert_eq!(FactsBuilder::nothing().file("ca.pem", Content::Structure).statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
    }
}
