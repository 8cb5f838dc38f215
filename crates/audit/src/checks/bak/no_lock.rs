//! `bak-no-lock`.

use std::path::Path;

use findings::{Remedy, Severity};
use process::shell_word;

use super::history::{HostBackups, Received, hosts};
use super::unseen_root;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::backup::BucketRecord;
use crate::facts::files::{Content, FileFact, FileFacts};
use crate::facts::host::Role;
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "bak-no-lock",
    title: "Nothing keeps the backups from being deleted",
    severity: Severity::Medium,
    explanation: "Who takes over a host, or the store of its backups, deletes the backups first. Object lock prevents \
        that until the lock ends; versions keep what a put or a simple delete replaces, until somebody with permission \
        deletes the version itself. A directory has neither. `sealant backup init` observes what a bucket really does \
        with the first object of a repository, and records it in `repositories` in the host's state directory. \
        Judged from these records, which do not know of later changes of a bucket, and from the receipts in given \
        directories.",
    applies: "repositories of `sealant backup`",
    fix: "create the bucket with object lock, set lock_days under [repository], and run `sealant backup init`; keep a \
        copy of a repository in a directory in such a bucket",
    cost: "locked objects cannot be removed before their lock ends, and cost what the store charges until then",
    standards: &["NIST SP 800-53r5 CP-9(8)", "PCI DSS 4.0.1 10.3.3", "GDPR 32(1)(c)"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

/// A record of a bucket, and its file.
type Recorded<'a> = (&'a FileFact, &'a BucketRecord);

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let files = cx.facts.files()?;
    let mut results = CheckResults::new();
    for recorded in records(files) {
        match judge_bucket(recorded) {
            Ok(result) => results.push(result),
            Err(unseen) => results.push_unknown(&recorded.1.url, unseen),
        }
    }
    let is_recorded = |host: &HostBackups<'_>| records(files).any(|(_, record)| record.id == host.newest.1.repository);
    for host in hosts(files).filter(|host| !is_recorded(host)) {
        results.push(in_directory(&host));
    }
    if results.is_empty() {
        return Ok(CheckResults::not_applicable(
            "no repository of `sealant backup` was found; name its directory, or `repositories` in the state directory \
             of its host, with --backup DIR",
        ));
    }
    for root in files.unseen_roots().filter(|root| root.role == Role::Backup) {
        results.push_unknown(&root.path, unseen_root(root));
    }
    Ok(results)
}

fn records(files: &FileFacts) -> impl Iterator<Item = Recorded<'_>> {
    files.files.iter().filter_map(|file| match &file.content {
        Content::BucketRecord { record } => Some((file, record)),
        _ => None,
    })
}

fn judge_bucket((file, record): Recorded<'_>) -> Observed<CheckResult> {
    let BucketRecord { url, store, asks_for_locks, .. } = record;
    let grade = EvidenceGrade::Reported;
    let pass = |text: &str| CheckResult::pass(url, grade, format!("{url} {text}"));
    let fail = |text: &str, first: &str| {
        CheckResult::fail(url, grade, format!("{url} {text}"))
            .fix(Remedy::advice(first).then(Remedy::command("sealant backup init")))
    };
    let result = match (asks_for_locks, store.locks, store.versions) {
        (true, Some(true), _) => pass("locks new objects"),
        (true, Some(false), _) => fail(
            "ignores object locks, so lock_days protects nothing",
            "move the repository to a bucket that was created with object lock",
        ),
        (_, _, Some(true)) => pass("keeps old versions; only who may delete versions can remove a backup"),
        (false, _, Some(false)) => fail(
            "neither locks objects nor keeps versions",
            "create a bucket with object lock, and put the repository there, with url and lock_days under [repository]",
        ),
        (true, None, _) | (false, _, None) => return Err(unobserved(url)),
    };
    let words = |is_so: Option<bool>| is_so.map_or("not observed", |is_so| if is_so { "yes" } else { "no" });
    let observation = format!(
        "`sealant backup init` observed: locks new objects: {}, keeps versions: {}; lock_days is{} set",
        words(store.locks),
        words(store.versions),
        if *asks_for_locks { "" } else { " not" }
    );
    Ok(result.evidence(Evidence::Host { source: file.path.clone(), observation }))
}

fn unobserved(url: &str) -> Unavailable {
    Unavailable {
        what: format!("whether {url} locks objects or keeps versions"),
        why: "`sealant backup init` could not observe it when it put its first object, or its record is of an older \
            release"
            .to_owned(),
        remedy: "run `sealant backup init` again, with credentials that may read the bucket (s3:GetObject, \
            s3:GetObjectRetention); whether it locks objects shows only with a new prefix"
            .to_owned(),
    }
}

fn in_directory(host: &HostBackups<'_>) -> CheckResult {
    let directory = repository_directory(host.newest);
    let text = format!("the backups of {} lie in the directory {directory}, where nothing is locked", host.host);
    let seen =
        Evidence::Host { source: host.newest.0.path.clone(), observation: "a receipt in a directory".to_owned() };
    CheckResult::fail(host.artefact(), EvidenceGrade::Bytes, text).evidence(seen).fix(
        Remedy::advice(format!(
            "move the repository to a bucket with object lock, with url and lock_days under [repository]; if {} is \
             only a copy of one, audit with --backup for `repositories` in the state directory of {}, too",
            shell_word(&directory),
            host.host
        ))
        .then(Remedy::command("sealant backup init")),
    )
}

/// The directory of the repository that has this receipt, or that of the receipt if it is alone.
fn repository_directory((file, receipt): Received<'_>) -> String {
    let inside = archive::names::receipt(&receipt.host, receipt.number);
    let whole = file.path.strip_suffix(&inside).map(|directory| directory.trim_end_matches('/').to_owned());
    let parent = || Path::new(&file.path).parent().map(|parent| parent.to_string_lossy().into_owned());
    whole.or_else(parent).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::history::testing::{hours_ago, receipt, with_receipt};
    use super::super::tests::in_set;
    use super::*;
    use crate::facts::backup::StoreBehaviour;
    use crate::finding::Status::{self, Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql};

    fn with_bucket(made: FactsBuilder, asks_for_locks: bool, store: StoreBehaviour) -> FactsBuilder {
        let id = receipt(1, hours_ago(1)).repository;
        let record = BucketRecord { id, url: "s3://backups/mysql".to_owned(), asks_for_locks, store };
        in_set(made, "00ff.json", Content::BucketRecord { record })
    }

    fn judged(asks_for_locks: bool, locks: Option<bool>, versions: Option<bool>) -> Vec<Status> {
        with_bucket(FactsBuilder::nothing(), asks_for_locks, StoreBehaviour { versions, locks }).statuses(&CHECK)
    }

    #[test]
    fn a_bucket_needs_locks_or_versions() {
        assert_eq!(judged(true, Some(true), Some(true)), [Pass]);
        assert_eq!(judged(true, Some(false), Some(true)), [Fail]);
        assert_eq!(judged(false, None, Some(true)), [Pass]);
        assert_eq!(judged(false, None, Some(false)), [Fail]);
        // The lock of an earlier configuration.
        assert_eq!(judged(false, Some(true), Some(false)), [Fail]);
    }

    #[test]
    fn what_init_could_not_observe_is_unknown() {
        assert_eq!(judged(false, None, None), [Unknown]);
        assert_eq!(judged(true, None, Some(false)), [Unknown]);
    }

    #[test]
    fn a_directory_fails_unless_it_is_a_copy_of_a_bucket() {
        let made = || with_receipt(FactsBuilder::nothing(), receipt(1, hours_ago(1)));
        let found = made().judge(&CHECK);
        assert_eq!((found.len(), found[0].status), (1, Fail));
        assert!(found[0].message.contains("in the directory /backup, where"), "{}", found[0].message);
        let remedy = found[0].remediation.as_ref().unwrap();
        assert!(remedy.contains("sealant backup init"), "{remedy}");
        let locks = StoreBehaviour { versions: Some(true), locks: Some(true) };
        assert_eq!(with_bucket(made(), true, locks).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn without_a_repository_nothing_is_judged() {
        assert_eq!(FactsBuilder::nothing().file("ca.pem", Content::Structure).statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
    }
}
