//! `rest-optout-allowed`.

use findings::Severity;
use server::Capability;

use super::listed;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::set_variable;
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::Observed;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "rest-optout-allowed",
    title: "Users may create clear tables against the default",
    severity: Severity::Low,
    explanation: "Without table_encryption_privilege_check every account that may create a table may use \
        ENCRYPTION='N'. With it, only accounts with TABLE_ENCRYPTION_ADMIN may. Judged from the variable; the \
        equivalent on MariaDB is FORCE in innodb_encrypt_tables, see rest-default-off.",
    applies: "MySQL 8.0.16 and newer",
    fix: "table_encryption_privilege_check=ON",
    cost: "none",
    standards: &["CIS MySQL 4.10E", "NIST SP 800-53r5 AC-6"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

const NAME: &str = "table_encryption_privilege_check";

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    if sql.is_mariadb() || !sql.can(Capability::EncryptByDefault) {
        return Ok(CheckResults::not_applicable("only MySQL 8.0.16 and newer have this check"));
    }
    if !sql.variable_on(NAME)? {
        let message = format!("{NAME} is OFF: whoever may create tables may create clear ones");
        let result = CheckResult::fail(NAME, EvidenceGrade::Declared, message).evidence(sql.variable_evidence(NAME));
        return Ok(CheckResults::one(result.fix(set_variable(sql, NAME, "ON"))));
    }
    let grants = sql.rows("dynamic_grants").unwrap_or_default();
    let holders: Vec<&str> = grants
        .iter()
        .filter(|row| row.text("privilege") == "TABLE_ENCRYPTION_ADMIN")
        .map(|row| row.text("user"))
        .collect();
    let whom =
        if holders.is_empty() { String::new() } else { format!("; may override it: {}", listed(holders.into_iter())) };
    let result = CheckResult::pass("server", EvidenceGrade::Declared, format!("{NAME} is ON{whom}"));
    Ok(CheckResults::one(result.evidence(sql.variable_evidence(NAME))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{mariadb, mysql};

    #[test]
    fn by_the_variable() {
        assert_eq!(mysql().variable(NAME, "OFF").statuses(&CHECK), [Fail]);
        assert_eq!(mysql().variable(NAME, "ON").statuses(&CHECK), [Pass]);
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
        assert_eq!(mariadb().statuses(&CHECK), [NotApplicable]);
    }
}
