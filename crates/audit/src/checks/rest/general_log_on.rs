//! `rest-general-log-on`.

use files::quantity;
use findings::{Remedy, Severity};
use process::shell_word;
use server::Capability;
use server::dialect::variable;

use super::{disk_layer, disk_only, with_evidence};
use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::{group, set_variable};
use crate::checks::setting::{SERVER_GROUPS, option};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::files::{Content, FileFact};
use crate::facts::sql::SqlFacts;
use crate::facts::{Facts, Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "rest-general-log-on",
    title: "The general log writes every statement in clear",
    severity: Severity::High,
    explanation: "The general log holds every statement with its values, and no server encrypts it. With log_raw=ON \
        it also holds passwords in statements. Judged from general_log, log_output and log_raw, and from the file of a \
        general log, even if it is no longer written.",
    applies: "every server",
    fix: "general_log=OFF, then shred the file",
    cost: "none",
    standards: &["PCI DSS 4.0.1 3.5.1", "PCI DSS 4.0.1 10.3", "CIS MySQL 6"],
    exposes: Exposes::Data(Attacker::StolenDisk, "Every statement with its values, in the general log"),
    closed_by: ClosedBy::Disk,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let facts = cx.facts;
    let mut results = CheckResults::new();
    let on = match &facts.sql {
        Some(sql) => is_written(sql)?,
        None => false,
    };
    if let (Some(sql), true) = (&facts.sql, on) {
        results.push(written(facts, sql));
        return Ok(results);
    }
    for file in left_behind(facts) {
        results.push(old_file(facts, file));
    }
    match &facts.sql {
        Some(sql) => results.pass_if_clean(pass(sql)),
        None if results.is_empty() => {
            facts.files()?;
            results.push_unknown("general_log", switch_unknown());
        }
        None => {}
    }
    Ok(results)
}

fn switch_unknown() -> Unavailable {
    Unavailable {
        what: "general_log".to_owned(),
        why: "no general log is in the directories that were read, and only the server shows whether it writes one"
            .to_owned(),
        remedy: access::RUNNING.to_owned(),
    }
}

/// Whether the log is enabled and has a destination.
fn is_written(sql: &SqlFacts) -> Observed<bool> {
    let nowhere = sql.variable_or_none(variable::LOG_OUTPUT).is_some_and(|output| output.eq_ignore_ascii_case("NONE"));
    Ok(sql.variable_on("general_log")? && !nowhere)
}

fn written(facts: &Facts, sql: &SqlFacts) -> CheckResult {
    let output = sql.variable_or_none(variable::LOG_OUTPUT).unwrap_or("FILE").to_ascii_uppercase();
    let raw = sql.variable_on("log_raw") == Ok(true);
    let file = to_file(&output).then(|| log_file(facts, sql)).flatten();
    let artefact = file.map_or_else(|| name(sql, &output), |file| file.path.clone());
    let message =
        format!("the general log is on and goes to {output}: every statement is written to {artefact} in clear");
    let result = match (file.and_then(|file| disk_layer(facts, file)), raw) {
        (Some(layer), false) => return covered(&artefact, layer, sql),
        (_, true) => {
            CheckResult::fail(&artefact, EvidenceGrade::Declared, format!("{message}, passwords included (log_raw)"))
                .severity(Severity::Critical)
        }
        _ => CheckResult::fail(&artefact, EvidenceGrade::Declared, message),
    };
    let variables = ["general_log", "log_output", "general_log_file", "log_raw"];
    let evidence = variables.iter().filter(|name| sql.variable(name).is_ok()).map(|name| sql.variable_evidence(name));
    let off = switch_off(facts, sql);
    let clean = if to_file(&output) {
        Remedy::command(format!("shred -u {}", shell_word(&artefact)))
    } else {
        Remedy::statement("TRUNCATE TABLE mysql.general_log")
    };
    with_evidence(result, evidence.chain(file.map(size)).collect()).fix(off.and(clean))
}

/// Persisted values take effect late in a start: until then the log is written if an option file enables it (seen on
/// 9.7.4).
fn switch_off(facts: &Facts, sql: &SqlFacts) -> Remedy {
    let off = set_variable(sql, "general_log", "OFF");
    let set = facts.host.as_ref().and_then(|host| option(host, SERVER_GROUPS, "general_log"));
    if set.is_some_and(|set| set.is_on()) && sql.can(Capability::PersistVariables) {
        return off.and(Remedy::option_file(group(sql), ["general_log = OFF"]));
    }
    off
}

fn covered(artefact: &str, layer: &str, sql: &SqlFacts) -> CheckResult {
    let message = format!("the general log is on, its file in clear and {}", disk_only(layer));
    CheckResult::pass(artefact, EvidenceGrade::Declared, message)
        .severity(Severity::Info)
        .evidence(sql.variable_evidence("general_log"))
}

fn to_file(output: &str) -> bool {
    output.split(',').any(|part| part.trim() == "FILE")
}

fn name(sql: &SqlFacts, output: &str) -> String {
    match sql.variable_or_none("general_log_file") {
        Some(file) if to_file(output) => file.to_owned(),
        _ => "mysql.general_log".to_owned(),
    }
}

fn log_file<'f>(facts: &'f Facts, sql: &SqlFacts) -> Option<&'f FileFact> {
    let path = sql.variable_or_none("general_log_file")?;
    let path = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{}/{path}", sql.identity.datadir.trim_end_matches('/'))
    };
    facts.files.as_ref()?.at(&path)
}

/// General log files left over from earlier, while none is written now.
fn left_behind(facts: &Facts) -> Vec<&FileFact> {
    let files = facts.files.iter().flat_map(|files| &files.files);
    files
        .filter(|file| file.size_bytes > 0 && matches!(&file.content, Content::TextLog { log } if log == "general"))
        .collect()
}

fn old_file(facts: &Facts, file: &FileFact) -> CheckResult {
    let result = match disk_layer(facts, file) {
        Some(layer) => {
            CheckResult::pass(&file.name, EvidenceGrade::Bytes, format!("a general log in clear, {}", disk_only(layer)))
                .severity(Severity::Info)
        }
        None => CheckResult::fail(
            &file.name,
            EvidenceGrade::Bytes,
            format!("{} is a general log: statements with their values, in clear", file.path),
        )
        .fix(Remedy::command(format!("shred -u {}", shell_word(&file.path)))),
    };
    result.evidence(size(file))
}

fn size(file: &FileFact) -> Evidence {
    let meaning = format!("a log in clear text of {}", quantity::size(file.size_bytes));
    Evidence::Bytes { path: file.path.clone(), offset: 0, hex: String::new(), meaning }
}

fn pass(sql: &SqlFacts) -> CheckResult {
    let off = sql.variable_on("general_log") == Ok(false);
    let message = if off {
        "the general log is off"
    } else {
        "the general log is on and is not written anywhere (log_output = \
            NONE)"
    };
    CheckResult::pass("server", EvidenceGrade::Declared, message)
        .evidence(sql.variable_evidence("general_log"))
        .evidence(sql.variable_evidence(variable::LOG_OUTPUT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql, tablespace};

    fn general() -> Content {
        Content::TextLog { log: "general".to_owned() }
    }

    #[test]
    fn on_fails_and_raw_is_critical() {
        let made = mysql()
            .variable("general_log", "ON")
            .variable("log_output", "FILE")
            .variable("general_log_file", "db1.log");
        let found = made.judge(&CHECK);
        assert_eq!((found[0].status, found[0].severity, found[0].artefact.as_str()), (Fail, Severity::High, "db1.log"));
        assert!(found[0].remediation.as_ref().unwrap().starts_with("SET PERSIST general_log = OFF"));
        let made = made.variable("log_raw", "ON").file("db1.log", general());
        let found = made.judge(&CHECK);
        assert_eq!((found[0].severity, found[0].artefact.as_str()), (Severity::Critical, "/var/lib/mysql/db1.log"));
    }

    #[test]
    fn off_or_nowhere_passes() {
        assert_eq!(mysql().variable("general_log", "OFF").statuses(&CHECK), [Pass]);
        assert_eq!(mysql().variable("general_log", "ON").variable("log_output", "NONE").statuses(&CHECK), [Pass]);
        let table = mysql().variable("general_log", "ON").variable("log_output", "TABLE");
        assert_eq!(table.judge(&CHECK)[0].artefact, "mysql.general_log");
    }

    #[test]
    fn an_old_file_fails() {
        let made = mysql().variable("general_log", "OFF").file("db1.log", general());
        assert_eq!(made.judge(&CHECK)[0].grade, Some(EvidenceGrade::Bytes));
        assert_eq!(FactsBuilder::nothing().file("db1.log", general()).statuses(&CHECK), [Fail]);
        assert_eq!(FactsBuilder::nothing().file("db1.log", general()).encrypted_disk().statuses(&CHECK), [Pass]);
    }

    #[test]
    fn without_server_or_file_it_is_unknown() {
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
        assert_eq!(FactsBuilder::nothing().file("t.ibd", tablespace("plain", 0, 1)).statuses(&CHECK), [Unknown]);
    }
}
