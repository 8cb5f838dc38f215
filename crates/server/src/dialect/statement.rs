//! Statements for server administration, and replication keywords, which differ between versions.
//!
//! Sources: MySQL manual, "ALTER INSTANCE Statement", "SHOW REPLICA STATUS", "CHANGE REPLICATION SOURCE TO" (8.4
//! removed `SLAVE` and `MASTER`); MariaDB documentation, "SHOW REPLICA STATUS", "CHANGE MASTER TO".

use std::time::Duration;

use super::{capability::Capability, channel::Channel, encryption::MYSQL_ENCRYPTED};
use crate::{
    quote,
    version::{Flavor, ServerVersion},
};

/// Wraps the keys of all tablespaces with a new master key; MySQL only.
pub const ROTATE_MASTER_KEY: &str = "ALTER INSTANCE ROTATE INNODB MASTER KEY";
/// Starts new binary and relay logs with a new key; MySQL only. The server does not write it to its binary log.
pub const ROTATE_BINLOG_KEY: &str = "ALTER INSTANCE ROTATE BINLOG MASTER KEY";
/// Writes every changed page. On MySQL, only debug builds have this variable.
pub const CHECKPOINT: &str = "SET GLOBAL innodb_log_checkpoint_now = ON";
/// Rejects writes of every account; switches `read_only` on as well.
pub const SUPER_READ_ONLY_ON: &str = "SET GLOBAL super_read_only = ON";
/// Allows administrators to write; `read_only` stays as it is.
pub const SUPER_READ_ONLY_OFF: &str = "SET GLOBAL super_read_only = OFF";
/// Rejects writes of accounts without a privilege to write in spite of it (SUPER; on MariaDB READ_ONLY ADMIN).
pub const READ_ONLY_ON: &str = "SET GLOBAL read_only = ON";
/// Allows all accounts to write; switches `super_read_only` off as well.
pub const READ_ONLY_OFF: &str = "SET GLOBAL read_only = OFF";
/// Keeps the session's statements off the replicas.
pub const NOT_ON_REPLICAS: &str = "SET SESSION sql_log_bin = 0";
/// Makes MySQL load the certificates of the administrative port again.
pub const RELOAD_ADMIN_TLS: &str = "ALTER INSTANCE RELOAD TLS FOR CHANNEL mysql_admin";
/// Makes a member join its group.
pub const START_GROUP_REPLICATION: &str = "START GROUP_REPLICATION";
/// Makes a member leave its group.
pub const STOP_GROUP_REPLICATION: &str = "STOP GROUP_REPLICATION";

/// Counts the threads that apply changes of another server. The count includes replication whose status the account may
/// not see. Needs PROCESS. Other threads of MariaDB have the same user.
#[must_use]
pub const fn replication_threads(flavor: Flavor) -> &'static str {
    match flavor {
        Flavor::MySql | Flavor::Percona => {
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'system user'"
        }
        Flavor::MariaDb => {
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'system user' AND COMMAND LIKE 'Slave%'"
        }
    }
}

/// An expression that tells a server from every other one. MariaDB has no `server_uuid` before 12; two servers with the
/// same host name, directory, port and `server_id` are one.
#[must_use]
pub const fn server_identity(flavor: Flavor) -> &'static str {
    match flavor {
        Flavor::MySql | Flavor::Percona => "@@GLOBAL.server_uuid",
        Flavor::MariaDb => {
            "LEFT(SHA2(CONCAT_WS(':', @@GLOBAL.server_id, @@GLOBAL.port, @@GLOBAL.hostname, @@GLOBAL.datadir), 256), 32)"
        }
    }
}

/// Lets the queries of a session take any time, and waits long for a client that is busy with the rows it has received.
#[must_use]
pub const fn no_time_limit(flavor: Flavor) -> &'static str {
    match flavor {
        Flavor::MySql | Flavor::Percona => "SET SESSION max_execution_time = 0, net_write_timeout = 3600",
        Flavor::MariaDb => "SET SESSION max_statement_time = 0, net_write_timeout = 3600",
    }
}

/// Locks tables, with quoted names, so that every session can read them and none can change them. Waits for transactions
/// that have used them. Needs LOCK TABLES and SELECT.
#[must_use]
pub fn lock_for_reading<'t>(tables: impl IntoIterator<Item = &'t str>) -> String {
    let tables: Vec<_> = tables.into_iter().map(|table| format!("{table} READ")).collect();
    format!("LOCK TABLES {}", tables.join(", "))
}

/// Opens a snapshot. Its level of isolation is that of one transaction. On MariaDB, [`SNAPSHOT_POSITION`] tells its
/// position in the binary log.
pub const OPEN_SNAPSHOT: [&str; 2] =
    ["SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY", "START TRANSACTION WITH CONSISTENT SNAPSHOT"];
/// The position in the binary log of the session's snapshot, which has every transaction before it and no other one,
/// except soon after a new log file, when transactions of the file before can be missing; MariaDB only. Two rows:
/// `Variable_name`, `Value`.
pub const SNAPSHOT_POSITION: &str =
    "SHOW SESSION STATUS WHERE Variable_name IN ('Binlog_snapshot_file', 'Binlog_snapshot_position')";
/// Closes a snapshot.
pub const CLOSE_SNAPSHOT: &str = "ROLLBACK";
/// Lists prepared transactions (`XA PREPARE`). Needs XA_RECOVER_ADMIN on MySQL 8.0 and newer, and no privilege on MariaDB.
pub const XA_RECOVER: &str = "XA RECOVER";
/// Counts transactions without a session: prepared ones (`XA PREPARE`) that wait for their commit or rollback. Needs
/// PROCESS; `XA RECOVER` would need XA_RECOVER_ADMIN.
pub const PREPARED_TRANSACTIONS: &str =
    "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id = 0";

/// Counts transactions that have changed rows and are not committed. Needs PROCESS.
pub const OPEN_WRITERS: &str = "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_rows_modified > 0";

/// Lists the sessions of these users. Needs PROCESS.
#[must_use]
pub fn sessions_of(users: &[&str]) -> String {
    let users: Vec<_> = users.iter().map(|user| quote::text(user)).collect();
    format!("SELECT ID FROM information_schema.PROCESSLIST WHERE USER IN ({}) ORDER BY ID", users.join(", "))
}

/// Ends a session, and rolls back its transaction.
#[must_use]
pub fn end_session(id: &str) -> String {
    format!("KILL {id}")
}

/// Starts a new binary log. The server never writes this statement to its binary log (MySQL manual, "FLUSH Statement";
/// `reload_acl_and_cache` of both families).
pub const FLUSH_BINARY_LOGS: &str = "FLUSH BINARY LOGS";
/// Starts new relay logs, of all channels on MySQL.
pub const FLUSH_RELAY_LOGS: &str = "FLUSH RELAY LOGS";
/// Lists the privileges of the session's account and of its active roles: see [`crate::Grants::of_session`].
pub const SHOW_GRANTS: &str = "SHOW GRANTS";

/// Lists the binary logs with their lengths, the oldest first.
pub const SHOW_BINARY_LOGS: &str = "SHOW BINARY LOGS";
/// [`binary_log_status`] on MySQL 8.4 and newer.
pub const SHOW_BINARY_LOG_STATUS: &str = "SHOW BINARY LOG STATUS";
/// [`binary_log_status`] on MariaDB, and on MySQL before 8.4.
pub const SHOW_MASTER_STATUS: &str = "SHOW MASTER STATUS";
pub(super) const MYSQL_CHANNEL: &str = "Channel_Name";
pub(super) const MARIADB_CHANNEL: &str = "Connection_name";
pub(super) const SHOW_REPLICA_STATUS: &str = "SHOW REPLICA STATUS";
pub(super) const SHOW_SLAVE_STATUS: &str = "SHOW SLAVE STATUS";
pub(super) const SHOW_ALL_SLAVES_STATUS: &str = "SHOW ALL SLAVES STATUS";

/// Encrypts a tablespace; MySQL only.
#[must_use]
pub fn encrypt_tablespace(name: &str) -> String {
    format!("ALTER TABLESPACE {} {MYSQL_ENCRYPTED}", quote::identifier(name))
}

/// Encrypts the dictionary's tablespace. Written without quotes, as people write it.
pub const ENCRYPT_DICTIONARY: &str = "ALTER TABLESPACE mysql ENCRYPTION='Y'";

/// Lists these global variables: `Variable_name`, `Value`. Variables that the server does not have are omitted; `SELECT
/// @@name` would fail.
#[must_use]
pub fn show_variables(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})", names.join(", "))
}

/// Lists these global status variables: `Variable_name`, `Value`. Those that the server does not have are omitted.
#[must_use]
pub fn show_status_of(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({})", names.join(", "))
}

/// Lists a global variable: `Variable_name`, `Value`; nothing if the server does not have it.
#[must_use]
pub fn show_variable(name: &str) -> String {
    format!("SHOW GLOBAL VARIABLES WHERE Variable_name = {}", quote::text_in_any_mode(name))
}

/// Lists a global status variable: `Variable_name`, `Value`; nothing if the server does not have it.
#[must_use]
pub fn show_status(name: &str) -> String {
    format!("SHOW GLOBAL STATUS WHERE Variable_name = {}", quote::text_in_any_mode(name))
}

/// Sets how long the server keeps the session while it is idle.
#[must_use]
pub fn set_idle_timeout(idle: Duration) -> String {
    format!("SET SESSION wait_timeout = {}", idle.as_secs())
}

/// Limits how long the session's statements wait for locks on tables; in whole seconds, at least 1.
#[must_use]
pub fn set_lock_timeout(wait: Duration) -> String {
    format!("SET SESSION lock_wait_timeout = {}", wait.as_secs().max(1))
}

/// Limits how long the session's statements wait for locks on tables, and for each lock on a row; in whole seconds, at
/// least 1.
#[must_use]
pub fn set_lock_timeouts(wait: Duration) -> String {
    let seconds = wait.as_secs().max(1);
    format!("SET SESSION lock_wait_timeout = {seconds}, innodb_lock_wait_timeout = {seconds}")
}

/// Removes the binary logs before this one.
#[must_use]
pub fn purge_binary_logs_to(first: &str) -> String {
    format!("PURGE BINARY LOGS TO {}", quote::text_in_any_mode(first))
}

/// Makes TLS (`SSL`) or a client certificate (`X509`) a condition for an account, whose name is quoted.
#[must_use]
pub fn require_tls(version: &ServerVersion, account: &str, condition: &str) -> String {
    if version.can(Capability::AlterUser) {
        format!("ALTER USER {account} REQUIRE {condition}")
    } else {
        format!("GRANT USAGE ON *.* TO {account} REQUIRE {condition}")
    }
}

/// Gives an account, whose name is quoted, another password.
#[must_use]
pub fn set_password(version: &ServerVersion, account: &str, password: &str) -> String {
    let password = quote::text(password);
    if version.can(Capability::AlterUser) {
        format!("ALTER USER {account} IDENTIFIED BY {password}")
    } else {
        format!("SET PASSWORD FOR {account} = PASSWORD({password})")
    }
}

/// The column of [`replica_status`] with the name of the channel.
#[must_use]
pub fn channel_column(version: &ServerVersion) -> &'static str {
    if version.flavor.is_mysql_like() { MYSQL_CHANNEL } else { MARIADB_CHANNEL }
}

/// Lists the channels of a replica with all columns, one row each.
#[must_use]
pub fn replica_status(version: &ServerVersion) -> &'static str {
    match version.flavor.is_mysql_like() {
        true if version.can(Capability::ShowReplica) => SHOW_REPLICA_STATUS,
        true => SHOW_SLAVE_STATUS,
        false => SHOW_ALL_SLAVES_STATUS,
    }
}

/// Shows the end of the binary log: file, position, `Binlog_Do_DB`, `Binlog_Ignore_DB`.
#[must_use]
pub fn binary_log_status(version: &ServerVersion) -> &'static str {
    if version.can(Capability::WithoutMasterStatements) { SHOW_BINARY_LOG_STATUS } else { SHOW_MASTER_STATUS }
}

/// Keywords of a version for replication statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicationTerms {
    /// Start of the statement that changes a channel.
    pub change: &'static str,
    /// Prefix of its options, without `_`.
    pub prefix: &'static str,
    /// Keyword for a replica after `START`, `STOP` and `RESET`.
    pub replica: &'static str,
}

/// The keywords of a version.
#[must_use]
pub fn replication_terms(version: &ServerVersion) -> ReplicationTerms {
    let replica = if version.mysql_can(Capability::ShowReplica) { "REPLICA" } else { "SLAVE" };
    if version.can(Capability::ChangeReplicationSource) {
        ReplicationTerms { change: "CHANGE REPLICATION SOURCE", prefix: "SOURCE", replica }
    } else {
        ReplicationTerms { change: "CHANGE MASTER", prefix: "MASTER", replica }
    }
}

/// Clause of [`ReplicationTerms::change`] that makes the replica request transactions by GTID instead of by log
/// position.
#[must_use]
pub fn position_by_gtid(version: &ServerVersion) -> String {
    if version.flavor.is_mysql_like() {
        format!("{}_AUTO_POSITION=1", replication_terms(version).prefix)
    } else {
        "MASTER_USE_GTID=slave_pos".to_owned()
    }
}

/// Sets the transactions that a replica counts as applied; `None` for MySQL, which reads them from its own binary log.
#[must_use]
pub fn set_applied(version: &ServerVersion, gtids: &str) -> Option<String> {
    let sql = || format!("SET GLOBAL gtid_slave_pos = {}", quote::text(gtids));
    (!version.flavor.is_mysql_like()).then(sql)
}

/// Stops a channel of a replica and removes its settings.
#[must_use]
pub fn end_channel(version: &ServerVersion, channel: &str) -> [String; 2] {
    let channel = Channel::named(version, channel);
    [channel.statement("STOP", ""), channel.statement("RESET", "ALL")]
}

/// Lists the users who are connected and have a privilege to write in spite of `read_only`, except the sessions `own` and
/// those that receive the log; MariaDB only. An account without SELECT on the schema `mysql` sees only its own
/// privileges. A session keeps a privilege that is revoked, and is not listed then.
#[must_use]
pub fn connected_writers(own: &[u32]) -> String {
    let own: Vec<String> = own.iter().map(u32::to_string).collect();
    format!(
        "SELECT DISTINCT p.USER FROM information_schema.PROCESSLIST AS p \
         JOIN information_schema.USER_PRIVILEGES AS u \
         ON LEFT(u.GRANTEE, CHAR_LENGTH(p.USER) + 3) = CONCAT('''', p.USER, '''@') \
         WHERE u.PRIVILEGE_TYPE = 'READ_ONLY ADMIN' AND p.COMMAND <> 'Binlog Dump' AND p.ID NOT IN ({}) ORDER BY 1",
        own.join(", ")
    )
}

/// Counts the events that are being executed, also those that were when the scheduler was turned off. Sessions that are logging
/// in may be counted for a moment. Needs PROCESS.
///
/// Source: `pre_init_event_thread` and `Event_scheduler::execute_top` of both families: the thread of an event keeps the command
/// of a new session, because no client sends one. Seen on MySQL 9.7.4 and MariaDB 10.11.19, with the user of the definer.
pub const EXECUTING_EVENTS: &str = "SELECT COUNT(*) FROM information_schema.PROCESSLIST \
     WHERE COMMAND = 'Connect' AND USER NOT IN ('system user', 'unauthenticated user')";

/// Counts the events that the scheduler executes; 0 if it is off. Needs EVENT.
pub const RUNNING_EVENTS: &str = "SELECT COUNT(*) FROM information_schema.EVENTS \
     WHERE STATUS = 'ENABLED' AND @@GLOBAL.event_scheduler = 'ON'";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::VersionHints;

    fn version(text: &str) -> ServerVersion {
        ServerVersion::parse(text, VersionHints::default()).unwrap()
    }

    #[test]
    fn each_version_is_asked_in_its_own_words() {
        assert_eq!(binary_log_status(&version("9.7.4")), "SHOW BINARY LOG STATUS");
        assert_eq!(binary_log_status(&version("11.8.6-MariaDB")), "SHOW MASTER STATUS");
        assert_eq!(replica_status(&version("9.7.4")), "SHOW REPLICA STATUS");
        assert_eq!(replica_status(&version("8.0.21")), "SHOW SLAVE STATUS");
        assert_eq!(replica_status(&version("10.11.19-MariaDB")), "SHOW ALL SLAVES STATUS");
    }

    #[test]
    fn accounts_of_old_servers_are_changed_by_other_statements() {
        let both =
            |text| (require_tls(&version(text), "'a'@'b'", "SSL"), set_password(&version(text), "'a'@'b'", "c'd"));
        let (tls, password) = both("9.7.4");
        assert_eq!(
            (tls.as_str(), password.as_str()),
            ("ALTER USER 'a'@'b' REQUIRE SSL", "ALTER USER 'a'@'b' IDENTIFIED BY 'c''d'")
        );
        let (tls, password) = both("5.6.51");
        assert_eq!(
            (tls.as_str(), password.as_str()),
            ("GRANT USAGE ON *.* TO 'a'@'b' REQUIRE SSL", "SET PASSWORD FOR 'a'@'b' = PASSWORD('c''d')")
        );
    }

    #[test]
    fn replicas_and_sources_were_renamed_in_two_versions() {
        let words = |text| {
            let terms = replication_terms(&version(text));
            (terms.change, terms.replica)
        };
        assert_eq!(words("8.0.21"), ("CHANGE MASTER", "SLAVE"));
        assert_eq!(words("8.0.22"), ("CHANGE MASTER", "REPLICA"));
        assert_eq!(words("8.0.23"), ("CHANGE REPLICATION SOURCE", "REPLICA"));
        assert_eq!(words("11.8.6-MariaDB"), ("CHANGE MASTER", "SLAVE"));
    }
}
