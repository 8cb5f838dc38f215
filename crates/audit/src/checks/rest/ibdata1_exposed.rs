//! `rest-ibdata1-exposed`.

use std::collections::BTreeSet;

use findings::{Remedy, Severity};
use innodb::file_name::decoded;
use innodb::tablespace::TablespaceScan;
use server::Capability;
use server::dialect::encryption::MYSQL_ENCRYPTED;
use server::dialect::variable;
use server::quote;
use server::switch::is_switched_on;

use super::{
    ArtefactPolicy, convert_in_background, covered_by_disk, data_seen, judge_all, listed, unread, with_evidence,
};
use crate::access;
use crate::artefact::system::{contents, is_encryptable};
use crate::artefact::{Artefact, Kind};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::{set_at_start, set_variable};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::sql::SqlFacts;
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "rest-ibdata1-exposed",
    title: "The system tablespace holds data in clear",
    severity: Severity::Medium,
    explanation: "Oracle's server cannot encrypt ibdata1 (error 3119). So it must hold no user tables, no undo and no \
        entries of the change buffer, which holds keys of secondary indexes of any table, also of encrypted ones. \
        MariaDB encrypts it with its threads, Percona when the server is initialised. Judged from the types of its \
        pages, the tables that the server lists in space 0, innodb_file_per_table and innodb_change_buffering.",
    applies: "every server with InnoDB",
    fix: "move tables out of ibdata1, innodb_change_buffering=none, separate undo tablespaces; an encrypted disk for \
        the rest",
    cost: "moving a table copies it and blocks its writes meanwhile; ibdata1 itself never shrinks",
    standards: &["PCI DSS 4.0.1 3.5.1", "NIST SP 800-53r5 SC-28(1)"],
    exposes: Exposes::Data(Attacker::StolenDisk, "What the system tablespace holds"),
    closed_by: ClosedBy::Disk,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let files: Vec<&Artefact<'_>> = cx.artefacts.with_kind(Kind::SystemTablespace).collect();
    let encryptable = files.iter().any(|file| is_encryptable(cx.facts, cx.artefacts, file));
    if encryptable {
        let terms = ArtefactPolicy { noun: "system tablespace", severity: &|_| None, fix: &|_| encrypt(cx) };
        let results = judge_all(cx, files.into_iter(), &terms);
        return or_unseen(cx, results);
    }
    let mut results = CheckResults::new();
    let mut disk = Vec::new();
    let mut unseen = Vec::new();
    let mut harmless = Vec::new();
    for file in files {
        match file.scan() {
            None => unseen.push(file),
            Some(scan) if contents(cx.facts, scan).is_empty() => harmless.push(file),
            Some(_) if file.disk_encryption().is_some() => disk.push(file),
            Some(scan) => results.push(failure(cx, file, scan)),
        }
    }
    covered_by_disk(cx, &disk).into_iter().for_each(|result| results.push(result));
    if disk.is_empty() {
        by_settings(cx).into_iter().for_each(|result| results.push(result));
    }
    if !results.has_failed() && disk.is_empty() {
        unread(&unseen).into_iter().for_each(|result| results.push(result));
    }
    if let Some(first) = harmless.first() {
        results.pass_if_clean(pass(cx, first));
    }
    or_unseen(cx, results)
}

fn failure(cx: &Context<'_>, file: &Artefact<'_>, scan: &TablespaceScan) -> CheckResult {
    let description = format!("{} holds in clear: {}", file.name, contents(cx.facts, scan).join(", "));
    let result = CheckResult::fail(&file.name, EvidenceGrade::Bytes, description).fix(fix(cx, scan));
    let result = with_evidence(result, file.evidence(cx.facts));
    match &cx.facts.sql {
        Some(sql) => result.evidence(sql.variable_evidence(variable::INNODB_CHANGE_BUFFERING)),
        None => result,
    }
}

/// What the server itself reports about ibdata1.
fn by_settings(cx: &Context<'_>) -> Vec<CheckResult> {
    let Some(sql) = &cx.facts.sql else { return Vec::new() };
    [tables_inside(sql), new_tables_inside(sql), undo_inside(sql)].into_iter().flatten().collect()
}

fn tables_inside(sql: &SqlFacts) -> Option<CheckResult> {
    let rows = sql.rows("system_space_tables").ok()?;
    let names: Vec<&str> = rows.iter().map(|row| row.text("name")).filter(|name| !name.starts_with("SYS_")).collect();
    names.first()?;
    let spelled: Vec<String> = names.iter().map(|name| decoded(name)).collect();
    let result = CheckResult::fail(
        "tables in ibdata1",
        EvidenceGrade::Reported,
        format!("{} tables lie in ibdata1: {}", names.len(), listed(spelled.iter().map(String::as_str))),
    )
    .evidence(sql.evidence("system_space_tables", listed(names.iter().copied())))
    .fix(move_out(sql, &names));
    Some(result)
}

/// Statements that move each table into its own file.
fn move_out(sql: &SqlFacts, names: &[&str]) -> Remedy {
    let table = |name: &&str| {
        let (schema, table) = name.split_once('/').unwrap_or(("", name));
        // The partitions of a table move with it.
        let table = table.split_once('#').map_or(table, |(table, _)| table);
        quote::table(&decoded(schema), &decoded(table))
    };
    let tables: BTreeSet<String> = names.iter().map(table).collect();
    if sql.can(Capability::DictionaryTablespace) {
        let alter = |table: &String| {
            Remedy::statement(format!("ALTER TABLE {table} TABLESPACE=innodb_file_per_table {MYSQL_ENCRYPTED}"))
        };
        return tables.iter().map(alter).reduce(Remedy::and).unwrap_or_default();
    }
    let current = set_variable(sql, variable::INNODB_FILE_PER_TABLE, "ON");
    let encrypted =
        if sql.mysql_can(Capability::EncryptTables) { format!(" {MYSQL_ENCRYPTED}") } else { String::new() };
    let alter = tables.iter().map(|table| Remedy::statement(format!("ALTER TABLE {table} ENGINE=InnoDB{encrypted}")));
    alter.fold(current, Remedy::and)
}

fn new_tables_inside(sql: &SqlFacts) -> Option<CheckResult> {
    let off = sql.variable_on(variable::INNODB_FILE_PER_TABLE) == Ok(false);
    off.then(|| {
        CheckResult::fail(
            variable::INNODB_FILE_PER_TABLE,
            EvidenceGrade::Declared,
            "innodb_file_per_table is OFF: new tables are created in ibdata1",
        )
        .evidence(sql.variable_evidence(variable::INNODB_FILE_PER_TABLE))
        .fix(set_variable(sql, variable::INNODB_FILE_PER_TABLE, "ON"))
    })
}

/// Before MySQL 8.0, undo is in ibdata1 unless the server was initialised with undo tablespaces.
fn undo_inside(sql: &SqlFacts) -> Option<CheckResult> {
    let inside =
        !sql.can(Capability::DictionaryTablespace) && sql.variable(variable::INNODB_UNDO_TABLESPACES) == Ok("0");
    inside.then(|| {
        CheckResult::fail(
            "undo in ibdata1",
            EvidenceGrade::Declared,
            "innodb_undo_tablespaces is 0: undo lies in ibdata1, \
            in clear",
        )
        .evidence(sql.variable_evidence(variable::INNODB_UNDO_TABLESPACES))
        .fix(
            "upgrade to MySQL 8.0, which keeps undo in tablespaces that can be encrypted, or put ibdata1 onto an \
                encrypted disk",
        )
    })
}

fn pass(cx: &Context<'_>, file: &Artefact<'_>) -> CheckResult {
    let (read, all) = file.extent().unwrap_or_default();
    let extent = if read == all {
        format!("all {all} pages were read")
    } else {
        format!("a sample of {read} of {all} pages was read, --deep reads all")
    };
    let mut description =
        format!("{} cannot be encrypted and holds no table, undo or change buffer entry: {extent}", file.name);
    let buffering = cx.facts.sql.as_ref().and_then(|sql| sql.variable_or_none(variable::INNODB_CHANGE_BUFFERING));
    if buffering.is_some_and(is_switched_on) {
        description.push_str("; innodb_change_buffering is not none, so that it can hold keys of indexes later");
    }
    with_evidence(
        CheckResult::pass(&file.name, EvidenceGrade::Bytes, description).severity(Severity::Info),
        file.evidence(cx.facts),
    )
}

fn or_unseen(cx: &Context<'_>, mut results: CheckResults) -> Observed<CheckResults> {
    if results.is_empty() {
        if !data_seen(cx) {
            cx.facts.files()?;
        }
        results.push_unknown(
            innodb::server_file::FIRST_SYSTEM,
            Unavailable {
                what: "pages of ibdata1".to_owned(),
                why:
                    "the server lists no table in it, but only its pages show whether it holds undo or keys of indexes"
                        .to_owned(),
                remedy: access::reading("ibdata1 in innodb_data_home_dir"),
            },
        );
    }
    Ok(results)
}

fn fix(cx: &Context<'_>, scan: &TablespaceScan) -> Remedy {
    let Some(sql) = &cx.facts.sql else { return CHECK.fix.into() };
    if scan.change_buffer_pages > 0 {
        return set_variable(sql, variable::INNODB_CHANGE_BUFFERING, "none")
            .and(Remedy::statement("SET GLOBAL innodb_fast_shutdown = 0").then_restart())
            .note("which merges what is left");
    }
    "put ibdata1 onto an encrypted disk (innodb_data_home_dir), or dump and load into a new server of MySQL 8.0 or \
        newer"
        .into()
}

fn encrypt(cx: &Context<'_>) -> Remedy {
    match &cx.facts.sql {
        Some(sql) if sql.is_mariadb() => convert_in_background(sql),
        Some(sql) => set_at_start(sql, variable::PERCONA_SYSTEM_TABLESPACE, "ON"),
        None => "MariaDB: innodb_encrypt_tables=ON and innodb_encryption_threads=4".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::files::Content;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, TABLESPACE_COLUMNS, mariadb, mysql, tablespace_with};
    use innodb::SpaceId;
    use innodb::tablespace::TablespaceKind;

    fn ibdata1(change: impl FnOnce(&mut TablespaceScan)) -> Content {
        tablespace_with("plain", 0, 0, |scan| {
            scan.kind = TablespaceKind::System;
            scan.page0.space_id = SpaceId(0);
            scan.page0.server_version = Some(90704);
            change(scan);
        })
    }

    #[test]
    fn a_harmless_ibdata1_is_only_info() {
        let found = mysql().variable("innodb_change_buffering", "all").file("ibdata1", ibdata1(|_| ())).judge(&CHECK);
        assert_eq!((found[0].status, found[0].severity), (Pass, Severity::Info));
        assert!(found[0].message.contains("innodb_change_buffering"));
    }

    #[test]
    fn a_further_file_that_is_not_used_yet_is_nothing_to_judge() {
        let file = |encrypted: u64, empty: u64| {
            tablespace_with("mariadb", encrypted, 0, |scan| {
                scan.kind = TablespaceKind::System;
                scan.page0.space_id = SpaceId(0);
                scan.counts.exempt -= u64::from(encrypted == 0);
                scan.counts.empty = empty;
                scan.counts.total = encrypted + empty + scan.counts.exempt;
            })
        };
        let made = mariadb().file("ibdata1", file(700, 0)).file("ibdata2", file(0, 640));
        assert_eq!(made.statuses(&CHECK), [Pass]);
        assert_eq!(made.statuses(&crate::checks::rest::page_plaintext::CHECK), [Pass]);
    }

    #[test]
    fn change_buffer_undo_and_tables_fail() {
        let found = mysql()
            .file("ibdata1", ibdata1(|scan| (scan.change_buffer_pages, scan.clear_index_pages) = (19, 19)))
            .judge(&CHECK);
        assert!(found[0].status == Fail && found[0].message.contains("19 pages of the change buffer"));
        assert!(found[0].remediation.as_ref().unwrap().contains("innodb_change_buffering = 'none'"));
        assert_eq!(
            FactsBuilder::nothing().file("ibdata1", ibdata1(|scan| scan.clear_undo_pages = 2)).statuses(&CHECK),
            [Fail]
        );
        assert_eq!(mysql().file("ibdata1", ibdata1(|scan| scan.clear_index_pages = 2)).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn the_dictionary_of_old_servers_is_no_table_of_a_user() {
        let old = FactsBuilder::server("5.7.44", "MySQL Community Server (GPL)");
        let made = old.file("ibdata1", ibdata1(|scan| scan.clear_index_pages = 9));
        assert_eq!(made.statuses(&CHECK), [Pass]);
        assert_eq!(made.variable("innodb_undo_tablespaces", "0").statuses(&CHECK), [Fail]);
    }

    #[test]
    fn settings_alone_can_fail_but_never_pass() {
        let made = mysql().answer("system_space_tables", &["name"], &[&["demo/t"]]);
        assert_eq!(made.statuses(&CHECK), [Fail]);
        assert_eq!(mysql().variable("innodb_file_per_table", "OFF").statuses(&CHECK), [Fail]);
        assert_eq!(mysql().variable("innodb_file_per_table", "ON").statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn mariadb_encrypts_it() {
        let row = |encrypted| {
            mariadb().answer("tablespaces", TABLESPACE_COLUMNS, &[&["0", "innodb_system", "System", encrypted]])
        };
        assert_eq!(row("N").statuses(&CHECK), [Fail]);
        assert_eq!(row("Y").statuses(&CHECK), [Pass]);
    }

    #[test]
    fn an_encrypted_disk_is_enough_for_the_rest() {
        let made = mysql().file("ibdata1", ibdata1(|scan| scan.clear_undo_pages = 2)).encrypted_disk();
        assert_eq!(made.statuses(&CHECK), [Pass]);
    }
}
