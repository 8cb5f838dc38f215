//! Locks and positions of a running server while its files are copied.
//!
//! Sources: MySQL manual, "LOCK INSTANCE FOR BACKUP Statement", "The log_status Table", "Redo Log"
//! (`innodb_redo_log_consumer_register`); MariaDB documentation, "BACKUP STAGE".

use crate::sql::{Syntax, TokenKind, tokens};

/// MySQL: blocks DDL, not changes of rows. Needs BACKUP_ADMIN.
pub const LOCK_INSTANCE: &str = "LOCK INSTANCE FOR BACKUP";
/// MySQL: ends [`LOCK_INSTANCE`].
pub const UNLOCK_INSTANCE: &str = "UNLOCK INSTANCE";
/// MySQL: the positions of the logs at one moment, as JSON: `local` (binary log and GTIDs), `engines` (LSN).
pub const LOG_STATUS: &str = "SELECT local AS local, storage_engines AS engines FROM performance_schema.log_status";
/// MySQL: fails if the account may not read [`LOG_STATUS`]; takes none of the short locks that reading it needs.
pub const MAY_READ_LOG_STATUS: &str = "SELECT local FROM performance_schema.log_status WHERE FALSE";
/// MySQL: makes the server keep its redo log until the session has read it; `failed` is 0 on success.
pub const REGISTER_REDO_CONSUMER: &str = "SELECT innodb_redo_log_consumer_register() AS failed";
/// MySQL: ends [`REGISTER_REDO_CONSUMER`]; `failed` is 0 if the session still was the consumer.
pub const UNREGISTER_REDO_CONSUMER: &str = "SELECT innodb_redo_log_consumer_unregister() AS failed";
/// Releases the tables that the session has locked.
pub const UNLOCK_TABLES: &str = "UNLOCK TABLES";

/// MariaDB: prefix of all `BACKUP STAGE` statements.
pub const STAGE: &str = "BACKUP STAGE ";
/// MariaDB: begins a backup; changes that skip the redo log are recorded. Needs RELOAD.
pub const STAGE_START: &str = "BACKUP STAGE START";
/// MariaDB: flushes tables that are not in use, and blocks changes of tables without transactions.
pub const STAGE_FLUSH: &str = "BACKUP STAGE FLUSH";
/// MariaDB: blocks DDL.
pub const STAGE_BLOCK_DDL: &str = "BACKUP STAGE BLOCK_DDL";
/// MariaDB: blocks commits.
pub const STAGE_BLOCK_COMMIT: &str = "BACKUP STAGE BLOCK_COMMIT";
/// MariaDB: ends the backup and all its locks.
pub const STAGE_END: &str = "BACKUP STAGE END";

/// Writes the redo log to disk; the statement is not replicated. Needs RELOAD.
pub const FLUSH_ENGINE_LOGS: &str = "FLUSH NO_WRITE_TO_BINLOG ENGINE LOGS";

/// MySQL: the sessions that delay [`LOCK_INSTANCE`], the longest first: `id`, `user`, `statement` and `seconds`. DDL
/// holds the metadata lock `BACKUP LOCK`, which a backup requests in a conflicting mode. Needs SELECT on both tables.
pub const MYSQL_HOLDERS: &str = "SELECT t.PROCESSLIST_ID AS id, t.PROCESSLIST_USER AS user, t.PROCESSLIST_INFO AS statement, \
     t.PROCESSLIST_TIME AS seconds FROM performance_schema.metadata_locks l JOIN performance_schema.threads t \
     ON t.THREAD_ID = l.OWNER_THREAD_ID WHERE l.OBJECT_TYPE = 'BACKUP LOCK' AND l.LOCK_STATUS = 'GRANTED' \
     AND t.PROCESSLIST_ID <> CONNECTION_ID() GROUP BY 1, 2, 3, 4 ORDER BY seconds DESC";
/// Advice for the administrator if [`MYSQL_HOLDERS`] sees no locks.
pub const ENABLE_MYSQL_HOLDERS: &str =
    "turn on performance_schema, and in its setup_instruments wait/lock/metadata/sql/mdl";
/// The privileges for [`MYSQL_HOLDERS`].
pub const GRANT_MYSQL_HOLDERS: &str = "GRANT SELECT ON performance_schema.metadata_locks TO the account, and on \
                                       performance_schema.threads";
/// MySQL: 1 if [`MYSQL_HOLDERS`] sees locks; 0 if the Performance Schema or its instrument for metadata locks is off.
/// If both are on, the table is never empty, because this query itself holds a lock. Needs SELECT on the table.
pub const MYSQL_SEES_HOLDERS: &str = "SELECT EXISTS (SELECT 1 FROM performance_schema.metadata_locks)";
/// MySQL: the sessions that wait for [`LOCK_INSTANCE`] to end, with the columns of [`MYSQL_HOLDERS`] and its privileges:
/// they request the metadata lock `BACKUP LOCK`, too.
pub const MYSQL_WAITING: &str = "SELECT t.PROCESSLIST_ID AS id, t.PROCESSLIST_USER AS user, t.PROCESSLIST_INFO AS statement, \
     t.PROCESSLIST_TIME AS seconds FROM performance_schema.metadata_locks l JOIN performance_schema.threads t \
     ON t.THREAD_ID = l.OWNER_THREAD_ID WHERE l.OBJECT_TYPE = 'BACKUP LOCK' AND l.LOCK_STATUS = 'PENDING' \
     AND t.PROCESSLIST_ID <> CONNECTION_ID() GROUP BY 1, 2, 3, 4 ORDER BY seconds DESC";
/// MariaDB: the sessions that wait for a backup stage to end, with the columns of [`MYSQL_HOLDERS`], but not those that
/// wait to begin one. Without the privilege PROCESS it lists only the account's own.
pub const MARIADB_WAITING: &str = "SELECT ID AS id, USER AS user, LEFT(INFO, 8192) AS statement, TIME AS seconds \
     FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND STATE = 'Waiting for backup lock' \
     AND IFNULL(INFO, '') NOT LIKE 'BACKUP STAGE%' ORDER BY TIME_MS DESC";
/// MariaDB: sessions that run a statement and do not wait for a backup lock themselves, with the columns of
/// [`MYSQL_HOLDERS`]; also the threads of a replica (`system user`), which run the statements of its source, and those
/// of events, whose command stays that of a new session (`Connect`, in `event_scheduler.cc`). It does not say which of
/// them a stage waits for; without the privilege PROCESS it lists only the account's own. The state is that of a
/// session which waits for any lock of the namespace `BACKUP`, in `mdl.cc`; seen on 10.11 and 11.8. A statement is cut:
/// with its values it may be long.
pub const MARIADB_RUNNING: &str = "SELECT ID AS id, USER AS user, LEFT(INFO, 8192) AS statement, TIME AS seconds \
     FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() \
     AND COMMAND IN ('Query', 'Execute', 'Connect', 'Slave_SQL', 'Slave_worker') AND INFO IS NOT NULL \
     AND IFNULL(STATE, '') <> 'Waiting for backup lock' ORDER BY TIME_MS DESC";
/// The privilege to see all sessions in [`MARIADB_RUNNING`].
pub const GRANT_MARIADB_RUNNING: &str = "GRANT PROCESS ON *.* TO the account";

/// Whether a statement of [`MARIADB_RUNNING`] imports a tablespace. [`STAGE_BLOCK_DDL`] does not wait for those that
/// were begun before it; later ones wait for it (seen on 10.11).
#[must_use]
pub fn is_import(statement: &str) -> bool {
    // The SQL mode of another session is not known. A name in double quotes counts as a text.
    let found = tokens(statement, Syntax::default()).map_while(Result::ok);
    let mut words = found.filter(|token| token.kind == TokenKind::Word);
    // After `SET STATEMENT … FOR`, it is not the first word.
    words.any(|word| word.is_word("ALTER"))
        && words.any(|word| word.is_word("IMPORT"))
        && words.any(|word| word.is_word("TABLESPACE"))
}

/// Writes these tables to disk and blocks their changes; names are quoted.
#[must_use]
pub fn lock_tables(tables: &[String]) -> String {
    format!("FLUSH TABLES {} WITH READ LOCK", tables.join(", "))
}

/// MySQL: lets the server reuse its redo log up to an LSN.
#[must_use]
pub fn advance_redo_consumer(lsn: u64) -> String {
    format!("SELECT innodb_redo_log_consumer_advance({lsn})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_is_known_by_its_words() {
        for statement in [
            "ALTER TABLE bank.imported IMPORT TABLESPACE",
            "  /* job 7 */ alter table `a b`\nimport tablespace;",
            "ALTER TABLE t IMPORT PARTITION p0 TABLESPACE",
            "ALTER /*M!100100 ONLINE */ TABLE t IMPORT TABLESPACE",
            "SET STATEMENT lock_wait_timeout = 9 FOR ALTER TABLE t IMPORT TABLESPACE",
        ] {
            assert!(is_import(statement), "{statement}");
        }
        for statement in [
            "",
            "ALTER TABLE t DISCARD TABLESPACE",
            "ALTER TABLE t COMMENT 'IMPORT TABLESPACE'",
            "ALTER TABLE t ADD a INT -- IMPORT TABLESPACE",
            "ALTER TABLE `IMPORT` DISCARD TABLESPACE",
            "SELECT 'ALTER TABLE t IMPORT TABLESPACE'",
            "INSERT INTO t (import, tablespace) VALUES (1, 2)",
            "ALTER TABLE t COMMENT 'not closed IMPORT TABLESPACE",
        ] {
            assert!(!is_import(statement), "{statement}");
        }
    }
}
