//! The table of all variables that enable encryption at rest, and the table option for encryption.

use super::variable;
use crate::version::Flavor;

/// What a variable encrypts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encrypts {
    /// New tables, unless a statement says otherwise.
    NewTables,
    /// Existing and new tablespaces, undo included.
    Tablespaces,
    /// The system tablespace.
    SystemTablespace,
    /// Undo tablespaces.
    Undo,
    /// The redo log.
    Redo,
    /// Binary and relay logs.
    BinaryLogs,
    /// Temporary tablespaces.
    TemporaryTablespaces,
    /// Temporary files, temporary tables on disk, and files in which InnoDB sorts and logs table changes.
    TemporaryFiles,
    /// Aria tables.
    AriaTables,
}

/// Every variable: MySQL's, Percona's, MariaDB's. A server has some of them, or none.
///
/// Sources: the manuals of MySQL ("InnoDB Data-at-Rest Encryption"), Percona Server ("Data at Rest Encryption") and
/// MariaDB ("Encryption System Variables").
const SWITCHES: [(&str, Encrypts); 14] = [
    (variable::MYSQL_REDO, Encrypts::Redo),
    (variable::MARIADB_REDO, Encrypts::Redo),
    (variable::MYSQL_UNDO, Encrypts::Undo),
    (variable::PERCONA_SYSTEM_TABLESPACE, Encrypts::SystemTablespace),
    (variable::MARIADB_TEMPORARY_TABLESPACE, Encrypts::TemporaryTablespaces),
    (variable::PERCONA_TEMPORARY_TABLESPACES, Encrypts::TemporaryTablespaces),
    (variable::MYSQL_BINARY_LOGS, Encrypts::BinaryLogs),
    (variable::MARIADB_BINARY_LOGS, Encrypts::BinaryLogs),
    (variable::MYSQL_NEW_TABLES, Encrypts::NewTables),
    (variable::MARIADB_TABLESPACES, Encrypts::Tablespaces),
    (variable::TEMPORARY_FILES, Encrypts::TemporaryFiles),
    (variable::MARIADB_TEMPORARY_TABLES, Encrypts::TemporaryFiles),
    (variable::PERCONA_ONLINE_ALTER, Encrypts::TemporaryFiles),
    (variable::ARIA_TABLES, Encrypts::AriaTables),
];

/// Names of all variables that enable encryption at rest.
pub fn all_switches() -> impl Iterator<Item = &'static str> {
    SWITCHES.iter().map(|(name, _)| *name)
}

/// Names of the variables that encrypt `what`.
#[must_use]
pub fn switches(what: Encrypts) -> Vec<&'static str> {
    SWITCHES.iter().filter(|(_, encrypts)| *encrypts == what).map(|(name, _)| *name).collect()
}

/// Variables that encrypt everything that a new server writes, including logs and temporary files. The system
/// tablespace is not included: Percona Server encrypts it only when it is created.
pub fn switches_of_everything() -> impl Iterator<Item = &'static str> {
    SWITCHES.iter().filter(|(_, encrypts)| *encrypts != Encrypts::SystemTablespace).map(|(name, _)| *name)
}

/// MySQL's option of `CREATE` and `ALTER` that encrypts a table or tablespace. After `DEFAULT`, it sets the default of
/// a schema.
pub const MYSQL_ENCRYPTED: &str = "ENCRYPTION='Y'";

/// The name of the option of `CREATE TABLE` that says whether the table is encrypted, and the value that encrypts it.
#[must_use]
pub const fn table_option_parts(flavor: Flavor) -> (&'static str, &'static str) {
    match flavor {
        Flavor::MariaDb => ("ENCRYPTED", "YES"),
        Flavor::MySql | Flavor::Percona => ("ENCRYPTION", "'Y'"),
    }
}

/// The option of `CREATE TABLE` that encrypts the table, or keeps it clear.
#[must_use]
pub const fn table_option(flavor: Flavor, encrypted: bool) -> &'static str {
    match (flavor, encrypted) {
        (Flavor::MariaDb, true) => "ENCRYPTED=YES",
        (Flavor::MariaDb, false) => "ENCRYPTED=NO",
        (Flavor::MySql | Flavor::Percona, true) => MYSQL_ENCRYPTED,
        (Flavor::MySql | Flavor::Percona, false) => "ENCRYPTION='N'",
    }
}
