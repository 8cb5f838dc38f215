//! Accounts and roles: statements that list and show them, and what one version calls otherwise than another.
//!
//! Sources: MySQL manual, "Account Management Statements", "Privileges Provided by MySQL", "Reserved Accounts"; MariaDB
//! documentation, "Account Management SQL Statements", "GRANT"; seen on MySQL 5.7, 8.0 and 9.7 and MariaDB 10.11 and 11.8.

use super::statement::show_variable;
use crate::{
    account::Account, auth_plugin, connect::Connection, error::Error, quote, switch::is_switched_on, version::Flavor,
};

/// Makes `SHOW CREATE USER` print credentials in hexadecimal, because salts have control characters; MySQL 8.0.17 and
/// newer. Older servers do not have the variable.
pub const HEX_CREDENTIALS: &str = "SET SESSION print_identified_with_as_hex = ON";
/// Plug-ins whose credentials have salts of any characters. Servers without [`HEX_CREDENTIALS`] show them between quotes as
/// they are, quotes and backslashes, too.
pub const SALTED: [&str; 2] = [auth_plugin::SHA256_PASSWORD, auth_plugin::CACHING_SHA2_PASSWORD];
/// Accounts that have a second password, which `SHOW CREATE USER` does not show: `user`, `host`. MySQL 8.0.14 and newer.
pub const SECOND_PASSWORDS: &str = "SELECT User AS user, Host AS host FROM mysql.user \
     WHERE JSON_CONTAINS_PATH(User_attributes, 'one', '$.additional_password')";
/// Lists the names of authentication plug-ins that are active.
pub const AUTHENTICATION_PLUGINS: &str = "SELECT PLUGIN_NAME FROM information_schema.PLUGINS \
     WHERE PLUGIN_TYPE = 'AUTHENTICATION' AND PLUGIN_STATUS = 'ACTIVE'";
/// Lists the privileges that the server knows; the first column has their names.
pub const SHOW_PRIVILEGES: &str = "SHOW PRIVILEGES";

/// Lists all accounts and roles: `user`, `host`, `is_role`. Needs SELECT on the schema `mysql`. A role of MySQL is an
/// account; one of MariaDB has no host.
#[must_use]
pub const fn list(flavor: Flavor) -> &'static str {
    match flavor {
        Flavor::MySql | Flavor::Percona => {
            "SELECT User AS user, Host AS host, 'N' AS is_role FROM mysql.user ORDER BY 1, 2"
        }
        Flavor::MariaDb => "SELECT User AS user, Host AS host, is_role AS is_role FROM mysql.user ORDER BY 1, 2",
    }
}

/// Whether parts of global privileges can be revoked (`partial_revokes` of MySQL 8.0.16 and newer). Then `_` and `%` in the
/// name of a schema stand for themselves in grants.
///
/// # Errors
/// Those of [`Connection::query`].
pub fn has_partial_revokes(connection: &mut Connection) -> Result<bool, Error> {
    const NAME: &str = "partial_revokes";
    Ok(connection.query(&show_variable(NAME))?.of_name(NAME).is_some_and(is_switched_on))
}

/// Selects the credential of an account: `raw`, and in hexadecimal `hex`. Needs SELECT on the schema `mysql`.
#[must_use]
pub fn credential(account: &Account) -> String {
    let [user, host] = [&account.user, &account.host].map(|name| quote::text(name));
    format!(
        "SELECT authentication_string AS raw, HEX(authentication_string) AS hex FROM mysql.user \
         WHERE User = {user} AND Host = {host}"
    )
}

/// Accounts that servers and managed services create for themselves, on every host.
const OF_SERVERS: [&str; 14] = [
    "mysql.infoschema",
    "mysql.session",
    "mysql.sys",
    "mariadb.sys",
    "PUBLIC",
    "rdsadmin",
    "rdsrepladmin",
    "rdsproxyadmin",
    "rds_superuser_role",
    "azure_superuser",
    "cloudsqladmin",
    "cloudsqlsuperuser",
    "debian-sys-maint",
    "event_scheduler",
];
/// Accounts that an installation creates on the server's own host.
const OF_INSTALLATIONS: [&str; 2] = ["root", "mysql"];
const OWN_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Whether a server, its installation or a managed service has created the account. `hostname` is the server's.
#[must_use]
pub fn is_of_server(account: &Account, hostname: &str) -> bool {
    let host = account.host.as_str();
    OF_SERVERS.contains(&account.user.as_str())
        || (OF_INSTALLATIONS.contains(&account.user.as_str())
            && (OWN_HOSTS.contains(&host) || host.eq_ignore_ascii_case(hostname)))
}

/// What a global privilege is called by versions that do not know its name. No name permits more than the privilege
/// does: MariaDB's CONNECTION ADMIN and READ_ONLY ADMIN, for example, are one privilege of MySQL, so that they are not
/// here.
#[must_use]
pub fn other_names(privilege: &str) -> &'static [&'static str] {
    const NAMES: [(&str, &[&str]); 7] = [
        ("SET_USER_ID", &["SET_ANY_DEFINER", "ALLOW_NONEXISTENT_DEFINER"]),
        ("SET USER", &["SET_ANY_DEFINER"]),
        ("BINLOG ADMIN", &["BINLOG_ADMIN"]),
        ("BINLOG MONITOR", &["REPLICATION CLIENT"]),
        ("BINLOG REPLAY", &["REPLICATION_APPLIER"]),
        ("SLAVE MONITOR", &["REPLICATION CLIENT"]),
        ("REPLICATION SLAVE ADMIN", &["REPLICATION_SLAVE_ADMIN"]),
    ];
    NAMES.iter().find(|(name, _)| *name == privilege).map_or(&[], |(_, names)| names)
}

/// A plug-in and a credential that no password matches.
#[must_use]
pub const fn unusable_credential(flavor: Flavor) -> (&'static str, &'static str) {
    match flavor {
        // Source: the accounts `mysql.sys` and the like of MySQL.
        Flavor::MySql | Flavor::Percona => (
            auth_plugin::CACHING_SHA2_PASSWORD,
            "$A$005$THISISACOMBINATIONOFINVALIDSALTANDPASSWORDTHATMUSTNEVERBRBEUSED",
        ),
        // Source: `root` of a new MariaDB.
        Flavor::MariaDb => (auth_plugin::NATIVE_PASSWORD, "invalid"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_of_servers_are_known_by_user_and_host() {
        for (account, is) in [
            ("mysql.sys@localhost", true),
            ("rdsadmin@%", true),
            ("root@localhost", true),
            ("root@db1", true),
            ("root@%", false),
            ("app@localhost", false),
        ] {
            let Ok(account) = account.parse();
            assert_eq!(is_of_server(&account, "db1"), is, "{account:?}");
        }
    }
}
