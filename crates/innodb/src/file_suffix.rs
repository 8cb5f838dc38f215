//! Suffixes of the names that servers give to the files of tables, without the dot. The servers compare them exactly.
//!
//! Sources: `dot_ext` in `fil0fil.cc`; the lists of extensions of the storage engines (`ha_myisam_exts` and others);
//! MySQL manual, "Alternative Storage Engines".

use std::ffi::OsStr;

/// Tablespace of one table, of one partition, or of several tables (general tablespace).
pub const TABLESPACE: &str = "ibd";
/// Temporary tablespace of a session.
pub const SESSION_TABLESPACE: &str = "ibt";
/// Undo tablespace that a statement created.
pub const UNDO: &str = "ibu";
/// Path of a tablespace that is outside of its database's directory (`DATA DIRECTORY`).
pub const LINK: &str = "isl";
/// Number of the process that uses a data directory.
pub const PID: &str = "pid";
/// Default settings of a database.
pub const OPTIONS: &str = "opt";
/// Transfer key of an exported table.
pub const EXPORT_KEY: &str = "cfp";
/// Metadata of an exported table.
pub const EXPORT_META: &str = "cfg";
/// Doublewrite file since MySQL 8.0.20.
pub const DOUBLEWRITE: &str = "dblwr";
/// Doublewrite file of MySQL in the mode `DETECT_ONLY`: ids of pages, without the pages.
pub const BATCH_DOUBLEWRITE: &str = "bdblwr";
/// Rows of MyISAM.
pub const MYISAM_DATA: &str = "MYD";
/// Indexes of MyISAM.
pub const MYISAM_INDEX: &str = "MYI";
/// Rows of Aria.
pub const ARIA_DATA: &str = "MAD";
/// Indexes of Aria.
pub const ARIA_INDEX: &str = "MAI";
/// Rows of ARCHIVE.
pub const ARCHIVE: &str = "ARZ";
/// Rows of CSV.
pub const CSV: &str = "CSV";
/// Metadata of CSV, such as the number of rows.
pub const CSV_META: &str = "CSM";
/// Names of the tables that a MERGE table combines.
pub const MERGE: &str = "MRG";
/// Definition of a table, before MySQL 8.0 and in MariaDB.
pub const DEFINITION: &str = "frm";
/// Partitions of a table whose definition is a `.frm` file.
pub const PARTITIONS: &str = "par";
/// Definition of a table of another engine than InnoDB, since MySQL 8.0.
pub const SERIALIZED_DEFINITION: &str = "sdi";
/// Tables and values of MyRocks, in a directory of their own.
pub const ROCKSDB: [&str; 2] = ["sst", "blob"];
/// Indexes of TokuDB.
pub const TOKUDB: &str = "tokudb";

/// Whether a name or path ends with a dot and the suffix.
#[must_use]
pub fn has(name: impl AsRef<OsStr>, suffix: &str) -> bool {
    let name = name.as_ref().as_encoded_bytes();
    name.strip_suffix(suffix.as_bytes()).is_some_and(|stem| stem.ends_with(b"."))
}

/// The name without the dot and the suffix; `None` if it does not end with them.
#[must_use]
pub fn strip<'n>(name: &'n str, suffix: &str) -> Option<&'n str> {
    name.strip_suffix(suffix)?.strip_suffix('.')
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_suffix_follows_a_dot() {
        assert!(has("t.ibd", TABLESPACE) && has(Path::new("db/t#P#p0.ibd"), TABLESPACE));
        assert!(!has("ibd", TABLESPACE) && !has("t_ibd", TABLESPACE) && !has("t.IBD", TABLESPACE));
        assert_eq!((strip("db/t.ibd", TABLESPACE), strip("t.cfg", TABLESPACE)), (Some("db/t"), None));
    }
}
