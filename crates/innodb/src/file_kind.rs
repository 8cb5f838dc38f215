//! Recognises files, by content first and by name if the content does not say.
//!
//! Source: docs/formats, "Coverage"; magics of MyISAM, Aria, `.frm`, `.cfg` and `.cfp` confirmed on server files;
//! ARCHIVE and CSV metadata from `azlib.h` and `ha_tina.cc`.

use serde::{Deserialize, Serialize};

use crate::{aria, bytes::Bytes, file_suffix, galera, redo, server_file, tablespace::Page0};

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

impl FileKind {
    /// Whether such files have pages or blocks that keys decrypt and checksums verify. Binary logs have events instead.
    #[must_use]
    pub const fn has_pages(self) -> bool {
        matches!(self, Self::Tablespace | Self::Redo | Self::Doublewrite | Self::AriaData | Self::AriaIndex)
    }

    /// Whether it is a binary or relay log.
    #[must_use]
    pub const fn is_binary_log(self) -> bool {
        matches!(self, Self::Binlog | Self::BinlogEncrypted)
    }
}

/// Names of the kinds in verification reports, which do not distinguish encrypted binary logs from clear ones;
/// `unknown` for `None`.
pub mod report_name {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::FileKind;

    const UNKNOWN: &str = "unknown";

    /// The name of a kind.
    #[must_use]
    pub const fn of_kind(kind: Option<FileKind>) -> &'static str {
        match kind {
            None => UNKNOWN,
            Some(FileKind::Tablespace) => "tablespace",
            Some(FileKind::Redo) => "redo",
            Some(FileKind::Doublewrite) => "doublewrite",
            Some(FileKind::Binlog | FileKind::BinlogEncrypted) => "binlog",
            Some(FileKind::AriaIndex) => "aria-index",
            Some(FileKind::AriaData) => "aria-data",
            Some(FileKind::AriaLog) => "aria-log",
            Some(FileKind::MyisamIndex) => "myisam-index",
            Some(FileKind::MyisamData) => "myisam-data",
            Some(FileKind::Archive) => "archive",
            Some(FileKind::Csv) => "csv",
            Some(FileKind::CsvMeta) => "csv-meta",
            Some(FileKind::Definition) => "definition",
            Some(FileKind::ExportKey) => "export-key",
            Some(FileKind::ExportMeta) => "export-meta",
            Some(FileKind::GaleraCache) => "galera-cache",
        }
    }

    /// The name of the units that such a file consists of; pages for `None`.
    #[must_use]
    pub const fn unit_of_kind(kind: Option<FileKind>) -> &'static str {
        match kind {
            Some(FileKind::Redo) => "block",
            Some(FileKind::Binlog | FileKind::BinlogEncrypted) => "event",
            Some(FileKind::Doublewrite) => "slot",
            _ => "page",
        }
    }

    /// Serializes the name, for `serde(with)`.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(kind: &Option<FileKind>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(of_kind(*kind))
    }

    /// Deserializes the name, for `serde(with)`.
    ///
    /// # Errors
    /// Those of the deserializer, also for an unknown name.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<FileKind>, D::Error> {
        let name = String::deserialize(deserializer)?;
        if name == UNKNOWN {
            return Ok(None);
        }
        FileKind::deserialize(serde::de::value::StringDeserializer::new(name)).map(Some)
    }
}

/// Bytes of a `.cfp` file.
const EXPORT_KEY_BYTES: u64 = 100;

/// Recognises a file; `None` if neither its content nor its name is known. The content decides, except where the name
/// is more reliable: doublewrite files, which begin with a page of any tablespace; redo logs; and Aria data files,
/// which have no header. No server gives these names to other files, but with a damaged start such files can look like
/// others. `head` is the start of the file (64 KiB suffice for everything, 4 KiB for everything but tablespaces with
/// large pages), `name` the last part of its path, `file_bytes` its length.
#[must_use]
pub fn recognise(head: &[u8], name: &str, file_bytes: u64) -> Option<FileKind> {
    match by_name(name) {
        named @ Some(FileKind::Doublewrite | FileKind::Redo | FileKind::AriaData) => named,
        named => by_content(head, file_bytes).or(named),
    }
}

fn by_content(head: &[u8], file_bytes: u64) -> Option<FileKind> {
    let magics: [(&[u8], FileKind); 7] = [
        (b"\xfebin", FileKind::Binlog),
        (b"\xfdbin", FileKind::BinlogEncrypted),
        (b"\xfe\xfe\x07", FileKind::MyisamIndex),
        (aria::TABLE_MAGIC, FileKind::AriaIndex),
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
/// Source: docs/formats, "Transfer key", confirmed on MySQL 9.7.
#[must_use]
pub fn is_export_key(head: &[u8], file_bytes: u64) -> bool {
    file_bytes == EXPORT_KEY_BYTES && head.be32(0) == Some(32)
}

/// MySQL's format numbers are too small to identify a redo log, so the creator must be readable too.
fn looks_like_redo(head: &[u8]) -> bool {
    let creator = head.range(16, 48);
    [&b"MySQL"[..], b"MariaDB", b"Percona", b"MEB", b"xtrabkup", b"Backup"]
        .iter()
        .any(|server| creator.starts_with(server))
}

/// Recognises files without a magic by the names servers give them.
#[must_use]
pub fn by_name(name: &str) -> Option<FileKind> {
    let suffixes = [
        (file_suffix::MYISAM_DATA, FileKind::MyisamData),
        (file_suffix::MYISAM_INDEX, FileKind::MyisamIndex),
        (file_suffix::ARIA_DATA, FileKind::AriaData),
        (file_suffix::ARIA_INDEX, FileKind::AriaIndex),
        (file_suffix::ARCHIVE, FileKind::Archive),
        (file_suffix::CSV, FileKind::Csv),
        (file_suffix::CSV_META, FileKind::CsvMeta),
        (file_suffix::DEFINITION, FileKind::Definition),
        (file_suffix::PARTITIONS, FileKind::Definition),
        (file_suffix::EXPORT_META, FileKind::ExportMeta),
        (file_suffix::EXPORT_KEY, FileKind::ExportKey),
        (file_suffix::TABLESPACE, FileKind::Tablespace),
        (file_suffix::SESSION_TABLESPACE, FileKind::Tablespace),
        (file_suffix::UNDO, FileKind::Tablespace),
        (file_suffix::DOUBLEWRITE, FileKind::Doublewrite),
        (file_suffix::BATCH_DOUBLEWRITE, FileKind::Doublewrite),
    ];
    let beginnings = [
        (server_file::REDO, FileKind::Redo),
        (server_file::OLDER_REDO, FileKind::Redo),
        (server_file::SYSTEM, FileKind::Tablespace),
        (server_file::TEMPORARY, FileKind::Tablespace),
        (server_file::PARALLEL_DOUBLEWRITE, FileKind::Doublewrite),
        (server_file::ARIA_LOG, FileKind::AriaLog),
        (server_file::GALERA_CACHE, FileKind::GaleraCache),
        (server_file::GALERA_PAGE, FileKind::GaleraCache),
    ];
    if server_file::is_numbered_undo(name) {
        return Some(FileKind::Tablespace);
    }
    if server_file::is_incremental(name) {
        return None;
    }
    suffixes
        .iter()
        .find(|(suffix, _)| file_suffix::has(name, suffix))
        .or_else(|| beginnings.iter().find(|(start, _)| name.starts_with(start)))
        .map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_reports_equal_the_serialized_kinds() {
        let names = "tablespace redo doublewrite binlog binlog-encrypted aria-index aria-data aria-log myisam-index \
                     myisam-data archive csv csv-meta definition export-key export-meta galera-cache";
        for name in names.split(' ') {
            let kind: FileKind = serde_json::from_str(&format!("\"{name}\"")).unwrap();
            let expected = if kind == FileKind::BinlogEncrypted { "binlog" } else { name };
            assert_eq!(report_name::of_kind(Some(kind)), expected);
        }
        assert_eq!(report_name::of_kind(None), "unknown");
    }

    #[test]
    fn the_content_takes_precedence_over_the_name() {
        let mut key = vec![0, 0, 0, 32];
        key.resize(100, 1);
        assert_eq!(recognise(&key, "old.bak", 100), Some(FileKind::ExportKey));
        assert_eq!(recognise(b"\xfdbin\x01", "t.MYD", 5), Some(FileKind::BinlogEncrypted));
    }

    #[test]
    fn a_damaged_start_does_not_change_the_kind_of_logs_and_doublewrite_files() {
        for head in [&b"\xfdbin\x01"[..], b"\xfe\xfe\x07", b"TYPE=VIEW\n"] {
            for name in ["#ib_16384_0.dblwr", "xb_doublewrite"] {
                assert_eq!(recognise(head, name, 1 << 20), Some(FileKind::Doublewrite), "{name}");
            }
            for name in ["ib_logfile1", "#ib_redo10"] {
                assert_eq!(recognise(head, name, 1 << 20), Some(FileKind::Redo), "{name}");
            }
            assert_eq!(recognise(head, "t.MAD", 1 << 20), Some(FileKind::AriaData));
        }
    }

    #[test]
    fn the_name_decides_without_a_magic() {
        assert_eq!(recognise(b"rows", "t.MYD", 4), Some(FileKind::MyisamData));
        assert_eq!(recognise(b"\"a\"", "slow_log.CSV", 3), Some(FileKind::Csv));
        assert_eq!(recognise(b"", "notes.txt", 0), None);
        assert_eq!(recognise(b"", "undo_001", 0), Some(FileKind::Tablespace));
        assert_eq!(recognise(b"", "undo002", 0), Some(FileKind::Tablespace));
        assert_eq!(recognise(b"", "undo.txt", 0), None);
    }
}
