//! `rest-aria-log-plaintext`.

use findings::Severity;

use super::{ArtefactPolicy, all_seen, data_seen, is_system_schema, judge_all};
use crate::access;
use crate::artefact::{Artefact, Kind};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "rest-aria-log-plaintext",
    title: "The Aria log holds rows in clear",
    severity: Severity::High,
    explanation: "aria_log.* repeats every change of a transactional Aria table, rows of encrypted ones too, and no \
        version of MariaDB encrypts it. Without Aria tables of users it holds changes of MariaDB's own tables only, \
        and the severity is lower. Judged from the files.",
    applies: "MariaDB",
    fix: "put aria_log_dir_path onto an encrypted disk, and keep sensitive rows in InnoDB",
    cost: "a restart",
    standards: &["PCI DSS 4.0.1 3.5.1"],
    exposes: Exposes::Data(Attacker::StolenDisk, "Rows of Aria tables, in the Aria log"),
    closed_by: ClosedBy::Disk,
    locked_out: None,
    judge,
};

/// A log of one page has only a header. Source: `ma_loghandler.h` (`TRANSLOG_PAGE_SIZE`).
const PAGE_BYTES: u64 = 8192;

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    if super::mariadb(cx) == Some(false) {
        return Ok(CheckResults::not_applicable("only MariaDB has an Aria log"));
    }
    let mut logs = cx.artefacts.with_kind(Kind::AriaLog).peekable();
    if logs.peek().is_none() {
        return none_found(cx);
    }
    let logs = logs.filter(|log| log.file.is_some_and(|file| file.size_bytes > PAGE_BYTES));
    let low = has_files_of_users(cx) == Some(false);
    let severity = |_: &Artefact<'_>| low.then_some(Severity::Low);
    let terms = ArtefactPolicy { noun: "Aria logs", severity: &severity, fix: &|_| CHECK.fix.into() };
    let results = judge_all(cx, logs, &terms);
    if !results.is_empty() {
        return Ok(results);
    }
    Ok(CheckResults::one(CheckResult::pass("server", EvidenceGrade::Bytes, "no Aria log holds a change")))
}

/// No log was found, although every MariaDB server has one: UNKNOWN, unless the data is not MariaDB's.
fn none_found(cx: &Context<'_>) -> Observed<CheckResults> {
    cx.facts.files()?;
    if super::mariadb(cx).is_none() && data_seen(cx) {
        return Ok(CheckResults::not_applicable("no Aria log lies in the data directory: no MariaDB wrote it"));
    }
    Err(Unavailable {
        what: "aria_log.00000001".to_owned(),
        why: "every MariaDB has one, and it was not among the files that were read".to_owned(),
        remedy: access::reading("aria_log_dir_path, or the data directory"),
    })
}

/// Whether users have Aria tables, according to the files.
fn has_files_of_users(cx: &Context<'_>) -> Option<bool> {
    let current = |table: &Artefact<'_>| table.table().is_some_and(|(schema, _)| is_system_schema(&schema));
    all_seen(cx).then(|| cx.artefacts.with_kind(Kind::AriaTable).any(|table| !current(table)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::files::Content;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{mariadb, mysql};

    #[test]
    fn a_log_fails_and_weighs_less_without_tables_of_users() {
        let made = mariadb().file("aria_log.00000001", Content::AriaLog);
        assert_eq!(made.judge(&CHECK)[0].severity, Severity::Low);
        let made = made.file("demo/a.MAD", Content::Empty);
        let found = made.judge(&CHECK);
        assert_eq!((found[0].status, found[0].severity), (Fail, Severity::High));
        assert_eq!(made.encrypted_disk().statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_log_without_a_change_passes() {
        let made = mariadb().file("aria_log.00000001", Content::AriaLog).last_file(|file| file.size_bytes = 8192);
        assert_eq!(made.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn no_file_is_unknown_and_mysql_has_none() {
        assert_eq!(mariadb().statuses(&CHECK), [Unknown]);
        assert_eq!(mysql().statuses(&CHECK), [NotApplicable]);
    }
}
