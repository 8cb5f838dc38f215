//! `ev-config-conflict`.

use findings::Severity;

use super::watched;
use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::setting::{OptionSetting, SERVER_GROUPS, on_command_line, option, same_value};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::host::HostFacts;
use crate::facts::sql::SqlFacts;
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "ev-config-conflict",
    title: "An option file says one thing, the running server another",
    severity: Severity::Low,
    explanation: "Whoever reads the option file is misled, and the next start may change what is protected. The check \
        compares the last entry of each watched variable in the server's groups with its running value. A value set on \
        the command line or by SET PERSIST is no conflict: it takes precedence at every start.",
    applies: "every server whose option files can be read",
    fix: "correct the option file or the running value",
    cost: "none",
    standards: &["NIST SP 800-53r5 CM-6"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    let host = cx.facts.host()?;
    sql.rows("variables")?;
    let mut results = CheckResults::new();
    let mut compared = 0_usize;
    for (name, _) in watched() {
        let Some(value) = sql.variable_or_none(name) else { continue };
        let Some(set) =
            option(host, SERVER_GROUPS, name).filter(|_| !overridden(host, name) && !is_persisted(sql, name, value))
        else {
            continue;
        };
        compared = compared.saturating_add(1);
        if !agrees(sql, set.value(), value) {
            results.push(conflict(sql, name, &set, value));
        }
    }
    if results.is_empty() && !host.unreadable_options.is_empty() {
        return Err(unreadable(host));
    }
    if compared == 0 && host.options.is_empty() && host.process.is_none() {
        return Err(Unavailable {
            what: "the server's option files".to_owned(),
            why: "none was read".to_owned(),
            remedy: access::reading("the option files"),
        });
    }
    let message = format!("{compared} settings of the option files match the running server");
    results.pass_if_clean(
        CheckResult::pass("server", EvidenceGrade::Declared, &*message).evidence(sql.evidence("variables", &*message)),
    );
    Ok(results)
}

/// Whether the running value is that of `mysqld-auto.cnf`, which is read after all option files.
fn is_persisted(sql: &SqlFacts, name: &str, value: &str) -> bool {
    let rows = sql.rows("persisted_variables").unwrap_or_default();
    let found = rows.iter().find(|row| row.text("name").eq_ignore_ascii_case(name));
    found.and_then(|row| row.get("value")).is_some_and(|persisted| same_value(persisted, value))
}

fn overridden(host: &HostFacts, name: &str) -> bool {
    host.process.as_ref().is_some_and(|process| on_command_line(process, name).is_some())
}

/// One path may be relative to the data directory and the other absolute.
fn agrees(sql: &SqlFacts, written: &str, running: &str) -> bool {
    let absolute = |path: &str| std::path::Path::new(&sql.identity.datadir).join(path.trim_start_matches("./"));
    same_value(written, running) || absolute(written) == absolute(running)
}

fn conflict(sql: &SqlFacts, name: &str, set: &OptionSetting<'_>, running: &str) -> CheckResult {
    let written = set.value();
    CheckResult::fail(
        name,
        EvidenceGrade::Declared,
        format!("{} says {name} = {written}, the server runs with {running:?}", set.entry.file),
    )
    .evidence(set.evidence())
    .evidence(sql.variable_evidence(name))
    .fix(format!("correct line {} of {}, or set the variable to {written}", set.entry.line, set.entry.file))
}

fn unreadable(host: &HostFacts) -> Unavailable {
    let files: Vec<&str> = host.unreadable_options.iter().map(|(file, _)| file.as_str()).collect();
    Unavailable {
        what: "option files".to_owned(),
        why: format!("{} could not be read", files.join(", ")),
        remedy: access::reading(&files.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::host::OptionEntry;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb};

    fn with(key: &str, value: Option<&str>) -> FactsBuilder {
        let entry = OptionEntry {
            file: "/etc/my.cnf".to_owned(),
            line: 3,
            group: "mariadb".to_owned(),
            key: key.to_owned(),
            value: value.map(str::to_owned),
            secret: false,
            read_by_server: true,
        };
        mariadb().host(|host| host.options.push(entry))
    }

    #[test]
    fn a_different_value_fails_and_another_spelling_does_not() {
        assert_eq!(with("encrypt_binlog", Some("1")).variable("encrypt_binlog", "OFF").statuses(&CHECK), [Fail]);
        assert_eq!(with("encrypt-binlog", None).variable("encrypt_binlog", "ON").statuses(&CHECK), [Pass]);
        let relative = with("ssl_cert", Some("server-cert.pem")).variable("ssl_cert", "/var/lib/mysql/server-cert.pem");
        assert_eq!(relative.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn what_is_persisted_wins_over_the_option_files() {
        let made = |persisted: &str| {
            let mut made = with("tls_version", Some("TLSv1.2"));
            let host = made.0.host.take();
            made = crate::testing::mysql().variable("tls_version", "TLSv1.2,TLSv1.3");
            made.0.host = host;
            made.0.host.as_mut().unwrap().options[0].group = "mysqld".to_owned();
            made.answer("persisted_variables", &["name", "value"], &[&["tls_version", persisted]])
        };
        assert_eq!(made("TLSv1.2,TLSv1.3").statuses(&CHECK), [Pass]);
        assert_eq!(made("TLSv1.3").statuses(&CHECK), [Fail]);
    }

    #[test]
    fn unread_option_files_prove_nothing() {
        let made = mariadb().host(|host| host.unreadable_options.push(("/etc/my.cnf".to_owned(), "denied".to_owned())));
        assert_eq!(made.statuses(&CHECK), [Unknown]);
        assert_eq!(mariadb().statuses(&CHECK), [Unknown]);
        assert_eq!(mariadb().host(|_| {}).statuses(&CHECK), [Unknown]);
    }
}
