//! `tls-xprotocol`.

use findings::{Remedy, Severity};
use server::address::{self, binds_every_interface, is_any_address};
use server::dialect::variable;
use server::{Capability, DEFAULT_X_PORT, option_group};

use crate::channel::client::{networking_off, seen_at};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::sql::SqlFacts;
use crate::facts::wire::X_PORT;
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "tls-xprotocol",
    title: "The X Protocol's port is open on more addresses than the main one, or offers no TLS",
    severity: Severity::Medium,
    explanation: "The X plug-in has its own bind address, every interface by default: a server bound to 127.0.0.1 \
        still answers the whole network on port 33060. The sockets of the server's process show which addresses are \
        open, mysqlx_bind_address which are configured; the port itself shows whether it offers TLS.",
    applies: "MySQL 5.7.12+ with the X plug-in",
    fix: "mysqlx = OFF, or mysqlx_bind_address = the main port's address, in the option file; then restart",
    cost: "a restart",
    standards: &["PCI DSS 4.0.1 1.4", "CIS MySQL 2.14"],
    exposes: Exposes::Help(
        Attacker::Sniffer,
        "A second listener, the X Protocol, with its own address and certificates",
    ),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    if !sql.can(Capability::XProtocol) {
        return Ok(CheckResults::not_applicable(format!("{} has no X Protocol", sql.identity.version)));
    }
    if !active(sql)? {
        return Ok(CheckResults::not_applicable("the X plug-in is not active"));
    }
    if networking_off(cx.facts) {
        return Ok(CheckResults::not_applicable("skip_networking = ON: the X plug-in listens on its socket only"));
    }
    if sql.status("Mysqlx_port").is_ok_and(|port| port.eq_ignore_ascii_case("UNDEFINED"))
        && listeners(cx, sql).is_none_or(|open| open.is_empty())
    {
        let pass = CheckResult::pass(X_PORT, EvidenceGrade::Reported, "the X plug-in has no port open");
        return Ok(CheckResults::one(pass.evidence(sql.evidence("status", "Mysqlx_port = UNDEFINED"))));
    }
    let mut results = CheckResults::new();
    reach(cx, sql, &mut results);
    offer(cx, &mut results);
    Ok(results)
}

/// Whether the X plug-in is active. Without the privilege to list plug-ins, its variables show this: they exist only
/// while it is loaded.
fn active(sql: &SqlFacts) -> Observed<bool> {
    match sql.active_plugins() {
        Ok(plugins) => Ok(plugins.iter().any(|plugin| plugin.name.eq_ignore_ascii_case("mysqlx"))),
        Err(unseen) => sql.variable(variable::MYSQLX_PORT).map(|_| true).map_err(|_| unseen),
    }
}

/// Whether the X port is reachable from more of the network than the main port.
fn reach(cx: &Context<'_>, sql: &SqlFacts, results: &mut CheckResults) {
    let main = sql.variable_or_none(variable::BIND_ADDRESS).unwrap_or("*");
    let (wide, grade, evidence) = match listeners(cx, sql) {
        Some(open) => {
            let observation = format!(
                "process listens for X at {}",
                if open.is_empty() { "nothing".to_owned() } else { open.join(", ") }
            );
            (
                open.iter().any(|socket| address::split(socket).is_ok_and(|(host, _)| is_any_address(host))),
                EvidenceGrade::Wire,
                Evidence::Host { source: "listening sockets".to_owned(), observation },
            )
        }
        None => match sql.variable(variable::MYSQLX_BIND_ADDRESS) {
            Ok(address) => (
                binds_every_interface(address),
                EvidenceGrade::Declared,
                sql.variable_evidence(variable::MYSQLX_BIND_ADDRESS),
            ),
            Err(unseen) => return results.push_unknown(X_PORT, unseen),
        },
    };
    let narrow = !binds_every_interface(main);
    let result = if wide && narrow {
        CheckResult::fail(
            X_PORT,
            grade,
            format!("the X port is open on every interface, although bind_address is {main}"),
        )
        .fix(fix(main))
    } else if wide {
        // This is the default, and usually unintended.
        CheckResult::fail(X_PORT, grade, "the X port is open on every interface, as the main one is")
            .fix(fix("the addresses its clients use"))
    } else {
        CheckResult::pass(X_PORT, grade, "the X port is open on named addresses only")
    };
    results.push(
        result
            .evidence(evidence)
            .evidence(sql.variable_evidence(variable::BIND_ADDRESS))
            .evidence(sql.variable_evidence(variable::MYSQLX_BIND_ADDRESS)),
    );
}

fn offer(cx: &Context<'_>, results: &mut CheckResults) {
    let port = cx.facts.wire.as_ref().and_then(|wire| wire.ports().into_iter().find(|port| port.name == X_PORT));
    let Some(port) = port else { return };
    match port.offers_tls {
        Some(true) => {}
        Some(false) => results.push(
            CheckResult::fail("X port TLS", EvidenceGrade::Wire, "the X port offers no TLS")
                .evidence(seen_at(&port, "no capability tls"))
                .fix(
                    "mysqlx_ssl_ca, mysqlx_ssl_cert and mysqlx_ssl_key (or ssl_ca, \
                      ssl_cert and ssl_key) in the option file, then restart",
                ),
        ),
        // A refused connection is a result, too: the port is closed to us.
        None if port.reachable => {
            results.push_unknown("X port TLS", unseen_offer(port.error.map(|error| error.text.clone())))
        }
        None => {}
    }
}

fn unseen_offer(why: Option<String>) -> Unavailable {
    Unavailable {
        what: "whether the X port offers TLS".to_owned(),
        why: why.unwrap_or_else(|| "it did not report its capabilities".to_owned()),
        remedy: "give an address that reaches the X port".to_owned(),
    }
}

/// Addresses at which the server's process listens for X; `None` if its sockets are unknown.
fn listeners<'a>(cx: &'a Context<'_>, sql: &SqlFacts) -> Option<Vec<&'a str>> {
    let process = cx.facts.host.as_ref()?.process.as_ref()?;
    if process.listeners.is_empty() {
        return None;
    }
    let port = sql.variable_or_none(variable::MYSQLX_PORT).map_or(Some(DEFAULT_X_PORT), |port| port.parse().ok());
    let is_x = |socket: &&str| address::split(socket).is_ok_and(|(_, open)| open.is_some() && open == port);
    Some(process.listeners.iter().map(String::as_str).filter(is_x).collect())
}

fn fix(main: &str) -> Remedy {
    Remedy::option_file(option_group::MYSQLD, [format!("mysqlx_bind_address = {main}")])
        .then_restart()
        .note("or mysqlx = OFF")
}

#[cfg(test)]
mod tests {
    use server::probe::XProbe;

    use super::*;
    use crate::facts::host::Process;
    use crate::facts::wire::{Listener, WireFacts};
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    fn with(bind: &str, x_bind: &str) -> FactsBuilder {
        mysql()
            .variable("bind_address", bind)
            .variable("mysqlx_bind_address", x_bind)
            .variable("mysqlx_port", "33060")
            .answer("plugins", &["name", "status", "type"], &[&["mysqlx", "ACTIVE", "DAEMON"]])
    }

    fn listening(made: FactsBuilder, listeners: &[&str]) -> FactsBuilder {
        let process = Process {
            pid: 1,
            found_by: String::new(),
            uid: 999,
            command_line: Vec::new(),
            core_limit: None,
            locked_kib: None,
            swapped_kib: None,
            listeners: listeners.iter().map(|l| (*l).to_owned()).collect(),
            unreadable: Vec::new(),
        };
        made.host(|host| host.process = Some(process))
    }

    #[test]
    fn open_on_every_interface_beside_a_local_main_port_fails() {
        let found = with("127.0.0.1", "*").judge(&CHECK);
        assert_eq!((found[0].status, found[0].grade), (Fail, Some(EvidenceGrade::Declared)));
        let seen = listening(with("127.0.0.1", "*"), &["127.0.0.1:3306", "[::]:33060"]).judge(&CHECK);
        assert_eq!((seen[0].status, seen[0].grade), (Fail, Some(EvidenceGrade::Wire)));
    }

    #[test]
    fn as_wide_as_the_main_port_or_narrower_passes() {
        assert_eq!(with("*", "*").statuses(&CHECK), [Fail]);
        assert_eq!(with("127.0.0.1", "127.0.0.1").statuses(&CHECK), [Pass]);
        // The sockets outrank the variable: another process may hold the port.
        assert_eq!(listening(with("127.0.0.1", "*"), &["127.0.0.1:3306"]).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_port_without_tls_fails() {
        let mut made = with("127.0.0.1", "127.0.0.1");
        let probe = XProbe {
            endpoint: "127.0.0.1:33060".to_owned(),
            reachable: true,
            error: None,
            offers_tls: Some(false),
            capabilities: Vec::new(),
            auth_mechanisms: Vec::new(),
            tls: None,
            connections: 1,
        };
        made.0.wire =
            Some(WireFacts { x: Some(Listener { endpoint: probe.endpoint.clone(), probe }), ..WireFacts::default() });
        assert_eq!(made.statuses(&CHECK), [Pass, Fail]);
    }

    #[test]
    fn servers_without_the_plug_in_are_not_concerned() {
        assert_eq!(mariadb().statuses(&CHECK), [NotApplicable]);
        let none = mysql().answer("plugins", &["name", "status", "type"], &[&["mysqlx", "DISABLED", "DAEMON"]]);
        assert_eq!(none.statuses(&CHECK), [NotApplicable]);
        assert_eq!(with("*", "*").variable("skip_networking", "ON").statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().refused("plugins", 1227).statuses(&CHECK), [Unknown]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
