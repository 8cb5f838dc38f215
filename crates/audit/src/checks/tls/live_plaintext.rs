//! `tls-live-plaintext`.

use std::collections::BTreeMap;

use findings::Severity;

use crate::channel::client::{Connection, connections, networking_off};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, Certainty, ClosedBy, Exposes, LockedOut};
use crate::facts::Observed;
use crate::facts::sql::SqlFacts;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "tls-live-plaintext",
    title: "Clients are connected in clear right now",
    severity: Severity::High,
    explanation: "These clients fail when TLS is enforced; until then their queries and rows are readable on the \
        network. The finding shows who they are, their host and their driver. Judged from performance_schema.threads \
        and session_connect_attrs at one moment: a job that runs at night is missing. Replicas that pull the binary \
        log are judged by repl-dump-live-plaintext.",
    applies: "MySQL 5.7+, MariaDB 10.5+ with performance_schema = ON",
    fix: "make that client use TLS and verify the server, then enforce it",
    cost: "none on the server",
    standards: &["PCI DSS 4.0.1 4.2.1", "HIPAA 164.312(e)(1)", "NIST SP 800-53r5 SC-8(1)"],
    exposes: Exposes::Data(Attacker::Sniffer, "Statements and rows of sessions that are open in clear right now"),
    closed_by: ClosedBy::Administrator,
    locked_out: Some(LockedOut::new(Certainty::Connected, "connected in clear now")),
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    if networking_off(cx.facts) {
        return Ok(CheckResults::not_applicable("skip_networking = ON: no client connects over a network"));
    }
    let sql = cx.facts.sql()?;
    let connections = connections(sql)?;
    let ours = our_connection(sql, &connections);
    let mut clear: BTreeMap<String, Vec<&Connection<'_>>> = BTreeMap::new();
    for connection in
        connections.iter().filter(|c| c.clear() && !c.is_dump() && is_client(c) && Some(c.thread_id) != ours)
    {
        clear.entry(connection.who()).or_default().push(connection);
    }
    let mut results = CheckResults::new();
    for (who, connections) in &clear {
        results.push(result(sql, who, connections));
    }
    let text = format!("connections at this moment: {}, none of them in clear", connections.len());
    results.pass_if_clean(
        CheckResult::pass("server", EvidenceGrade::Reported, &text).evidence(sql.evidence("connections", text)),
    );
    Ok(results)
}

/// A client that has not logged in yet has no account; it may still switch to TLS.
fn is_client(connection: &Connection<'_>) -> bool {
    !connection.user.is_empty() && connection.user != "unauthenticated user"
}

/// The audit's own thread: the one of its account and host that executes a query now.
fn our_connection<'a>(sql: &SqlFacts, connections: &[Connection<'a>]) -> Option<&'a str> {
    let rows = sql.rows("session").ok()?;
    let ours = rows.first()?.get("session_user")?;
    connections.iter().find(|c| c.who() == ours && c.command == "Query").map(|c| c.thread_id)
}

fn result(sql: &SqlFacts, who: &str, connections: &[&Connection<'_>]) -> CheckResult {
    let mut drivers: Vec<String> = connections.iter().map(|connection| connection.driver()).collect();
    drivers.sort();
    drivers.dedup();
    let drivers = drivers.join(", ");
    let text = format!("{who}: connected in clear {} times ({drivers})", connections.len());
    let threads: Vec<&str> = connections.iter().take(10).map(|connection| connection.thread_id).collect();
    let answer = format!("{who}: connection_type = TCP/IP, {drivers}, threads {}", threads.join(", "));
    CheckResult::fail(who, EvidenceGrade::Reported, text)
        .evidence(sql.evidence("connections", answer))
        .fix(format!("give {who} TLS in its client ({drivers}): {}", client_option(connections)))
}

/// The option that makes this client library refuse clear text and unverified servers.
fn client_option(connections: &[&Connection<'_>]) -> &'static str {
    match connections.first().map(|connection| connection.client) {
        Some("libmariadb") => "ssl-verify-server-cert with ssl-ca",
        Some("libmysql") => "ssl-mode=VERIFY_IDENTITY with ssl-ca",
        Some(name) if name.contains("Connector/J") || name.contains("Connector Java") => "sslMode=VERIFY_IDENTITY",
        _ => "require TLS and verify the server's certificate and name",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    const COLUMNS: &[&str] =
        &["thread_id", "user", "host", "command", "connection_type", "client_name", "client_version", "program"];

    fn with(made: FactsBuilder, rows: &[&[&str]]) -> FactsBuilder {
        made.answer("connections", COLUMNS, rows)
    }

    const TLS: &[&str] = &["7", "app", "10.0.0.9:50001", "Sleep", "SSL/TLS", "libmysql", "9.7.4", "app"];

    #[test]
    fn clear_clients_are_named_with_their_driver() {
        let clear: &[&str] = &["8", "app", "10.0.0.9:50002", "Sleep", "TCP/IP", "libmariadb", "3.3.20", "report"];
        let found = with(
            mysql(),
            &[TLS, clear, &["9", "app", "10.0.0.9:50003", "Query", "TCP/IP", "libmariadb", "3.3.20", "report"]],
        )
        .judge(&CHECK);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].status, found[0].artefact.as_str()), (Fail, "app@10.0.0.9"));
        assert!(found[0].message.contains("connected in clear 2 times (libmariadb 3.3.20 report)"));
    }

    #[test]
    fn tls_and_sockets_pass() {
        let socket: &[&str] = &["8", "root", "localhost", "Query", "Socket", "", "", ""];
        let server: &[&str] = &["1", "", "", "Daemon", "", "", "", ""];
        assert_eq!(with(mysql(), &[TLS, socket, server]).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn our_connection_and_replicas_are_not_clients() {
        let ours: &[&str] = &["42", "audit", "127.0.0.1", "Query", "TCP/IP", "", "", "sealant"];
        let dump: &[&str] = &["8", "repl", "10.0.0.2:1", "Binlog Dump GTID", "TCP/IP", "", "", ""];
        let made = with(mysql(), &[TLS, ours, dump]).answer("session", &["session_user"], &[&["audit@127.0.0.1"]]);
        assert_eq!(made.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_performance_schema_that_is_off_says_nothing() {
        let off = with(mariadb().variable("performance_schema", "OFF"), &[]).judge(&CHECK);
        assert_eq!(off[0].status, Unknown);
        assert!(off[0].remediation.as_deref().unwrap().contains("performance_schema = ON"));
        assert_eq!(with(mysql(), &[]).statuses(&CHECK), [Unknown]);
        assert_eq!(mysql().refused("connections", 1142).statuses(&CHECK), [Unknown]);
        assert_eq!(mysql().variable("skip_networking", "ON").statuses(&CHECK), [NotApplicable]);
    }
}
