//! `rest-general-plaintext`.

use findings::{Remedy, Severity};
use innodb::file_suffix;
use server::Capability;
use server::dialect::encryption::MYSQL_ENCRYPTED;
use server::dialect::statement::encrypt_tablespace;
use server::quote;

use super::{ArtefactPolicy, judge_all, mariadb, or_none_of_it, unless_hidden};
use crate::artefact::{Artefact, Kind};
use crate::check::{Check, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;

pub const CHECK: Check = Check {
    id: "rest-general-plaintext",
    title: "General tablespaces are not encrypted",
    severity: Severity::High,
    explanation: "A general tablespace holds many tables, which can only be encrypted together. If it is clear, the \
        rows of all of them are readable. Judged from the server's list and from page 0 and pages of its file.",
    applies: "MySQL 5.7.6 and newer, which can encrypt them from 8.0.13 on",
    fix: "ALTER TABLESPACE ts ENCRYPTION='Y'",
    cost: "in place; statements on its tables wait at the start and the end, reads and writes continue in between. \
        Never repeat it after a crash during it, which can make the tablespace unreadable: `sealant encrypt` checks \
        the bytes first",
    standards: &["PCI DSS 4.0.1 3.5.1", "NIST SP 800-53r5 SC-28(1)"],
    exposes: Exposes::Data(Attacker::StolenDisk, "The rows of every table in general tablespaces"),
    closed_by: ClosedBy::Encrypt,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    if mariadb(cx) == Some(true) {
        return Ok(CheckResults::not_applicable("MariaDB has no general tablespaces"));
    }
    let spaces = cx.artefacts.with_kind(Kind::GeneralTablespace);
    let terms = ArtefactPolicy { noun: "general tablespaces", severity: &|_| None, fix: &|space| fix(cx, space) };
    or_none_of_it(cx, unless_hidden(cx, judge_all(cx, spaces, &terms)), "general tablespace")
}

fn fix(cx: &Context<'_>, space: &Artefact<'_>) -> Remedy {
    let file = space.name.rsplit('/').next().unwrap_or(&space.name);
    let name = space
        .tablespace
        .map_or_else(|| file_suffix::strip(file, file_suffix::TABLESPACE).unwrap_or(file), |row| row.name);
    if cx.facts.sql.as_ref().is_some_and(|sql| !sql.can(Capability::EncryptGeneral)) {
        return format!(
            "for each table in {}: ALTER TABLE t TABLESPACE=innodb_file_per_table {MYSQL_ENCRYPTED}",
            quote::identifier(name)
        )
        .into();
    }
    Remedy::statement(encrypt_tablespace(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, TABLESPACE_COLUMNS, mariadb, mysql};

    #[test]
    fn clear_fails_and_encrypted_passes() {
        let made = mysql().answer("tablespaces", TABLESPACE_COLUMNS, &[&["9", "ts", "General", "N"]]);
        let found = made.judge(&CHECK);
        assert_eq!(found[0].status, Fail);
        assert_eq!(found[0].remediation.as_deref(), Some("ALTER TABLESPACE `ts` ENCRYPTION='Y'"));
        let made = mysql().answer("tablespaces", TABLESPACE_COLUMNS, &[&["9", "ts", "General", "Y"]]);
        assert_eq!(made.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn the_dictionary_is_no_general_tablespace() {
        let made = mysql().answer("tablespaces", TABLESPACE_COLUMNS, &[&["4294967294", "mysql", "General", "N"]]);
        assert_eq!(made.statuses(&CHECK), [NotApplicable]);
    }

    #[test]
    fn old_servers_can_only_move_the_tables() {
        let old = FactsBuilder::server("5.7.44", "MySQL Community Server (GPL)");
        let found = old.answer("tablespaces", TABLESPACE_COLUMNS, &[&["9", "ts", "General", "N"]]).judge(&CHECK);
        assert!(found[0].remediation.as_ref().unwrap().contains("innodb_file_per_table"));
    }

    #[test]
    fn mariadb_has_none_and_a_refusal_is_unknown() {
        assert_eq!(mariadb().statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().refused("tablespaces", 1227).statuses(&CHECK), [Unknown]);
    }
}
