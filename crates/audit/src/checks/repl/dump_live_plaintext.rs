//! `repl-dump-live-plaintext`.

use findings::Severity;
use server::address;

use crate::channel::client::{Connection, connections, networking_off};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, Certainty, ClosedBy, Exposes, LockedOut};
use crate::facts::sql::SqlFacts;
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "repl-dump-live-plaintext",
    title: "A replica reads this server's binary log in clear right now",
    severity: Severity::High,
    explanation: "Every changed row of this server is readable on the network. Judged from \
        performance_schema.threads: the connection type of each Binlog Dump thread. Backup tools that stream the \
        binary log appear, too.",
    applies: "MySQL 5.7+, MariaDB 10.5+ with performance_schema = ON",
    fix: "on the replica: CHANGE REPLICATION SOURCE TO SOURCE_SSL=1 / CHANGE MASTER TO MASTER_SSL=1; \
        then REQUIRE SSL for its account here",
    cost: "the channel stops for a moment",
    standards: &["PCI DSS 4.0.1 4.2.1"],
    exposes: Exposes::Data(Attacker::Sniffer, "Every change, as replicas fetch it right now"),
    closed_by: ClosedBy::Administrator,
    locked_out: Some(LockedOut::new(Certainty::Connected, "replicates in clear now")),
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    if networking_off(cx.facts) {
        return Ok(CheckResults::not_applicable("skip_networking = ON: no replica can connect"));
    }
    let sql = cx.facts.sql()?;
    let connections = connections(sql).map_err(|unseen| name_replicas(sql, unseen))?;
    let dumps: Vec<&Connection<'_>> = connections.iter().filter(|connection| connection.is_dump()).collect();
    if dumps.is_empty() {
        return Ok(CheckResults::not_applicable("no replica is connected at this moment"));
    }
    let mut results = CheckResults::new();
    for dump in dumps {
        let who = dump.who();
        let result = if dump.clear() {
            CheckResult::fail(&who, EvidenceGrade::Reported, format!("{who} reads the binary log in clear"))
        } else {
            CheckResult::pass(&who, EvidenceGrade::Reported, format!("{who} reads the binary log over {}", dump.kind))
        };
        let answer = format!("thread {} of {who}: {}, connection_type = {}", dump.thread_id, dump.command, dump.kind);
        results.push(result.evidence(sql.evidence("connections", answer)));
    }
    Ok(results)
}

/// Without connection types, at least name the registered replicas.
fn name_replicas(sql: &SqlFacts, unseen: Unavailable) -> Unavailable {
    let rows = sql.rows("replicas").unwrap_or_default();
    let hosts: Vec<String> = rows.iter().map(|row| address::join(row.text("host"), row.text("port"))).collect();
    let why = if hosts.is_empty() {
        unseen.why
    } else {
        format!("{}; registered replicas: {}", unseen.why, hosts.join(", "))
    };
    Unavailable { what: "how replicas are connected".to_owned(), why, ..unseen }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    fn with(command: &str, kind: &str) -> FactsBuilder {
        let columns = ["thread_id", "user", "host", "command", "connection_type"];
        mysql().answer("connections", &columns, &[&["9", "repl", "10.0.0.2", command, kind]])
    }

    #[test]
    fn the_dump_threads_connection_decides() {
        let found = with("Binlog Dump GTID", "TCP/IP").judge(&CHECK);
        assert_eq!((found[0].status, found[0].artefact.as_str()), (Fail, "repl@10.0.0.2"));
        assert_eq!(with("Binlog Dump", "TCP/IP").statuses(&CHECK), [Fail]);
        assert_eq!(with("Binlog Dump GTID", "SSL/TLS").statuses(&CHECK), [Pass]);
        assert_eq!(with("Sleep", "TCP/IP").statuses(&CHECK), [NotApplicable]);
    }

    #[test]
    fn without_the_performance_schema_replicas_are_named_and_unknown() {
        let made = mariadb().variable("performance_schema", "OFF").answer(
            "replicas",
            &["host", "port"],
            &[&["10.0.0.2", "3306"]],
        );
        let found = made.judge(&CHECK);
        assert_eq!(found[0].status, Unknown);
        assert!(found[0].message.contains("10.0.0.2:3306"));
    }
}
