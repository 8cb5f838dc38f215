//! Counters that tell how much work a running server does.
//!
//! Every version of both families has these status variables, and everybody may read them. Sources: the manuals,
//! "Server Status Variables"; seen on MySQL 9.7.4, MariaDB 10.11.19.

use super::statement::show_status_of;
use crate::version::Flavor;

/// Statements of clients.
pub const STATEMENTS: &str = "Questions";
/// Connections that were tried, successful or not.
pub const CONNECTIONS: &str = "Connections";
/// Handshakes of TLS that were completed.
pub const TLS_CONNECTIONS: &str = "Ssl_finished_accepts";
/// Bytes from clients, without TLS.
pub const RECEIVED_BYTES: &str = "Bytes_received";
/// Bytes to clients, without TLS.
pub const SENT_BYTES: &str = "Bytes_sent";
/// Pages that InnoDB has read from files.
pub const PAGES_READ: &str = "Innodb_pages_read";
/// Pages that InnoDB has written to files, each counted once, whether or not it also went to the doublewrite area.
pub const PAGES_WRITTEN: &str = "Innodb_pages_written";
/// Bytes that InnoDB has written to its redo log.
pub const REDO_BYTES: &str = "Innodb_os_log_written";
/// Sessions that are executing a statement; the one that asks is included, and so are [`background_sessions`].
pub const RUNNING_THREADS: &str = "Threads_running";

/// The statement that counts the sessions that belong to no client and that [`RUNNING_THREADS`] counts all the time: the
/// event scheduler, those that send binary logs to replicas, and on MariaDB the threads of a replica. Seen on MySQL
/// 5.7.22 and 8.0.33, which do not count the threads of a replica, and on MariaDB 11.8.
///
/// Also returns the privilege that it needs, in the syntax of `GRANT`. MariaDB lists only sessions of the same user
/// without it. The count is NULL on a MySQL that was started without the performance schema.
#[must_use]
pub const fn background_sessions(flavor: Flavor) -> (&'static str, &'static str) {
    match flavor {
        Flavor::MariaDb => (
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST \
             WHERE USER IN ('event_scheduler', 'system user') OR COMMAND LIKE 'Binlog Dump%'",
            "PROCESS ON *.*",
        ),
        Flavor::MySql | Flavor::Percona => (
            "SELECT IF(@@GLOBAL.performance_schema, COUNT(*), NULL) FROM performance_schema.threads \
             WHERE NAME = 'thread/sql/event_scheduler' OR PROCESSLIST_USER = 'event_scheduler' \
             OR PROCESSLIST_COMMAND LIKE 'Binlog Dump%'",
            "SELECT ON performance_schema.*",
        ),
    }
}

/// Statuses that each look at a running server reads.
#[must_use]
pub fn show_look() -> String {
    show_status_of(&[RUNNING_THREADS, STATEMENTS])
}

/// Lists all counters of this module: `Variable_name`, `Value`.
#[must_use]
pub fn show_counters() -> String {
    show_status_of(&[
        STATEMENTS,
        CONNECTIONS,
        TLS_CONNECTIONS,
        RECEIVED_BYTES,
        SENT_BYTES,
        PAGES_READ,
        PAGES_WRITTEN,
        REDO_BYTES,
    ])
}

/// Pages of undo logs that were read, and written: `name`, `value`. Counted only while an administrator has the module
/// `module_buf_page` enabled; otherwise zero.
pub const UNDO_PAGES: &str = "SELECT NAME AS name, COUNT AS value FROM information_schema.INNODB_METRICS \
     WHERE NAME IN ('buffer_page_read_undo_log', 'buffer_page_written_undo_log')";
/// Name in [`UNDO_PAGES`] of the pages read.
pub const UNDO_PAGES_READ: &str = "buffer_page_read_undo_log";
/// Name in [`UNDO_PAGES`] of the pages written.
pub const UNDO_PAGES_WRITTEN: &str = "buffer_page_written_undo_log";
/// The privilege that [`UNDO_PAGES`] needs, in the syntax of `GRANT`.
pub const UNDO_PAGES_NEEDS: &str = "PROCESS ON *.*";
