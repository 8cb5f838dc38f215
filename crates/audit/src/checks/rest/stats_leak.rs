//! `rest-stats-leak`.

use findings::{Remedy, Severity};
use innodb::server_file::DICTIONARY;
use server::Capability;
use server::dialect::statement::ENCRYPT_DICTIONARY;

use super::{all_seen, disk_only, hidden_tables, listed, sees_all_tables, unwalked, with_evidence};
use crate::access;
use crate::artefact::{Artefact, Artefacts, Kind, State};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::sql::SqlFacts;
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "rest-stats-leak",
    title: "Optimizer statistics keep values of columns in clear",
    severity: Severity::Medium,
    explanation: "Histograms (MySQL) and column statistics (MariaDB) store smallest, largest and frequent values of \
        columns in the server's own tables, on MariaDB also those of encrypted tables. Judged from the list of \
        histograms with the state of mysql.ibd, and from the pages of mysql/column_stats.MAD.",
    applies: "MySQL 8.0 and newer, MariaDB",
    fix: "encrypt the tables that hold them, or drop them for sensitive columns",
    cost: "none; query plans may be worse without them",
    standards: &["GDPR 32(1)(a)", "PCI DSS 4.0.1 3.5.1"],
    exposes: Exposes::Data(Attacker::StolenDisk, "Real values that the optimizer keeps as statistics"),
    closed_by: ClosedBy::Disk,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    match super::mariadb(cx) {
        Some(true) => column_stats(cx),
        _ => histograms(cx, cx.facts.sql()?),
    }
}

fn column_stats(cx: &Context<'_>) -> Observed<CheckResults> {
    let named = |table: &&Artefact<'_>| table.name.ends_with("mysql/column_stats.MAD");
    let Some(table) = cx.artefacts.with_kind(Kind::AriaTable).find(named) else {
        if all_seen(cx) {
            return Ok(CheckResults::not_applicable("mysql.column_stats is no Aria table here"));
        }
        cx.facts.files()?;
        return unwalked(cx).map_or_else(|| Ok(CheckResults::new()), Err);
    };
    let (state, grade) = table.state().ok_or_else(|| unseen(table))?;
    let result = match (state, table.disk_encryption()) {
        (State::Encrypted | State::Empty, _) => {
            CheckResult::pass("server", grade, "mysql.column_stats holds no values in clear")
        }
        (_, Some(layer)) => {
            CheckResult::pass(&table.name, grade, format!("clear, {}", disk_only(layer))).severity(Severity::Info)
        }
        _ => CheckResult::fail(
            &table.name,
            grade,
            "mysql.column_stats holds smallest and largest values of columns in clear",
        )
        .fix(
            Remedy::statement("SET GLOBAL aria_encrypt_tables = ON")
                .and(Remedy::statement("ALTER TABLE mysql.column_stats ENGINE=Aria ROW_FORMAT=PAGE"))
                .note("or DELETE FROM mysql.column_stats for sensitive columns, and FLUSH TABLES"),
        ),
    };
    Ok(CheckResults::one(with_evidence(result, table.evidence(cx.facts))))
}

fn unseen(table: &Artefact<'_>) -> Unavailable {
    Unavailable {
        what: table.name.clone(),
        why: "its bytes were not read".to_owned(),
        remedy: access::reading(table.file.map_or(table.name.as_str(), |file| &file.path)),
    }
}

fn histograms(cx: &Context<'_>, sql: &SqlFacts) -> Observed<CheckResults> {
    if !sql.can(Capability::Histograms) {
        return Ok(CheckResults::not_applicable("histograms exist in MySQL 8.0.3 and newer"));
    }
    let rows = sql.rows("histograms")?;
    if rows.is_empty() {
        if !sees_all_tables(sql) {
            return Err(hidden_tables(sql));
        }
        return Ok(CheckResults::one(
            CheckResult::pass("server", EvidenceGrade::Reported, "no column has a histogram")
                .evidence(sql.evidence("histograms", "no row")),
        ));
    }
    let columns: Vec<String> =
        rows.iter().map(|row| format!("{}.{}.{}", row.text("schema"), row.text("table"), row.text("column"))).collect();
    let names = listed(columns.iter().map(String::as_str));
    let (state, grade) = dictionary(cx.artefacts).ok_or_else(|| Unavailable {
        what: "mysql.ibd, which holds histograms".to_owned(),
        why: "neither the server nor its file shows whether it is encrypted".to_owned(),
        remedy: sql.grant("PROCESS ON *.*"),
    })?;
    let result = if state == State::Encrypted {
        CheckResult::pass("server", grade, format!("{} histograms lie in an encrypted mysql.ibd", columns.len()))
    } else {
        let (schema_table, column) = columns.first().and_then(|name| name.rsplit_once('.')).unwrap_or_default();
        CheckResult::fail(DICTIONARY, grade, format!("histograms keep values of columns in clear: {names}")).fix(
            Remedy::statement(ENCRYPT_DICTIONARY)
                .note(format!("or for each sensitive column: ANALYZE TABLE {schema_table} DROP HISTOGRAM ON {column}")),
        )
    };
    Ok(CheckResults::one(result.evidence(sql.evidence("histograms", names))))
}

fn dictionary(artefacts: &Artefacts<'_>) -> Option<(State, EvidenceGrade)> {
    artefacts.with_kind(Kind::MysqlTablespace).find_map(Artefact::state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, TABLESPACE_COLUMNS, mariadb, mysql};

    fn with_dictionary(encrypted: &str) -> FactsBuilder {
        mysql().answer("histograms", &["schema", "table", "column"], &[&["demo", "t", "name"]]).answer(
            "tablespaces",
            TABLESPACE_COLUMNS,
            &[&["4294967294", "mysql", "General", encrypted]],
        )
    }

    #[test]
    fn histograms_are_as_safe_as_the_dictionary() {
        let found = with_dictionary("N").judge(&CHECK);
        assert_eq!(found[0].status, Fail);
        assert!(found[0].remediation.as_ref().unwrap().contains("ANALYZE TABLE demo.t DROP HISTOGRAM ON name"));
        assert_eq!(with_dictionary("Y").statuses(&CHECK), [Pass]);
    }

    #[test]
    fn an_empty_list_is_proof_only_for_who_sees_all() {
        let made = mysql().answer("histograms", &["schema", "table", "column"], &[]);
        assert_eq!(made.statuses(&CHECK), [Unknown]);
        assert_eq!(made.answer("grants", &["grant"], &[&["GRANT SELECT ON *.* TO `a`@`b`"]]).statuses(&CHECK), [Pass]);
        assert_eq!(FactsBuilder::server("5.7.44", "").statuses(&CHECK), [NotApplicable]);
        assert_eq!(mariadb().statuses(&CHECK), [Unknown]);
    }
}
