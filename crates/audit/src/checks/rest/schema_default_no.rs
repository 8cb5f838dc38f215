//! `rest-schema-default-no`.

use findings::{Remedy, Severity};
use server::Capability;
use server::dialect::encryption::MYSQL_ENCRYPTED;
use server::quote;

use super::{has_grant, hidden_tables, is_system_schema, sees_all_tables};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::sql::{Row, SqlFacts};
use crate::finding::EvidenceGrade;

pub const CHECK: Check = Check {
    id: "rest-schema-default-no",
    title: "Schemas create clear tables by their own default",
    severity: Severity::Medium,
    explanation: "default_table_encryption is copied into a schema when the schema is created. Schemas from before it \
        was switched on keep creating clear tables. Judged from DEFAULT_ENCRYPTION in information_schema.SCHEMATA; \
        the server's own schemas are left out.",
    applies: "MySQL 8.0.16 and newer",
    fix: "ALTER DATABASE d DEFAULT ENCRYPTION='Y'",
    cost: "none; existing tables stay as they are",
    standards: &["PCI DSS 4.0.1 3.5.1"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Encrypt,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    if sql.is_mariadb() || !sql.can(Capability::EncryptByDefault) {
        return Ok(CheckResults::not_applicable("only MySQL 8.0.16 and newer have a default per schema"));
    }
    let rows = sql.rows("schemas")?;
    let current = |row: &&Row<'_>| is_system_schema(row.text("schema"));
    let schemas: Vec<&Row<'_>> = rows.iter().filter(|row| !current(row)).collect();
    let mut results = CheckResults::new();
    schemas
        .iter()
        .filter(|row| row.get("default_encryption").is_some() && !row.yes("default_encryption"))
        .for_each(|row| results.push(failure(sql, row)));
    if !results.is_empty() {
        return Ok(results);
    }
    if !sees_schemas(sql) {
        return Err(hidden_tables(sql));
    }
    if schemas.is_empty() {
        return Ok(CheckResults::not_applicable("there are only the server's own schemas"));
    }
    results.push(
        CheckResult::pass(
            "server",
            EvidenceGrade::Reported,
            format!("all {} schemas encrypt by default", schemas.len()),
        )
        .evidence(sql.evidence("schemas", "DEFAULT_ENCRYPTION = YES for each")),
    );
    Ok(results)
}

/// `SHOW DATABASES`, or any global privilege on tables, shows every schema.
fn sees_schemas(sql: &SqlFacts) -> bool {
    sees_all_tables(sql) || has_grant(sql, "SHOW DATABASES ON *.*")
}

fn failure(sql: &SqlFacts, row: &Row<'_>) -> CheckResult {
    let schema = row.text("schema");
    CheckResult::fail(schema, EvidenceGrade::Reported, format!("tables created in {schema} are clear by default"))
        .evidence(sql.evidence("schemas", format!("{schema}: DEFAULT_ENCRYPTION = {}", row.text("default_encryption"))))
        .fix(Remedy::statement(format!("ALTER DATABASE {} DEFAULT {MYSQL_ENCRYPTED}", quote::identifier(schema))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    fn with(schemas: &[&[&str]]) -> FactsBuilder {
        mysql().answer("schemas", &["schema", "default_encryption"], schemas).answer(
            "grants",
            &["grant"],
            &[&["GRANT SELECT, SHOW DATABASES ON *.* TO `a`@`b`"]],
        )
    }

    #[test]
    fn trap_2_a_schema_from_before_fails() {
        let found = with(&[&["early", "NO"], &["late", "YES"], &["mysql", "NO"], &["sys", "NO"]]).judge(&CHECK);
        assert_eq!((found.len(), found[0].status, found[0].artefact.as_str()), (1, Fail, "early"));
        assert_eq!(found[0].remediation.as_deref(), Some("ALTER DATABASE `early` DEFAULT ENCRYPTION='Y'"));
    }

    #[test]
    fn encrypting_schemas_pass_and_none_is_not_applicable() {
        assert_eq!(with(&[&["late", "YES"], &["sys", "NO"]]).statuses(&CHECK), [Pass]);
        assert_eq!(with(&[&["sys", "NO"]]).statuses(&CHECK), [NotApplicable]);
        assert_eq!(mariadb().statuses(&CHECK), [NotApplicable]);
    }

    #[test]
    fn hidden_schemas_are_unknown() {
        let made = mysql().answer("schemas", &["schema", "default_encryption"], &[&["information_schema", "NO"]]);
        assert_eq!(made.statuses(&CHECK), [Unknown]);
    }
}
