//! `rest-undo-plaintext`.

use findings::{Remedy, Severity};
use innodb::server_file::FIRST_UNDO;
use server::Capability;
use server::dialect::variable;
use server::quote;

use super::{
    ArtefactPolicy, convert_in_background, judge_all, listed, mariadb, not_listed, or_none_of_it, unless_hidden,
    written_by_mysql_8,
};
use crate::access;
use crate::artefact::{Artefact, Kind, State};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::set_variable;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::sql::SqlFacts;
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub const CHECK: Check = Check {
    id: "rest-undo-plaintext",
    title: "Undo tablespaces are not, or not completely, encrypted",
    severity: Severity::High,
    explanation: "Undo pages hold the old versions of changed and deleted rows, also those of encrypted tables. \
        innodb_undo_log_encrypt applies to pages written after it was set: older pages stay clear in a file that \
        INNODB_TABLESPACES reports as encrypted. Judged from page 0 and the pages. On MariaDB the encryption threads \
        convert undo tablespaces. rest-ibdata1-exposed covers undo in ibdata1.",
    applies: "MySQL 8.0.1 and newer, MariaDB; older servers cannot encrypt undo",
    fix: "innodb_undo_log_encrypt=ON, then have the old undo tablespaces truncated and rewritten",
    cost: "no lock; an undo tablespace becomes inactive only when no transaction needs it",
    standards: &["DISA STIG MYS8-00-012100", "CIS MySQL 4.10E", "PCI DSS 4.0.1 3.5.1"],
    exposes: Exposes::Data(Attacker::StolenDisk, "Old versions of rows, in undo tablespaces"),
    closed_by: ClosedBy::Encrypt,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let (unlisted, spaces): (Vec<_>, Vec<_>) =
        cx.artefacts.with_kind(Kind::Undo).partition(|space| only_said(cx, space));
    let terms = ArtefactPolicy { noun: "undo tablespaces", severity: &|_| None, fix: &|space| fix(cx, space) };
    let mut results = unless_hidden(cx, judge_all(cx, spaces.into_iter(), &terms));
    if !unlisted.is_empty() {
        results = results.or_unknown("server", pages_unseen(&unlisted));
    }
    if !results.has_failed()
        && let Some(sql) = switched_off(cx)
    {
        results.push(new_pages_are_clear(sql));
    }
    if results.is_empty() && cx.facts.sql.is_none() && written_by_mysql_8(cx) {
        return Err(not_listed(FIRST_UNDO));
    }
    or_none_of_it(cx, results, "undo tablespace of its own; undo in ibdata1 is judged by rest-ibdata1-exposed")
}

/// Whether only MySQL's own report shows that it is encrypted: MySQL reports this before the pages are encrypted.
fn only_said(cx: &Context<'_>, space: &Artefact<'_>) -> bool {
    let by_word = space.bytes.is_none() && space.doubt.is_none() && space.reported == Some(State::Encrypted);
    by_word && mariadb(cx) != Some(true) && space.disk_encryption().is_none()
}

fn pages_unseen(spaces: &[&Artefact<'_>]) -> Unavailable {
    Unavailable {
        what: format!("pages of {}", listed(spaces.iter().map(|space| space.name.as_str()))),
        why: "the server reports undo as encrypted as soon as encryption is requested, but older pages stay clear"
            .to_owned(),
        remedy: access::reading("the undo tablespaces"),
    }
}

/// Facts about the server if it writes new undo in clear text, and its disk is not encrypted.
fn switched_off<'c>(cx: &Context<'c>) -> Option<&'c SqlFacts> {
    let on_encrypted_disk = cx.artefacts.with_kind(Kind::Undo).any(|space| space.disk_encryption().is_some());
    let sql = cx.facts.sql.as_ref()?;
    let off = sql.variable_on(variable::MYSQL_UNDO) == Ok(false);
    (off && !on_encrypted_disk).then_some(sql)
}

fn new_pages_are_clear(sql: &SqlFacts) -> CheckResult {
    CheckResult::fail(
        variable::MYSQL_UNDO,
        EvidenceGrade::Declared,
        "innodb_undo_log_encrypt is OFF: undo is written in clear",
    )
    .evidence(sql.variable_evidence(variable::MYSQL_UNDO))
    .fix(set_variable(sql, variable::MYSQL_UNDO, "ON"))
}

fn fix(cx: &Context<'_>, space: &Artefact<'_>) -> Remedy {
    let Some(sql) = &cx.facts.sql else { return CHECK.fix.into() };
    if sql.is_mariadb() {
        return convert_in_background(sql);
    }
    if !sql.can(Capability::EncryptUndo) {
        return format!(
            "{} cannot encrypt undo: upgrade, or put the undo directory onto an encrypted disk",
            sql.identity.version
        )
        .into();
    }
    let on = set_variable(sql, variable::MYSQL_UNDO, "ON");
    match (sql.variable_on(variable::MYSQL_UNDO), sql.can(Capability::CreateUndo)) {
        (Ok(true), true) => rewrite(space),
        (_, true) => on.and(rewrite(space)),
        (_, false) => on,
    }
}

/// Statements that make the server rewrite an undo tablespace, MySQL 8.0.14 and newer. Two others must be active.
pub(super) fn rewrite(space: &Artefact<'_>) -> Remedy {
    let file = space.name.rsplit('/').next().unwrap_or(&space.name).trim_end_matches(".ibu");
    // The two default tablespaces are named innodb_undo_001 and _002, their files undo_001 and _002.
    let of_file = if file.starts_with("undo_") { format!("innodb_{file}") } else { file.to_owned() };
    let name = quote::identifier(space.tablespace.map_or(of_file.as_str(), |row| row.name));
    let empty = "information_schema.INNODB_TABLESPACES shows STATE = 'empty'";
    Remedy::statement("CREATE UNDO TABLESPACE spare ADD DATAFILE 'spare.ibu'")
        .and(Remedy::statement(format!("ALTER UNDO TABLESPACE {name} SET INACTIVE")))
        .and(Remedy::statement(format!("ALTER UNDO TABLESPACE {name} SET ACTIVE")).once(empty))
        .and(Remedy::statement("ALTER UNDO TABLESPACE spare SET INACTIVE"))
        .and(Remedy::statement("DROP UNDO TABLESPACE spare").once(empty))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::files::Content;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, TABLESPACE_COLUMNS, mariadb, mysql, tablespace_with};
    use innodb::tablespace::TablespaceKind;

    fn undo(what: &str, encrypted: u64, clear: u64) -> Content {
        tablespace_with(what, encrypted, clear, |scan| scan.kind = TablespaceKind::Undo)
    }

    #[test]
    fn clear_and_partly_clear_fail() {
        assert_eq!(FactsBuilder::nothing().file("undo_001", undo("plain", 0, 9)).statuses(&CHECK), [Fail]);
        let found = mysql()
            .variable("innodb_undo_log_encrypt", "ON")
            .answer("tablespaces", TABLESPACE_COLUMNS, &[&["7", "innodb_undo_001", "Undo", "Y"]])
            .file("undo_001", undo("encrypted", 3, 9))
            .judge(&CHECK);
        assert_eq!((found.len(), found[0].status), (1, Fail));
        assert!(found[0].message.contains("partly"));
    }

    #[test]
    fn encrypted_pages_pass_unless_new_ones_will_be_clear() {
        let made = mysql().file("undo_001", undo("encrypted", 9, 0));
        assert_eq!(made.statuses(&CHECK), [Pass]);
        let found = made.variable("innodb_undo_log_encrypt", "OFF").judge(&CHECK);
        assert!(found.iter().any(|f| f.status == Fail && f.grade == Some(EvidenceGrade::Declared)));
    }

    #[test]
    fn mariadb_without_undo_tablespaces_is_not_applicable() {
        assert_eq!(mariadb().answer("tablespaces", TABLESPACE_COLUMNS, &[]).statuses(&CHECK), [NotApplicable]);
    }

    #[test]
    fn the_word_of_mysql_alone_proves_nothing() {
        let rows: &[&[&str]] = &[&["7", "innodb_undo_001", "Undo", "Y"]];
        let made = || mysql().answer("tablespaces", TABLESPACE_COLUMNS, rows);
        assert_eq!(made().variable("innodb_undo_log_encrypt", "ON").statuses(&CHECK), [Unknown]);
        assert_eq!(made().variable("innodb_undo_log_encrypt", "OFF").statuses(&CHECK), [Unknown, Fail]);
        assert_eq!(mariadb().answer("tablespaces", TABLESPACE_COLUMNS, rows).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_refusal_is_unknown() {
        assert_eq!(mysql().refused("tablespaces", 1227).statuses(&CHECK), [Unknown]);
    }
}
