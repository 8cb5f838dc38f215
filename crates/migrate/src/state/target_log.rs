//! How far the target's log was read.

use innodb::binlog::LogPosition;
use server::{Connection, quote};

use super::{chunks::unverify, failed};
use crate::{Error, link::identity_expression, log_file::LogFile};

/// The statement that stores where the target's log is read first.
pub(super) fn begin_target_log(start: &LogPosition, identity: &str) -> String {
    let file = quote::text(&start.file);
    format!("REPLACE INTO `_sealant`.`target_log` VALUES (1, {identity}, {file}, {}, 0)", start.offset)
}

/// The newest file of the target's log that was read, and how far; `None` if this migration does not read it. The time of
/// creation is 0 if it is not known yet.
pub(crate) fn target_log(target: &mut Connection) -> Result<Option<(LogFile, LogPosition)>, Error> {
    let sql = "SELECT server_uuid, file, position, created FROM `_sealant`.`target_log` WHERE id = 1";
    let rows = target.query(sql).map_err(failed)?;
    let (Some(uuid), Some(file)) = (rows.value(0, "server_uuid"), rows.value(0, "file")) else { return Ok(None) };
    let damaged = || Error::State { what: "target log" };
    let offset = rows.value(0, "position").and_then(|text| text.parse().ok()).ok_or_else(damaged)?;
    let created = rows.value(0, "created").and_then(|text| text.parse().ok()).ok_or_else(damaged)?;
    let known = LogFile { server_uuid: uuid.to_owned(), file: file.to_owned(), created };
    Ok(Some((known, LogPosition { file: file.to_owned(), offset })))
}

/// Stores how far the target's log was read, and when that file was created; 0 if that is not known yet.
pub(crate) fn store_target_log(target: &mut Connection, upto: &LogPosition, created: u32) -> Result<(), Error> {
    let (file, offset, identity) = (quote::text(&upto.file), upto.offset, identity_expression(target));
    // The server may have another identity after a restart from a copy.
    let sql = format!(
        "UPDATE `_sealant`.`target_log` SET server_uuid = {identity}, file = {file}, position = {offset}, \
         created = {created} WHERE id = 1"
    );
    target.query(&sql).map(drop).map_err(failed)
}

/// Stores that somebody else has changed moved tables. No chunk counts as compared any more: a transaction can change
/// more tables than the log names, through cascades and statements.
pub(crate) fn foreign_write(target: &mut Connection, end: &LogPosition, created: u32) -> Result<(), Error> {
    target.query("START TRANSACTION").map_err(failed)?;
    unverify(target)?;
    store_target_log(target, end, created)?;
    target.query("COMMIT").map(drop).map_err(failed)
}

/// Stores that the target's log is not read any more, because it cannot be. No chunk counts as compared any more.
pub(crate) fn give_up_target_log(target: &mut Connection) -> Result<(), Error> {
    target.query("START TRANSACTION").map_err(failed)?;
    unverify(target)?;
    target.query("DELETE FROM `_sealant`.`target_log`").map_err(failed)?;
    target.query("COMMIT").map(drop).map_err(failed)
}
