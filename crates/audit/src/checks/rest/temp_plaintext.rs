//! `rest-temp-plaintext`.

use findings::{Remedy, Severity};
use server::dialect::encryption::Encrypts;
use server::option_group;
use server::switch::is_switched_on;

use super::{ArtefactPolicy, data_seen, first_variable, judge_all};
use crate::artefact::{Artefact, Kind, State};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::set_at_start;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::host::DiskLayer;
use crate::facts::sql::SqlFacts;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "rest-temp-plaintext",
    title: "Temporary tablespaces are not encrypted",
    severity: Severity::Medium,
    explanation: "Temporary tables, created by users or by the server to answer a query, are in ibtmp1 and, on MySQL, \
        in #innodb_temp/*.ibt. They hold rows of encrypted tables in clear. Oracle's server cannot encrypt them (error \
        3833); MariaDB and Percona can. Judged from the pages; the severity is low if no page holds rows at the time \
        of the audit.",
    applies: "every server with InnoDB 5.7 or newer",
    fix: "MariaDB: innodb_encrypt_temporary_tables=ON; Percona: innodb_temp_tablespace_encrypt=ON; Oracle: an \
        encrypted disk below innodb_temp_data_file_path and innodb_temp_tablespaces_dir",
    cost: "a restart",
    standards: &["PCI DSS 4.0.1 3.5.1", "NIST SP 800-53r5 SC-28(1)"],
    exposes: Exposes::Data(Attacker::StolenDisk, "Rows in temporary tablespaces"),
    closed_by: ClosedBy::EncryptOnMariaDb,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    // MariaDB does not mark page 0 of these: only pages with rows show it.
    let (empty, filled): (Vec<_>, Vec<_>) = cx
        .artefacts
        .with_kind(Kind::TemporaryTablespace)
        .filter(|space| !in_memory(space))
        .partition(|space| without_rows(space));
    let terms =
        ArtefactPolicy { noun: "temporary tablespaces", severity: &|_| None, fix: &|_| fix(cx.facts.sql.as_ref()) };
    let mut results = judge_all(cx, filled.into_iter(), &terms);
    if !results.is_empty() {
        return Ok(or_switched_off(cx, results));
    }
    if protected(cx) {
        return Ok(CheckResults::one(CheckResult::pass(
            "server",
            EvidenceGrade::Bytes,
            "temporary tablespaces lie on an encrypted disk or in memory",
        )));
    }
    cx.facts.sql.as_ref().and_then(by_switch).into_iter().for_each(|result| results.push(result));
    if results.is_empty() && !empty.is_empty() {
        results.push(CheckResult::pass("server", EvidenceGrade::Bytes, "no page of a temporary tablespace holds rows"));
    }
    if results.is_empty() && data_seen(cx) {
        return Ok(CheckResults::not_applicable(
            "the data directory has no temporary tablespace: the server creates it when it starts",
        ));
    }
    if results.is_empty() {
        cx.facts.files()?;
    }
    Ok(results)
}

/// The results for the observed pages, or a failure if the server will write later pages in clear text.
fn or_switched_off(cx: &Context<'_>, results: CheckResults) -> CheckResults {
    let next = cx.facts.sql.as_ref().filter(|_| !protected(cx) && !results.has_failed()).and_then(by_switch);
    match next.map(CheckResults::one).filter(CheckResults::has_failed) {
        Some(failed) => failed,
        None => results,
    }
}

fn without_rows(space: &Artefact<'_>) -> bool {
    space.bytes == Some(State::Empty)
}

fn in_memory(space: &Artefact<'_>) -> bool {
    matches!(space.disk, Some(DiskLayer::Memory))
}

fn protected(cx: &Context<'_>) -> bool {
    let mut spaces = cx.artefacts.with_kind(Kind::TemporaryTablespace).peekable();
    spaces.peek().is_some() && spaces.all(|space| in_memory(space) || space.disk_encryption().is_some())
}

/// What the variable says about temporary tables created from now on.
fn by_switch(sql: &SqlFacts) -> Option<CheckResult> {
    let result = match first_variable(sql, Encrypts::TemporaryTablespaces) {
        Some((name, value)) if is_switched_on(value) => {
            CheckResult::pass("server", EvidenceGrade::Declared, format!("{name} is {value}"))
                .evidence(sql.variable_evidence(name))
        }
        Some((name, _)) => CheckResult::fail(
            name,
            EvidenceGrade::Declared,
            format!("{name} is OFF: temporary tables are written in clear"),
        )
        .evidence(sql.variable_evidence(name))
        .fix(set_at_start(sql, name, "ON")),
        None => {
            sql.variable("innodb_temp_data_file_path").ok()?;
            let message = format!(
                "{} cannot encrypt temporary tablespaces; no page with rows was seen at this moment",
                sql.identity.version
            );
            CheckResult::fail("ibtmp1", EvidenceGrade::Declared, message)
                .severity(Severity::Low)
                .evidence(sql.variable_evidence("innodb_temp_data_file_path"))
                .fix(fix(Some(sql)))
        }
    };
    Some(result)
}

fn fix(sql: Option<&SqlFacts>) -> Remedy {
    let Some(sql) = sql else { return CHECK.fix.into() };
    match first_variable(sql, Encrypts::TemporaryTablespaces) {
        Some((name, _)) => set_at_start(sql, name, "ON"),
        None => Remedy::advice(format!(
            "move them onto an encrypted disk: innodb_temp_data_file_path = /ENCRYPTED/ibtmp1:12M:autoextend and, from \
            MySQL 8.0.13 on, innodb_temp_tablespaces_dir = /ENCRYPTED/ibt under [{}], then restart",
            option_group::MYSQLD
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::files::Content;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql, tablespace, tablespace_with};
    use innodb::tablespace::TablespaceKind;

    fn ibtmp1(encrypted: u64, clear: u64) -> Content {
        tablespace_with("plain", encrypted, clear, |scan| scan.kind = TablespaceKind::GlobalTemporary)
    }

    #[test]
    fn clear_pages_fail_and_weigh_less_without_rows() {
        let found = mysql().file("ibtmp1", ibtmp1(0, 4)).judge(&CHECK);
        assert_eq!((found[0].status, found[0].severity), (Fail, Severity::Medium));
        let server = mysql().variable("innodb_temp_data_file_path", "ibtmp1:12M:autoextend");
        let found = server.file("ibtmp1", ibtmp1(0, 0)).judge(&CHECK);
        assert_eq!((found[0].status, found[0].severity), (Fail, Severity::Low));
    }

    #[test]
    fn mariadb_is_judged_by_pages_then_by_its_switch() {
        let made = mariadb().variable("innodb_encrypt_temporary_tables", "ON");
        assert_eq!(made.statuses(&CHECK), [Pass]);
        assert_eq!(made.file("ibtmp1", ibtmp1(0, 0)).statuses(&CHECK), [Pass]);
        assert_eq!(mariadb().variable("innodb_encrypt_temporary_tables", "OFF").statuses(&CHECK), [Fail]);
        let encrypted = mariadb().variable("innodb_encrypt_temporary_tables", "ON").file("ibtmp1", ibtmp1(4, 0));
        assert!(encrypted.judge(&CHECK).iter().all(|f| f.status == Pass));
    }

    #[test]
    fn what_mariadb_lists_of_its_temporary_tablespace_is_no_evidence() {
        let row: &[&str] = &["4294967294", "innodb_temporary", "Temporary", "N"];
        let server = |value: &str| {
            let made = mariadb().variable("innodb_encrypt_temporary_tables", value);
            made.answer("tablespaces", &["space_id", "name", "type", "encrypted"], &[row])
        };
        assert_eq!(server("ON").statuses(&CHECK), [Pass]);
        assert_eq!(server("OFF").statuses(&CHECK), [Fail]);
    }

    #[test]
    fn an_encrypted_disk_or_memory_is_enough() {
        assert_eq!(mysql().file("ibtmp1", ibtmp1(0, 4)).encrypted_disk().statuses(&CHECK), [Pass]);
        assert_eq!(mysql().file("ibtmp1", ibtmp1(0, 4)).disk(DiskLayer::Memory).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn nothing_seen_is_unknown_and_a_stopped_server_has_none() {
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
        assert_eq!(
            FactsBuilder::nothing().file("demo/t.ibd", tablespace("plain", 0, 1)).statuses(&CHECK),
            [NotApplicable]
        );
    }
}
