//! `rest-log-table-csv`.

use files::quantity;
use findings::{Remedy, Severity};
use innodb::file_suffix;
use server::dialect::variable;

use super::{clear_file, unwalked};
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
    id: "rest-log-table-csv",
    title: "The log tables of schema mysql hold statements in clear",
    severity: Severity::Medium,
    explanation: "With log_output=TABLE the general and the slow log are written to CSV tables. No server encrypts \
        these, and they keep their rows when the logs are switched off. Judged from the size of general_log.CSV and \
        slow_log.CSV, then from the variables.",
    applies: "every server",
    fix: "TRUNCATE TABLE mysql.general_log; TRUNCATE TABLE mysql.slow_log; log to a file on an encrypted disk",
    cost: "none; the logged statements are gone",
    standards: &["PCI DSS 4.0.1 3.5.1"],
    exposes: Exposes::Data(Attacker::StolenDisk, "Statements and their values, in log tables"),
    closed_by: ClosedBy::Disk,
    locked_out: None,
    judge,
};

const TABLES: [(&str, &str); 2] = [("general_log", "general_log"), ("slow_log", "slow_query_log")];

/// Files with rows of a log table: CSV, unless its engine was changed.
const ENDINGS: [&str; 3] = [file_suffix::CSV, file_suffix::MYISAM_DATA, file_suffix::ARIA_DATA];

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let mut results = CheckResults::new();
    let mut seen = Vec::new();
    for (table, switch) in TABLES {
        let by_switch = cx.facts.sql.as_ref().and_then(|sql| written(sql, table, switch));
        match (by_switch, file(cx.facts, table)) {
            (_, Some(file)) if holds_rows(file) => results.push(filled(cx.facts, table, file)),
            (Some(result), _) => results.push(result),
            (None, Some(file)) => seen.push(file),
            (None, None) => {}
        }
    }
    if !results.is_empty() {
        return Ok(results);
    }
    if !seen.is_empty() {
        let message = "neither mysql.general_log nor mysql.slow_log holds a row";
        let evidence = seen.into_iter().map(size);
        return Ok(CheckResults::one(
            evidence.fold(CheckResult::pass("server", EvidenceGrade::Bytes, message), CheckResult::evidence),
        ));
    }
    unwalked(cx).map_or(Ok(()), Err)?;
    if holds_schema(cx.facts) {
        return Ok(CheckResults::not_applicable("schema mysql has no log table in a file of its own"));
    }
    Err(Unavailable {
        what: "rows of mysql.general_log and mysql.slow_log".to_owned(),
        why: "their files were not found, and rows remain after the logs are switched off".to_owned(),
        remedy: access::reading_data(),
    })
}

fn file<'f>(facts: &'f Facts, table: &str) -> Option<&'f FileFact> {
    let called = |file: &FileFact| {
        let (stem, ending) = file.name.rsplit_once('.').unwrap_or_default();
        let directory = stem.strip_suffix(table).and_then(|before| before.strip_suffix("mysql/"));
        directory.is_some_and(|above| above.is_empty() || above.ends_with('/')) && ENDINGS.contains(&ending)
    };
    let mut files = facts.files.iter().flat_map(|files| &files.files);
    files.find(|file| file.role == Role::Data && called(file))
}

/// Size alone does not show it: the file of an Aria table without rows still has a page.
fn holds_rows(file: &FileFact) -> bool {
    match &file.content {
        Content::AriaData { scan } => scan.counts.clear + scan.counts.mislabelled > 0,
        _ => file.size_bytes > 0,
    }
}

/// Whether the files of the server's own schema, which include the log tables, are there.
fn holds_schema(facts: &Facts) -> bool {
    facts
        .files
        .iter()
        .flat_map(|files| &files.files)
        .any(|file| file.name.starts_with("mysql/") || file.name.contains("/mysql/"))
}

fn filled(facts: &Facts, table: &str, file: &FileFact) -> CheckResult {
    let result = clear_file(facts, file, || {
        CheckResult::fail(&file.name, EvidenceGrade::Bytes, format!("mysql.{table} holds statements in clear"))
            .fix(Remedy::statement(format!("TRUNCATE TABLE mysql.{table}")))
    });
    result.evidence(size(file))
}

fn size(file: &FileFact) -> Evidence {
    let meaning = format!("{} of rows", quantity::size(file.size_bytes));
    Evidence::Bytes { path: file.path.clone(), offset: 0, hex: String::new(), meaning }
}

fn written(sql: &SqlFacts, table: &str, switch: &str) -> Option<CheckResult> {
    let to_table = sql.variable_or_none(variable::LOG_OUTPUT)?.to_ascii_uppercase().contains("TABLE");
    (to_table && sql.variable_on(switch) == Ok(true)).then(|| {
        CheckResult::fail(
            format!("mysql.{table}"),
            EvidenceGrade::Declared,
            format!("{switch} is ON and goes to mysql.{table}, in clear"),
        )
        .evidence(sql.variable_evidence(variable::LOG_OUTPUT))
        .evidence(sql.variable_evidence(switch))
        .fix(set_variable(sql, "log_output", "'FILE'").and(Remedy::statement(format!("TRUNCATE TABLE mysql.{table}"))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql, tablespace};

    fn csv() -> Content {
        Content::PlainTable { engine: "CSV".to_owned() }
    }

    #[test]
    fn filled_tables_fail_and_empty_ones_pass() {
        assert_eq!(FactsBuilder::nothing().file("mysql/slow_log.CSV", csv()).statuses(&CHECK), [Fail]);
        let empty =
            FactsBuilder::nothing().file("mysql/slow_log.CSV", Content::Empty).last_file(|file| file.size_bytes = 0);
        assert_eq!(empty.statuses(&CHECK), [Pass]);
        let other =
            FactsBuilder::nothing().file("mysql/general_log.MYD", Content::PlainTable { engine: "MyISAM".to_owned() });
        assert_eq!(other.statuses(&CHECK), [Fail]);
    }

    #[test]
    fn no_file_of_theirs_is_no_proof() {
        let part = FactsBuilder::nothing().file("demo/t.ibd", tablespace("plain", 0, 1));
        assert_eq!(part.statuses(&CHECK), [Unknown]);
        let others = FactsBuilder::nothing().file("mysql/user.frm", Content::Structure);
        assert_eq!(others.statuses(&CHECK), [NotApplicable]);
    }

    #[test]
    fn variables_fail_and_never_pass() {
        let made = mysql().variable("log_output", "FILE,TABLE").variable("general_log", "ON");
        assert_eq!(made.judge(&CHECK)[0].artefact, "mysql.general_log");
        assert_eq!(mysql().variable("log_output", "FILE").statuses(&CHECK), [Unknown]);
    }
}
