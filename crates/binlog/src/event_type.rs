//! The types of events.
//!
//! Source: `binlog_event.h` of MySQL and `log_event.h` of MariaDB.

use std::fmt;

/// Type of an event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventType(pub u8);

/// Declares the known types once: constant, number, and the server's name for it.
macro_rules! event_types {
    ($($(#[$doc:meta])* $constant:ident = $number:literal, $name:literal;)*) => {
        impl EventType {
            $($(#[$doc])* pub const $constant: Self = Self($number);)*

            /// The server's name, as in `SHOW BINLOG EVENTS`; `None` for an unknown type.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$constant => Some($name),)*
                    _ => None,
                }
            }
        }
    };
}

event_types! {
    /// A statement.
    QUERY = 2, "Query";
    /// The server was stopped.
    STOP = 3, "Stop";
    /// The next log file.
    ROTATE = 4, "Rotate";
    /// `LAST_INSERT_ID()` or the next AUTO_INCREMENT value of the next statement.
    INTVAR = 5, "Intvar";
    /// A block of the file of `LOAD DATA`.
    APPEND_BLOCK = 9, "Append_block";
    /// The file of `LOAD DATA` is no longer needed.
    DELETE_FILE = 11, "Delete_file";
    /// The seeds of `RAND()` in the next statement.
    RAND = 13, "RAND";
    /// A user variable of the next statement.
    USER_VAR = 14, "User var";
    /// The format of all following events.
    FORMAT_DESCRIPTION = 15, "Format_desc";
    /// Commit of a transaction.
    XID = 16, "Xid";
    /// First block of the file of `LOAD DATA`.
    BEGIN_LOAD_QUERY = 17, "Begin_load_query";
    /// `LOAD DATA` as a statement.
    EXECUTE_LOAD_QUERY = 18, "Execute_load_query";
    /// Describes the table of the following rows.
    TABLE_MAP = 19, "Table_map";
    /// Inserted rows.
    WRITE_ROWS_V1 = 23, "Write_rows_v1";
    /// Updated rows.
    UPDATE_ROWS_V1 = 24, "Update_rows_v1";
    /// Deleted rows.
    DELETE_ROWS_V1 = 25, "Delete_rows_v1";
    /// The log may lack changes.
    INCIDENT = 26, "Incident";
    /// The server has no events to send; sent to replicas only.
    HEARTBEAT = 27, "Heartbeat";
    /// Readers that do not know the event may skip it.
    IGNORABLE = 28, "Ignorable";
    /// The statement of the following rows.
    ROWS_QUERY = 29, "Rows_query";
    /// Inserted rows, MySQL 5.6 and newer.
    WRITE_ROWS = 30, "Write_rows";
    /// Updated rows, MySQL 5.6 and newer.
    UPDATE_ROWS = 31, "Update_rows";
    /// Deleted rows, MySQL 5.6 and newer.
    DELETE_ROWS = 32, "Delete_rows";
    /// GTID of the next transaction.
    GTID = 33, "Gtid";
    /// The next transaction has no GTID.
    ANONYMOUS_GTID = 34, "Anonymous_Gtid";
    /// All GTIDs in the logs before this one.
    PREVIOUS_GTIDS = 35, "Previous_gtids";
    /// Certification data of Group Replication.
    TRANSACTION_CONTEXT = 36, "Transaction_context";
    /// Group Replication: members changed.
    VIEW_CHANGE = 37, "View_change";
    /// End of a prepared XA transaction.
    XA_PREPARE = 38, "XA_prepare";
    /// Updated rows, with JSON values as changes.
    PARTIAL_UPDATE_ROWS = 39, "Update_rows_partial";
    /// A compressed transaction.
    TRANSACTION_PAYLOAD = 40, "Transaction_payload";
    /// The server has no events to send; with a 64-bit position.
    HEARTBEAT_V2 = 41, "Heartbeat";
    /// GTID with a tag.
    GTID_TAGGED = 42, "Gtid_tagged_log_event";
    /// Start of encryption in Percona Server 5.7.
    START_ENCRYPTION_PERCONA = 159, "Start_encryption";
    /// MariaDB: the statement of the following rows.
    ANNOTATE_ROWS = 160, "Annotate_rows";
    /// MariaDB: the oldest log that recovery needs.
    BINLOG_CHECKPOINT = 161, "Binlog_checkpoint";
    /// MariaDB: GTID of the next transaction.
    GTID_MARIADB = 162, "Gtid";
    /// MariaDB: the last GTID of each domain and server in the logs before.
    GTID_LIST = 163, "Gtid_list";
    /// MariaDB: all following events are encrypted.
    START_ENCRYPTION = 164, "Start_encryption";
    /// MariaDB: a compressed statement.
    QUERY_COMPRESSED = 165, "Query_compressed";
    /// MariaDB: compressed inserted rows.
    WRITE_ROWS_COMPRESSED_V1 = 166, "Write_rows_compressed_v1";
    /// MariaDB: compressed updated rows.
    UPDATE_ROWS_COMPRESSED_V1 = 167, "Update_rows_compressed_v1";
    /// MariaDB: compressed deleted rows.
    DELETE_ROWS_COMPRESSED_V1 = 168, "Delete_rows_compressed_v1";
    /// MariaDB: compressed inserted rows, with the header of MySQL 5.6; not written yet.
    WRITE_ROWS_COMPRESSED = 169, "Write_rows_compressed";
    /// MariaDB: compressed updated rows, with the header of MySQL 5.6; not written yet.
    UPDATE_ROWS_COMPRESSED = 170, "Update_rows_compressed";
    /// MariaDB: compressed deleted rows, with the header of MySQL 5.6; not written yet.
    DELETE_ROWS_COMPRESSED = 171, "Delete_rows_compressed";
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "event of type {}", self.0),
        }
    }
}

impl fmt::Debug for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
