//! The journal of a migration, kept at the target for the proof: events with their times, which tables were encrypted
//! at the source at the beginning, and the last comparison of each chunk.

use server::{Connection, quote};

use crate::{Error, Side, moved_table::MovedTable};

/// The tables of the journal, beside those of the state.
pub(crate) const TABLES: [&str; 3] = [
    "`_sealant`.`rest` (tbl INT PRIMARY KEY, encrypted TINYINT NOT NULL)",
    "`_sealant`.`compared` (tbl INT NOT NULL, number BIGINT UNSIGNED NOT NULL, row_count BIGINT UNSIGNED NOT NULL, \
     checksum VARCHAR(80) NOT NULL, source_end VARBINARY(600) NOT NULL, at TIMESTAMP NOT NULL, touches BIGINT UNSIGNED NOT NULL, \
     changed_rows BIGINT UNSIGNED NOT NULL, changed_end VARBINARY(600) NOT NULL, changed_at TIMESTAMP NULL, PRIMARY KEY (tbl, number))",
    "`_sealant`.`journal` (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, at TIMESTAMP(3) NOT NULL, \
     event VARCHAR(32) NOT NULL, detail VARBINARY(4000) NOT NULL)",
];
/// The event by which each process begins.
pub(crate) const OPENED: &str = "opened";
/// The event with the evidence about the storage on which the tables rest.
pub(crate) const STORAGE: &str = "storage";
/// Longest detail of an event in bytes; the rest is cut off.
const DETAIL: usize = 4000;

/// The statement that records whether a table was encrypted at the source when the migration began.
pub(crate) fn keep_encryption(moved: &MovedTable) -> String {
    format!("REPLACE INTO `_sealant`.`rest` VALUES ({}, {})", moved.number, u8::from(moved.table.encrypted))
}

/// Records an event.
pub(crate) fn note(target: &mut Connection, event: &str, detail: &str) -> Result<(), Error> {
    let end = (0..=detail.len().min(DETAIL)).rev().find(|end| detail.is_char_boundary(*end)).unwrap_or(0);
    let (event, detail) = (quote::text(event), quote::text(detail.get(..end).unwrap_or_default()));
    execute(target, &format!("INSERT INTO `_sealant`.`journal` (at, event, detail) VALUES (NOW(3), {event}, {detail})"))
}

/// The moment at which a range was read.
#[derive(Debug)]
pub(crate) struct Read {
    /// How often the chunk had changed before that.
    pub(crate) touches: u64,
    /// End of the source's log at that time.
    pub(crate) source_end: String,
}

/// A chunk whose rows were equal on both servers.
#[derive(Debug)]
pub(crate) struct Compared<'c> {
    pub(crate) table: usize,
    pub(crate) chunk: u64,
    /// Number of rows.
    pub(crate) rows: &'c str,
    /// Sum of their hashes.
    pub(crate) checksum: &'c str,
    /// When the rows were read.
    pub(crate) read: &'c Read,
}

/// Records a comparison, in place of the chunk's previous one.
pub(crate) fn compared(target: &mut Connection, compared: &Compared<'_>) -> Result<(), Error> {
    let Compared { table, chunk, rows, checksum, read } = compared;
    let [rows, checksum, end] = [rows, checksum, read.source_end.as_str()].map(quote::text);
    let values = format!("{table}, {chunk}, {rows}, {checksum}, {end}, NOW(), {}, 0, '', NULL", read.touches);
    execute(target, &format!("REPLACE INTO `_sealant`.`compared` VALUES ({values})"))
}

/// Changed rows of a chunk that were equal on both servers, after the whole chunk was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComparedAgain {
    pub(crate) chunk: u64,
    /// Number of rows.
    pub(crate) rows: usize,
    /// How often the chunk had changed before they were read.
    pub(crate) touches: u64,
}

/// Records comparisons of changed rows, beside those of their chunks. `source_end` is the end of the source's log when the
/// rows were read.
pub(crate) fn compared_again(
    target: &mut Connection,
    table: usize,
    chunks: &[ComparedAgain],
    source_end: &str,
) -> Result<(), Error> {
    let case = |value: fn(&ComparedAgain) -> String| {
        let each = chunks.iter().map(|chunk| format!("WHEN {} THEN {}", chunk.chunk, value(chunk)));
        each.collect::<Vec<_>>().join(" ")
    };
    let (touches, rows) = (case(|chunk| chunk.touches.to_string()), case(|chunk| chunk.rows.to_string()));
    let numbers: Vec<_> = chunks.iter().map(|chunk| chunk.chunk.to_string()).collect();
    let sql = format!(
        "UPDATE `_sealant`.`compared` SET at = at, touches = CASE number {touches} END, \
         changed_rows = changed_rows + CASE number {rows} END, changed_end = {}, changed_at = NOW() \
         WHERE tbl = {table} AND number IN ({})",
        quote::text(source_end),
        numbers.join(", ")
    );
    execute(target, &sql)
}

fn execute(target: &mut Connection, sql: &str) -> Result<(), Error> {
    target.query(sql).map(drop).map_err(Error::at(Side::Target))
}
