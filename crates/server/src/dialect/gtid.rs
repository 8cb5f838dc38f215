//! Statements about global transaction identifiers. MySQL and MariaDB share the term, but not the format.
//!
//! Sources: MySQL manual, "Global Transaction ID System Variables", "Functions Used with Global Transaction
//! Identifiers"; MariaDB documentation, "Global Transaction ID".

use crate::{quote, version::Flavor};

/// MySQL: all transactions that the server has executed, without the line breaks that it puts between origins.
pub const MYSQL_EXECUTED: &str = "SELECT REPLACE(@@GLOBAL.gtid_executed, '\n', '')";
/// MySQL: the executed transactions that are in none of the server's binary logs.
pub const MYSQL_PURGED: &str = "SELECT @@GLOBAL.gtid_purged";
/// MySQL 5.6 and newer: the executed and the purged transactions, and whether every transaction has a GTID: `executed`,
/// `purged`, `mode`.
pub const MYSQL_GTIDS: &str =
    "SELECT @@GLOBAL.gtid_executed AS executed, @@GLOBAL.gtid_purged AS purged, @@GLOBAL.gtid_mode AS mode";
/// MariaDB: the last transaction of each domain in the server's binary log.
pub const MARIADB_LOGGED: &str = "SELECT @@GLOBAL.gtid_binlog_pos";
/// MariaDB: the last transaction of each domain that the server has applied as a replica.
pub const MARIADB_APPLIED: &str = "SELECT @@GLOBAL.gtid_slave_pos";

/// The transactions up to the end of the server's binary log.
#[must_use]
pub fn logged(flavor: Flavor) -> &'static str {
    if flavor.is_mysql_like() { MYSQL_EXECUTED } else { MARIADB_LOGGED }
}

/// The transactions that the server has executed itself or applied as a replica.
#[must_use]
pub fn executed(flavor: Flavor) -> &'static str {
    if flavor.is_mysql_like() {
        MYSQL_EXECUTED
    } else {
        "SELECT CONCAT_WS(',', @@GLOBAL.gtid_binlog_pos, @@GLOBAL.gtid_slave_pos)"
    }
}

/// Waits until a replica has applied these transactions. Returns 0 on success, another value after `seconds`.
#[must_use]
pub fn wait_until_applied(flavor: Flavor, gtids: &str, seconds: u32) -> String {
    let function = if flavor.is_mysql_like() { "WAIT_FOR_EXECUTED_GTID_SET" } else { "MASTER_GTID_WAIT" };
    format!("SELECT {function}({}, {seconds})", quote::text(gtids))
}
