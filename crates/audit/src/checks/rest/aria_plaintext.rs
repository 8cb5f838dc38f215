//! `rest-aria-plaintext`.

use std::collections::HashSet;

use findings::{Remedy, Severity};
use server::dialect::variable;
use server::quote;

use super::{
    ArtefactPolicy, all_seen, data_seen, hidden_tables, is_system_schema, judge_all, sees_all_tables, unless_unwalked,
    unwalked,
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
    id: "rest-aria-plaintext",
    title: "Aria tables are in clear",
    severity: Severity::High,
    explanation: "aria_encrypt_tables applies to tables created or rebuilt while it is on, and to ROW_FORMAT=PAGE \
        only: rows added to older tables stay clear. MariaDB's own tables are in Aria, too: password hashes in \
        global_priv, smallest and largest values of columns in column_stats. Judged from the pages of the .MAD files. \
        Left out: help texts and time zones, which are public.",
    applies: "MariaDB 10.1 and newer",
    fix: "aria_encrypt_tables=ON, then ALTER TABLE t ENGINE=Aria ROW_FORMAT=PAGE for each",
    cost: "copies the table and blocks its writes meanwhile",
    standards: &["PCI DSS 4.0.1 3.5.1"],
    exposes: Exposes::Data(Attacker::StolenDisk, "The rows of Aria tables"),
    closed_by: ClosedBy::Encrypt,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    if super::mariadb(cx) == Some(false) {
        return Ok(CheckResults::not_applicable("only MariaDB has Aria tables"));
    }
    let tables = cx.artefacts.with_kind(Kind::AriaTable).filter(|table| !table.is_public());
    let terms = ArtefactPolicy { noun: "Aria tables", severity: &severity, fix: &|table| fix(cx, table) };
    let mut results = unless_unwalked(cx, judge_all(cx, tables, &terms));
    if let (true, Some(sql)) = (results.is_empty() && !data_seen(cx), &cx.facts.sql) {
        by_list(sql)?.into_iter().for_each(|result| results.push(result));
    }
    if let (true, Some(sql)) = (data_seen(cx), &cx.facts.sql) {
        unwritten(cx, sql).into_iter().for_each(|result| results.push(result));
    }
    if results.is_empty() && all_seen(cx) {
        return Ok(CheckResults::not_applicable("no Aria table lies in the data directory"));
    }
    if results.is_empty() {
        cx.facts.files()?;
        unwalked(cx).map_or(Ok(()), Err)?;
    }
    Ok(results)
}

/// The server's own tables are less severe, except those with column values or credentials.
fn severity(table: &Artefact<'_>) -> Option<Severity> {
    const CREDENTIAL_TABLES: [&str; 4] = ["column_stats", "global_priv", "user", "servers"];
    let (schema, name) = table.table()?;
    (schema == "mysql").then_some(if CREDENTIAL_TABLES.contains(&name.as_str()) {
        Severity::Medium
    } else {
        Severity::Low
    })
}

/// Users' tables whose rows are still in memory, and will be written in clear text.
fn unwritten(cx: &Context<'_>, sql: &SqlFacts) -> Vec<CheckResult> {
    if sql.variable_on(variable::ARIA_TABLES) != Ok(false) {
        return Vec::new();
    }
    let reported =
        |table: &&Artefact<'_>| matches!(table.state(), Some((State::Clear | State::Partly | State::Encrypted, _)));
    let seen: HashSet<(String, String)> =
        cx.artefacts.with_kind(Kind::AriaTable).filter(reported).filter_map(Artefact::table).collect();
    let tables = users_tables(sql).unwrap_or_default();
    let unseen = tables.into_iter().filter(|table| !seen.contains(table));
    switched_off(sql, unseen.map(|(schema, table)| format!("{schema}.{table}")).collect())
}

/// Aria tables outside the server's own schemas.
fn users_tables(sql: &SqlFacts) -> Observed<Vec<(String, String)>> {
    let rows = sql.rows("tables")?;
    let aria = rows.iter().filter(|row| row.text("engine").eq_ignore_ascii_case("Aria"));
    let users = aria.filter(|row| !is_system_schema(row.text("schema")));
    Ok(users.map(|row| (row.text("schema").to_owned(), row.text("table").to_owned())).collect())
}

fn by_list(sql: &SqlFacts) -> Observed<Vec<CheckResult>> {
    let tables: Vec<String> =
        users_tables(sql)?.into_iter().map(|(schema, table)| format!("{schema}.{table}")).collect();
    if !sql.variable_on(variable::ARIA_TABLES)? {
        let system_only = tables.is_empty();
        let named = if system_only { vec![variable::ARIA_TABLES.to_owned()] } else { tables };
        let results = switched_off(sql, named).into_iter();
        return Ok(results
            .map(|result| if system_only { result.severity(Severity::Medium) } else { result })
            .collect());
    }
    if tables.is_empty() && !sees_all_tables(sql) {
        return Err(hidden_tables(sql));
    }
    Err(Unavailable {
        what: "pages of Aria tables".to_owned(),
        why: "aria_encrypt_tables is ON, but tables made before it was set, MariaDB's own among them, stay clear"
            .to_owned(),
        remedy: access::reading("the .MAD files"),
    })
}

fn switched_off(sql: &SqlFacts, tables: Vec<String>) -> Vec<CheckResult> {
    let result = |table: String| {
        CheckResult::fail(
            &table,
            EvidenceGrade::Declared,
            "aria_encrypt_tables is OFF: Aria tables are written in clear",
        )
        .evidence(sql.variable_evidence(variable::ARIA_TABLES))
        .fix(set_variable(sql, variable::ARIA_TABLES, "ON"))
    };
    tables.into_iter().map(result).collect()
}

fn fix(cx: &Context<'_>, table: &Artefact<'_>) -> Remedy {
    let on = cx.facts.sql.as_ref().filter(|sql| sql.variable_on(variable::ARIA_TABLES) != Ok(true));
    let Some((schema, name)) = table.table() else { return CHECK.fix.into() };
    let alter = format!("ALTER TABLE {} ENGINE=Aria ROW_FORMAT=PAGE", quote::table(&schema, &name));
    match on {
        Some(sql) => set_variable(sql, variable::ARIA_TABLES, "ON").and(Remedy::statement(alter)),
        None => Remedy::statement(alter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::files::Content;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql, tablespace};
    use innodb::aria::{AriaCounts, AriaScan};

    fn aria(encrypted: u64, clear: u64) -> Content {
        let counts = AriaCounts {
            total: encrypted + clear,
            scanned: encrypted + clear,
            encrypted,
            clear,
            ..AriaCounts::default()
        };
        Content::AriaData {
            scan: AriaScan {
                file_bytes: 1 << 20,
                complete: true,
                counts,
                key_versions: None,
                clear_offsets: vec![8192],
            },
        }
    }

    #[test]
    fn old_tables_fail_although_the_switch_is_on() {
        let made = mariadb()
            .variable("aria_encrypt_tables", "ON")
            .file("demo/old_aria.MAD", aria(1, 3))
            .file("mysql/column_stats.MAD", aria(0, 1))
            .file("mysql/help_topic.MAD", aria(0, 90));
        let found = made.judge(&CHECK);
        assert_eq!(made.statuses(&CHECK), [Fail, Fail]);
        assert_eq!(found[0].remediation.as_deref(), Some("ALTER TABLE `demo`.`old_aria` ENGINE=Aria ROW_FORMAT=PAGE"));
        assert_eq!((found[1].artefact.as_str(), found[1].severity), ("mysql/column_stats.MAD", Severity::Medium));
    }

    #[test]
    fn one_table_of_mysql_does_not_hide_what_mariadb_wrote() {
        let made = FactsBuilder::nothing()
            .file("demo/copied.ibd", tablespace("plain", 0, 3))
            .file("demo/own.ibd", tablespace("mariadb-plain", 0, 3))
            .file("demo/second.ibd", tablespace("mariadb-plain", 0, 3))
            .file("demo/a.MAD", aria(0, 3));
        assert_eq!(made.statuses(&CHECK), [Fail]);
    }

    #[test]
    fn encrypted_and_empty_tables_pass() {
        let made = FactsBuilder::nothing().file("demo/a.MAD", aria(4, 0)).file("demo/b.MAD", aria(0, 0));
        assert_eq!(made.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn pages_that_are_none_of_aria_are_no_proof_of_encryption() {
        let table = |clear| {
            let Content::AriaData { mut scan } = aria(3, clear) else { unreachable!("a table was made") };
            scan.counts.unrecognised = 1;
            FactsBuilder::nothing().file("demo/a.MAD", Content::AriaData { scan }).statuses(&CHECK)
        };
        assert_eq!((table(0), table(1)), (vec![Unknown], vec![Fail]));
    }

    #[test]
    fn rows_that_are_not_written_yet_will_be_clear() {
        let made = |value| {
            mariadb()
                .variable("aria_encrypt_tables", value)
                .answer("tables", &["schema", "table", "engine"], &[&["demo", "a", "Aria"]])
                .file("demo/a.MAD", Content::Empty)
        };
        let found = made("OFF").judge(&CHECK);
        assert!(
            found
                .iter()
                .any(|f| f.status == Fail && f.artefact == "demo.a" && f.grade == Some(EvidenceGrade::Declared))
        );
        assert_eq!(made("ON").statuses(&CHECK), [Pass]);
    }

    #[test]
    fn without_files_the_switch_can_only_fail() {
        let list = |value| {
            mariadb().variable("aria_encrypt_tables", value).answer(
                "tables",
                &["schema", "table", "engine"],
                &[&["demo", "a", "Aria"]],
            )
        };
        assert_eq!(list("OFF").judge(&CHECK)[0].artefact, "demo.a");
        assert_eq!(list("ON").statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn mysql_has_none() {
        assert_eq!(mysql().statuses(&CHECK), [NotApplicable]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
