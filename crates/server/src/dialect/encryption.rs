//! The table of all variables that enable encryption at rest, and the table option for encryption.

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
    ("innodb_redo_log_encrypt", Encrypts::Redo),
    ("innodb_encrypt_log", Encrypts::Redo),
    ("innodb_undo_log_encrypt", Encrypts::Undo),
    ("innodb_sys_tablespace_encrypt", Encrypts::SystemTablespace),
    ("innodb_encrypt_temporary_tables", Encrypts::TemporaryTablespaces),
    ("innodb_temp_tablespace_encrypt", Encrypts::TemporaryTablespaces),
    ("binlog_encryption", Encrypts::BinaryLogs),
    ("encrypt_binlog", Encrypts::BinaryLogs),
    ("default_table_encryption", Encrypts::NewTables),
    ("innodb_encrypt_tables", Encrypts::Tablespaces),
    ("encrypt_tmp_files", Encrypts::TemporaryFiles),
    ("encrypt_tmp_disk_tables", Encrypts::TemporaryFiles),
    ("innodb_encrypt_online_alter_logs", Encrypts::TemporaryFiles),
    ("aria_encrypt_tables", Encrypts::AriaTables),
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

/// The option of `CREATE TABLE` that encrypts the table, or keeps it clear.
#[must_use]
pub const fn table_option(flavor: Flavor, encrypted: bool) -> &'static str {
    match (flavor, encrypted) {
        (Flavor::MariaDb, true) => "ENCRYPTED=YES",
        (Flavor::MariaDb, false) => "ENCRYPTED=NO",
        (Flavor::MySql | Flavor::Percona, true) => "ENCRYPTION='Y'",
        (Flavor::MySql | Flavor::Percona, false) => "ENCRYPTION='N'",
    }
}
