//! Commands that work on the very fork and version that is judged.

use crate::facts::sql::SqlFacts;

/// Sets a dynamic variable now and for the next start.
///
/// `SET PERSIST` exists in MySQL from 8.0.0; MySQL 5.x and MariaDB forget what `SET GLOBAL` set.
pub(super) fn set_variable(sql: &SqlFacts, name: &str, value: &str) -> String {
    if sql.mysql_since(8, 0, 0) {
        return format!("SET PERSIST {name} = {value}");
    }
    let plain = value.trim_matches('\'');
    format!("SET GLOBAL {name} = {value}; and, to keep it, {name} = {plain} under [{}] of the option file", group(sql))
}

/// Sets a variable that only a start of the server can set.
pub(super) fn set_at_start(sql: &SqlFacts, name: &str, value: &str) -> String {
    format!("{name} = {value} under [{}] of the option file, then restart", group(sql))
}

/// The option group that this server reads and its siblings may not.
pub(super) fn group(sql: &SqlFacts) -> &'static str {
    if sql.is_mariadb() { "mariadb" } else { "mysqld" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Made, mariadb, mysql};

    fn sql(made: &Made) -> &SqlFacts {
        made.0.sql.as_ref().unwrap()
    }

    #[test]
    fn only_mysql_8_persists() {
        assert_eq!(set_variable(sql(&mysql()), "local_infile", "OFF"), "SET PERSIST local_infile = OFF");
        let old = Made::server("5.7.44", "MySQL Community Server (GPL)");
        assert!(set_variable(sql(&old), "local_infile", "OFF").starts_with("SET GLOBAL local_infile = OFF;"));
        assert!(set_variable(sql(&mariadb()), "local_infile", "OFF").contains("[mariadb]"));
    }
}
