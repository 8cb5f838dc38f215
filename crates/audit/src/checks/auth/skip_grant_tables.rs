//! `auth-skip-grant-tables`.

use findings::Severity;
use server::error_code;
use server::switch::is_on;

use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::setting::{SERVER_GROUPS, on_command_line, option};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::host::HostFacts;
use crate::facts::sql::{QueryOutcome, SqlFacts};
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "auth-skip-grant-tables",
    title: "The server runs, or will start, without checking privileges",
    severity: Severity::Critical,
    explanation: "With skip-grant-tables anybody can log in as any account, with all privileges. MySQL has no \
        variable for it. Such a server refuses SHOW GRANTS with error 1290; a server that answers SHOW GRANTS has \
        loaded its grant tables. The option can also be set on the command line or in an option file for the next \
        start.",
    applies: "every server",
    fix: "remove skip-grant-tables from the command line and the option files, then restart",
    cost: "one restart",
    standards: &["CIS MySQL 4.x"],
    exposes: Exposes::Help(Attacker::Operator, "Everything, without a password"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql.as_ref();
    let host = cx.facts.host.as_ref();
    let mut results = CheckResults::new();
    if let Some(result) = sql.and_then(running_without) {
        results.push(result);
    }
    if let Some(result) = host.and_then(|host| asked_for(host, sql)) {
        results.push(result);
    }
    if results.is_empty() {
        let sql = cx.facts.sql()?;
        results.push(enforced(sql)?);
    }
    Ok(results)
}

fn running_without(sql: &SqlFacts) -> Option<CheckResult> {
    let fix = "remove skip-grant-tables and restart; until then, FLUSH PRIVILEGES loads the grants again";
    let fail = |evidence: Evidence| {
        CheckResult::fail(
            "running server",
            EvidenceGrade::Reported,
            "everybody may do everything: the grant tables are skipped",
        )
        .evidence(evidence)
        .fix(fix)
    };
    if let Some(QueryOutcome::Failed { code: error_code::OPTION_PREVENTS_STATEMENT, message }) =
        sql.answers.get("grants").map(|a| &a.outcome)
    {
        return Some(fail(sql.evidence("grants", format!("error 1290: {message}"))));
    }
    // MySQL's account name in every session of such a server.
    if sql.session.account.contains("skip-grants user") {
        return Some(fail(Evidence::Query {
            sql: "SELECT CURRENT_USER()".to_owned(),
            answer: sql.session.account.clone(),
        }));
    }
    let variable = sql.variable_or_none("skip_grant_tables").is_some_and(is_on);
    variable.then(|| fail(sql.variable_evidence("skip_grant_tables")))
}

fn asked_for(host: &HostFacts, sql: Option<&SqlFacts>) -> Option<CheckResult> {
    let loaded = if sql.is_some_and(|sql| enforced(sql).is_ok()) {
        "; grants were loaded since, until the next start"
    } else {
        ""
    };
    if let Some(process) = &host.process
        && let Some(argument) = on_command_line(process, "skip_grant_tables")
        && argument.is_on()
    {
        let seen =
            Evidence::Host { source: format!("/proc/{}/cmdline", process.pid), observation: argument.text.to_owned() };
        let message = format!("the server was started with {}{loaded}", argument.text);
        return Some(CheckResult::fail("command line", EvidenceGrade::Declared, message).evidence(seen));
    }
    let entry = option(host, SERVER_GROUPS, "skip_grant_tables").filter(|found| found.is_on())?;
    let message = format!("with {} the next start skips the grant tables", entry.entry.file);
    Some(
        CheckResult::fail(&entry.entry.file, EvidenceGrade::Declared, message)
            .evidence(entry.evidence())
            .fix(format!("remove line {} of {}, then restart", entry.entry.line, entry.entry.file)),
    )
}

/// A server that answers SHOW GRANTS has loaded its grant tables.
fn enforced(sql: &SqlFacts) -> Observed<CheckResult> {
    let grants = sql.rows("grants")?;
    if grants.is_empty() {
        return Err(Unavailable {
            what: "the audit account's grants".to_owned(),
            why: "the server listed none".to_owned(),
            remedy: "run on the server's host, where its command line can be read".to_owned(),
        });
    }
    Ok(CheckResult::pass("server", EvidenceGrade::Reported, "the server has its grant tables loaded")
        .evidence(sql.evidence("grants", format!("{} lines for {}", grants.len(), sql.session.account))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::host::{OptionEntry, Process};
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql};

    fn process(argument: &str) -> Process {
        Process {
            pid: 7,
            found_by: "pid file".to_owned(),
            uid: 999,
            command_line: vec!["mysqld".to_owned(), argument.to_owned()],
            core_limit: None,
            locked_kib: None,
            swapped_kib: None,
            listeners: Vec::new(),
            unreadable: Vec::new(),
        }
    }

    fn granted() -> FactsBuilder {
        mysql().answer("grants", &["grant"], &[&["GRANT PROCESS ON *.* TO `audit`@`%`"]])
    }

    #[test]
    fn an_absent_variable_proves_nothing() {
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
        assert_eq!(granted().statuses(&CHECK), [Pass]);
    }

    #[test]
    fn error_1290_gives_it_away() {
        assert_eq!(mysql().refused("grants", 1290).statuses(&CHECK), [Fail]);
        assert_eq!(mysql().refused("grants", 1141).statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn a_command_line_or_an_option_file_fails() {
        let started = granted().host(|host| host.process = Some(process("--skip-grant-tables")));
        let found = started.judge(&CHECK);
        assert_eq!((found[0].status, found[0].artefact.as_str()), (Fail, "command line"));
        let off = granted().host(|host| host.process = Some(process("--skip_grant_tables=0")));
        assert_eq!(off.statuses(&CHECK), [Pass]);
        let file = granted().host(|host| {
            host.options.push(OptionEntry {
                file: "/etc/my.cnf".to_owned(),
                line: 4,
                group: "mysqld".to_owned(),
                key: "skip_grant_tables".to_owned(),
                value: None,
                secret: false,
                read_by_server: true,
            });
        });
        assert_eq!(file.judge(&CHECK)[0].artefact, "/etc/my.cnf");
    }
}
