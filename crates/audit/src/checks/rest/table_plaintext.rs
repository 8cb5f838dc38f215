//! `rest-table-plaintext`.

use findings::{Remedy, Severity};
use innodb::file_suffix;
use innodb::server_file::full_text_table_id;
use process::shell_word;
use server::Capability;
use server::Flavor;
use server::dialect::encryption::{MYSQL_ENCRYPTED, table_option};
use server::dialect::variable;
use server::quote;
use server::switch::is_switched_on;

use super::fts_plaintext::is_auxiliary;
use super::{ArtefactPolicy, cannot_encrypt_tables, judge_all, mariadb, or_none_of_it, unless_hidden};
use crate::artefact::{Artefact, Kind};
use crate::check::{Check, CheckResults, Context};
use crate::checks::advice::set_variable;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::sql::SqlFacts;

pub(crate) const CHECK: Check = Check {
    id: "rest-table-plaintext",
    title: "File-per-table tablespaces are not encrypted",
    severity: Severity::High,
    explanation: "Whoever copies the .ibd file of a clear table can read its rows with a text viewer. The server's \
        list shows what was requested; page 0 and the other pages show what is encrypted. On MariaDB a table that is \
        absent from INNODB_TABLESPACES_ENCRYPTION is clear. Left out: sys.sys_config, which holds only settings of the \
        sys schema.",
    applies: "every server with InnoDB",
    fix: "ALTER TABLE t ENCRYPTION='Y' on MySQL; innodb_encrypt_tables=FORCE with innodb_encryption_threads on MariaDB",
    cost: "MySQL copies the table and blocks its writes meanwhile; needs the table's size in free space. MariaDB \
        converts in the background",
    standards: &[
        "PCI DSS 4.0.1 3.5.1",
        "HIPAA 164.312(a)(2)(iv)",
        "GDPR 32(1)(a)",
        "NIST SP 800-53r5 SC-28(1)",
        "CIS MySQL 4.10E",
        "CIS MariaDB 4.9",
        "DISA STIG MYS8-00-007200",
    ],
    exposes: Exposes::Data(Attacker::StolenDisk, "The rows of tables, readable with a text viewer"),
    closed_by: ClosedBy::Encrypt,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    // Tables of full-text indexes have their own check.
    let wanted = |table: &&Artefact<'_>| !table.is_public() && !is_auxiliary(table);
    let tables = cx.artefacts.with_kind(Kind::Table).filter(wanted);
    let terms = ArtefactPolicy { noun: "tablespaces of tables", severity: &severity, fix: &|table| fix(cx, table) };
    or_none_of_it(cx, unless_hidden(cx, judge_all(cx, tables, &terms)), "tablespace of a table")
}

/// The server's own tables contain names and counts; those with credentials are as severe as users' tables.
fn severity(table: &Artefact<'_>) -> Option<Severity> {
    let (schema, name) = table.table()?;
    let current = schema == "mysql" && !["slave_master_info", "servers"].contains(&name.as_str());
    current.then_some(Severity::Low)
}

/// The command that encrypts a table.
pub(super) fn fix(cx: &Context<'_>, table: &Artefact<'_>) -> Remedy {
    let Some((schema, name)) = table.table() else { return CHECK.fix.into() };
    let sql = cx.facts.sql.as_ref();
    if let Some(file) = table.file.filter(|_| is_copy(cx, table)) {
        return Remedy::advice("it holds no table of the server: find out whose it is").and(
            Remedy::command(format!("shred -u {}", shell_word(&file.path))).once("you know that nobody needs it"),
        );
    }
    if full_text_table_id(&name).is_some() {
        return Remedy::advice(format!(
            "encrypt its parent in {}, then rebuild the full-text index: ALTER TABLE parent ENGINE=InnoDB",
            quote::identifier(&schema)
        ));
    }
    match (mariadb(cx), sql) {
        (Some(true), Some(sql)) if no_threads(sql) => set_variable(sql, variable::INNODB_ENCRYPTION_THREADS, "4"),
        (Some(true), _) => Remedy::statement(format!(
            "ALTER TABLE {} {}",
            quote::table(&schema, &name),
            table_option(Flavor::MariaDb, true)
        )),
        (_, Some(sql)) if sql.is_mariadb() || !sql.can(Capability::EncryptTables) => cannot_encrypt_tables(sql),
        _ => Remedy::statement(format!("ALTER TABLE {} {MYSQL_ENCRYPTED}", quote::table(&schema, &name))),
    }
}

/// Whether the file is not in the server's list, or not named like a table's file.
fn is_copy(cx: &Context<'_>, table: &Artefact<'_>) -> bool {
    let listed = cx.facts.sql.as_ref().is_some_and(|sql| sql.answered("tablespaces"));
    table.tablespace.is_none()
        && (listed || table.file.is_some_and(|file| !file_suffix::has(&file.name, file_suffix::TABLESPACE)))
}

fn no_threads(sql: &SqlFacts) -> bool {
    let wanted = sql.variable_or_none(variable::MARIADB_TABLESPACES).is_some_and(is_switched_on);
    wanted && sql.variable_or_none(variable::INNODB_ENCRYPTION_THREADS) == Some("0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::files::Content;
    use crate::facts::files::Root;
    use crate::facts::host::Role;
    use crate::finding::EvidenceGrade;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, TABLESPACE_COLUMNS, mariadb, mysql, tablespace, tablespace_with};
    use innodb::page::checksum::Checksum;
    use innodb::tablespace::{TablespaceKind, TablespaceScan, Truncation};

    #[test]
    fn bytes_beat_the_list() {
        let made = mysql()
            .answer("tablespaces", TABLESPACE_COLUMNS, &[&["7", "demo/t", "Single", "Y"]])
            .file("demo/t.ibd", tablespace("plain", 0, 5));
        let found = made.judge(&CHECK);
        assert_eq!((found[0].status, found[0].grade), (Fail, Some(EvidenceGrade::Bytes)));
        assert_eq!(found[0].artefact, "demo/t.ibd");
        assert_eq!(found[0].remediation.as_deref(), Some("ALTER TABLE `demo`.`t` ENCRYPTION='Y'"));
    }

    #[test]
    fn the_list_alone_counts_as_reported() {
        let rows: &[&[&str]] = &[&["7", "demo/t#p#p0", "Single", "N"], &["8", "demo/u", "Single", "Y"]];
        let found = mysql().answer("tablespaces", TABLESPACE_COLUMNS, rows).judge(&CHECK);
        assert_eq!((found[0].status, found[0].grade), (Fail, Some(EvidenceGrade::Reported)));
        assert_eq!(found[0].remediation.as_deref(), Some("ALTER TABLE `demo`.`t` ENCRYPTION='Y'"));
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn settings_of_the_sys_schema_are_no_data() {
        let rows: &[&[&str]] = &[&["1", "sys/sys_config", "Single", "N"], &["8", "demo/u", "Single", "Y"]];
        let made = mysql().answer("tablespaces", TABLESPACE_COLUMNS, rows);
        assert_eq!(made.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_directory_alone_is_judged_by_its_bytes() {
        let made = FactsBuilder::nothing().file("a@002db/t@0020x.ibd", tablespace("plain", 0, 3));
        let found = made.judge(&CHECK);
        assert_eq!(found[0].status, Fail);
        assert_eq!(found[0].remediation.as_deref(), Some("ALTER TABLE `a-b`.`t x` ENCRYPTION='Y'"));
        let made = FactsBuilder::nothing().file("demo/t.ibd", tablespace("mariadb", 4, 0));
        assert_eq!(made.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn damaged_and_empty_files_are_unknown() {
        let cut = Content::UnidentifiedTablespace { why: "no page 0".to_owned(), unwritten: false };
        let made = FactsBuilder::nothing().file("demo/cut.ibd", cut).file("demo/none.ibd", Content::Empty);
        assert_eq!(made.statuses(&CHECK), [Unknown, Unknown]);
    }

    #[test]
    fn a_declaration_that_no_page_confirms_is_no_encryption() {
        let forged = FactsBuilder::nothing().file("demo/t.ibd", tablespace("encrypted", 0, 5));
        assert!(forged.judge(&CHECK)[0].message.contains("is reported as encrypted and is not"));
        assert_eq!(FactsBuilder::nothing().file("demo/t.ibd", tablespace("encrypted", 4, 1)).statuses(&CHECK), [Fail]);
        assert_eq!(
            FactsBuilder::nothing().file("demo/t.ibd", tablespace("encrypted", 0, 0)).statuses(&CHECK),
            [Unknown]
        );
    }

    #[test]
    fn a_damaged_file_is_unknown_whatever_the_server_says() {
        let cut = tablespace_with("encrypted", 4, 0, |scan| {
            scan.truncated = Some(Truncation { missing_pages: 3, partial_bytes: 0 });
        });
        let empty = || Content::UnidentifiedTablespace { why: "the file is empty".to_owned(), unwritten: false };
        let unwritten = || Content::UnidentifiedTablespace { why: "zero".to_owned(), unwritten: true };
        let listed = || mysql().answer("tablespaces", TABLESPACE_COLUMNS, &[&["7", "demo/t", "Single", "Y"]]);
        assert_eq!(listed().file("demo/t.ibd", cut).statuses(&CHECK), [Unknown]);
        assert_eq!(listed().file("demo/t.ibd", empty()).statuses(&CHECK), [Unknown]);
        assert_eq!(listed().file("demo/t.ibd", unwritten()).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_damaged_id_does_not_hide_a_clear_table_in_the_system_tablespace() {
        let zero_id = |checksum| {
            let scan = |scan: &mut TablespaceScan| {
                scan.kind = TablespaceKind::System;
                scan.page0.checksum = checksum;
            };
            FactsBuilder::nothing().file("demo/t.ibd", tablespace_with("plain", 0, 5, scan)).judge(&CHECK)
        };
        assert_eq!((zero_id(Checksum::Mismatch)[0].status, zero_id(Checksum::Mismatch).len()), (Fail, 1));
        assert!(zero_id(Checksum::Crc32).iter().all(|found| found.status != Fail));
    }

    #[test]
    fn another_tablespace_under_its_name_is_not_it() {
        let made = mysql()
            .answer("tablespaces", TABLESPACE_COLUMNS, &[&["9", "demo/t", "Single", "N"]])
            .file("demo/t.ibd", tablespace("encrypted", 4, 0));
        assert_eq!(made.statuses(&CHECK), [Fail]);
    }

    #[test]
    fn what_could_not_be_walked_may_hide_clear_tables() {
        let hidden = |mut made: FactsBuilder| {
            let root = Root {
                path: "/var/lib/mysql/demo".to_owned(),
                role: Role::Data,
                via: "directory in datadir".to_owned(),
                error: Some("denied".to_owned()),
                missing: false,
            };
            made.0.files.as_mut().unwrap().roots.push(root);
            made
        };
        let file = || tablespace("encrypted", 4, 0);
        assert_eq!(hidden(FactsBuilder::nothing().file("other/t.ibd", file())).statuses(&CHECK), [Unknown]);
        let listed = mysql().answer("tablespaces", TABLESPACE_COLUMNS, &[&["7", "other/t", "Single", "Y"]]);
        assert_eq!(hidden(listed.file("other/t.ibd", file())).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_link_out_of_a_directory_is_unknown() {
        let link = |target: &str| Content::Link { target: target.to_owned() };
        let made = || FactsBuilder::nothing().file("demo/u.ibd", tablespace("encrypted", 4, 0));
        assert_eq!(made().file("demo/t.ibd", link("/elsewhere/t.ibd")).statuses(&CHECK), [Unknown]);
        assert_eq!(made().file("db2", link("/elsewhere/db2")).statuses(&CHECK), [Unknown]);
        assert_eq!(made().file("demo/t.ibd", link("u.ibd")).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_copy_is_not_altered_but_looked_at() {
        let found = FactsBuilder::nothing().file("demo/t.ibd.old", tablespace("plain", 0, 3)).judge(&CHECK);
        assert!(found[0].remediation.as_ref().unwrap().contains("shred"));
    }

    #[test]
    fn a_refused_list_without_files_is_unknown_and_no_table_not_applicable() {
        let found = mysql().refused("tablespaces", 1227).judge(&CHECK);
        assert_eq!(found[0].status, Unknown);
        assert!(found[0].remediation.as_ref().unwrap().contains("GRANT"));
        assert_eq!(mysql().answer("tablespaces", TABLESPACE_COLUMNS, &[]).statuses(&CHECK), [NotApplicable]);
    }

    #[test]
    fn mariadb_without_threads_is_reported() {
        let made = mariadb().variable("innodb_encrypt_tables", "ON").variable("innodb_encryption_threads", "0").answer(
            "tablespaces",
            TABLESPACE_COLUMNS,
            &[&["7", "demo/t", "Single", "N"]],
        );
        let found = made.judge(&CHECK);
        assert!(found[0].remediation.as_ref().unwrap().starts_with("SET GLOBAL innodb_encryption_threads = 4"));
    }

    #[test]
    fn an_encrypted_disk_alone_passes_with_a_note() {
        let made = mysql().file("demo/t.ibd", tablespace("plain", 0, 5)).encrypted_disk();
        let found = made.judge(&CHECK);
        assert_eq!((found[0].status, found[0].severity), (Pass, Severity::Info));
        assert!(found[0].message.contains("3.5.1.2"));
    }

    #[test]
    fn servers_too_old_get_the_advice_to_upgrade() {
        let old = FactsBuilder::server("5.6.24", "Source distribution");
        let found = old.answer("tablespaces", TABLESPACE_COLUMNS, &[&["7", "demo/t", "Single", "N"]]).judge(&CHECK);
        assert!(found[0].remediation.as_ref().unwrap().contains("upgrade"));
    }
}
