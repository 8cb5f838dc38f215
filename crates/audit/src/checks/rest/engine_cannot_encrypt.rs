//! `rest-engine-cannot-encrypt`.

use std::collections::HashSet;

use findings::{Remedy, Severity};
use server::Flavor;
use server::dialect::encryption::table_option;
use server::dialect::variable;
use server::quote;

use super::{
    all_seen, cannot_encrypt_tables, covered_by_disk, hidden_tables, is_system_schema, sees_all_tables, unread,
    unwalked, with_evidence,
};
use crate::artefact::{Artefact, Kind, State};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::set_variable;
use crate::checks::key::can_encrypt;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::sql::{Row, SqlFacts};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "rest-engine-cannot-encrypt",
    title: "Tables use an engine that cannot encrypt",
    severity: Severity::High,
    explanation: "MyISAM, CSV, ARCHIVE, MyRocks, FEDERATED and others write rows in clear, whatever the encryption \
        switches say. Judged from the files with rows (.MYD, .CSV, .ARZ) and from the engines that \
        information_schema lists. Left out: the server's own tables, engines that keep nothing on disk, and Aria, \
        which rest-aria-plaintext judges.",
    applies: "every server",
    fix: "ALTER TABLE t ENGINE=InnoDB ENCRYPTION='Y'",
    cost: "copies the table and blocks its writes meanwhile; needs its size in free space",
    standards: &["PCI DSS 4.0.1 3.5.1"],
    exposes: Exposes::Data(Attacker::StolenDisk, "The rows of tables whose engine cannot encrypt"),
    closed_by: ClosedBy::Disk,
    locked_out: None,
    judge,
};

/// Engines that encrypt, have their own check, store nothing on disk, or only refer to other tables.
const OTHERS: [&str; 10] = [
    "InnoDB",
    "Aria",
    "MEMORY",
    "PERFORMANCE_SCHEMA",
    "BLACKHOLE",
    "MRG_MYISAM",
    "SEQUENCE",
    "ndbcluster",
    "ndbinfo",
    "TempTable",
];

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let files: Vec<&Artefact<'_>> =
        cx.artefacts.with_kind(Kind::PlainTable).filter(|file| !is_system_table(file)).collect();
    let mut results = CheckResults::new();
    let (disk, open): (Vec<_>, Vec<_>) = files.iter().copied().partition(|file| file.disk_encryption().is_some());
    open.into_iter().filter(|file| file.bytes == Some(State::Clear)).for_each(|file| results.push(of_file(cx, file)));
    let disk: Vec<&Artefact<'_>> = disk.into_iter().filter(|file| file.bytes == Some(State::Clear)).collect();
    covered_by_disk(cx, &disk).into_iter().for_each(|result| results.push(result));
    let seen: HashSet<(String, String)> =
        files.iter().filter(|file| file.bytes == Some(State::Clear)).filter_map(|file| file.table()).collect();
    if let Some(sql) = &cx.facts.sql {
        by_list(sql, &seen).into_iter().for_each(|result| results.push(result));
    }
    if !results.has_failed() {
        let unlisted: Vec<&Artefact<'_>> = files.into_iter().filter(|file| file.state().is_none()).collect();
        unread(&unlisted).into_iter().for_each(|result| results.push(result));
    }
    finish(cx, results)
}

fn finish(cx: &Context<'_>, mut results: CheckResults) -> Observed<CheckResults> {
    if !results.is_empty() {
        return Ok(results);
    }
    let listed = cx.facts.sql().and_then(|sql| sql.rows("tables").map(|_| sql));
    match listed {
        Ok(sql) if all_seen(cx) || sees_all_tables(sql) => results.push(
            CheckResult::pass(
                "server",
                if all_seen(cx) { EvidenceGrade::Bytes } else { EvidenceGrade::Reported },
                "no table uses an engine that cannot encrypt",
            )
            .evidence(sql.evidence("tables", "no row of such an engine outside the server's own schemas")),
        ),
        _ if all_seen(cx) => {
            results.push(CheckResult::pass(
                "server",
                EvidenceGrade::Bytes,
                "no file with rows of such an engine lies in the data directory",
            ));
        }
        Ok(sql) => return Err(hidden_tables(sql)),
        Err(unseen) => return Err(unwalked(cx).unwrap_or(unseen)),
    }
    Ok(results)
}

/// The server's own tables; log tables have their own check.
fn is_system_table(file: &Artefact<'_>) -> bool {
    file.table().is_some_and(|(schema, _)| is_system_schema(&schema))
}

fn of_file(cx: &Context<'_>, file: &Artefact<'_>) -> CheckResult {
    let result = CheckResult::fail(
        &file.name,
        EvidenceGrade::Bytes,
        format!("{} holds rows in clear: its engine cannot encrypt", file.name),
    );
    let result = with_evidence(result, file.evidence(cx.facts));
    match file.table() {
        Some((schema, table)) => {
            result.fix(convert(cx.facts.sql.as_ref(), &schema, &table, super::mariadb(cx) == Some(true)))
        }
        None => result,
    }
}

fn by_list(sql: &SqlFacts, seen: &HashSet<(String, String)>) -> Vec<CheckResult> {
    let rows = sql.rows("tables").unwrap_or_default();
    let wanted = |row: &&Row<'_>| {
        let engine = row.text("engine");
        let current = is_system_schema(row.text("schema"));
        let known = seen.contains(&(row.text("schema").to_owned(), row.text("table").to_owned()));
        !current && !known && !engine.is_empty() && !OTHERS.iter().any(|other| engine.eq_ignore_ascii_case(other))
    };
    rows.iter().filter(wanted).map(|row| listed(sql, row)).collect()
}

fn listed(sql: &SqlFacts, row: &Row<'_>) -> CheckResult {
    let (schema, table, engine) = (row.text("schema"), row.text("table"), row.text("engine"));
    let outside = ["FEDERATED", "SPIDER", "CONNECT", "S3"].iter().any(|remote| engine.eq_ignore_ascii_case(remote));
    let why = if outside { "which keeps rows where this audit cannot see them" } else { "which cannot encrypt" };
    CheckResult::fail(
        format!("{schema}.{table}"),
        EvidenceGrade::Reported,
        format!("{schema}.{table} uses {engine}, {why}"),
    )
    .evidence(sql.evidence("tables", format!("{schema}.{table}: ENGINE = {engine}")))
    .fix(convert(Some(sql), schema, table, sql.is_mariadb()))
}

fn convert(sql: Option<&SqlFacts>, schema: &str, table: &str, mariadb: bool) -> Remedy {
    let sql = match sql {
        Some(sql) if !can_encrypt(sql) => return cannot_encrypt_tables(sql),
        sql => sql,
    };
    let encrypted = table_option(if mariadb { Flavor::MariaDb } else { Flavor::MySql }, true);
    let alter = Remedy::statement(format!("ALTER TABLE {} ENGINE=InnoDB {encrypted}", quote::table(schema, table)));
    // In ibdata1 a table cannot be encrypted individually.
    match sql.filter(|sql| sql.variable_on(variable::INNODB_FILE_PER_TABLE) == Ok(false)) {
        Some(sql) => set_variable(sql, variable::INNODB_FILE_PER_TABLE, "ON").and(alter),
        None => alter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::files::{Content, Root};
    use crate::facts::host::Role;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql, tablespace};

    const COLUMNS: &[&str] = &["schema", "table", "engine"];

    fn isam() -> Content {
        Content::PlainTable { engine: "MyISAM".to_owned() }
    }

    #[test]
    fn files_and_list_name_a_table_once() {
        let made = mysql()
            .answer("tables", COLUMNS, &[&["demo", "isam", "MyISAM"], &["demo", "far", "FEDERATED"]])
            .file("demo/isam.MYD", isam());
        let found = made.judge(&CHECK);
        assert_eq!(made.statuses(&CHECK), [Fail, Fail]);
        assert_eq!((found[0].artefact.as_str(), found[0].grade), ("demo/isam.MYD", Some(EvidenceGrade::Bytes)));
        assert_eq!(found[1].artefact, "demo.far");
        assert_eq!(found[0].remediation.as_deref(), Some("ALTER TABLE `demo`.`isam` ENGINE=InnoDB ENCRYPTION='Y'"));
    }

    #[test]
    fn system_tables_do_not_count() {
        let made = mysql()
            .answer("tables", COLUMNS, &[&["mysql", "general_log", "CSV"]])
            .file("mysql/general_log.CSV", Content::PlainTable { engine: "CSV".to_owned() });
        assert_eq!(made.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_list_that_hides_tables_is_no_proof() {
        let made = mysql().answer("tables", COLUMNS, &[]);
        assert_eq!(made.statuses(&CHECK), [Unknown]);
        let grant = "GRANT SELECT, PROCESS ON *.* TO `audit`@`localhost`";
        let revoke = "REVOKE SELECT ON `payroll`.* FROM `audit`@`localhost`";
        let partly = mysql().answer("tables", COLUMNS, &[]).answer("grants", &["grant"], &[&[grant], &[revoke]]);
        assert_eq!(partly.statuses(&CHECK), [Unknown], "with partial_revokes");
        let sees = made.answer("grants", &["grant"], &[&[grant]]);
        assert_eq!(sees.statuses(&CHECK), [Pass]);
        assert_eq!(mysql().refused("tables", 1142).statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn what_cannot_be_read_or_walked_is_unknown() {
        let closed = || Content::Unreadable { why: "denied".to_owned() };
        assert_eq!(FactsBuilder::nothing().file("demo/t.MYD", closed()).statuses(&CHECK), [Unknown]);
        let mut made = FactsBuilder::nothing().file("demo/t.ibd", tablespace("plain", 0, 1));
        made.0.files.as_mut().unwrap().roots.push(Root {
            path: "/var/lib/mysql/closed".to_owned(),
            role: Role::Data,
            via: "directory in datadir".to_owned(),
            error: Some("denied".to_owned()),
            missing: false,
        });
        assert_eq!(made.statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn bytes_alone() {
        assert_eq!(FactsBuilder::nothing().file("demo/t.ARZ", isam()).statuses(&CHECK), [Fail]);
        assert_eq!(FactsBuilder::nothing().file("demo/t.ARZ", isam()).encrypted_disk().statuses(&CHECK), [Pass]);
        assert_eq!(FactsBuilder::nothing().file("demo/t.ibd", tablespace("plain", 0, 1)).statuses(&CHECK), [Pass]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
