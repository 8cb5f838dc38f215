//! Counters that tell how much work a running server does.
//!
//! Every version of both families has these status variables, and everybody may read them. Sources: the manuals,
//! "Server Status Variables"; seen on MySQL 9.7.4, MariaDB 10.11.19.

use super::statement::show_status_of;

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
/// Sessions that are executing a statement; the one that asks is included.
pub const RUNNING_THREADS: &str = "Threads_running";

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
