//! Option file groups that servers read.
//!
//! Source: `load_default_groups` in `sql/mysqld.cc` of MySQL and MariaDB. MySQL reads `[mysqld]`, `[server]` and
//! `[mysqld-8.0]`; MariaDB these, `[mariadb]`, `[mariadbd]` and both with a version, `[client-server]` and `[galera]`.

use crate::program::{MARIADB_BACKUP, XTRABACKUP};

/// Groups that servers of any version read.
pub const SERVER: &[&str] = &["mysqld", "server", "mariadb", "mariadbd", "client-server", "galera"];

/// Groups that backup programs read, besides those of servers.
pub const BACKUP: [&str; 3] = [XTRABACKUP, MARIADB_BACKUP[1], MARIADB_BACKUP[0]];

/// Groups that may have a version suffix.
const VERSIONED: [&str; 4] = ["mysqld", "mariadb", "mariadbd", "galera"];

/// The group of any version that `group` is for a single version: `mysqld` for `mysqld-8.0`.
#[must_use]
pub fn of_one_version(group: &str) -> Option<&str> {
    let (server, version) = group.split_once('-')?;
    (VERSIONED.contains(&server) && version.starts_with(|c: char| c.is_ascii_digit())).then_some(server)
}

/// Whether servers of any version read the group.
#[must_use]
pub fn is_server(group: &str) -> bool {
    SERVER.contains(&group) || of_one_version(group).is_some()
}

/// Whether client programs read the group. Both clients and servers read `[client-server]`.
#[must_use]
pub fn is_client(group: &str) -> bool {
    const PROGRAMS: &[&str] = &[
        "mysql",
        "mysqldump",
        "mysqladmin",
        "mysqlimport",
        "mysqlcheck",
        "mysqlshow",
        "mysqlslap",
        "mysqlbinlog",
        "mysqlpump",
        "mysqlsh",
        "mysql_upgrade",
        "mariadb-client",
        "mariadb-dump",
        "mariadb-admin",
        "mariadb-import",
        "mariadb-check",
        "mariadb-show",
        "mariadb-slap",
        "mariadb-binlog",
        "mariadb-upgrade",
        "mydumper",
        "myloader",
    ];
    group == "client"
        || group.starts_with("client-")
        || group.starts_with("client_")
        || PROGRAMS.contains(&group)
        || BACKUP.contains(&group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_programs_and_of_servers_are_distinguished() {
        for group in ["mysqld", "mysqld-9.7", "mariadbd-10.11", "client-server", "galera"] {
            assert!(is_server(group), "{group}");
        }
        for group in ["mariadb-client", "mariadb-dump", "client", "mysqld_safe", "mysqldump", "server-8.0"] {
            assert!(!is_server(group), "{group}");
        }
        for group in ["client", "client-server", "client_extra", "mysqldump", "mariadb-backup", "mydumper"] {
            assert!(is_client(group), "{group}");
        }
        assert!(!is_client("mysqld") && !is_client("galera"));
        assert_eq!((of_one_version("mariadb-11.8"), of_one_version("mariadb")), (Some("mariadb"), None));
    }
}
