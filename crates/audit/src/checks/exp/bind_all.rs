//! `exp-bind-all`.

use std::collections::BTreeMap;

use findings::{Remedy, Severity};
use server::address::{self, binds_every_interface, is_any_address};
use server::dialect::variable;
use server::switch::is_on;

use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::set_at_start;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::host::Process;
use crate::facts::sql::SqlFacts;
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "exp-bind-all",
    title: "The server listens on every interface",
    severity: Severity::Medium,
    explanation: "A port bound to every interface is also open on networks that nobody considered: virtual machines, \
        containers, management. If the server's process can be inspected, its listening sockets decide; otherwise \
        bind_address, mysqlx_bind_address (separate, '*' by default even with a local bind_address) and admin_address.",
    applies: "every server",
    fix: "bind each port to named addresses",
    cost: "one restart",
    standards: &["CIS MySQL 2.14", "CIS MariaDB 2.9", "PCI DSS 4.0.1 1.4"],
    exposes: Exposes::Help(Attacker::Operator, "The server's ports, on every network that the host is in"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

/// A port that the server can listen on: name, variable of its number, variable of its address.
const PORTS: &[(&str, &str, &str)] = &[
    ("classic protocol", "port", variable::BIND_ADDRESS),
    ("X Protocol", variable::MYSQLX_PORT, variable::MYSQLX_BIND_ADDRESS),
    ("administrative port", variable::ADMIN_PORT, variable::ADMIN_ADDRESS),
];

/// The address that a group member announces. It listens on every address regardless of this value (MySQL 9.7).
const GROUPS_ADDRESS: &str = variable::GROUP_REPLICATION_LOCAL_ADDRESS;
const FIREWALL: &str = "let a firewall admit only the other members of the group: no server option binds that port to \
    an address, and group_replication_ip_allowlist closes connections only after accepting them; with \
    group_replication_communication_stack = MYSQL there is no such port";

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql.as_ref();
    let process = cx.facts.host.as_ref().and_then(|host| host.process.as_ref());
    let seen = process.filter(|process| !process.listeners.is_empty());
    match (seen, sql) {
        (Some(process), _) => Ok(by_listeners(process, sql)),
        (None, Some(sql)) => by_variables(sql),
        (None, None) => cx.facts.sql().map(|_| CheckResults::new()),
    }
}

fn by_listeners(process: &Process, sql: Option<&SqlFacts>) -> CheckResults {
    let source = || format!("listening sockets of process {}", process.pid);
    let mut results = CheckResults::new();
    // A port has a socket for each address family.
    let mut open: BTreeMap<(String, Option<&'static str>), Vec<&str>> = BTreeMap::new();
    for listener in process.listeners.iter().filter(|listener| is_wildcard_socket(listener)) {
        open.entry(name_of(listener, sql)).or_default().push(listener);
    }
    for ((name, variable), listeners) in open {
        let listeners = listeners.join(", ");
        let result =
            CheckResult::fail(&name, EvidenceGrade::Wire, format!("{name} is open on every interface ({listeners})"))
                .evidence(Evidence::Host { source: source(), observation: listeners });
        results.push(match (sql, variable) {
            (Some(sql), Some(GROUPS_ADDRESS)) => result.evidence(sql.variable_evidence(GROUPS_ADDRESS)).fix(FIREWALL),
            (Some(sql), Some(variable)) => result.evidence(sql.variable_evidence(variable)).fix(fix(sql, variable)),
            _ => result,
        });
    }
    let message = process.listeners.join(", ");
    results.pass_if_clean(
        CheckResult::pass("server", EvidenceGrade::Wire, format!("every listener is bound to an address: {message}"))
            .evidence(Evidence::Host { source: source(), observation: message }),
    );
    results
}

/// Whether a socket listens on `0.0.0.0` or `::`.
fn is_wildcard_socket(listener: &str) -> bool {
    address::split(listener).is_ok_and(|(host, _)| is_any_address(host))
}

fn name_of(listener: &str, sql: Option<&SqlFacts>) -> (String, Option<&'static str>) {
    let Ok((_, Some(port))) = address::split(listener) else { return (listener.to_owned(), None) };
    let is = |variable: &str| sql.and_then(|sql| sql.variable_or_none(variable)?.parse().ok()) == Some(port);
    match PORTS.iter().find(|(_, variable, _)| is(variable)) {
        Some((name, _, address)) => (format!("{name} (port {port})"), Some(*address)),
        // MariaDB's and Percona's extra port, at the same addresses as the main port.
        None if is(variable::EXTRA_PORT) => (format!("extra port (port {port})"), Some(variable::BIND_ADDRESS)),
        None if groups_port(sql) == Some(port) => (format!("group communication (port {port})"), Some(GROUPS_ADDRESS)),
        None => (format!("port {port}"), None),
    }
}

fn groups_port(sql: Option<&SqlFacts>) -> Option<u16> {
    address::split(sql?.variable_or_none(GROUPS_ADDRESS)?).ok()?.1
}

fn by_variables(sql: &SqlFacts) -> Observed<CheckResults> {
    if sql.variable_or_none(variable::SKIP_NETWORKING).is_some_and(is_on) {
        let pass = CheckResult::pass(
            "server",
            EvidenceGrade::Declared,
            "the server listens on no port: skip_networking is on",
        );
        return Ok(CheckResults::one(pass.evidence(sql.variable_evidence(variable::SKIP_NETWORKING))));
    }
    // Every server has `bind_address`: if it is not reported, the result is UNKNOWN. Old servers lack the variables of
    // the other ports.
    sql.variable(variable::BIND_ADDRESS)?;
    let mut results = CheckResults::new();
    let mut bound = Vec::new();
    for (name, _, variable) in PORTS {
        let Some(value) = sql.variable_or_none(variable) else { continue };
        // Without admin_address there is no administrative port; without the plug-in no X Protocol.
        let closed = match *variable {
            variable::ADMIN_ADDRESS => value.is_empty(),
            variable::MYSQLX_BIND_ADDRESS => x_protocol_is_off(sql),
            _ => false,
        };
        if closed {
            continue;
        }
        if binds_every_interface(value) {
            results.push(
                CheckResult::fail(
                    *name,
                    EvidenceGrade::Declared,
                    format!("{name} is open on every interface: {variable} = '{value}'"),
                )
                .evidence(sql.variable_evidence(variable))
                .fix(fix(sql, variable)),
            );
        } else {
            bound.push(format!("{variable} = {value}"));
        }
    }
    let message = bound.join(", ");
    results.pass_if_clean(
        CheckResult::pass("server", EvidenceGrade::Declared, format!("every port is bound to an address: {message}"))
            .evidence(sql.evidence("variables", message)),
    );
    Ok(results)
}

fn x_protocol_is_off(sql: &SqlFacts) -> bool {
    let active = sql.active_plugins().unwrap_or_default();
    !active.is_empty() && !active.iter().any(|plugin| plugin.name.eq_ignore_ascii_case("mysqlx"))
}

fn fix(sql: &SqlFacts, variable: &str) -> Remedy {
    if variable == variable::MYSQLX_BIND_ADDRESS {
        return set_at_start(sql, variable, "127.0.0.1").note("or mysqlx = 0, if nobody uses X Protocol");
    }
    set_at_start(sql, variable, "127.0.0.1").note("or the one address that remote clients use")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    fn listening(made: FactsBuilder, listeners: &[&str]) -> FactsBuilder {
        let listeners = listeners.iter().map(|l| (*l).to_owned()).collect();
        made.host(|host| {
            host.process = Some(Process {
                pid: 7,
                found_by: "pid file".to_owned(),
                uid: 999,
                command_line: Vec::new(),
                core_limit: None,
                locked_kib: None,
                swapped_kib: None,
                listeners,
                unreadable: Vec::new(),
            });
        })
    }

    #[test]
    fn x_protocol_has_another_bind_address() {
        let made = mysql().variable("bind_address", "127.0.0.1").variable("mysqlx_bind_address", "*");
        let found = made.judge(&CHECK);
        assert_eq!((found.len(), found[0].status, found[0].artefact.as_str()), (1, Fail, "X Protocol"));
    }

    #[test]
    fn sockets_beat_variables() {
        let made =
            mysql().variable("bind_address", "127.0.0.1").variable("port", "3306").variable("mysqlx_port", "33060");
        let found = listening(made, &["127.0.0.1:3306", "[::]:33060"]).judge(&CHECK);
        assert_eq!(
            (found.len(), found[0].artefact.as_str(), found[0].grade),
            (1, "X Protocol (port 33060)", Some(EvidenceGrade::Wire))
        );
        let made = mysql().variable("bind_address", "*");
        assert_eq!(listening(made, &["10.0.0.5:3306"]).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_groups_port_cannot_be_bound() {
        let made = mysql().variable("port", "3306").variable("group_replication_local_address", "db1:33061");
        let found = listening(made, &["[::]:33061"]).judge(&CHECK);
        assert_eq!(found[0].artefact, "group communication (port 33061)");
        assert!(found[0].remediation.as_deref().unwrap().starts_with("let a firewall admit"));
    }

    #[test]
    fn every_spelling_of_everywhere_fails() {
        for value in ["*", "0.0.0.0", "::", "", "127.0.0.1,::"] {
            assert_eq!(mariadb().variable("bind_address", value).statuses(&CHECK), [Fail], "{value:?}");
        }
        assert_eq!(mysql().variable("bind_address", "10.0.0.5").variable("admin_address", "").statuses(&CHECK), [Pass]);
    }

    #[test]
    fn no_network_passes_and_no_variable_is_unknown() {
        let made = mysql().variable("skip_networking", "ON").variable("bind_address", "*");
        assert_eq!(made.statuses(&CHECK), [Pass]);
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
