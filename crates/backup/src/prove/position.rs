//! Compares what a server has recovered with the backup's position in the binary log.

use innodb::binlog::{CopyPosition, LogPosition, MYSQL_HEADER_BYTES};
use serde::{Serialize, Serializer};
use server::{Flavor, Rows};

use super::{RecoveredGtids, private_server::PrivateServer};
use crate::Error;

/// Comparison of what a server has recovered with the backup's position. In JSON, its names are fields of the proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum ComparedPosition {
    /// By GTIDs.
    #[serde(rename = "reached")]
    Gtids(RecoveredGtids),
    /// By the end of the binary log: the position has no GTIDs.
    #[serde(rename = "log")]
    Log(RecoveredLog),
    /// Nothing was compared.
    #[serde(rename = "position_not_compared")]
    NotCompared(Uncompared),
}

/// End of the backup's newest binary log after recovery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecoveredLog {
    /// Name of the log.
    pub file: String,
    /// Offset at which the server's log ends, in bytes.
    pub offset: u64,
    /// Offset of the backup's position.
    pub expected: u64,
    /// Whether they are equal.
    pub is_whole: bool,
}

/// Why the position was not compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Uncompared {
    /// Only a copy by `follow` is made at a known position.
    #[error("the backup records none: only copies by the provider follow have one")]
    NotRecorded,
    /// The manifest, which records it, was not read.
    #[error("only the manifest records it, and the files were found in packs alone")]
    Salvaged,
    /// The files are at another position.
    #[error("binary logs were replayed after the backup")]
    Replayed,
    /// The server that was backed up wrote no binary log.
    #[error("the server of the backup wrote no binary log")]
    NoBinaryLog,
    /// The position has no GTIDs, and the private server does not know the log.
    #[error("it has no GTIDs, and the server lists no binary log {0}")]
    NotListed(String),
}

impl ComparedPosition {
    /// Whether no difference was found.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        match self {
            Self::Gtids(gtids) => gtids.is_whole,
            Self::Log(log) => log.is_whole,
            Self::NotCompared(_) => true,
        }
    }
}

impl Serialize for Uncompared {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Compares the position of the backup with a server that has recovered its files.
///
/// # Errors
/// [`Error::Prove`] if the server does not answer.
pub(super) fn compare(
    server: &mut PrivateServer,
    position: Result<&CopyPosition, Uncompared>,
    flavor: Flavor,
) -> Result<ComparedPosition, Error> {
    let position = match position {
        Ok(position) => position,
        Err(reason) => return Ok(ComparedPosition::NotCompared(reason)),
    };
    if !position.gtid.is_empty() {
        return server.recovered_gtids(&position.gtid, flavor).map(ComparedPosition::Gtids);
    }
    Ok(compare_log(&position.log, &server.binary_logs()?))
}

/// Compares the end of a log. `logs` are those of a server that has begun another one since.
fn compare_log(position: &LogPosition, logs: &Rows) -> ComparedPosition {
    let file = position.file.clone();
    match end_of(&file, logs) {
        Some(offset) => {
            let (expected, is_whole) = (position.offset, offset == position.offset);
            ComparedPosition::Log(RecoveredLog { file, offset, expected, is_whole })
        }
        None => ComparedPosition::NotCompared(Uncompared::NotListed(file)),
    }
}

/// Where a log ends, as positions count; `None` if it is not listed, or cannot be opened by the server.
///
/// Lengths include the header of an encrypted log of MySQL, which positions do not count (`show_binary_logs`).
fn end_of(file: &str, logs: &Rows) -> Option<u64> {
    let row = (0..logs.rows.len()).find(|row| logs.value(*row, "Log_name") == Some(file))?;
    let bytes: u64 = logs.value(row, "File_size")?.parse().ok()?;
    let is_encrypted = logs.value(row, "Encrypted").is_some_and(|value| value.eq_ignore_ascii_case("yes"));
    let header_bytes = if is_encrypted { MYSQL_HEADER_BYTES as u64 } else { 0 };
    bytes.checked_sub(header_bytes).filter(|end| *end > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logs(columns: &[&str], rows: &[&[&str]]) -> Rows {
        let row = |values: &&[&str]| values.iter().map(|value| Some((*value).to_owned())).collect();
        Rows {
            columns: columns.iter().map(|column| (*column).to_owned()).collect(),
            rows: rows.iter().map(row).collect(),
        }
    }

    fn compared(offset: u64, logs: &Rows) -> ComparedPosition {
        compare_log(&LogPosition { file: "binlog.000003".to_owned(), offset }, logs)
    }

    #[test]
    fn a_log_has_to_end_at_the_position() {
        let mysql = ["Log_name", "File_size", "Encrypted"];
        let clear = logs(&mysql, &[&["binlog.000003", "900", "No"], &["binlog.000004", "157", "No"]]);
        let encrypted = logs(&mysql, &[&["binlog.000003", "1412", "Yes"]]);
        let mariadb = logs(&["Log_name", "File_size"], &[&["binlog.000003", "900"]]);
        for logs in [clear, encrypted, mariadb] {
            assert!(matches!(compared(900, &logs), ComparedPosition::Log(RecoveredLog { is_whole: true, .. })));
            for other in [899, 901] {
                let compared = compared(other, &logs);
                assert!(!compared.is_sound(), "{compared:?}");
            }
        }
    }

    #[test]
    fn a_log_that_the_server_does_not_list_is_not_compared() {
        let none = ComparedPosition::NotCompared(Uncompared::NotListed("binlog.000003".to_owned()));
        let columns = ["Log_name", "File_size"];
        let unopened: &[&str] = &["binlog.000003", "0"];
        let other: &[&str] = &["binlog.000004", "900"];
        for logs in [Rows::default(), logs(&columns, &[unopened]), logs(&columns, &[other])] {
            assert_eq!(compared(900, &logs), none);
        }
        assert!(none.is_sound());
    }

    #[test]
    fn a_comparison_is_a_field_of_the_proof() {
        #[derive(Serialize)]
        struct Report {
            #[serde(flatten)]
            position: ComparedPosition,
        }
        let json = |position| serde_json::to_string(&Report { position }).unwrap();
        let log = RecoveredLog { file: "b.000003".to_owned(), offset: 7, expected: 9, is_whole: false };
        let text = r#"{"log":{"file":"b.000003","offset":7,"expected":9,"is_whole":false}}"#;
        assert_eq!(json(ComparedPosition::Log(log)), text);
        let text = r#"{"position_not_compared":"binary logs were replayed after the backup"}"#;
        assert_eq!(json(ComparedPosition::NotCompared(Uncompared::Replayed)), text);
    }
}
