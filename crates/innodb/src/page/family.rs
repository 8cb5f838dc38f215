//! Format family of a tablespace and its pages.

use serde::{Deserialize, Serialize};

/// Format family of a tablespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// MySQL 8.0 and newer; also an older file that has MySQL's encryption information.
    #[serde(rename = "mysql")]
    MySql,
    /// MariaDB's full_crc32 format (default since 10.5).
    #[serde(rename = "mariadb-full-crc32")]
    MariaDbFullCrc32,
    /// MariaDB's older format, still used for ROW_FORMAT=COMPRESSED.
    #[serde(rename = "mariadb-legacy")]
    MariaDbLegacy,
    /// Older than both: MySQL 5.7 and before, or old MariaDB; not encrypted.
    Undetermined,
}
