//! How far the source's log was applied.

use std::collections::HashMap;

use innodb::binlog::LogPosition;
use server::{Connection, Rows, quote};

use super::{failed, key_from, key_text};
use crate::{
    Error,
    log_file::LogFile,
    moved_table::MovedTable,
    position::{ChangedRow, Position, Tracking},
};

/// The stored position.
pub(crate) fn position(target: &mut Connection, tables: &[MovedTable]) -> Result<Position, Error> {
    let sql = "SELECT gtids, file, position, row_tbl, row_key FROM `_sealant`.`pos` WHERE id = 1";
    let rows = target.query(sql).map_err(failed)?;
    let damaged = || Error::State { what: "position" };
    let position = stored_position(&rows, 0).ok_or_else(damaged)?;
    let row = match (rows.value(0, "row_tbl"), rows.value(0, "row_key")) {
        (Some(table), Some(key)) => Some(changed_row(table, key, tables).ok_or_else(damaged)?),
        _ => None,
    };
    Ok(Position { row, ..position })
}

/// The position of a row with the columns `gtids`, `file` and `position`.
fn stored_position(rows: &Rows, row: usize) -> Option<Position> {
    let (file, offset) = (rows.value(row, "file")?.to_owned(), rows.value(row, "position")?.parse().ok()?);
    let gtids = rows.value(row, "gtids")?.parse().ok()?;
    Some(Position { gtids, log: LogPosition { file, offset }, row: None })
}

/// The statement that stores the snapshot from which a table was copied.
pub(crate) fn store_snapshot(table: usize, position: &Position) -> String {
    let (gtids, file) = (quote::text(&position.gtids.to_string()), quote::text(&position.log.file));
    format!("INSERT INTO `_sealant`.`snapshot` VALUES ({table}, {gtids}, {file}, {})", position.log.offset)
}

/// The snapshots from which tables were copied whole, by the numbers of the tables.
pub(crate) fn snapshots(target: &mut Connection) -> Result<HashMap<usize, Position>, Error> {
    let rows = target.query("SELECT tbl, gtids, file, position FROM `_sealant`.`snapshot`").map_err(failed)?;
    let snapshot = |row| Some((rows.value(row, "tbl")?.parse().ok()?, stored_position(&rows, row)?));
    (0..rows.rows.len()).map(|row| snapshot(row).ok_or(Error::State { what: "snapshot" })).collect()
}

/// The stored position, as messages show it.
pub(crate) fn position_text(target: &mut Connection, tracking: Tracking) -> Result<String, Error> {
    let rows = target.query("SELECT gtids, file, position FROM `_sealant`.`pos` WHERE id = 1").map_err(failed)?;
    let text = |name| rows.value(0, name).unwrap_or_default();
    Ok(match tracking {
        Tracking::Gtids => text("gtids").to_owned(),
        Tracking::Positions | Tracking::Snapshots => format!("{}:{}", text("file"), text("position")),
    })
}

fn changed_row(table: &str, key: &str, tables: &[MovedTable]) -> Option<ChangedRow> {
    let table: usize = table.parse().ok()?;
    let key = key_from(key, &tables.get(table)?.key)?;
    Some(ChangedRow { table, key })
}

/// The newest file of the source's log that was read; `None` if no run has read any.
pub(crate) fn log_file(target: &mut Connection) -> Result<Option<LogFile>, Error> {
    let sql = "SELECT server_uuid, file, created FROM `_sealant`.`log_file` WHERE id = 1";
    let rows = target.query(sql).map_err(failed)?;
    let (Some(server_uuid), Some(file)) = (rows.value(0, "server_uuid"), rows.value(0, "file")) else {
        return Ok(None);
    };
    let created = rows.value(0, "created").and_then(|text| text.parse().ok());
    let created = created.ok_or(Error::State { what: "log file" })?;
    Ok(Some(LogFile { server_uuid: server_uuid.to_owned(), file: file.to_owned(), created }))
}

/// The statement that stores the newest file of the source's log that was read.
pub(crate) fn store_log_file(file: &LogFile) -> String {
    let (server_uuid, name) = (quote::text(&file.server_uuid), quote::text(&file.file));
    format!("REPLACE INTO `_sealant`.`log_file` VALUES (1, {server_uuid}, {name}, {})", file.created)
}

/// The statement that stores a position.
pub(crate) fn store_position(position: &Position) -> String {
    // The counter makes each batch change the row, so that the target's log shows that the batch is one of a migration.
    format!(
        "REPLACE INTO `_sealant`.`pos` SELECT 1, {}, batches + 1 FROM `_sealant`.`pos` WHERE id = 1",
        position_values(position)
    )
}

pub(super) fn position_values(position: &Position) -> String {
    let (gtids, file) = (quote::text(&position.gtids.to_string()), quote::text(&position.log.file));
    let row = position.row.as_ref().map(|row| format!("{}, '{}'", row.table, key_text(&row.key)));
    format!("{gtids}, {file}, {}, {}", position.log.offset, row.as_deref().unwrap_or("NULL, NULL"))
}
