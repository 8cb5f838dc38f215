//! Replication: channels, accounts that may replicate, connected replicas.

use findings::Remedy;
use server::dialect::channel::Channel;
use server::dialect::statement::replication_terms;

use crate::facts::sql::SqlFacts;

checks! {
    CHECKS:
    channel_plaintext,
    channel_unverified,
    account_no_tls,
    dump_live_plaintext,
}

/// Changes a channel; assignments are written without `SOURCE_` or `MASTER_`.
pub(super) fn change(sql: &SqlFacts, name: &str, assignments: &[&str]) -> Remedy {
    let prefix = replication_terms(&sql.identity.version).prefix;
    let assigned = |assignment: &&str| match assignment.strip_prefix("GET_") {
        Some(rest) => format!("GET_{prefix}_{rest}"),
        None => format!("{prefix}_{assignment}"),
    };
    let assigned = assignments.iter().map(assigned).collect::<Vec<_>>().join(", ");
    let channel = channel(sql, name);
    Remedy::statement(channel.statement("STOP", ""))
        .and(Remedy::statement(channel.change(&assigned)))
        .and(Remedy::statement(channel.statement("START", "")))
}

/// Restarts the thread that applies a channel's changes.
pub(super) fn restart_applier(sql: &SqlFacts, name: &str) -> Remedy {
    let channel = channel(sql, name);
    let thread = |verb: &str| Remedy::statement(channel.statement(verb, "SQL_THREAD"));
    thread("STOP").and(thread("START"))
}

/// The channel of this name. Statements name the default channel only beside others: MySQL would apply them to all
/// channels, or refuse them.
pub(super) fn channel<'a>(sql: &'a SqlFacts, name: &'a str) -> Channel<'a> {
    let version = &sql.identity.version;
    let several = |answer: &str| sql.rows(answer).is_ok_and(|rows| rows.len() > 1);
    let alone = sql.is_mariadb() || !(several("replica_channels") || several("replica_credentials"));
    if name.is_empty() && alone { Channel::only(version) } else { Channel::named(version, name) }
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

    #[test]
    fn the_default_channel_is_named_beside_others() {
        let two = |made: FactsBuilder| made.answer("replica_channels", &["channel"], &[&[""], &["east"]]);
        let restarted = |made: FactsBuilder| restart_applier(made.0.sql.as_ref().unwrap(), "").to_string();
        assert_eq!(
            restarted(two(mysql())),
            "STOP REPLICA SQL_THREAD FOR CHANNEL ''; START REPLICA SQL_THREAD FOR CHANNEL ''"
        );
        assert_eq!(restarted(mysql()), "STOP REPLICA SQL_THREAD; START REPLICA SQL_THREAD");
        assert_eq!(restarted(two(mariadb())), "STOP SLAVE SQL_THREAD; START SLAVE SQL_THREAD");
    }
}
