//! Recognises files, by content first and by name if the content does not say.
//!
//! Source: formats, "Coverage"; magics of MyISAM, Aria, `.frm`, `.cfg` and `.cfp`
//! confirmed on server files; ARCHIVE and CSV metadata from `azlib.h` and `ha_tina.cc`.

use std::ffi::OsStr;

use serde::{Deserialize, Serialize};

use crate::{aria, bytes::Bytes, galera, redo, tablespace::Page0};

/// Kind of a file in a data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    /// InnoDB tablespace (`.ibd`, `ibdata1`, `ibtmp1`, undo).
    Tablespace,
    /// Redo log.
    Redo,
    /// Doublewrite file of MySQL, or the parallel one of Percona Server.
    Doublewrite,
    /// Binary or relay log that starts in the clear (MariaDB's can be encrypted after that).
    Binlog,
    /// Binary or relay log, encrypted by MySQL.
    BinlogEncrypted,
    /// Aria index file (`.MAI`); its header says whether the table is encrypted.
    AriaIndex,
    /// Aria data file (`.MAD`).
    AriaData,
    /// Aria log: row changes, never encrypted.
    AriaLog,
    /// MyISAM index (`.MYI`).
    MyisamIndex,
    /// MyISAM data (`.MYD`): never encrypted.
    MyisamData,
    /// ARCHIVE data (`.ARZ`): never encrypted.
    Archive,
    /// CSV data (`.CSV`): never encrypted.
    Csv,
    /// CSV metadata (`.CSM`).
    CsvMeta,
    /// Table definition (`.frm`, `.par`).
    Definition,
    /// Transfer key of an exported table (`.cfp`): decrypts the table without a keyring.
    ExportKey,
    /// Metadata of an exported table (`.cfg`).
    ExportMeta,
    /// Galera write-set cache.
    GaleraCache,
}

/// Bytes of a `.cfp` file.
const EXPORT_KEY_BYTES: u64 = 100;

/// Recognises a file; `None` if neither content nor name tell. `head` is the start of the file (64
/// KiB suffice for everything, 4 KiB for everything but tablespaces with large pages), `name` the
/// last part of its path, `file_bytes` its length.
#[must_use]
pub fn recognise(head: &[u8], name: &str, file_bytes: u64) -> Option<FileKind> {
    let kind = by_content(head, file_bytes).or_else(|| by_name(name));
    // The first slot of a doublewrite file can hold the first page of a tablespace.
    match kind {
        Some(FileKind::Tablespace) if by_name(name) == Some(FileKind::Doublewrite) => Some(FileKind::Doublewrite),
        kind => kind,
    }
}

fn by_content(head: &[u8], file_bytes: u64) -> Option<FileKind> {
    let magics: [(&[u8], FileKind); 7] = [
        (b"\xfebin", FileKind::Binlog),
        (b"\xfdbin", FileKind::BinlogEncrypted),
        (b"\xfe\xfe\x07", FileKind::MyisamIndex),
        (b"\xfe\xfe\x09", FileKind::AriaIndex),
        (b"\xfe\x03", FileKind::Archive),
        (b"\xfe\x01", FileKind::Definition),
        (b"TYPE=VIEW\n", FileKind::Definition),
    ];
    if aria::is_log(head) {
        return Some(FileKind::AriaLog);
    }
    if is_export_key(head, file_bytes) {
        return Some(FileKind::ExportKey);
    }
    if let Some((_, kind)) = magics.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Some(*kind);
    }
    if galera::recognise(head).is_some() {
        return Some(FileKind::GaleraCache);
    }
    if file_bytes >= 1024 && redo::recognise(head).is_some() && looks_like_redo(head) {
        return Some(FileKind::Redo);
    }
    Page0::parse(head).is_ok().then_some(FileKind::Tablespace)
}

/// Whether this is a `.cfp` file: 100 bytes that start with the length of the key.
///
/// Source: formats, "Export key file", confirmed on MySQL 9.7.
#[must_use]
pub fn is_export_key(head: &[u8], file_bytes: u64) -> bool {
    file_bytes == EXPORT_KEY_BYTES && head.be32(0) == Some(32)
}

/// MySQL's format numbers are too small for a magic: the creator must be readable too.
fn looks_like_redo(head: &[u8]) -> bool {
    let creator = head.range(16, 48);
    [&b"MySQL"[..], b"MariaDB", b"Percona", b"MEB", b"xtrabkup", b"Backup"]
        .iter()
        .any(|server| creator.starts_with(server))
}

/// Beginning of the names of redo log files since MySQL 8.0.30.
const REDO: &str = "#ib_redo";
/// The same in older servers and in MariaDB.
const OLDER_REDO: &str = "ib_logfile";
/// Beginning of the names of files of the system tablespace, unless `innodb_data_file_path` sets others.
const SYSTEM: &str = "ibdata";
/// The same for the temporary tablespace and `innodb_temp_data_file_path`.
const TEMPORARY: &str = "ibtmp";

/// Beginnings of the names of redo logs, of their directory since MySQL 8.0.30, and of its archived logs.
pub const REDO_BEGINNINGS: [&str; 4] = [OLDER_REDO, "#innodb_redo", REDO, "ib_redo"];
/// Beginning of the names that servers give to undo tablespaces.
pub const UNDO_BEGINNING: &str = "undo";
/// Beginnings of the names of the files of the system tablespace and of the temporary tablespace.
pub const SYSTEM_BEGINNINGS: [&str; 2] = [SYSTEM, TEMPORARY];

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

/// Recognises files without a magic by the names servers give them.
fn by_name(name: &str) -> Option<FileKind> {
    let endings = [
        (".MYD", FileKind::MyisamData),
        (".MYI", FileKind::MyisamIndex),
        (".MAD", FileKind::AriaData),
        (".MAI", FileKind::AriaIndex),
        (".ARZ", FileKind::Archive),
        (".CSV", FileKind::Csv),
        (".CSM", FileKind::CsvMeta),
        (".frm", FileKind::Definition),
        (".par", FileKind::Definition),
        (".cfg", FileKind::ExportMeta),
        (".cfp", FileKind::ExportKey),
        (".ibd", FileKind::Tablespace),
        (".ibt", FileKind::Tablespace),
        (".ibu", FileKind::Tablespace),
        (".dblwr", FileKind::Doublewrite),
        (".bdblwr", FileKind::Doublewrite),
    ];
    let beginnings = [
        (REDO, FileKind::Redo),
        (OLDER_REDO, FileKind::Redo),
        (SYSTEM, FileKind::Tablespace),
        (TEMPORARY, FileKind::Tablespace),
        // Percona Server 5.7 to 8.0.19, unless innodb_parallel_doublewrite_path sets another name.
        ("xb_doublewrite", FileKind::Doublewrite),
        ("aria_log.", FileKind::AriaLog),
        ("galera.cache", FileKind::GaleraCache),
        ("gcache.page.", FileKind::GaleraCache),
    ];
    if is_numbered_undo(name) {
        return Some(FileKind::Tablespace);
    }
    if is_incremental(name) {
        return None;
    }
    endings
        .iter()
        .find(|(ending, _)| name.ends_with(ending))
        .or_else(|| beginnings.iter().find(|(start, _)| name.starts_with(start)))
        .map(|(_, kind)| *kind)
}

/// `ibdata1.delta`, `t.ibd.delta` and their `.meta`: incremental files of `mariadb-backup`, which
/// hold the changed pages in no particular order.
#[must_use]
pub fn is_incremental(name: &str) -> bool {
    name.ends_with(".delta") || name.ends_with(".meta")
}

/// Whether a file name, without directory, is that of a file of the redo log.
#[must_use]
pub fn is_redo(name: impl AsRef<OsStr>) -> bool {
    let name = name.as_ref().as_encoded_bytes();
    [REDO, OLDER_REDO].iter().any(|beginning| name.starts_with(beginning.as_bytes()))
}

/// The name of a binary or relay log without its number, which has six digits or more: `mysql-bin` of `mysql-bin.000123`.
#[must_use]
pub fn log_base(name: &str) -> Option<&str> {
    const DIGITS: usize = 6;
    let (base, number) = name.rsplit_once('.')?;
    (number.len() >= DIGITS && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(base)
}

/// Whether a file name, without directory, is that of a file of the system tablespace.
#[must_use]
pub fn is_system(name: &str) -> bool {
    name.starts_with(SYSTEM)
}

/// Whether a file name, without directory, is that of an undo tablespace: one made by the server,
/// or one made by a statement, for which MySQL accepts only the suffix `.ibu`.
#[must_use]
pub fn is_undo(name: &str) -> bool {
    is_numbered_undo(name) || name.ends_with(".ibu")
}

/// `undo_001` of MySQL 8, `undo001` of older servers and MariaDB.
fn is_numbered_undo(name: &str) -> bool {
    is_mariadb_undo(name) || name.strip_prefix("undo_").is_some_and(is_undo_number)
}

/// `undo001`: name of an undo tablespace in MariaDB, and in MySQL before 8.0.
#[must_use]
pub fn is_mariadb_undo(name: &str) -> bool {
    name.strip_prefix(UNDO_BEGINNING).is_some_and(is_undo_number)
}

fn is_undo_number(text: &str) -> bool {
    text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_stronger_than_the_name() {
        let mut key = vec![0, 0, 0, 32];
        key.resize(100, 1);
        assert_eq!(recognise(&key, "old.bak", 100), Some(FileKind::ExportKey));
        assert_eq!(recognise(b"\xfdbin\x01", "t.MYD", 5), Some(FileKind::BinlogEncrypted));
    }

    #[test]
    fn the_name_helps_where_there_is_no_magic() {
        assert_eq!(recognise(b"rows", "t.MYD", 4), Some(FileKind::MyisamData));
        assert_eq!(recognise(b"\"a\"", "slow_log.CSV", 3), Some(FileKind::Csv));
        assert_eq!(recognise(b"", "notes.txt", 0), None);
        assert_eq!(recognise(b"", "undo_001", 0), Some(FileKind::Tablespace));
        assert_eq!(recognise(b"", "undo002", 0), Some(FileKind::Tablespace));
        assert_eq!(recognise(b"", "undo.txt", 0), None);
        assert!(["undo_001", "undo127", "spare.ibu"].into_iter().all(is_undo));
        assert!(!["undo", "undo_log.txt", "undo_1", "undo001.bak"].into_iter().any(is_undo));
        assert!(is_mariadb_undo("undo001") && !is_mariadb_undo("undo_001"));
        assert!(["#ib_redo7", "#ib_redo8_tmp", "ib_logfile0"].into_iter().all(is_redo));
        assert!(!is_redo("#ib_16384_0.dblwr"));
        assert_eq!(log_base("mysql-bin.000012"), Some("mysql-bin"));
        assert!(log_base("binlog.000001").is_some() && log_base("relay-bin-ch1.1234567").is_some());
        assert!(log_base("binlog.index").is_none());
        assert_eq!((log_base("general.log.1"), log_base("mysql-bin.index"), log_base("000001")), (None, None, None));
    }
}
