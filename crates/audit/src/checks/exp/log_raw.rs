//! `exp-log-raw`.

use findings::{Remedy, Severity};
use server::switch::is_on;

use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::set_variable;
use crate::checks::setting::{SERVER_GROUPS, on_command_line, option, start_is_known};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::host::HostFacts;
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "exp-log-raw",
    title: "Passwords are written to the logs in clear",
    severity: Severity::High,
    explanation: "MySQL rewrites statements such as CREATE USER before they reach the general log, so that it holds \
        no password; log_raw switches that off. It is a variable since 8.0.19, and before that only an option of the \
        command line and the option files.",
    applies: "MySQL 5.6 and newer; MariaDB has no such option",
    fix: "log_raw = OFF, then shred the logs written meanwhile and change the passwords in them",
    cost: "no lock",
    standards: &["CIS MySQL 6.4"],
    exposes: Exposes::Help(Attacker::Operator, "Passwords, in the logs"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    if sql.is_mariadb() {
        return Ok(CheckResults::not_applicable("MariaDB has no log_raw"));
    }
    if let Some(value) = sql.variable_or_none("log_raw") {
        let evidence = sql.variable_evidence("log_raw");
        return Ok(CheckResults::one(if is_on(value) {
            CheckResult::fail("log_raw", EvidenceGrade::Declared, "statements are logged with their passwords")
                .evidence(evidence)
                .fix(set_variable(sql, "log_raw", "OFF"))
        } else {
            CheckResult::pass("log_raw", EvidenceGrade::Declared, "passwords are rewritten before they are logged")
                .evidence(evidence)
        }));
    }
    let host = cx.facts.host()?;
    if let Some(evidence) = asked_for(host) {
        return Ok(CheckResults::one(
            CheckResult::fail("log_raw", EvidenceGrade::Declared, "the server starts with log_raw")
                .evidence(evidence)
                .fix(Remedy::advice("remove log_raw from the option file or the command line").then_restart()),
        ));
    }
    if start_is_known(host) {
        let message = "neither the command line nor an option file asks for log_raw";
        let evidence =
            Evidence::Host { source: "command line and option files".to_owned(), observation: message.to_owned() };
        return Ok(CheckResults::one(
            CheckResult::pass("log_raw", EvidenceGrade::Declared, message).evidence(evidence),
        ));
    }
    Err(Unavailable {
        what: "log_raw".to_owned(),
        why: format!("{} has no variable for it, and how it was started is not known", sql.identity.version),
        remedy: access::reading("the option files and /proc of the server"),
    })
}

fn asked_for(host: &HostFacts) -> Option<Evidence> {
    if let Some(process) = &host.process
        && let Some(argument) = on_command_line(process, "log_raw").filter(|argument| argument.is_on())
    {
        return Some(Evidence::Host {
            source: format!("/proc/{}/cmdline", process.pid),
            observation: argument.text.to_owned(),
        });
    }
    let set = option(host, SERVER_GROUPS, "log_raw").filter(|set| set.is_on())?;
    Some(set.evidence())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    #[test]
    fn the_variable_decides_where_there_is_one() {
        assert_eq!(mysql().variable("log_raw", "ON").statuses(&CHECK), [Fail]);
        assert_eq!(mysql().variable("log_raw", "OFF").statuses(&CHECK), [Pass]);
        assert_eq!(mariadb().statuses(&CHECK), [NotApplicable]);
    }

    #[test]
    fn an_old_server_without_the_variable_is_unknown_from_afar() {
        let old = || FactsBuilder::server("5.7.44", "MySQL Community Server (GPL)");
        assert_eq!(old().statuses(&CHECK), [Unknown]);
        assert_eq!(old().host(|_| {}).statuses(&CHECK), [Unknown]);
    }
}
