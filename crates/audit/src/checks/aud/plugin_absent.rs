//! `aud-plugin-absent`.

use findings::{Remedy, Severity};
use server::{Capability, option_group};

use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::{set_at_start, set_variable};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::sql::{Plugin, SqlFacts};
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "aud-plugin-absent",
    title: "No audit log is written",
    severity: Severity::Medium,
    explanation: "Encryption keeps out everybody without a key. Only an audit log shows who read the data with one. \
        The check looks for an active plug-in or component with an audit log (MySQL Enterprise, Percona, MariaDB's \
        server_audit, which loads without logging until server_audit_logging is ON). Other plug-ins of type AUDIT, \
        such as connection_control, write no log and do not count.",
    applies: "every server",
    fix: "enable the fork's audit log with FORCE_PLUS_PERMANENT",
    cost: "no lock; the log grows with the selected statements, and is in clear unless the plug-in encrypts it",
    standards: &[
        "PCI DSS 4.0.1 10.2.1",
        "HIPAA 164.312(b)",
        "NIST SP 800-53r5 AU-2",
        "CIS MySQL 6.x",
        "CIS MariaDB 6.x",
    ],
    exposes: Exposes::Help(Attacker::Operator, "No record shows who read what"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

/// What writes an audit log, and the variable that can disable it.
enum Auditor<'a> {
    Plugin(Plugin<'a>),
    Component(&'a str),
}

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    let plugins = sql.active_plugins()?;
    if plugins.is_empty() {
        return Err(Unavailable {
            what: "plug-ins".to_owned(),
            why: "the server listed none, but every server has some".to_owned(),
            remedy: sql.grant("SELECT ON performance_schema.*"),
        });
    }
    let Some(auditor) = auditor(sql, &plugins) else {
        return none_loaded(sql, &plugins);
    };
    Ok(CheckResults::one(match silenced(sql, &auditor) {
        Some((variable, value, fix)) => CheckResult::fail(
            "audit log",
            EvidenceGrade::Reported,
            format!("{} is loaded and writes nothing: {variable} = {value}", auditor.name()),
        )
        .evidence(auditor.evidence(sql))
        .evidence(sql.variable_evidence(variable))
        .fix(fix),
        None => CheckResult::pass("audit log", EvidenceGrade::Reported, format!("{} is active", auditor.name()))
            .evidence(auditor.evidence(sql)),
    }))
}

fn auditor<'a>(sql: &'a SqlFacts, plugins: &[Plugin<'a>]) -> Option<Auditor<'a>> {
    let writes = |plugin: &&Plugin<'_>| {
        let name = plugin.name.to_ascii_lowercase();
        // `AUDIT` is the name of McAfee's plug-in.
        plugin.kind.eq_ignore_ascii_case("AUDIT")
            && (name.contains("audit_log") || name == "server_audit" || name == "audit")
    };
    if let Some(plugin) = plugins.iter().find(writes) {
        return Some(Auditor::Plugin(*plugin));
    }
    let components = sql.rows("components").unwrap_or_default();
    let urn = components.iter().map(|row| row.text("urn")).find(|urn| urn.contains("audit_log"))?;
    Some(Auditor::Component(urn))
}

impl Auditor<'_> {
    const fn name(&self) -> &str {
        match self {
            Self::Plugin(plugin) => plugin.name,
            Self::Component(urn) => urn,
        }
    }

    fn evidence(&self, sql: &SqlFacts) -> Evidence {
        match self {
            Self::Plugin(plugin) => sql.evidence("plugins", format!("{} ({}): ACTIVE", plugin.name, plugin.kind)),
            Self::Component(urn) => sql.evidence("components", *urn),
        }
    }
}

/// The variable that disables a loaded audit plug-in, if one does.
fn silenced<'a>(sql: &'a SqlFacts, auditor: &Auditor<'_>) -> Option<(&'static str, &'a str, Remedy)> {
    let is = |name: &'static str, quiet: &str| {
        sql.variable_or_none(name).filter(|value| value.eq_ignore_ascii_case(quiet)).map(|value| (name, value))
    };
    if auditor.name().eq_ignore_ascii_case("server_audit") {
        let (name, value) = is("server_audit_logging", "OFF").or_else(|| is("server_audit_logging", "0"))?;
        return Some((name, value, set_variable(sql, name, "ON")));
    }
    if let Some((name, value)) = is("audit_log_disable", "ON") {
        return Some((name, value, set_variable(sql, name, "OFF")));
    }
    let (name, value) = is("audit_log_policy", "NONE")?;
    Some((name, value, set_at_start(sql, name, "ALL")))
}

fn none_loaded(sql: &SqlFacts, plugins: &[Plugin<'_>]) -> Observed<CheckResults> {
    // The newer audit logs are components: without the list of components nothing is proven.
    if sql.can(Capability::Components) {
        sql.rows("components")?;
    }
    let names = plugins.iter().filter(|plugin| plugin.kind.eq_ignore_ascii_case("AUDIT")).map(|plugin| plugin.name);
    let names = names.collect::<Vec<_>>().join(", ");
    let answer = if names.is_empty() {
        "no plug-in of type AUDIT".to_owned()
    } else {
        format!("of type AUDIT: {names}, none of which writes a log")
    };
    Ok(CheckResults::one(
        CheckResult::fail("audit log", EvidenceGrade::Reported, "no audit log is loaded")
            .evidence(sql.evidence("plugins", answer))
            .fix(fix(sql)),
    ))
}

fn fix(sql: &SqlFacts) -> Remedy {
    use server::Flavor::{MariaDb, MySql, Percona};
    match sql.flavor() {
        MariaDb => {
            let lines =
                ["plugin_load_add = server_audit", "server_audit = FORCE_PLUS_PERMANENT", "server_audit_logging = ON"];
            Remedy::option_file(option_group::MARIADB, lines).then_restart()
        }
        Percona if sql.can(Capability::AuditLogFilterComponent) => {
            "run audit_log_filter_linux_install.sql of the server's share directory, which installs \
             component_audit_log_filter, then define a filter with audit_log_filter_set_filter()"
                .into()
        }
        Percona => {
            let lines = ["plugin_load_add = audit_log.so", "audit_log = FORCE_PLUS_PERMANENT"];
            Remedy::option_file(option_group::MYSQLD, lines).then_restart()
        }
        MySql => {
            "MySQL Enterprise: run audit_log_filter_linux_install.sql, and audit_log = FORCE_PLUS_PERMANENT in the \
                option file; the community server has none: log at a proxy, or use Percona's or MariaDB's"
                .into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    const COLUMNS: &[&str] = &["name", "status", "type", "library"];
    const INNODB: &[&str] = &["InnoDB", "ACTIVE", "STORAGE ENGINE", ""];

    #[test]
    fn none_loaded_fails_whatever_else_is_of_type_audit() {
        let control = ["CONNECTION_CONTROL", "ACTIVE", "AUDIT", "connection_control.so"];
        let made = mysql().answer("plugins", COLUMNS, &[INNODB, &control]).answer("components", &["urn"], &[]);
        assert_eq!(made.statuses(&CHECK), [Fail]);
    }

    #[test]
    fn a_component_passes_and_an_unreadable_list_does_not_fail() {
        let made = mysql().answer("plugins", COLUMNS, &[INNODB]);
        assert_eq!(made.statuses(&CHECK), [Unknown]);
        let urn = "file://component_audit_log_filter";
        let made = mysql().answer("plugins", COLUMNS, &[INNODB]).answer("components", &["urn"], &[&[urn]]);
        assert_eq!(made.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn mariadbs_plugin_must_also_log() {
        let audit = ["SERVER_AUDIT", "ACTIVE", "AUDIT", "server_audit.so"];
        let made =
            |value| mariadb().answer("plugins", COLUMNS, &[INNODB, &audit]).variable("server_audit_logging", value);
        assert_eq!(made("OFF").statuses(&CHECK), [Fail]);
        assert_eq!(made("ON").statuses(&CHECK), [Pass]);
    }

    #[test]
    fn an_empty_or_missing_list_is_unknown() {
        assert_eq!(mysql().answer("plugins", COLUMNS, &[]).statuses(&CHECK), [Unknown]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
