//! The privileges of an account for a copy of a running server, as a text for messages and help.

/// The privileges, as the end of a sentence: "on MariaDB …; on MySQL …". A macro, to build constant texts with.
macro_rules! follow_privileges {
    () => {
        "MariaDB RELOAD and BINLOG MONITOR; on MySQL BACKUP_ADMIN, RELOAD, SELECT on performance_schema.log_status, \
         and SELECT and LOCK TABLES on tables that are not InnoDB's"
    };
}
pub(crate) use follow_privileges;
