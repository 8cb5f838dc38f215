//! `tls-admin-channel`.

use findings::{Remedy, Severity};
use server::dialect::variable;
use server::{Capability, dialect::statement::RELOAD_ADMIN_TLS};

use super::certificates::path_of;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice;
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::sql::SqlFacts;
use crate::facts::wire::ADMIN_PORT;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "tls-admin-channel",
    title: "The administrative port has no TLS settings of its own",
    severity: Severity::Low,
    explanation: "Without admin_ssl_* the administrative port uses the certificate and the TLS versions of the main \
        port: settings that an old application needs then also apply to administrators. Judged from \
        performance_schema.tls_channel_status and the admin_ssl_ variables.",
    applies: "MySQL 8.0.21+ with admin_address",
    fix: "admin_ssl_ca, admin_ssl_cert, admin_ssl_key and admin_tls_version, then \
        ALTER INSTANCE RELOAD TLS FOR CHANNEL mysql_admin",
    cost: "no lock, no restart",
    standards: &["PCI DSS 4.0.1 2.2.7"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    if !sql.can(Capability::AdminTls) {
        return Ok(CheckResults::not_applicable(format!(
            "{} has no administrative port with TLS settings",
            sql.identity.version
        )));
    }
    if sql.variable(variable::ADMIN_ADDRESS)?.is_empty() {
        return Ok(CheckResults::not_applicable("admin_address is empty: there is no administrative port"));
    }
    let enabled = channel_enabled(sql);
    let current = enabled.unwrap_or_else(|| path_of(sql, "admin_ssl_cert").is_some());
    let grade = if enabled.is_some() { EvidenceGrade::Reported } else { EvidenceGrade::Declared };
    let result = if current {
        CheckResult::pass(ADMIN_PORT, grade, "the administrative port has TLS settings of its own")
    } else {
        CheckResult::fail(ADMIN_PORT, grade, "the administrative port falls back to the main port's TLS settings").fix(
            advice::set_variable(sql, "admin_ssl_ca", "…")
                .and(advice::set_variable(sql, "admin_ssl_cert", "…"))
                .and(advice::set_variable(sql, "admin_ssl_key", "…"))
                .and(Remedy::statement(RELOAD_ADMIN_TLS)),
        )
    };
    let result = match enabled {
        Some(on) => result
            .evidence(sql.evidence("tls_channels", format!("mysql_admin Enabled = {}", if on { "Yes" } else { "No" }))),
        None => result,
    };
    Ok(CheckResults::one(
        result
            .evidence(sql.variable_evidence("admin_ssl_cert"))
            .evidence(sql.variable_evidence(variable::ADMIN_ADDRESS)),
    ))
}

fn channel_enabled(sql: &SqlFacts) -> Option<bool> {
    let rows = sql.rows("tls_channels").ok()?;
    let row = rows.iter().find(|row| row.text("channel") == "mysql_admin" && row.text("property") == "Enabled")?;
    Some(row.yes("value"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    #[test]
    fn dedicated_settings_pass_and_fallback_fails() {
        let admin = || mysql().variable("admin_address", "10.0.0.5");
        let columns = ["channel", "property", "value"];
        let with = |value: &str| {
            admin().answer("tls_channels", &columns, &[&["mysql_admin", "Enabled", value]]).statuses(&CHECK)
        };
        assert_eq!(with("Yes"), [Pass]);
        assert_eq!(with("No"), [Fail]);
        assert_eq!(admin().variable("admin_ssl_cert", "").statuses(&CHECK), [Fail]);
        assert_eq!(admin().variable("admin_ssl_cert", "admin.pem").statuses(&CHECK), [Pass]);
    }

    #[test]
    fn servers_without_an_admin_port_are_not_concerned() {
        assert_eq!(mysql().variable("admin_address", "").statuses(&CHECK), [NotApplicable]);
        assert_eq!(mariadb().statuses(&CHECK), [NotApplicable]);
        assert_eq!(FactsBuilder::server("5.7.44", "").statuses(&CHECK), [NotApplicable]);
    }
}
