//! `rest-log-plaintext`.

use files::quantity::size;
use findings::Severity;
use server::dialect::variable;

use super::{clear_file, with_evidence};
use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::set_variable;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::files::{Content, FileFact};
use crate::facts::host::Role;
use crate::facts::sql::SqlFacts;
use crate::facts::{Facts, Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "rest-log-plaintext",
    title: "Slow, error or audit logs hold statements in clear",
    severity: Severity::Medium,
    explanation: "The slow log and audit logs hold statements with their values; the error log holds those of \
        deadlocks if innodb_print_all_deadlocks is on. No community server encrypts them; MySQL Enterprise does with \
        audit_log_encryption=AES. Judged from the files found and from the variables that enable the logs. An error \
        log without deadlocks is no failure: it holds no values.",
    applies: "every server",
    fix: "keep the logs on an encrypted disk, or switch off those that are not needed",
    cost: "none",
    standards: &["CIS MySQL 4.10E", "PCI DSS 4.0.1 10.3", "NIST SP 800-53r5 AU-9"],
    exposes: Exposes::Data(Attacker::StolenDisk, "Statements and their values, in the server's log files"),
    closed_by: ClosedBy::Disk,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let facts = cx.facts;
    let mut results = CheckResults::new();
    let files = facts.files.iter().flat_map(|files| &files.files);
    for file in files.filter(|file| file.size_bytes > 0 && holds_statements(&file.content)) {
        results.push(of_file(facts, file));
    }
    if let Some(sql) = &facts.sql {
        [slow_log(sql, &results), deadlocks(sql), audit_log(sql)]
            .into_iter()
            .flatten()
            .for_each(|result| results.push(result));
        if !results.is_empty() {
            return Ok(results);
        }
        sql.variable("slow_query_log")?;
        if let Some(unseen) = old_logs_unseen(facts, sql) {
            return Err(unseen);
        }
        results.push(
            CheckResult::pass(
                "server",
                EvidenceGrade::Declared,
                "neither slow log, audit log nor deadlocks in the error log are written in clear",
            )
            .evidence(sql.variable_evidence("slow_query_log")),
        );
    } else if results.is_empty() {
        facts.sql()?;
    }
    Ok(results)
}

/// Why old logs, from before logging was disabled, may exist without having been found.
fn old_logs_unseen(facts: &Facts, sql: &SqlFacts) -> Option<Unavailable> {
    let path = sql.variable_or_none("slow_query_log_file").or_else(|| sql.variable_or_none("log_slow_query_file"));
    let remedy = access::reading(path.unwrap_or("the slow log"));
    let unseen = |why: String| Unavailable { what: "slow and audit logs".to_owned(), why, remedy };
    let Some(files) = &facts.files else {
        return Some(unseen("none is written now, but old ones were not searched for".to_owned()));
    };
    let logs = files.unseen_roots().find(|root| root.role == Role::Log && !root.missing);
    let closed = files.files.iter().find(|file| {
        file.role == Role::Log && matches!(file.content, Content::Unreadable { .. }) && !file.name.contains("err")
    });
    match (logs, closed) {
        (Some(root), _) => Some(unseen(format!("{}: {}", root.path, root.error.as_deref().unwrap_or_default()))),
        (None, Some(file)) => Some(unseen(format!("{} cannot be read", file.path))),
        (None, None) => None,
    }
}

fn holds_statements(content: &Content) -> bool {
    matches!(content, Content::TextLog { log } if log == "slow" || log == "audit")
}

fn of_file(facts: &Facts, file: &FileFact) -> CheckResult {
    let result = clear_file(facts, file, || {
        CheckResult::fail(&file.name, EvidenceGrade::Bytes, format!("{} is a log of statements in clear", file.path))
    });
    let meaning = format!("{} of clear text", size(file.size_bytes));
    result.evidence(Evidence::Bytes { path: file.path.clone(), offset: 0, hex: String::new(), meaning })
}

/// The slow log, if it is written but its file was not found.
fn slow_log(sql: &SqlFacts, seen: &CheckResults) -> Option<CheckResult> {
    let file =
        sql.variable_or_none(variable::LOG_OUTPUT).is_none_or(|output| output.to_ascii_uppercase().contains("FILE"));
    let on = sql.variable_on("slow_query_log") == Ok(true);
    (on && file && seen.is_empty()).then(|| {
        let path = sql.variable_or_none("slow_query_log_file").unwrap_or("the slow log");
        CheckResult::fail(
            path,
            EvidenceGrade::Declared,
            format!("the slow log is on: statements with their values go to {path} in clear"),
        )
        .evidence(sql.variable_evidence("slow_query_log"))
        .evidence(sql.variable_evidence("slow_query_log_file"))
    })
}

fn deadlocks(sql: &SqlFacts) -> Option<CheckResult> {
    let on = sql.variable_on("innodb_print_all_deadlocks") == Ok(true);
    on.then(|| {
        let log = sql.variable_or_none("log_error").filter(|path| !path.is_empty()).unwrap_or("the error log");
        CheckResult::fail(
            log,
            EvidenceGrade::Declared,
            format!("innodb_print_all_deadlocks is ON: statements of deadlocks go to {log} in clear"),
        )
        .severity(Severity::Low)
        .evidence(sql.variable_evidence("innodb_print_all_deadlocks"))
        .fix(set_variable(sql, "innodb_print_all_deadlocks", "OFF"))
    })
}

fn audit_log(sql: &SqlFacts) -> Option<CheckResult> {
    let path = sql.variable_or_none("audit_log_file").or_else(|| {
        let on = sql.variable_on("server_audit_logging") == Ok(true);
        sql.variable_or_none("server_audit_file_path").filter(|_| on)
    })?;
    let encrypted = ["audit_log_encryption", "audit_log_filter.encryption", "audit_log_filter_encryption"];
    let aes =
        encrypted.iter().any(|name| sql.variable_or_none(name).is_some_and(|value| value.eq_ignore_ascii_case("AES")));
    let to_file = sql.variable_or_none("server_audit_output_type").is_none_or(|kind| kind.eq_ignore_ascii_case("file"));
    (!aes && to_file).then(|| {
        let result =
            CheckResult::fail(path, EvidenceGrade::Declared, format!("the audit log {path} is written in clear"));
        let names = ["audit_log_file", "audit_log_encryption", "server_audit_file_path", "server_audit_logging"];
        with_evidence(
            result,
            names.iter().filter(|name| sql.variable(name).is_ok()).map(|name| sql.variable_evidence(name)).collect(),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    #[test]
    fn a_slow_log_fails_by_file_then_by_variable() {
        let log = || Content::TextLog { log: "slow".to_owned() };
        let found = FactsBuilder::nothing().file("db1-slow.log", log()).judge(&CHECK);
        assert_eq!((found[0].status, found[0].grade), (Fail, Some(EvidenceGrade::Bytes)));
        assert_eq!(FactsBuilder::nothing().file("db1-slow.log", log()).encrypted_disk().statuses(&CHECK), [Pass]);
        assert_eq!(mysql().variable("slow_query_log", "ON").statuses(&CHECK), [Fail]);
    }

    #[test]
    fn an_error_log_alone_is_no_failure() {
        let made =
            mysql().variable("slow_query_log", "OFF").file("error.log", Content::TextLog { log: "error".to_owned() });
        assert_eq!(made.statuses(&CHECK), [Pass]);
        assert_eq!(mysql().variable("slow_query_log", "OFF").statuses(&CHECK), [Unknown]);
        assert_eq!(made.variable("innodb_print_all_deadlocks", "ON").judge(&CHECK)[0].severity, Severity::Low);
    }

    #[test]
    fn audit_logs_are_clear_unless_aes() {
        let read = |made: FactsBuilder| made.file("error.log", Content::TextLog { log: "error".to_owned() });
        let made = || read(mysql()).variable("slow_query_log", "OFF").variable("audit_log_file", "audit.log");
        assert_eq!(made().statuses(&CHECK), [Fail]);
        assert_eq!(made().variable("audit_log_encryption", "AES").statuses(&CHECK), [Pass]);
        let made = mariadb().variable("slow_query_log", "OFF").variable("server_audit_logging", "ON");
        assert_eq!(made.variable("server_audit_file_path", "server_audit.log").statuses(&CHECK), [Fail]);
    }

    #[test]
    fn no_server_and_no_file_is_unknown() {
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
