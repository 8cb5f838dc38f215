//! Queries on InnoDB's dictionary for changes to tablespaces, by version.
//!
//! MySQL 8.0 renamed the views of 5.7 (`INNODB_SYS_…`), and added a column for encryption in 8.0.13; before that, bit
//! 13 of the flags shows it. MariaDB kept the old names. Source: MySQL manual, "INFORMATION_SCHEMA InnoDB Tables"; seen
//! on MySQL 5.7.22, 8.0.33 and 9.7, MariaDB 10.11 to 11.8.

use crate::version::{Flavor, ServerVersion};

/// Queries for one server's dictionary.
#[derive(Clone, Copy, Debug)]
pub struct Dictionary {
    /// Clear-text tablespaces of single tables and general ones: `name`, `kind`, `bytes`. Not for MariaDB, whose
    /// background threads find them.
    pub clear: &'static str,
    /// Encrypted tablespaces of single tables and general ones: `name`, `kind`, `bytes`, `path`. On MariaDB all
    /// encrypted tablespaces, without `kind`, and with the key's `id` and `scheme`.
    pub encrypted: &'static str,
    /// Tables in the system tablespace: `name`. InnoDB's internal tables have no schema.
    pub in_system: &'static str,
    /// Tables with their own tablespace: `id`, and the tablespace's `name`.
    pub table_ids: &'static str,
    /// Files of all tablespaces: `path`; on MariaDB also `space` and `name`.
    pub files: &'static str,
    /// Whether names are encoded as in file names: `a@002db` for `a-b`.
    pub encoded: bool,
    /// Undo tablespaces that can be recreated: `name`, `state`.
    pub undo: Option<&'static str>,
}

/// Name of the data dictionary's tablespace since MySQL 8.0, in the dictionary and in statements.
pub const DICTIONARY_SPACE: &str = "mysql";
/// Name of the system tablespace, in the dictionary and in statements.
pub const SYSTEM_SPACE: &str = "innodb_system";
/// Name of the global temporary tablespace.
pub const TEMPORARY_SPACE: &str = "innodb_temporary";
/// Prefix of the names of undo tablespaces that servers create: MySQL's `innodb_undo_001` has the file `undo_001`.
pub const UNDO_SPACES: &str = "innodb_undo";

/// Makes MariaDB's encryption threads examine all tablespaces again, by setting a variable to its own value. Seen once
/// on 10.11: a tablespace remained unencrypted for two minutes while the threads slept.
pub const MARIADB_WAKE_THREADS: &str =
    "SET GLOBAL innodb_encryption_rotate_key_age = @@GLOBAL.innodb_encryption_rotate_key_age";
/// Number of MariaDB's encryption threads.
pub const MARIADB_THREADS: &str = "SELECT @@GLOBAL.innodb_encryption_threads";
/// Tablespaces that MariaDB's background threads have not encrypted yet: `count`, and the name of the `first`. Those
/// not started have no row in the second view.
pub const MARIADB_UNFINISHED: &str = "SELECT COUNT(*) AS count, MIN(s.NAME) AS first \
     FROM information_schema.INNODB_SYS_TABLESPACES s \
     LEFT JOIN information_schema.INNODB_TABLESPACES_ENCRYPTION e ON e.SPACE = s.SPACE \
     WHERE s.NAME <> 'innodb_temporary' AND (e.SPACE IS NULL OR e.MIN_KEY_VERSION = 0 \
     OR e.ROTATING_OR_FLUSHING = 1)";

/// Pages that MariaDB's background threads have read so far in the tablespaces they are working on.
pub const MARIADB_PAGES_READ: &str =
    "SELECT SUM(KEY_ROTATION_PAGE_NUMBER) FROM information_schema.INNODB_TABLESPACES_ENCRYPTION";

/// Tablespaces of a schema that MariaDB's background threads have still to encrypt, or to decrypt.
#[must_use]
pub fn mariadb_pending(schema: &str, encrypt: bool) -> String {
    let pending = if encrypt { "=" } else { "<>" };
    format!(
        "SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES_ENCRYPTION WHERE NAME LIKE '{schema}/%' \
         AND (MIN_KEY_VERSION {pending} 0 OR ROTATING_OR_FLUSHING = 1)"
    )
}

/// The option of `CREATE TABLE` that compresses pages with zlib, and punches holes for the rest of each page.
#[must_use]
pub const fn page_compression(flavor: Flavor) -> &'static str {
    match flavor {
        Flavor::MariaDb => "PAGE_COMPRESSED=1",
        Flavor::MySql | Flavor::Percona => "COMPRESSION='zlib'",
    }
}

/// Sets the number of MariaDB's encryption threads; 0 stops them.
#[must_use]
pub fn set_mariadb_threads(number: &str) -> String {
    format!("SET GLOBAL innodb_encryption_threads = {number}")
}

/// The dictionary queries for a server.
pub fn dictionary(version: &ServerVersion) -> &'static Dictionary {
    match version.flavor {
        Flavor::MariaDb if version.at_least(10, 6, 0) => &MARIADB,
        Flavor::MariaDb => &OLDER_MARIADB,
        Flavor::MySql | Flavor::Percona if version.at_least(8, 0, 14) => &MYSQL,
        Flavor::MySql | Flavor::Percona if version.at_least(8, 0, 3) => &OLDER_MYSQL,
        Flavor::MySql | Flavor::Percona => &MYSQL_57,
    }
}

const MYSQL: Dictionary = Dictionary {
    clear: "SELECT NAME AS name, SPACE_TYPE AS kind, FILE_SIZE AS bytes FROM information_schema.INNODB_TABLESPACES \
            WHERE ENCRYPTION <> 'Y' AND SPACE_TYPE IN ('Single', 'General')",
    encrypted: "SELECT s.NAME AS name, s.SPACE_TYPE AS kind, s.FILE_SIZE AS bytes, d.PATH AS path \
                FROM information_schema.INNODB_TABLESPACES s \
                LEFT JOIN information_schema.INNODB_DATAFILES d ON d.SPACE = s.SPACE \
                WHERE s.ENCRYPTION = 'Y' AND s.SPACE_TYPE IN ('Single', 'General')",
    in_system: "SELECT NAME AS name FROM information_schema.INNODB_TABLES WHERE SPACE = 0",
    table_ids: "SELECT t.TABLE_ID AS id, s.NAME AS name FROM information_schema.INNODB_TABLES t \
                JOIN information_schema.INNODB_TABLESPACES s ON s.SPACE = t.SPACE WHERE s.SPACE_TYPE = 'Single'",
    files: "SELECT DISTINCT PATH AS path FROM information_schema.INNODB_DATAFILES",
    encoded: false,
    undo: Some(
        "SELECT NAME AS name, STATE AS state FROM information_schema.INNODB_TABLESPACES WHERE SPACE_TYPE = 'Undo'",
    ),
};

/// Before 8.0.14, no view shows the state of undo tablespaces.
const OLDER_MYSQL: Dictionary = Dictionary {
    clear: "SELECT NAME AS name, SPACE_TYPE AS kind, FILE_SIZE AS bytes FROM information_schema.INNODB_TABLESPACES \
            WHERE NOT FLAG & 8192 AND SPACE_TYPE IN ('Single', 'General')",
    encrypted: "SELECT s.NAME AS name, s.SPACE_TYPE AS kind, s.FILE_SIZE AS bytes, d.PATH AS path \
                FROM information_schema.INNODB_TABLESPACES s \
                LEFT JOIN information_schema.INNODB_DATAFILES d ON d.SPACE = s.SPACE \
                WHERE s.FLAG & 8192 AND s.SPACE_TYPE IN ('Single', 'General')",
    undo: None,
    ..MYSQL
};

/// Older servers lack these views, and do not encrypt.
const MYSQL_57: Dictionary = Dictionary {
    clear: "SELECT NAME AS name, SPACE_TYPE AS kind, FILE_SIZE AS bytes FROM information_schema.INNODB_SYS_TABLESPACES \
            WHERE NOT FLAG & 8192 AND SPACE_TYPE IN ('Single', 'General')",
    encrypted: "SELECT s.NAME AS name, s.SPACE_TYPE AS kind, s.FILE_SIZE AS bytes, d.PATH AS path \
                FROM information_schema.INNODB_SYS_TABLESPACES s \
                LEFT JOIN information_schema.INNODB_SYS_DATAFILES d ON d.SPACE = s.SPACE \
                WHERE s.FLAG & 8192 AND s.SPACE_TYPE IN ('Single', 'General')",
    in_system: "SELECT NAME AS name FROM information_schema.INNODB_SYS_TABLES WHERE SPACE = 0",
    table_ids: "SELECT t.TABLE_ID AS id, s.NAME AS name FROM information_schema.INNODB_SYS_TABLES t \
                JOIN information_schema.INNODB_SYS_TABLESPACES s ON s.SPACE = t.SPACE WHERE s.SPACE_TYPE = 'Single'",
    files: "SELECT DISTINCT PATH AS path FROM information_schema.INNODB_SYS_DATAFILES",
    encoded: true,
    undo: None,
};

const MARIADB: Dictionary = Dictionary {
    // Tablespaces not yet examined by the threads have no row in the second table.
    encrypted: "SELECT s.NAME AS name, s.FILE_SIZE AS bytes, s.FILENAME AS path, e.CURRENT_KEY_ID AS id, \
                e.ENCRYPTION_SCHEME AS scheme FROM information_schema.INNODB_SYS_TABLESPACES s \
                LEFT JOIN information_schema.INNODB_TABLESPACES_ENCRYPTION e ON e.SPACE = s.SPACE \
                WHERE s.NAME <> 'innodb_temporary'",
    files: "SELECT FILENAME AS path, SPACE AS space, NAME AS name FROM information_schema.INNODB_SYS_TABLESPACES",
    ..OLDER_MARIADB
};

/// The column `FILENAME` exists since 10.6.
const OLDER_MARIADB: Dictionary = Dictionary {
    encrypted: "SELECT s.NAME AS name, s.FILE_SIZE AS bytes, d.PATH AS path, e.CURRENT_KEY_ID AS id, \
                e.ENCRYPTION_SCHEME AS scheme FROM information_schema.INNODB_SYS_TABLESPACES s \
                JOIN information_schema.INNODB_SYS_DATAFILES d ON d.SPACE = s.SPACE \
                LEFT JOIN information_schema.INNODB_TABLESPACES_ENCRYPTION e ON e.SPACE = s.SPACE \
                WHERE s.NAME <> 'innodb_temporary'",
    files: "SELECT d.PATH AS path, s.SPACE AS space, s.NAME AS name \
            FROM information_schema.INNODB_SYS_TABLESPACES s \
            JOIN information_schema.INNODB_SYS_DATAFILES d USING (SPACE)",
    ..MYSQL_57
};
