//! Statements on one replication channel, which MariaDB calls a connection.
//!
//! Sources: MySQL manual, "CHANGE REPLICATION SOURCE TO", "START REPLICA", "RESET REPLICA"; MariaDB documentation,
//! "CHANGE MASTER TO", "START REPLICA", "Multi-Source Replication".

use super::statement::{ReplicationTerms, replication_terms};
use crate::{quote, version::ServerVersion};

/// The channel by which Group Replication applies the group's transactions.
pub const GROUP_APPLIER: &str = "group_replication_applier";
/// The channel by which a member that joins a group fetches the transactions that it lacks.
pub const GROUP_RECOVERY: &str = "group_replication_recovery";
/// The channels of Group Replication.
pub const GROUP_CHANNELS: [&str; 2] = [GROUP_APPLIER, GROUP_RECOVERY];

/// A channel of a replica of some version.
#[derive(Clone, Copy, Debug)]
pub struct Channel<'a> {
    version: &'a ServerVersion,
    name: Option<&'a str>,
}

impl<'a> Channel<'a> {
    /// The channel of this name; the empty name is the default channel. MySQL 5.6 has no names.
    #[must_use]
    pub const fn named(version: &'a ServerVersion, name: &'a str) -> Self {
        Self { version, name: Some(name) }
    }

    /// The only channel of a replica; statements do not name it. If there are several channels, MySQL applies such
    /// statements to all of them, or refuses them.
    #[must_use]
    pub const fn only(version: &'a ServerVersion) -> Self {
        Self { version, name: None }
    }

    /// A statement such as `STOP REPLICA`. `verb` is `START`, `STOP` or `RESET`; `rest` follows the keyword for a
    /// replica, such as `SQL_THREAD` or `ALL`, and may be empty.
    #[must_use]
    pub fn statement(&self, verb: &str, rest: &str) -> String {
        let (connection, for_channel) = self.clauses();
        let space = if rest.is_empty() { "" } else { " " };
        format!("{verb} {}{connection}{space}{rest}{for_channel}", replication_terms(self.version).replica)
    }

    /// Changes settings of the channel: `SOURCE_SSL = 1`, `MASTER_SSL = 1`.
    #[must_use]
    pub fn change(&self, settings: &str) -> String {
        let ReplicationTerms { change, .. } = replication_terms(self.version);
        let (connection, for_channel) = self.clauses();
        format!("{change}{connection} TO {settings}{for_channel}")
    }

    /// The clauses with the name: MariaDB expects the first one directly after the keyword for a replica, MySQL the
    /// second one at the end of the statement.
    fn clauses(&self) -> (String, String) {
        match self.name.map(quote::text) {
            None => (String::new(), String::new()),
            Some(name) if self.version.flavor.is_mysql_like() => (String::new(), format!(" FOR CHANNEL {name}")),
            Some(name) => (format!(" {name}"), String::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::VersionHints;

    #[test]
    fn each_fork_names_the_channel_in_its_own_place() {
        let of = |text: &str, name: Option<&str>| {
            let version = ServerVersion::parse(text, VersionHints::default()).unwrap();
            let channel = name.map_or_else(|| Channel::only(&version), |name| Channel::named(&version, name));
            [channel.statement("STOP", ""), channel.change("X=1"), channel.statement("RESET", "ALL")]
        };
        assert_eq!(
            of("9.7.4", Some("it's")),
            [
                "STOP REPLICA FOR CHANNEL 'it''s'",
                "CHANGE REPLICATION SOURCE TO X=1 FOR CHANNEL 'it''s'",
                "RESET REPLICA ALL FOR CHANNEL 'it''s'"
            ]
        );
        assert_eq!(of("5.7.44", Some(""))[0], "STOP SLAVE FOR CHANNEL ''");
        assert_eq!(of("5.6.51", None), ["STOP SLAVE", "CHANGE MASTER TO X=1", "RESET SLAVE ALL"]);
        assert_eq!(
            of("10.11.19-MariaDB", Some("east")),
            ["STOP SLAVE 'east'", "CHANGE MASTER 'east' TO X=1", "RESET SLAVE 'east' ALL"]
        );
    }
}
