//! The differences between the SQL of the forks, and nothing else.
//!
//! A logical query has one name and one set of result columns for all servers; the file of each fork has the statements
//! for its versions. If a version has no statement for a query, the query is absent, which is not an empty result: the
//! answer is unknown.

use std::borrow::Cow;

use crate::{
    connect::{Connection, Rows},
    error::Error,
    version::{Flavor, ServerVersion},
};

pub mod accounts;
pub mod activity;
pub mod backup_lock;
pub mod capability;
pub mod catalog;
pub mod channel;
pub mod directory;
pub mod encryption;
pub mod gtid;
pub mod innodb;
pub mod key_store;
pub mod managed;
mod mariadb;
mod mysql;
mod percona;
pub mod setting;
pub mod statement;
pub mod variable;

/// The minimum privileges for an audit, in the syntax of `GRANT`. A query whose [`Query::needs`] names more privileges
/// may omit rows; the audit then reports its result as unknown.
pub const AUDIT_GRANTS: [&str; 3] =
    ["PROCESS, REPLICATION CLIENT ON *.*", "SELECT ON performance_schema.*", "SELECT ON mysql.*"];

/// A logical query for one server.
#[derive(Clone, Debug)]
pub struct Query {
    /// The logical name, one of [`CONTRACT`].
    pub name: &'static str,
    /// SQL text of the statement.
    pub sql: Cow<'static, str>,
    /// The minimum privileges to see every row, in the syntax of `GRANT`.
    pub needs: &'static str,
    /// Whether the server silently omits rows that the account may not see. Then an empty or short result proves
    /// nothing unless the account has `needs`.
    pub filtered: bool,
    /// Whether a server of this version may lack it (plug-in not loaded, feature not compiled in).
    pub optional: bool,
    /// For statements that cannot rename columns (`SHOW …`): pairs of source column and name, in the contract's order.
    /// The source `#1` is the first column; an empty or missing source yields NULL. Empty if the statement itself names
    /// its columns as in the contract.
    pub columns: &'static [(&'static str, &'static str)],
}

impl Query {
    /// Executes the query and returns the contract's columns.
    ///
    /// # Errors
    /// Those of [`Connection::query`]; [`Error::is_privilege`] recognises a missing grant.
    pub fn run(&self, connection: &mut Connection) -> Result<Rows, Error> {
        let rows = connection.query(&self.sql)?;
        Ok(if self.columns.is_empty() { rows } else { rows.renamed(self.columns) })
    }

    /// Names of the result's columns, in order.
    pub fn column_names(&self) -> &'static [&'static str] {
        CONTRACT.iter().find(|(name, _)| *name == self.name).map_or(&[], |(_, columns)| columns)
    }
}

/// Every logical query and its columns.
pub const CONTRACT: &[(&str, &[&str])] = &[
    ("variables", &["name", "value"]),
    ("status", &["name", "value"]),
    ("grants", &["grant"]),
    ("session", &["current_user", "session_user", "connection_id", "hostname", "version", "version_comment"]),
    ("own_host", &["host"]),
    ("plugins", &["name", "status", "type", "library"]),
    ("components", &["urn"]),
    ("keyring_status", &["key", "value"]),
    ("keyring_keys", &["key_id", "key_owner"]),
    (
        "tablespaces",
        &[
            "space_id",
            "name",
            "type",
            "encrypted",
            "scheme",
            "key_id",
            "current_key_version",
            "min_key_version",
            "rotating",
        ],
    ),
    ("datafiles", &["space_id", "path"]),
    ("schemas", &["schema", "default_encryption"]),
    ("tables", &["schema", "table", "engine", "create_options", "row_format"]),
    ("system_space_tables", &["name"]),
    ("encrypted_tables_requested", &["schema", "table", "options"]),
    ("binary_logs", &["name", "size", "encrypted"]),
    (
        "accounts",
        &[
            "user",
            "host",
            "plugin",
            "ssl_type",
            "locked",
            "empty_credential",
            "is_role",
            "super",
            "repl_slave",
            "file",
            "grant_option",
            "shutdown",
            "process",
            "all_privileges",
            "password_expired",
            "unusable_credential",
        ],
    ),
    ("dynamic_grants", &["user", "host", "privilege"]),
    ("role_edges", &["role_user", "role_host", "user", "host"]),
    ("persisted_variables", &["name", "value"]),
    (
        "connections",
        &["thread_id", "user", "host", "command", "connection_type", "client_name", "client_version", "program"],
    ),
    ("session_tls", &["thread_id", "version", "cipher"]),
    (
        "replica_channels",
        &["channel", "host", "port", "user", "ssl_allowed", "ssl_verify", "ssl_ca", "get_public_key", "io_state"],
    ),
    ("replica_credentials", &["channel", "user", "password_stored"]),
    ("replicas", &["host", "port"]),
    ("group_members", &["host", "port", "state"]),
    ("tls_channels", &["channel", "property", "value"]),
    ("variable_sources", &["name", "source", "path"]),
    ("histograms", &["schema", "table", "column"]),
];

/// A statement, and the versions of its fork that support it.
pub(crate) struct Entry {
    name: &'static str,
    sql: &'static str,
    needs: &'static str,
    filtered: bool,
    optional: bool,
    columns: &'static [(&'static str, &'static str)],
    /// First version that supports it.
    since: (u16, u16, u16),
    /// First version that no longer supports it.
    before: (u16, u16, u16),
}

/// Defaults of entries: every version, no privileges.
const ENTRY: Entry = Entry {
    name: "",
    sql: "",
    needs: "",
    filtered: false,
    optional: false,
    columns: &[],
    since: (0, 0, 0),
    before: (u16::MAX, 0, 0),
};

/// The logical queries that this server supports, in [`CONTRACT`]'s order.
pub fn queries(version: &ServerVersion) -> Vec<Query> {
    let tables: &[&[Entry]] = match version.flavor {
        Flavor::MySql => &[mysql::QUERIES],
        Flavor::Percona => &[percona::QUERIES, mysql::QUERIES],
        Flavor::MariaDb => &[mariadb::QUERIES],
    };
    let numbers = version.numbers();
    CONTRACT
        .iter()
        .filter_map(|(name, _)| {
            tables
                .iter()
                .flat_map(|table| table.iter())
                .find(|entry| entry.name == *name && entry.since <= numbers && numbers < entry.before)
        })
        .map(|entry| Query {
            name: entry.name,
            sql: Cow::Borrowed(entry.sql),
            needs: entry.needs,
            filtered: entry.filtered,
            optional: entry.optional,
            columns: entry.columns,
        })
        .collect()
}

/// A logical query, if this server supports it.
pub fn query(version: &ServerVersion, name: &str) -> Option<Query> {
    queries(version).into_iter().find(|query| query.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::VersionHints;

    /// Every fork's table.
    const TABLES: [&[Entry]; 3] = [mysql::QUERIES, percona::QUERIES, mariadb::QUERIES];

    fn names(text: &str, comment: &str) -> Vec<&'static str> {
        let signs = VersionHints { comment, ..VersionHints::default() };
        let version = ServerVersion::parse(text, signs).unwrap();
        queries(&version).iter().map(|query| query.name).collect()
    }

    #[test]
    fn every_entry_is_in_the_contract() {
        for table in TABLES {
            for entry in table {
                let (_, columns) = CONTRACT
                    .iter()
                    .find(|(name, _)| *name == entry.name)
                    .unwrap_or_else(|| panic!("{} is not in the contract", entry.name));
                if !entry.columns.is_empty() {
                    let aliases: Vec<&str> = entry.columns.iter().map(|(_, to)| *to).collect();
                    assert_eq!(&aliases, columns, "{}", entry.name);
                }
            }
        }
    }

    #[test]
    fn no_version_has_two_statements_for_one_name() {
        for table in TABLES {
            for (position, entry) in table.iter().enumerate() {
                for other in table.iter().skip(position + 1) {
                    let overlap = entry.name == other.name && entry.since < other.before && other.since < entry.before;
                    assert!(!overlap, "{} is given twice", entry.name);
                }
            }
        }
    }

    #[test]
    fn old_servers_are_not_asked_for_what_they_lack() {
        let old = names("5.6.24", "Source distribution");
        assert!(!old.contains(&"keyring_status"));
        assert!(old.contains(&"variables"));
        let calendar = names("26.7.0", "MySQL Community Server - GPL");
        assert_eq!(calendar, names("9.7.4", "MySQL Community Server - GPL"));
        assert!(calendar.contains(&"tls_channels"));
        assert!(!names("11.8.6-MariaDB", "").contains(&"components"));
    }

    #[test]
    fn the_least_grants_show_all_but_a_few_queries() {
        let lines = AUDIT_GRANTS.map(|grant| format!("GRANT {grant} TO `audit`@`%`"));
        let grants = crate::Grants::parse(lines.iter().map(String::as_str));
        for (table, beyond) in [
            (mysql::QUERIES, ["encrypted_tables_requested", "histograms", "replicas", "schemas", "tables"].as_slice()),
            (percona::QUERIES, &[]),
            (mariadb::QUERIES, &["encrypted_tables_requested", "replica_channels", "replicas", "schemas", "tables"]),
        ] {
            let mut unseen: Vec<_> =
                table.iter().filter(|entry| !grants.cover(entry.needs)).map(|entry| entry.name).collect();
            unseen.sort_unstable();
            unseen.dedup();
            assert_eq!(unseen, beyond);
        }
    }

    #[test]
    fn nothing_selects_a_credential() {
        for table in TABLES {
            for entry in table {
                let select = entry.sql.to_ascii_lowercase();
                assert!(!select.contains("select *"), "{}", entry.name);
            }
        }
    }
}
