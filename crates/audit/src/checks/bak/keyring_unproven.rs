//! `bak-keyring-unproven`.

use archive::KeyCheckRecord;
use findings::{Remedy, Severity};
use innodb::tablespace::Encryption;

use super::history::{HostBackups, for_each_host, hosts, receipt_evidence, restores};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::backup::RecordedRestore;
use crate::facts::files::{Content, FileFact, FileFacts};
use crate::facts::host::Role;
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "bak-keyring-unproven",
    title: "No copy of the keyring was proven to open the backups",
    severity: Severity::High,
    explanation: "A backup never contains the keyring. If no copy of it opens the backup, the encrypted tables are \
        lost together with the server. The manifest of a backup is enough to test a copy. Judged from records of \
        `sealant backup keyring check --record FILE` in given directories; the limit is restore_max_age_days, 92 by \
        default. A test of a backup that needs no key proves nothing; nor do records of restores, which do not say \
        where the keys came from. Whether a copy has the keys that the server uses now is judged by \
        key-backup-missing.",
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

/// A record of a test, and its file.
type Tested<'a> = (&'a FileFact, &'a KeyCheckRecord);

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let files = cx.facts.files()?;
    for_each_host(cx, |host, results| {
        let tests: Vec<_> = checks(files).filter(|(_, check)| is_of(check, host, files)).collect();
        let (proofs, empty): (Vec<_>, Vec<_>) = tests.into_iter().partition(|(_, check)| check.needed > 0);
        match judge_tests(cx, host, &proofs) {
            Some(result) => results.push(result),
            None if !empty.is_empty() => results.push_unknown(host.artefact(), needs_no_key(host)),
            None if is_encrypted(files) && restores(files).any(|(_, restore)| is_restore_of(restore, host)) => {
                results.push_unknown(host.artefact(), only_restored(host));
            }
            None if is_encrypted(files) && is_alone(host, files) => results.push(never(host)),
            None => results.push_unknown(host.artefact(), no_record(host)),
        }
    })
}

/// Whether a test was of a backup of this host. The backup may have been pruned since; then its receipt is gone, and
/// the name of the host counts, unless several repositories have it.
fn is_of(check: &KeyCheckRecord, host: &HostBackups<'_>, files: &FileFacts) -> bool {
    let is_there = || host.all.iter().any(|(_, receipt)| receipt.sha256 == check.receipt);
    let has_one_repository = || hosts(files).filter(|other| other.host == host.host).count() == 1;
    check.host == host.host && (is_there() || has_one_repository())
}

fn is_restore_of(restore: &RecordedRestore, host: &HostBackups<'_>) -> bool {
    restore.proven && host.all.iter().any(|(_, receipt)| receipt.sha256 == restore.receipt)
}

/// Whether the repository has no backups of other hosts, which may not be the audited server.
fn is_alone(host: &HostBackups<'_>, files: &FileFacts) -> bool {
    let repository = |host: &HostBackups<'_>| host.newest.1.repository.clone();
    hosts(files).filter(|other| repository(other) == repository(host)).count() == 1
}

fn checks(files: &FileFacts) -> impl Iterator<Item = Tested<'_>> {
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

/// Judges the tests of the newest backup that was tested within the limit: one copy that opens everything is enough.
/// Without such tests, the newest of all. `None` without tests.
fn judge_tests(cx: &Context<'_>, host: &HostBackups<'_>, tests: &[Tested<'_>]) -> Option<CheckResult> {
    let most = cx.policy.restore_max_age_days;
    let days = |tested: &Tested<'_>| cx.now.duration_since(tested.1.tested).as_hours() / 24;
    let fail = |text: String| {
        CheckResult::fail(host.artefact(), EvidenceGrade::Reported, text)
            .fix(Remedy::advice("copy the current keys to where the copy is kept").then(Remedy::command(FIX)))
    };
    let is_fresh = |tested: &&Tested<'_>| days(tested) <= most;
    let Some(number) = tests.iter().filter(is_fresh).map(|(_, check)| check.number).max() else {
        let newest = tests.iter().max_by_key(|(_, check)| check.tested)?;
        let text = format!(
            "the newest test of a copy of the keys with a backup of {} is {} days old; the policy allows {most}",
            host.host,
            days(newest)
        );
        return Some(fail(text).evidence(evidence(newest)));
    };
    let mut fresh: Vec<_> = tests.iter().filter(is_fresh).filter(|(_, check)| check.number == number).collect();
    fresh.sort_by_key(|(_, check)| (check.missing, std::cmp::Reverse(check.tested)));
    let best = *fresh.first()?;
    let (needed, missing) = (best.1.needed, best.1.missing);
    let result = if missing > 0 {
        fail(format!(
            "no tested copy of the keys opens backup {number} of {}: the best lacks keys for {missing} of {needed}",
            host.host
        ))
    } else {
        let text = format!("a copy of the keys opened backup {number} of {} {} days ago", host.host, days(best));
        CheckResult::pass(host.artefact(), EvidenceGrade::Reported, text)
    };
    Some(fresh.into_iter().map(evidence).fold(result, CheckResult::evidence))
}

fn evidence((file, check): &Tested<'_>) -> Evidence {
    let observation = format!(
        "test of a copy of the keys with backup {} at {:.0}: opens {} of {}",
        check.number,
        check.tested,
        check.needed.saturating_sub(check.missing),
        check.needed
    );
    Evidence::Host { source: file.path.clone(), observation }
}

fn never(host: &HostBackups<'_>) -> CheckResult {
    let text =
        format!("the server has encrypted tables, and no copy of its keys was proven with a backup of {}", host.host);
    CheckResult::fail(host.artefact(), EvidenceGrade::Reported, text)
        .evidence(receipt_evidence(host.newest))
        .fix(Remedy::advice("copy the keys off this host").then(Remedy::command(FIX)))
}

fn unknown(host: &HostBackups<'_>, why: &str, remedy: String) -> Unavailable {
    Unavailable {
        what: format!("whether a copy of the keys opens the backups of {}", host.host),
        why: why.to_owned(),
        remedy,
    }
}

fn needs_no_key(host: &HostBackups<'_>) -> Unavailable {
    unknown(
        host,
        "the backups that were tested name nothing that needs a key, as those without encrypted tables, or of MySQL \
         with pages = \"as-is\", so any copy passes",
        "if the server has encrypted tables, restore a backup with the copy (`sealant restore --prove`), and record \
         that in a waiver"
            .to_owned(),
    )
}

fn only_restored(host: &HostBackups<'_>) -> Unavailable {
    unknown(
        host,
        "a restore was proven, but its record does not say whether its keys came from a copy",
        format!("{FIX}, and name the directory of that file with --backup DIR"),
    )
}

fn no_record(host: &HostBackups<'_>) -> Unavailable {
    unknown(
        host,
        "no record of a test is in the given directories, and no encrypted table of this host was seen",
        format!("{FIX}, and name the directory of that file with --backup DIR"),
    )
}

#[cfg(test)]
mod tests {
    use super::super::history::testing::{hours_ago, receipt, with_receipt};
    use super::super::tests::in_set;
    use super::*;
    use crate::facts::backup::BackupReceipt;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql, tablespace};

    fn encrypted() -> FactsBuilder {
        let made = FactsBuilder::nothing().file("demo/t.ibd", tablespace("encrypted", 4, 0));
        with_receipt(made, receipt(1, hours_ago(3000)))
    }

    fn tested(days: i64, missing: u64, number: u64) -> KeyCheckRecord {
        let receipt = receipt(number, hours_ago(0)).sha256;
        KeyCheckRecord::new((receipt, "db1", number), hours_ago(24 * days), 9, missing)
    }

    fn with_checks(made: FactsBuilder, checks: Vec<KeyCheckRecord>) -> FactsBuilder {
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
    fn one_copy_that_opens_the_newest_tested_backup_is_enough() {
        let found = with_checks(encrypted(), vec![tested(2, 0, 1), tested(1, 2, 1)]).judge(&CHECK);
        assert_eq!((found[0].status, found[0].evidence.len()), (Pass, 2));
        let found = with_checks(encrypted(), vec![tested(2, 0, 1), tested(1, 2, 2)]).judge(&CHECK);
        assert!(found[0].status == Fail && found[0].message.contains("2 of 9"), "{}", found[0].message);
        // A copy that once opened it, but too long ago.
        assert_eq!(with_checks(encrypted(), vec![tested(93, 0, 1), tested(1, 2, 1)]).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn a_test_outlives_its_backup_but_not_that_of_another_host() {
        assert_eq!(with_checks(encrypted(), vec![tested(1, 0, 2)]).statuses(&CHECK), [Pass]);
        let mut other = tested(1, 0, 2);
        other.host = "db2".to_owned();
        assert_eq!(with_checks(encrypted(), vec![other]).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn a_test_that_any_key_passes_proves_nothing() {
        let mut empty = tested(1, 0, 1);
        empty.needed = 0;
        assert_eq!(with_checks(encrypted(), vec![empty.clone()]).statuses(&CHECK), [Unknown]);
        assert_eq!(with_checks(encrypted(), vec![empty, tested(2, 0, 1)]).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_proven_restore_does_not_say_where_its_keys_came_from() {
        let of = receipt(1, hours_ago(0)).sha256;
        let restores = |proven| vec![RecordedRestore { receipt: of, ended: hours_ago(24), proven }];
        let with =
            |proven| in_set(encrypted(), "restores.json", Content::RestoreRecords { restores: restores(proven) });
        assert_eq!((with(true).statuses(&CHECK), with(false).statuses(&CHECK)), (vec![Unknown], vec![Fail]));
    }

    #[test]
    fn hosts_of_a_shared_repository_may_be_other_servers() {
        let other = BackupReceipt { host: "db2".to_owned(), ..receipt(1, hours_ago(1)) };
        let made = with_checks(with_receipt(encrypted(), other), vec![tested(1, 0, 1)]);
        assert_eq!(made.statuses(&CHECK), [Pass, Unknown]);
    }

    #[test]
    fn without_encrypted_tables_or_backups_nothing_fails() {
        let clear = with_receipt(FactsBuilder::nothing(), receipt(1, hours_ago(1)));
        assert_eq!(clear.statuses(&CHECK), [Unknown]);
        assert_eq!(FactsBuilder::nothing().file("ca.pem", Content::Structure).statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
    }
}
