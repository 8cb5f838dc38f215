//! The chunks that are loaded, and which of them were compared.

use std::collections::BTreeMap;

use server::{Connection, Rows, quote};

use super::{failed, key_from, key_text};
use crate::{
    Error,
    chunk_map::{Chunk, Copied, State},
    key::Key,
    moved_table::MovedTable,
};

/// A loaded chunk, and whether it was compared since it last changed.
#[derive(Clone, Debug)]
pub(crate) struct StoredChunk {
    pub(crate) table: usize,
    pub(crate) chunk: Chunk<Key>,
    pub(crate) copied: Copied,
    pub(crate) verified: bool,
}

/// The loaded chunks of all tables.
pub(crate) fn chunks(target: &mut Connection, tables: &[MovedTable]) -> Result<Vec<StoredChunk>, Error> {
    let sql = "SELECT tbl, number, after_key, upto_key, row_count, bytes, verified FROM `_sealant`.`chunk` ORDER BY tbl, number";
    let rows = target.query(sql).map_err(failed)?;
    (0..rows.rows.len()).map(|row| stored_chunk(&rows, row, tables)).collect()
}

/// The stored chunks, with their keys as texts.
pub(crate) fn copied(target: &mut Connection) -> Result<Rows, Error> {
    let sql = "SELECT tbl, after_key, upto_key, row_count, bytes, verified FROM `_sealant`.`chunk`";
    target.query(sql).map_err(failed)
}

fn stored_chunk(rows: &Rows, row: usize, tables: &[MovedTable]) -> Result<StoredChunk, Error> {
    let damaged = || Error::State { what: "chunk" };
    let number = |name| rows.value(row, name).and_then(|text| text.parse::<u64>().ok()).ok_or_else(damaged);
    let table = usize::try_from(number("tbl")?).map_err(|_| damaged())?;
    let columns = &tables.get(table).ok_or_else(damaged)?.key;
    let key = |name| match rows.value(row, name) {
        None => Ok(None),
        Some(text) => key_from(text, columns).map(Some).ok_or_else(damaged),
    };
    let chunk =
        Chunk { number: number("number")?, after: key("after_key")?, upto: key("upto_key")?, state: State::Loaded };
    let copied = Copied { rows: number("row_count")?, bytes: number("bytes")? };
    Ok(StoredChunk { table, chunk, copied, verified: number("verified")? != 0 })
}

/// The statement that marks a chunk as loaded.
pub(crate) fn mark_loaded(table: usize, chunk: &Chunk<Key>, Copied { rows, bytes }: Copied) -> String {
    let key = |key: &Option<Key>| key.as_ref().map_or_else(|| "NULL".to_owned(), |key| format!("'{}'", key_text(key)));
    let (after, upto, number) = (key(&chunk.after), key(&chunk.upto), chunk.number);
    format!("INSERT INTO `_sealant`.`chunk` VALUES ({table}, {number}, {after}, {upto}, {rows}, {bytes}, 0, 0)")
}

/// The statement that marks chunks of a table as changed since their last comparison.
pub(crate) fn mark_touched(table: usize, chunks: &[u64]) -> String {
    format!("{UNVERIFY} WHERE tbl = {table} AND number IN ({})", list(chunks))
}

/// The start of a statement that marks chunks as not compared.
const UNVERIFY: &str = "UPDATE `_sealant`.`chunk` SET verified = 0, touches = touches + 1";

/// Marks every chunk as not compared.
pub(crate) fn unverify(target: &mut Connection) -> Result<(), Error> {
    target.query(UNVERIFY).map(drop).map_err(failed)
}

/// How often each of these chunks has changed since it was first stored, by their numbers.
pub(crate) fn touches(target: &mut Connection, table: usize, chunks: &[u64]) -> Result<BTreeMap<u64, u64>, Error> {
    let numbers = list(chunks);
    let sql = format!("SELECT number, touches FROM `_sealant`.`chunk` WHERE tbl = {table} AND number IN ({numbers})");
    let rows = target.query(&sql).map_err(failed)?;
    let number = |row, name| rows.value(row, name).and_then(|text| text.parse().ok());
    let each = |row| Some((number(row, "number")?, number(row, "touches")?));
    let found: BTreeMap<_, _> = (0..rows.rows.len()).filter_map(each).collect();
    let is_whole = chunks.iter().all(|chunk| found.contains_key(chunk));
    if is_whole { Ok(found) } else { Err(Error::State { what: "chunk" }) }
}

/// Marks chunks as compared, except those that were changed since their `touches` were read.
pub(crate) fn mark_verified(target: &mut Connection, table: usize, chunks: &BTreeMap<u64, u64>) -> Result<(), Error> {
    let numbers = list(chunks.keys());
    let touches: Vec<_> = chunks.iter().map(|(number, touches)| format!("({number}, {touches})")).collect();
    // The numbers alone are looked up in the index.
    let sql = format!(
        "UPDATE `_sealant`.`chunk` SET verified = 1 WHERE tbl = {table} AND number IN ({numbers}) \
         AND (number, touches) IN ({})",
        touches.join(", ")
    );
    target.query(&sql).map(drop).map_err(failed)
}

/// Numbers with commas between them.
fn list<'n>(numbers: impl IntoIterator<Item = &'n u64>) -> String {
    numbers.into_iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

/// Rows of an `INSERT` statement that copies a part of the state.
const COPIED_ROWS: usize = 1000;

/// The statements that insert the chunks of this migration, and their last comparisons, into the state of another one of
/// the same tables, whose source has them at `position` of its log. Without `compared`, no chunk counts as compared there.
pub(crate) fn copies_of_chunks(target: &mut Connection, position: &str, compared: bool) -> Result<Vec<String>, Error> {
    let mut statements = Vec::new();
    let position = quote::text(position);
    let changed_end = format!("IF(changed_rows > 0, {position}, '')");
    for (table, columns) in [
        ("chunk", "tbl, number, after_key, upto_key, row_count, bytes, verified, touches"),
        (
            "compared",
            "tbl, number, row_count, checksum, source_end, at, touches, changed_rows, changed_end, changed_at",
        ),
    ] {
        let values = columns.replace("source_end", &position).replace("changed_end", &changed_end);
        let rows = target.query(&format!("SELECT {values} FROM `_sealant`.`{table}`")).map_err(failed)?;
        let value = |value: &Option<String>| value.as_ref().map_or_else(|| "NULL".to_owned(), |text| quote::text(text));
        for rows in rows.rows.chunks(COPIED_ROWS) {
            let rows = rows.iter().map(|row| format!("({})", row.iter().map(value).collect::<Vec<_>>().join(", ")));
            let rows = rows.collect::<Vec<_>>().join(", ");
            statements.push(format!("INSERT INTO `_sealant`.`{table}` ({columns}) VALUES {rows}"));
        }
    }
    if !compared {
        statements.push(UNVERIFY.to_owned());
    }
    Ok(statements)
}
