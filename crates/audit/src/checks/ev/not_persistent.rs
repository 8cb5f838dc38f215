//! `ev-not-persistent`.

use findings::Severity;
use server::dialect::variable;
use server::{Capability, tls::TLS_1_2_AND_1_3};

use super::{protects, watched};
use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::{self, set_variable};
use crate::checks::setting::{SERVER_GROUPS, on_command_line, option, same_value, start_is_known};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::files::Content;
use crate::facts::host::HostFacts;
use crate::facts::sql::SqlFacts;
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub const CHECK: Check = Check {
    id: "ev-not-persistent",
    title: "A protective setting is only in memory and lost at the next start",
    severity: Severity::Medium,
    explanation: "A value set by SET GLOBAL is lost at the next start: the server then has less protection than \
        earlier reports showed. The server lists which values were set at run time (variables_info on MySQL 8, \
        SYSTEM_VARIABLES on MariaDB). SET PERSIST looks the same there until the next start, so mysqld-auto.cnf and \
        the option files decide. On older servers the running value is compared with option files and command line.",
    applies: "every server",
    fix: "SET PERSIST on MySQL 8, else write it into the option file",
    cost: "none",
    standards: &["NIST SP 800-53r5 CM-2"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

/// Origin of a running value.
enum Origin {
    /// Set at run time.
    Runtime,
    /// Persisted, or the default.
    Kept,
    /// Unknown.
    Unknown,
}

/// Effect of the next start on a value that was set at run time.
enum Next {
    Keeps,
    Loses,
    Unknown(Unavailable),
}

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    sql.rows("variables")?;
    let mut results = CheckResults::new();
    let mut kept = 0_usize;
    for (name, default_off) in watched() {
        let Some(value) = sql.variable_or_none(name) else { continue };
        // Losing a value weaker than the default does no harm.
        if default_off && !protects(value) || is_default(sql, name, value) {
            continue;
        }
        match origin(sql, name) {
            Origin::Kept => kept = kept.saturating_add(1),
            // Without a known default, only a switch that is off by default shows that somebody set it.
            Origin::Unknown if !default_off => {}
            Origin::Runtime | Origin::Unknown => match next_start(cx, sql, name, value) {
                Next::Keeps => kept = kept.saturating_add(1),
                Next::Loses => results.push(lost(sql, name, value)),
                Next::Unknown(unseen) => results.push_unknown(name, unseen),
            },
        }
    }
    let message = if kept == 0 {
        "no protective setting that could be lost is on".to_owned()
    } else {
        format!("{kept} protective settings survive a restart")
    };
    let reported = sql.rows("variable_sources").is_ok();
    let evidence = sql.evidence(if reported { "variable_sources" } else { "variables" }, &*message);
    results.pass_if_clean(
        CheckResult::pass(
            "server",
            if reported { EvidenceGrade::Reported } else { EvidenceGrade::Declared },
            &*message,
        )
        .evidence(evidence),
    );
    Ok(results)
}

/// Whether the next start yields the same value by default; servers do not report their defaults.
///
/// Source: MySQL manual, "tls_version"; seen on MySQL 9.7, MariaDB 10.11 and 11.8.
fn is_default(sql: &SqlFacts, name: &str, value: &str) -> bool {
    let known = sql.can(Capability::OnlyTls12And13);
    known && name == variable::TLS_VERSION && same_value(value, TLS_1_2_AND_1_3)
}

fn origin(sql: &SqlFacts, name: &str) -> Origin {
    let Ok(rows) = sql.rows("variable_sources") else { return Origin::Unknown };
    let Some(row) = rows.iter().find(|row| row.text("name").eq_ignore_ascii_case(name)) else {
        // The result omits compiled-in values; if it has no rows, it shows nothing.
        return if rows.is_empty() { Origin::Unknown } else { Origin::Kept };
    };
    match row.text("source").to_ascii_uppercase().as_str() {
        // MySQL's word, MariaDB's word.
        "DYNAMIC" | "SQL" => Origin::Runtime,
        "" => Origin::Unknown,
        _ => Origin::Kept,
    }
}

fn next_start(cx: &Context<'_>, sql: &SqlFacts, name: &str, value: &str) -> Next {
    let host = cx.facts.host.as_ref();
    let persisted = persisted(cx, sql, name);
    match &persisted {
        // Persisted values take precedence over option files.
        Some(Persisted::As(text)) if text.is_none_or(|text| as_good(text, value)) => return Next::Keeps,
        Some(Persisted::As(_)) => return Next::Loses,
        _ if host.is_some_and(|host| written_down(host, name, value)) => return Next::Keeps,
        _ => {}
    }
    let unread = |why: &str, remedy: String| {
        Next::Unknown(Unavailable {
            what: format!("the value of {name} at the next start"),
            why: why.to_owned(),
            remedy,
        })
    };
    if sql.can(Capability::PersistVariables) && persisted.is_none() {
        return unread(
            "neither mysqld-auto.cnf nor performance_schema.persisted_variables could be read",
            sql.grant("SELECT ON performance_schema.*"),
        );
    }
    if !host.is_some_and(start_is_known) {
        return unread(
            "the option files or the command line could not be read",
            access::reading("the option files and /proc of the server"),
        );
    }
    Next::Loses
}

/// Entry of `mysqld-auto.cnf` for a variable.
enum Persisted<'a> {
    /// Nothing.
    Absent,
    /// The value; `None` if only the name is known.
    As(Option<&'a str>),
}

/// `None` if neither the file nor its table was read.
fn persisted<'a>(cx: &'a Context<'_>, sql: &'a SqlFacts, name: &str) -> Option<Persisted<'a>> {
    if let Ok(rows) = sql.rows("persisted_variables") {
        let row = rows.into_iter().find(|row| row.text("name").eq_ignore_ascii_case(name));
        return Some(row.map_or(Persisted::Absent, |row| Persisted::As(row.get("value"))));
    }
    let files = cx.facts.files.as_ref()?;
    let found = files.files.iter().find_map(|file| match &file.content {
        Content::PersistedVariables { names, .. } => Some(names.iter().any(|n| n.eq_ignore_ascii_case(name))),
        _ => None,
    });
    match found {
        Some(true) => Some(Persisted::As(None)),
        Some(false) => Some(Persisted::Absent),
        // A data directory without the file has no persisted variables.
        None => files.data_seen().then_some(Persisted::Absent),
    }
}

/// Whether the value after the next start protects as well as this one.
fn as_good(next: &str, value: &str) -> bool {
    same_value(next, value) || (protects(next) && protects(value))
}

fn written_down(host: &HostFacts, name: &str, value: &str) -> bool {
    // The command line takes precedence over option files.
    match host.process.as_ref().and_then(|process| on_command_line(process, name)) {
        Some(argument) => as_good(argument.value(), value),
        None => option(host, SERVER_GROUPS, name).is_some_and(|set| as_good(set.value(), value)),
    }
}

fn lost(sql: &SqlFacts, name: &str, value: &str) -> CheckResult {
    let result = CheckResult::fail(
        name,
        EvidenceGrade::Reported,
        format!("{name} = {value} was set at run time, and no file sets it at the next start"),
    )
    .evidence(sql.variable_evidence(name))
    .evidence(sql.evidence("variable_sources", format!("{name}: set at run time")));
    result.fix(if sql.can(Capability::PersistVariables) {
        set_variable(sql, name, value)
    } else {
        advice::option(sql, name, value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::host::{OptionEntry, Process};
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    fn process() -> Process {
        Process {
            pid: 7,
            found_by: "pid file".to_owned(),
            uid: 999,
            command_line: vec!["mysqld".to_owned()],
            core_limit: None,
            locked_kib: None,
            swapped_kib: None,
            listeners: Vec::new(),
            unreadable: Vec::new(),
        }
    }

    fn set_at_run_time(made: FactsBuilder, source: &str) -> FactsBuilder {
        let name = "require_secure_transport";
        made.variable(name, "ON").answer("variable_sources", &["name", "source", "path"], &[&[name, source, ""]])
    }

    fn started(made: FactsBuilder) -> FactsBuilder {
        made.host(|host| host.process = Some(process()))
    }

    fn with_option(made: FactsBuilder, value: &str) -> FactsBuilder {
        let entry = OptionEntry {
            file: "/etc/my.cnf".to_owned(),
            line: 3,
            group: "mysqld".to_owned(),
            key: "require_secure_transport".to_owned(),
            value: Some(value.to_owned()),
            secret: false,
            read_by_server: true,
        };
        made.host(|host| host.options.push(entry))
    }

    #[test]
    fn a_value_in_memory_only_fails() {
        let made = || started(set_at_run_time(mysql(), "DYNAMIC"));
        assert_eq!(made().answer("persisted_variables", &["name", "value"], &[]).statuses(&CHECK), [Fail]);
        assert_eq!(started(set_at_run_time(mariadb(), "SQL")).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn a_persisted_value_looks_dynamic_and_is_kept() {
        let row = ["require_secure_transport", "ON"];
        let made = set_at_run_time(mysql(), "DYNAMIC").answer("persisted_variables", &["name", "value"], &[&row]);
        assert_eq!(made.statuses(&CHECK), [Pass]);
        assert_eq!(with_option(set_at_run_time(mysql(), "DYNAMIC"), "1").statuses(&CHECK), [Pass]);
        let row = ["require_secure_transport", "OFF"];
        let made = set_at_run_time(mysql(), "DYNAMIC").answer("persisted_variables", &["name", "value"], &[&row]);
        assert_eq!(made.statuses(&CHECK), [Fail]);
    }

    #[test]
    fn what_cannot_be_read_is_unknown() {
        assert_eq!(set_at_run_time(mysql(), "DYNAMIC").statuses(&CHECK), [Unknown]);
        assert_eq!(set_at_run_time(mariadb(), "SQL").statuses(&CHECK), [Unknown]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn old_servers_are_judged_by_option_files() {
        let old = || {
            FactsBuilder::server("5.7.44", "MySQL Community Server (GPL)").variable("require_secure_transport", "ON")
        };
        assert_eq!(started(old()).statuses(&CHECK), [Fail]);
        assert_eq!(with_option(started(old()), "ON").statuses(&CHECK), [Pass]);
        assert_eq!(old().statuses(&CHECK), [Unknown]);
        let off =
            FactsBuilder::server("5.7.44", "MySQL Community Server (GPL)").variable("require_secure_transport", "OFF");
        assert_eq!(off.statuses(&CHECK), [Pass]);
    }
}
