//! Option file groups that servers read.
//!
//! Source: `load_default_groups` in `sql/mysqld.cc` of MySQL and MariaDB. MySQL reads `[mysqld]`, `[server]` and
//! `[mysqld-8.0]`; MariaDB these, `[mariadb]`, `[mariadbd]` and both with a version, `[client-server]` and `[galera]`.

use crate::Flavor;
use crate::program::{MARIADB_BACKUP, XTRABACKUP};

/// Group that servers of both families read.
pub const MYSQLD: &str = "mysqld";

/// Group that only MariaDB's servers read.
pub const MARIADB: &str = "mariadb";

/// Group that all client programs read.
pub const CLIENT: &str = "client";

/// Group that all client programs and servers of MariaDB read.
pub const CLIENT_SERVER: &str = "client-server";

/// Group of the scripts that transfer the state of a Galera node.
pub const SST: &str = "sst";

/// Groups that servers of any version read.
pub const SERVER: &[&str] = &[MYSQLD, "server", MARIADB, "mariadbd", CLIENT_SERVER, "galera"];

/// Groups that backup programs read, besides those of servers.
pub const BACKUP: [&str; 3] = [XTRABACKUP, MARIADB_BACKUP[1], MARIADB_BACKUP[0]];

/// Groups that may have a version suffix.
const VERSIONED: [&str; 4] = [MYSQLD, MARIADB, "mariadbd", "galera"];

/// The group for a setting of a server of this family. Servers of the other family do not read `[mariadb]`, but MariaDB
/// reads `[mysqld]`.
#[must_use]
pub const fn of_flavor(flavor: Flavor) -> &'static str {
    match flavor {
        Flavor::MySql | Flavor::Percona => MYSQLD,
        Flavor::MariaDb => MARIADB,
    }
}

/// `lines` under the header of `group`, as text of an option file.
#[must_use]
pub fn section(group: &str, lines: &[impl AsRef<str>]) -> String {
    let mut text = format!("[{group}]\n");
    for line in lines {
        text.push_str(line.as_ref());
        text.push('\n');
    }
    text
}

/// The group without its version suffix: `mysqld` for `mysqld-8.0`. `None` if `group` has no version.
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
    group == CLIENT
        || group.starts_with("client-")
        || group.starts_with("client_")
        || PROGRAMS.contains(&group)
        || BACKUP.contains(&group)
}

/// Whether the group has MariaDB in its name, so that no program of MySQL reads it.
#[must_use]
pub fn is_named_for_mariadb(group: &str) -> bool {
    group.contains(MARIADB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mariadb_has_a_group_of_its_own_family() {
        assert_eq!([Flavor::MySql, Flavor::Percona, Flavor::MariaDb].map(of_flavor), ["mysqld", "mysqld", "mariadb"]);
        assert_eq!(section(SST, &["encrypt = 4", "tca = /ca"]), "[sst]\nencrypt = 4\ntca = /ca\n");
        assert_eq!(section(MYSQLD, &[""; 0]), "[mysqld]\n");
    }

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
        for group in ["mariadb", "mariadbd-10.11", "client-mariadb", "mariadb-dump"] {
            assert!(is_named_for_mariadb(group), "{group}");
        }
        assert!(!["client", "client-server", "mysqldump"].into_iter().any(is_named_for_mariadb));
        assert_eq!((of_one_version("mariadb-11.8"), of_one_version("mariadb")), (Some("mariadb"), None));
    }
}
