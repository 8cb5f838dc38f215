//! Replication: channels, accounts that may replicate, connected replicas.

use findings::Remedy;
use server::dialect::statement::{ReplicationTerms, replication_terms};
use server::quote;

use crate::facts::sql::SqlFacts;

checks! {
    CHECKS:
    channel_plaintext,
    channel_unverified,
    account_no_tls,
    dump_live_plaintext,
}

/// Changes a channel; assignments are written without `SOURCE_` or `MASTER_`.
///
/// MariaDB names a connection where MySQL has `FOR CHANNEL`.
pub(super) fn change(sql: &SqlFacts, channel: &str, assignments: &[&str]) -> Remedy {
    let ReplicationTerms { change, prefix, replica } = replication_terms(&sql.identity.version);
    let assigned = |assignment: &&str| match assignment.strip_prefix("GET_") {
        Some(rest) => format!("GET_{prefix}_{rest}"),
        None => format!("{prefix}_{assignment}"),
    };
    let assigned = assignments.iter().map(assigned).collect::<Vec<_>>().join(", ");
    let (connection, for_channel) = named(sql, channel);
    Remedy::statement(format!("STOP {replica}{connection}{for_channel}"))
        .and(Remedy::statement(format!("{change}{connection} TO {assigned}{for_channel}")))
        .and(Remedy::statement(format!("START {replica}{connection}{for_channel}")))
}

/// Restarts the thread that applies a channel's changes.
pub(super) fn restart_applier(sql: &SqlFacts, channel: &str) -> Remedy {
    let replica = replica(sql);
    let (connection, for_channel) = named(sql, channel);
    let order = |verb: &str| Remedy::statement(format!("{verb} {replica}{connection} SQL_THREAD{for_channel}"));
    order("STOP").and(order("START"))
}

/// The keyword for a replica in statements.
pub(super) fn replica(sql: &SqlFacts) -> &'static str {
    replication_terms(&sql.identity.version).replica
}

/// The name of a channel in a statement: the part directly after `SLAVE`, and the part at the end.
fn named(sql: &SqlFacts, channel: &str) -> (String, String) {
    let quoted = quote::text(channel);
    match (channel.is_empty(), sql.is_mariadb()) {
        (true, _) => (String::new(), String::new()),
        (false, true) => (format!(" {quoted}"), String::new()),
        (false, false) => (String::new(), format!(" FOR CHANNEL {quoted}")),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::testing::{FactsBuilder, mariadb, mysql};

    const COLUMNS: &[&str] =
        &["channel", "host", "port", "user", "ssl_allowed", "ssl_verify", "ssl_ca", "get_public_key", "io_state"];

    /// A channel with TLS and verification, with some columns changed.
    pub(in crate::checks) fn channel(made: FactsBuilder, changes: &[(&str, &str)]) -> FactsBuilder {
        let mut row = ["", "10.0.0.1", "3306", "repl", "YES", "YES", "/etc/mysql/ca.pem", "NO", "ON"];
        for (column, value) in changes {
            let at = COLUMNS.iter().position(|name| name == column).unwrap();
            row[at] = value;
        }
        made.answer("replica_channels", COLUMNS, &[&row])
    }

    /// An answer without any channel.
    pub(in crate::checks) fn no_channel(made: FactsBuilder) -> FactsBuilder {
        made.answer("replica_channels", COLUMNS, &[])
    }

    #[test]
    fn statements_fit_the_version() {
        let statement = |made: FactsBuilder, channel| {
            change(&made.0.sql.unwrap(), channel, &["SSL=1", "GET_PUBLIC_KEY=0"]).to_string()
        };
        assert_eq!(
            statement(mysql(), "east"),
            "STOP REPLICA FOR CHANNEL 'east'; CHANGE REPLICATION SOURCE TO SOURCE_SSL=1, GET_SOURCE_PUBLIC_KEY=0 \
             FOR CHANNEL 'east'; START REPLICA FOR CHANNEL 'east'"
        );
        assert!(
            statement(FactsBuilder::server("8.0.22", ""), "")
                .starts_with("STOP REPLICA; CHANGE MASTER TO MASTER_SSL=1")
        );
        assert!(
            statement(FactsBuilder::server("5.7.44", ""), "").starts_with("STOP SLAVE; CHANGE MASTER TO MASTER_SSL=1")
        );
        let restarted = restart_applier(mysql().0.sql.as_ref().unwrap(), "east").to_string();
        assert_eq!(
            restarted,
            "STOP REPLICA SQL_THREAD FOR CHANNEL 'east'; START REPLICA SQL_THREAD FOR CHANNEL 'east'"
        );
        assert!(statement(mariadb(), "east").starts_with("STOP SLAVE 'east'; CHANGE MASTER 'east' TO MASTER_SSL=1"));
    }
}
