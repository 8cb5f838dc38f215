//! `rest-default-off`.

use findings::{Remedy, Severity};
use server::Capability;
use server::dialect::encryption::Encrypts;
use server::dialect::variable;
use server::switch::is_switched_on;

use super::first_variable;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::set_variable;
use crate::checks::gr::while_out;
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::sql::SqlFacts;
use crate::finding::EvidenceGrade;

pub const CHECK: Check = Check {
    id: "rest-default-off",
    title: "New tables are created in clear by default",
    severity: Severity::Medium,
    explanation: "A CREATE TABLE without the ENCRYPTION clause creates a clear table. default_table_encryption on \
        MySQL makes new schemas encrypt by default, and FORCE in MariaDB's innodb_encrypt_tables also forbids \
        ENCRYPTED=NO. Judged from the variable alone.",
    applies: "MySQL 8.0.16 and newer, Percona Server, MariaDB",
    fix: "default_table_encryption=ON; MariaDB: innodb_encrypt_tables=FORCE",
    cost: "none; needs a keyring or key management plug-in, without which tables cannot be created",
    standards: &["CIS MySQL 4.10E", "CIS MariaDB 4.9"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Encrypt,
    locked_out: None,
    judge,
};

/// A keyword, so that statements must quote it.
const FORCE: &str = "'FORCE'";

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    sql.rows("variables")?;
    let new_tables = first_variable(sql, Encrypts::NewTables).filter(|_| !sql.is_mariadb());
    let Some((name, value)) = new_tables.or_else(|| first_variable(sql, Encrypts::Tablespaces)) else {
        return none(sql);
    };
    let result = match value.to_ascii_uppercase().as_str() {
        "FORCE" => CheckResult::pass("server", EvidenceGrade::Declared, format!("{name} is FORCE")),
        _ if !is_switched_on(value) => {
            CheckResult::fail(name, EvidenceGrade::Declared, format!("{name} is OFF: new tables are created in clear"))
                .fix(fix(sql, name))
        }
        _ if sql.is_mariadb() => {
            let message = format!("{name} is {value}, not FORCE: whoever writes ENCRYPTED=NO creates a clear table");
            CheckResult::fail(name, EvidenceGrade::Declared, message).severity(Severity::Low).fix(fix(sql, name))
        }
        _ => CheckResult::pass("server", EvidenceGrade::Declared, format!("{name} is {value}")),
    };
    Ok(CheckResults::one(result.evidence(sql.variable_evidence(name))))
}

/// N/A if this version has no such variable. Otherwise the server did not report it, and the result is UNKNOWN.
fn none(sql: &SqlFacts) -> Observed<CheckResults> {
    if sql.mysql_can(Capability::EncryptByDefault) {
        sql.variable(variable::MYSQL_NEW_TABLES)?;
    }
    if sql.can(Capability::EncryptByDefault) {
        sql.variable(variable::MARIADB_TABLESPACES)?;
    }
    Ok(CheckResults::not_applicable(format!("{} has no default for encryption", sql.identity.version)))
}

/// Without threads MariaDB's variable encrypts only new tables, which is a separate finding.
fn fix(sql: &SqlFacts, name: &str) -> Remedy {
    if name != variable::MARIADB_TABLESPACES {
        return while_out(sql, set_variable(sql, name, "ON"));
    }
    let force = set_variable(sql, name, FORCE);
    match sql.variable_or_none(variable::INNODB_ENCRYPTION_THREADS) {
        Some("0") => force.and(set_variable(sql, variable::INNODB_ENCRYPTION_THREADS, "4")),
        _ => force,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    #[test]
    fn mysql_by_its_default() {
        let found = mysql().variable("default_table_encryption", "OFF").judge(&CHECK);
        assert_eq!((found[0].status, found[0].grade), (Fail, Some(EvidenceGrade::Declared)));
        assert_eq!(found[0].remediation.as_deref(), Some("SET PERSIST default_table_encryption = ON"));
        assert_eq!(mysql().variable("default_table_encryption", "ON").statuses(&CHECK), [Pass]);
    }

    #[test]
    fn mariadb_wants_force() {
        let with = |value| mariadb().variable("innodb_encrypt_tables", value).judge(&CHECK);
        assert_eq!((with("OFF")[0].status, with("OFF")[0].severity), (Fail, Severity::Medium));
        assert_eq!((with("ON")[0].status, with("ON")[0].severity), (Fail, Severity::Low));
        assert_eq!(with("FORCE")[0].status, Pass);
        let fix = with("OFF")[0].remediation.clone().unwrap();
        assert!(fix.starts_with("SET GLOBAL innodb_encrypt_tables = 'FORCE';"), "{fix}");
    }

    #[test]
    fn old_servers_have_no_default_and_a_missing_variable_is_unknown() {
        assert_eq!(FactsBuilder::server("5.7.44", "").statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
