//! The default names of the files of servers: variables can set others. All names are without a directory.

pub mod link;

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

use crate::file_suffix;

/// Name of the first file of the system tablespace.
pub const FIRST_SYSTEM: &str = "ibdata1";
/// Prefix of the names of the files of the system tablespace, which are numbered from 1.
pub const SYSTEM: &str = "ibdata";
/// Prefix of the names of the files of the temporary tablespace.
pub const TEMPORARY: &str = "ibtmp";

/// Directory of the temporary tablespaces of sessions since MySQL 8.0.13.
pub const TEMPORARY_DIRECTORY: &str = "#innodb_temp";

/// Directory of the redo log since MySQL 8.0.30.
pub const REDO_DIRECTORY: &str = "#innodb_redo";
/// Prefix of the names of redo log files since MySQL 8.0.30.
pub(crate) const REDO: &str = "#ib_redo";
/// Prefix of the names of redo log files in older servers and in MariaDB.
pub(crate) const OLDER_REDO: &str = "ib_logfile";
/// Name of the first redo log file in older servers, and of the only one in MariaDB since 10.5.
pub const FIRST_OLDER_REDO: &str = "ib_logfile0";
/// Prefixes of the names of redo logs, of their directory since MySQL 8.0.30, and of its archived logs.
pub const REDO_BEGINNINGS: [&str; 4] = [OLDER_REDO, REDO_DIRECTORY, REDO, "ib_redo"];

/// Name of the data dictionary's tablespace since MySQL 8.0.
pub const DICTIONARY: &str = "mysql.ibd";

/// Prefix of the names that servers give to undo tablespaces.
pub const UNDO: &str = "undo";
/// Name of the first undo tablespace since MySQL 8.0.
pub const FIRST_UNDO: &str = "undo_001";

/// Prefix of the names of doublewrite files since MySQL 8.0.20.
pub const DOUBLEWRITE: &str = "#ib_";
/// Name of Percona Server's doublewrite file, 5.7 to 8.0.19, unless `innodb_parallel_doublewrite_path` sets another.
pub(crate) const PARALLEL_DOUBLEWRITE: &str = "xb_doublewrite";

/// File that lists the pages in the buffer pool, for the next start.
pub const BUFFER_POOL_DUMP: &str = "ib_buffer_pool";
/// Log of the transaction coordinator, for servers without a binary log.
pub const TRANSACTION_COORDINATOR: &str = "tc.log";
/// Logs of statements that MariaDB completes or undoes after a crash: the current log, and the one of that recovery.
pub const DDL_RECOVERY: [&str; 2] = ["ddl_recovery.log", "ddl_recovery-backup.log"];

/// Control file of Aria.
pub const ARIA_CONTROL: &str = "aria_log_control";
/// Prefix of the names of Aria's control file and logs.
pub const ARIA: &str = "aria_log";
/// Prefix of the names of Aria's logs.
pub(crate) const ARIA_LOG: &str = "aria_log.";

/// Galera's state of a node, and the members that it knows.
pub const GALERA_STATE: [&str; 2] = ["grastate.dat", "gvwstate.dat"];
/// Galera's cache of write-sets.
pub const GALERA_CACHE: &str = "galera.cache";
/// Prefix of the names of further files of that cache.
pub const GALERA_PAGE: &str = "gcache.page.";
/// Marker file of a Galera joiner: its state transfer is not finished.
pub const TRANSFER_IN_PROGRESS: &str = "sst_in_progress";
/// Marker file of a Galera donor, for its transfer script: the server has stopped writing.
pub const TRANSFER_FLUSHED: &str = "tables_flushed";
/// Marker file of a Galera donor, for its transfer script: the server could not stop writing.
pub const TRANSFER_FAILED: &str = "sst_error";

/// File in which a backup program records its progress; it is written last. The second name is used since MariaDB 11.
pub const BACKUP_CHECKPOINTS: [&str; 2] = ["xtrabackup_checkpoints", "mariadb_backup_checkpoints"];
/// Option file that a backup program adds to a copy and reads to prepare it.
pub const BACKUP_OPTIONS: &str = "backup-my.cnf";
/// Files that backup programs add to a copy and that identify it as one.
pub const BACKUP_MARKS: [&str; 5] =
    [BACKUP_CHECKPOINTS[0], "xtrabackup_info", BACKUP_CHECKPOINTS[1], "mariadb_backup_info", BACKUP_OPTIONS];
/// Other files that backup programs add to a copy.
pub const BACKUP_DETAILS: [&str; 5] = [
    "xtrabackup_binlog_info",
    "xtrabackup_tablespaces",
    "mariadb_backup_binlog_info",
    "xtrabackup_slave_info",
    "xtrabackup_galera_info",
];

/// Suffixes of files with rows, for engines that allow `DATA DIRECTORY` or symbolic links.
const ROW_SUFFIXES: [&str; 4] =
    [file_suffix::TABLESPACE, file_suffix::UNDO, file_suffix::MYISAM_DATA, file_suffix::ARIA_DATA];
/// Suffixes of the index files of such engines.
const INDEX_SUFFIXES: [&str; 2] = [file_suffix::MYISAM_INDEX, file_suffix::ARIA_INDEX];
/// Suffixes of other files that only storage engines and the dictionary write.
const OTHER_ENGINE_SUFFIXES: [&str; 6] = [
    file_suffix::SESSION_TABLESPACE,
    file_suffix::DEFINITION,
    file_suffix::SERIALIZED_DEFINITION,
    file_suffix::CSV,
    file_suffix::CSV_META,
    file_suffix::ARCHIVE,
];

/// Suffix of certificates and their keys, without the dot.
const CERTIFICATE: &str = "pem";
/// Settings of a database, in its directory; before MySQL 8.0 and in MariaDB.
pub const DATABASE_OPTIONS: &str = "db.opt";
/// Position and password of a replica, before MySQL 8.0 and in MariaDB, unless an option names another.
pub const REPLICA_CONNECTION: &str = "master.info";
/// Directories of MyRocks: in Percona Server, and in MariaDB.
pub const ROCKSDB_DIRECTORIES: [&str; 2] = [".rocksdb", "#rocksdb"];

/// Names of the files in a value of `innodb_data_file_path` or `innodb_temp_data_file_path`: `NAME:SIZE[:…];NAME:…`.
pub fn listed_data_files(value: &str) -> impl Iterator<Item = &str> {
    let names = value.split(';').filter_map(|file| file.split(':').next());
    names.map(str::trim).filter(|name| !name.is_empty())
}

/// Glob patterns of the names that servers number.
pub mod pattern {
    /// Files of the system tablespace.
    pub const SYSTEM: &str = "ibdata[0-9]*";
    /// Files of the temporary tablespace.
    pub const TEMPORARY: &str = "ibtmp[0-9]*";
    /// Redo logs in older servers, and in MariaDB.
    pub const OLDER_REDO: &str = "ib_logfile[0-9]*";
    /// Undo tablespaces in MariaDB, and in MySQL before 8.0.
    pub const MARIADB_UNDO: &str = "undo[0-9]*";
    /// Undo tablespaces in MySQL 8: those of the server, and those created by a statement.
    pub const MYSQL_UNDO: [&str; 2] = ["undo_*", "*.ibu"];
    /// Doublewrite files since MySQL 8.0.20.
    pub const DOUBLEWRITE: &str = "#ib_*.dblwr";
    /// Aria's logs.
    pub const ARIA_LOG: &str = "aria_log.[0-9]*";
}

/// Parses the name of an auxiliary table of a full-text index, `fts_<16 hexadecimal digits>_…` (in capitals on MariaDB
/// and before MySQL 8.0). Returns the id of the table that has the index. Source: `fts_get_table_name_prefix` in
/// `storage/innobase/fts/fts0sql.cc`.
#[must_use]
pub fn full_text_table_id(name: &str) -> Option<u64> {
    let rest = name.strip_prefix("fts_").or_else(|| name.strip_prefix("FTS_"))?;
    let (id, rest) = rest.split_at_checked(16)?;
    let is_id = id.bytes().all(|byte| byte.is_ascii_hexdigit()) && (rest.is_empty() || rest.starts_with('_'));
    is_id.then(|| u64::from_str_radix(id, 16).ok())?
}

/// Number of a file of the system tablespace: 1 for `ibdata1`.
#[must_use]
pub fn system_number(name: &str) -> Option<u32> {
    number(name.strip_prefix(SYSTEM)?)
}

/// Whether it is a file of the system tablespace.
#[must_use]
pub fn is_system(name: &str) -> bool {
    name.starts_with(SYSTEM)
}

/// Whether it is a temporary tablespace: the one of the server, or of a session (`.ibt`).
#[must_use]
pub fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMPORARY) || file_suffix::has(name, file_suffix::SESSION_TABLESPACE)
}

/// Name of the redo log file of this number, since MySQL 8.0.30.
#[must_use]
pub fn redo_name(number: u64) -> String {
    format!("{REDO}{number}")
}

/// Number of a redo log file that is in use, since MySQL 8.0.30.
#[must_use]
pub fn redo_number(name: &str) -> Option<u64> {
    name.strip_prefix(REDO)?.parse().ok()
}

/// Number of a redo log file that is in use, in older servers. A server that resizes its log numbers files from 101 on
/// until they are in use.
#[must_use]
pub fn older_redo_number(name: &str) -> Option<u32> {
    name.strip_prefix(OLDER_REDO)?.parse().ok().filter(|number| *number < 101)
}

/// Whether servers write the header of a redo log file before they give it this name, so that it is never all zero: the
/// first file in older servers and in MariaDB, and every file in use since MySQL 8.0.30. The other files of older
/// servers have no header before their first use.
#[must_use]
pub fn is_redo_with_header(name: &str) -> bool {
    redo_number(name).is_some() || older_redo_number(name) == Some(0)
}

/// Whether it is a file of the redo log.
#[must_use]
pub fn is_redo(name: impl AsRef<OsStr>) -> bool {
    let name = name.as_ref().as_encoded_bytes();
    [REDO, OLDER_REDO].iter().any(|beginning| name.starts_with(beginning.as_bytes()))
}

/// Whether it is a doublewrite file since MySQL 8.0.20.
#[must_use]
pub fn is_doublewrite(name: &str) -> bool {
    name.starts_with(DOUBLEWRITE)
        && [file_suffix::DOUBLEWRITE, file_suffix::BATCH_DOUBLEWRITE]
            .iter()
            .any(|suffix| file_suffix::has(name, suffix))
}

/// Whether it is a doublewrite file of the mode `DETECT_ONLY`, which holds ids of pages but no copies of them.
#[must_use]
pub fn is_batch_doublewrite(name: &str) -> bool {
    name.starts_with(DOUBLEWRITE) && file_suffix::has(name, file_suffix::BATCH_DOUBLEWRITE)
}

/// Whether a path, relative to the data directory, is that of a certificate or key of this one server: MySQL creates
/// them at the top, unless one of them exists there. They are often links.
#[must_use]
pub fn is_certificate(path: &Path) -> bool {
    path.parent() == Some(Path::new("")) && path.extension().is_some_and(|suffix| suffix == CERTIFICATE)
}

/// Whether it holds rows of a table that may be outside the data directory.
#[must_use]
pub fn has_rows(name: &str) -> bool {
    has_suffix(name, &ROW_SUFFIXES)
}

/// Whether a file in the directory of MyRocks holds rows: tables, values, or the write-ahead log, which has a number as
/// its name.
#[must_use]
pub fn has_rocksdb_rows(name: &str) -> bool {
    let is_log = name.strip_suffix(".log").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    is_log || has_suffix(name, &file_suffix::ROCKSDB)
}

/// Whether it holds rows or indexes of a table that may be outside the data directory.
#[must_use]
pub fn is_table_file(name: &str) -> bool {
    has_rows(name) || has_suffix(name, &INDEX_SUFFIXES)
}

/// Whether only storage engines write files with this name. Anything in it that looks like a key is a value in a row.
#[must_use]
pub fn is_engine_file(name: &str) -> bool {
    is_table_file(name) || has_suffix(name, &OTHER_ENGINE_SUFFIXES)
}

fn has_suffix(name: &str, suffixes: &[&str]) -> bool {
    suffixes.iter().any(|suffix| file_suffix::has(name, suffix))
}

/// The name of a binary or relay log without its number, which has at least six digits: `mysql-bin` for
/// `mysql-bin.000123`.
#[must_use]
pub fn log_base(name: &str) -> Option<&str> {
    const DIGITS: usize = 6;
    let (base, number) = name.rsplit_once('.')?;
    (number.len() >= DIGITS && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(base)
}

/// Suffix of the index of binary or relay logs, which lists the paths of the logs, without the dot.
pub const LOG_INDEX: &str = "index";

/// Path or name of the index of the logs with this base name, unless an option names another: `binlog.index`.
#[must_use]
pub fn log_index(base: impl Into<OsString>) -> OsString {
    let mut name = base.into();
    name.push(".");
    name.push(LOG_INDEX);
    name
}

/// Whether it is one of the logs with this base name, or their index.
#[must_use]
pub fn is_log_of(name: &str, base: &str) -> bool {
    log_base(name) == Some(base) || file_suffix::strip(name, LOG_INDEX) == Some(base)
}

/// Sort key of the logs of one server. Numbers get another digit when they overflow, so a longer number is later.
#[must_use]
pub fn log_order(name: &str) -> (usize, &str) {
    let digits = log_base(name).map_or(0, |base| name.len().saturating_sub(base.len()));
    (digits, name)
}

/// Whether a log, or its index, has a usual name of relay logs: `HOST-relay-bin.000001` is MySQL's default, and most
/// others contain `relay` too. Relay logs have the same content as binary logs; only the server's `relay_log_basename`
/// distinguishes them with certainty.
#[must_use]
pub fn is_named_as_relay_log(name: &str) -> bool {
    name.contains("relay")
}

/// Whether it is an undo tablespace: created by the server, or by a statement, for which MySQL accepts only the suffix
/// `.ibu`.
#[must_use]
pub fn is_undo(name: &str) -> bool {
    is_numbered_undo(name) || file_suffix::has(name, file_suffix::UNDO)
}

/// `undo_001` of MySQL 8, `undo001` of older servers and MariaDB.
pub(crate) fn is_numbered_undo(name: &str) -> bool {
    is_mariadb_undo(name) || name.strip_prefix("undo_").is_some_and(is_undo_number)
}

/// `undo001`: an undo tablespace in MariaDB, and in MySQL before 8.0.
#[must_use]
pub fn is_mariadb_undo(name: &str) -> bool {
    name.strip_prefix(UNDO).is_some_and(is_undo_number)
}

/// `ibdata1.delta`, `t.ibd.delta` and their `.meta`: incremental files of `mariadb-backup`, which
/// hold the changed pages in no particular order.
#[must_use]
pub fn is_incremental(name: &str) -> bool {
    is_changed_pages(name) || name.ends_with(".meta")
}

/// `t.ibd.delta`: the changed pages of an incremental backup.
#[must_use]
pub fn is_changed_pages(name: &str) -> bool {
    name.ends_with(".delta")
}

fn is_undo_number(text: &str) -> bool {
    text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then_some(text)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auxiliary_tables_are_distinguished_from_tables_with_similar_names() {
        assert_eq!(full_text_table_id("fts_000000000000042c_00000000000000a6_index_1"), Some(0x42c));
        assert_eq!(full_text_table_id("FTS_0000000000000025_CONFIG"), Some(0x25));
        for table in ["fts_orders", "fts_short", "fts_000000000000042cx", "fts_+00000000000042c_deleted", "t"] {
            assert_eq!(full_text_table_id(table), None, "{table}");
        }
    }

    #[test]
    fn patterns_start_like_the_names() {
        let patterns = [
            (pattern::SYSTEM, SYSTEM),
            (pattern::TEMPORARY, TEMPORARY),
            (pattern::OLDER_REDO, OLDER_REDO),
            (pattern::MARIADB_UNDO, UNDO),
            (pattern::MYSQL_UNDO[0], UNDO),
            (pattern::DOUBLEWRITE, DOUBLEWRITE),
            (pattern::ARIA_LOG, ARIA_LOG),
        ];
        for (pattern, beginning) in patterns {
            assert!(pattern.starts_with(beginning), "{pattern}");
        }
        assert!(file_suffix::has(pattern::DOUBLEWRITE, file_suffix::DOUBLEWRITE));
        assert!(FIRST_SYSTEM.starts_with(SYSTEM) && FIRST_OLDER_REDO.starts_with(OLDER_REDO));
    }

    #[test]
    fn undo_tablespaces_are_recognised_by_their_numbers() {
        assert!(["undo_001", "undo127", "spare.ibu"].into_iter().all(is_undo));
        assert!(!["undo", "undo_log.txt", "undo_1", "undo001.bak"].into_iter().any(is_undo));
        assert!(is_mariadb_undo("undo001") && !is_mariadb_undo("undo_001"));
    }

    #[test]
    fn redo_logs_are_numbered_in_two_ways() {
        assert!(["#ib_redo7", "#ib_redo8_tmp", "ib_logfile0"].into_iter().all(is_redo));
        assert!(!is_redo("#ib_16384_0.dblwr"));
        assert_eq!((redo_number("#ib_redo7"), redo_number("#ib_redo8_tmp")), (Some(7), None));
        assert_eq!((older_redo_number("ib_logfile1"), older_redo_number("ib_logfile101")), (Some(1), None));
        assert_eq!((older_redo_number(FIRST_OLDER_REDO), older_redo_number("#ib_redo1")), (Some(0), None));
        assert!(["#ib_redo7", "ib_logfile0"].into_iter().all(is_redo_with_header));
        assert!(!["#ib_redo8_tmp", "ib_logfile1", "ib_logfile101"].into_iter().any(is_redo_with_header));
    }

    #[test]
    fn binary_logs_have_a_base_name_and_a_number() {
        assert_eq!(log_base("mysql-bin.000012"), Some("mysql-bin"));
        assert!(log_base("binlog.000001").is_some() && log_base("relay-bin-ch1.1234567").is_some());
        assert!(log_base("binlog.index").is_none());
        for name in ["db.1-bin.000012", "db.1-bin.index"] {
            assert!(is_log_of(name, "db.1-bin") && !is_log_of(name, "db"), "{name}");
        }
        assert!(!is_log_of("binlog.state", "binlog") && !is_log_of("binlog", "binlog"));
        assert_eq!(log_index("/logs/binlog"), "/logs/binlog.index");
        let mut logs = ["b.1000000", "b.999999", "b.000002"];
        logs.sort_by_key(|name| log_order(name));
        assert_eq!(logs, ["b.000002", "b.999999", "b.1000000"]);
        assert_eq!((log_base("general.log.1"), log_base("mysql-bin.index"), log_base("000001")), (None, None, None));
    }

    #[test]
    fn certificates_are_at_the_top() {
        let is_certificate = |path: &str| is_certificate(Path::new(path));
        assert!(["server-cert.pem", "private_key.pem"].into_iter().all(is_certificate));
        assert!(!["db/t.pem", "/etc/ca.pem", "pem", ".pem", ""].into_iter().any(is_certificate));
    }

    #[test]
    fn the_other_files_are_recognised_by_prefix_and_suffix() {
        assert!(is_doublewrite("#ib_16384_0.dblwr") && is_doublewrite("#ib_16384_0.bdblwr"));
        assert!(!is_doublewrite("#ib_redo7") && !is_doublewrite("t.dblwr"));
        assert_eq!(["ibdata1", "ibdata12", "ibdata", "ibdata+1"].map(system_number), [Some(1), Some(12), None, None]);
        assert_eq!(system_number(FIRST_SYSTEM), Some(1));
        assert!(is_temporary("ibtmp1") && is_temporary("temp_1.ibt") && !is_temporary("t.ibd"));
    }
}
