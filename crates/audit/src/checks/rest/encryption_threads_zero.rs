//! `rest-encryption-threads-zero`.

use findings::Severity;
use server::Capability;
use server::dialect::variable;
use server::switch::is_switched_on;

use super::{listed, with_evidence};
use crate::artefact::{Artefact, Kind, State};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::set_variable;
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::sql::SqlFacts;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "rest-encryption-threads-zero",
    title: "MariaDB has no thread that encrypts existing tables",
    severity: Severity::High,
    explanation: "innodb_encrypt_tables=ON applies to new tables. Only background threads convert existing tables, \
        undo and ibdata1. With innodb_encryption_threads=0, the default, these stay clear and do not even appear in \
        INNODB_TABLESPACES_ENCRYPTION. With innodb_encryption_rotate_key_age=0 the threads skip tables that exist when \
        the server starts. Judged from the variables and the pages of clear tablespaces.",
    applies: "MariaDB 10.1.3 and newer",
    fix: "SET GLOBAL innodb_encryption_threads = 4, and in the option file",
    cost: "background writes of every page; innodb_encryption_rotation_iops limits them",
    standards: &["CIS MariaDB 4.9", "PCI DSS 4.0.1 3.5.1"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Encrypt,
    locked_out: None,
    judge,
};

const THREADS: &str = variable::INNODB_ENCRYPTION_THREADS;
const AGE: &str = variable::INNODB_ENCRYPTION_ROTATE_KEY_AGE;

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    if super::mariadb(cx) == Some(false) {
        return Ok(CheckResults::not_applicable("only MariaDB encrypts with background threads"));
    }
    let sql = cx.facts.sql()?;
    if !sql.is_mariadb() || !sql.can(Capability::EncryptTables) {
        return Ok(CheckResults::not_applicable(format!("{} has no encryption threads", sql.identity.version)));
    }
    if !is_switched_on(sql.variable(variable::MARIADB_TABLESPACES)?) {
        return Ok(CheckResults::not_applicable(
            "innodb_encrypt_tables is OFF: there is nothing for threads to encrypt",
        ));
    }
    let threads = sql.variable(THREADS)?;
    let clear = clear_spaces(cx);
    let result = if threads == "0" {
        no_threads(cx, sql, &clear)
    } else if sql.variable_or_none(AGE) == Some("0") && !clear.is_empty() {
        failure(
            cx,
            AGE,
            format!("{AGE} is 0: the threads skip tablespaces that existed at the start: {}", names(&clear)),
            &clear,
        )
        .evidence(sql.variable_evidence(AGE))
        .fix(set_variable(sql, AGE, "1"))
    } else {
        CheckResult::pass("server", EvidenceGrade::Declared, format!("{threads} threads encrypt existing tablespaces"))
    };
    Ok(CheckResults::one(
        result.evidence(sql.variable_evidence(variable::MARIADB_TABLESPACES)).evidence(sql.variable_evidence(THREADS)),
    ))
}

fn no_threads(cx: &Context<'_>, sql: &SqlFacts, clear: &[&Artefact<'_>]) -> CheckResult {
    let text = match clear {
        [] => format!("{THREADS} is 0: clear tablespaces stay clear"),
        clear => format!("{THREADS} is 0: {} tablespaces stay clear: {}", clear.len(), names(clear)),
    };
    failure(cx, THREADS, text, clear).fix(set_variable(sql, THREADS, "4"))
}

fn failure(cx: &Context<'_>, artefact: &str, text: String, clear: &[&Artefact<'_>]) -> CheckResult {
    let grade =
        clear.iter().filter_map(|space| space.state()).map(|(_, grade)| grade).max().unwrap_or(EvidenceGrade::Declared);
    let evidence = clear.iter().take(3).flat_map(|space| space.evidence(cx.facts)).collect();
    with_evidence(CheckResult::fail(artefact, grade, text), evidence)
}

fn clear_spaces<'c>(cx: &'c Context<'_>) -> Vec<&'c Artefact<'c>> {
    const KINDS: [Kind; 3] = [Kind::Table, Kind::Undo, Kind::SystemTablespace];
    let spaces = KINDS.iter().flat_map(|kind| cx.artefacts.with_kind(*kind));
    spaces.filter(|space| matches!(space.state(), Some((State::Clear | State::Partly, _)))).collect()
}

fn names(clear: &[&Artefact<'_>]) -> String {
    listed(clear.iter().map(|space| space.name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql, tablespace};

    fn with(tables: &str, threads: &str) -> FactsBuilder {
        mariadb().variable("innodb_encrypt_tables", tables).variable(THREADS, threads)
    }

    #[test]
    fn trap_4_no_threads_fail_and_bytes_say_which_tables() {
        let found = with("ON", "0").judge(&CHECK);
        assert_eq!((found[0].status, found[0].grade), (Fail, Some(EvidenceGrade::Declared)));
        let found = with("FORCE", "0").file("demo/t.ibd", tablespace("mariadb-plain", 0, 4)).judge(&CHECK);
        assert_eq!(found[0].grade, Some(EvidenceGrade::Bytes));
        assert!(found[0].message.contains("demo/t.ibd"));
    }

    #[test]
    fn threads_pass_unless_they_pass_over_clear_tables() {
        assert_eq!(with("ON", "4").statuses(&CHECK), [Pass]);
        let made = with("ON", "4").variable(AGE, "0");
        assert_eq!(made.statuses(&CHECK), [Pass]);
        assert_eq!(made.file("demo/t.ibd", tablespace("mariadb-plain", 0, 4)).judge(&CHECK)[0].artefact, AGE);
    }

    #[test]
    fn nothing_to_encrypt_is_not_applicable() {
        assert_eq!(with("OFF", "0").statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().statuses(&CHECK), [NotApplicable]);
        assert_eq!(mariadb().statuses(&CHECK), [Unknown]);
    }
}
