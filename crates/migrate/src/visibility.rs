//! Waits until everything before a barrier is visible to the next read of the source.

use std::time::{Duration, Instant};

use innodb::binlog::LogPosition;
use replication::gtid::mysql::GtidSet;
use server::{Connection, quote};

use crate::{
    Error, Side,
    barrier::Barrier,
    moved_table::MovedTable,
    position::{ChangedRow, Tracking, close_snapshot, open_snapshot},
    shared::{SETTLING, Shared},
};

/// Longest wait until delivered transactions are visible. It takes milliseconds.
const LONGEST: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(2);

/// Waits until everything before the barrier is visible to the next read of this connection. [`end_read`] has to follow
/// that read.
///
/// # Errors
/// [`Error::NotVisible`].
pub(crate) fn wait_until_visible(
    source: &mut Connection,
    shared: &Shared,
    tables: &[MovedTable],
    barrier: &Barrier,
) -> Result<(), Error> {
    match barrier {
        Barrier::Gtids(gtids) => wait_until_executed(source, shared, gtids),
        Barrier::Row(None) => Ok(()),
        Barrier::Row(Some(row)) => wait_for_row(source, shared, tables, row.clone()),
        Barrier::Snapshot(position) => wait_for_snapshot(source, shared, position),
    }
}

/// Closes the snapshot of a read, if [`wait_until_visible`] has opened one.
pub(crate) fn end_read(source: &mut Connection, barrier: &Barrier) -> Result<(), Error> {
    if matches!(barrier, Barrier::Snapshot(_)) { close_snapshot(source) } else { Ok(()) }
}

/// Opens a snapshot at the position or after it, and not soon after a new log file: see [`open_snapshot`].
fn wait_for_snapshot(source: &mut Connection, shared: &Shared, position: &LogPosition) -> Result<(), Error> {
    let began = Instant::now();
    loop {
        let found = open_snapshot(source)?;
        let is_settled = shared.is_settled(&found.file);
        if found >= *position && is_settled {
            return Ok(());
        }
        close_snapshot(source)?;
        if !is_settled {
            shared.sleep(SETTLING)?;
        }
        wait_on(shared, began)?;
    }
}

/// Takes note of the newest log file, so that later snapshots need not wait for it to settle.
pub(crate) fn note_log_file(source: &mut Connection, shared: &Shared) -> Result<(), Error> {
    if shared.tracking == Tracking::Snapshots {
        let found = open_snapshot(source)?;
        close_snapshot(source)?;
        shared.is_settled(&found.file);
    }
    Ok(())
}

fn wait_until_executed(source: &mut Connection, shared: &Shared, gtids: &GtidSet) -> Result<(), Error> {
    let began = Instant::now();
    let sql = format!("SELECT GTID_SUBSET({}, @@GLOBAL.gtid_executed)", quote::text(&gtids.to_string()));
    loop {
        let rows = source.query(&sql).map_err(Error::at(Side::Source))?;
        if rows.scalar() == Some("1") {
            return Ok(());
        }
        wait_on(shared, began)?;
    }
}

fn wait_for_row(
    source: &mut Connection,
    shared: &Shared,
    tables: &[MovedTable],
    mut row: ChangedRow,
) -> Result<(), Error> {
    let began = Instant::now();
    loop {
        let table = tables.get(row.table).ok_or(Error::State { what: "position" })?;
        match source.query(&table.lock(&row.key)) {
            Ok(_) => return Ok(()),
            // A later transaction may hold the row for long. A row of a newer transaction, if any, serves as well.
            Err(error) if error.is_collision() => {
                wait_on(shared, began)?;
                row = shared.lock().begun.row().cloned().unwrap_or(row);
            }
            Err(error) => return Err(Error::at(Side::Source)(error)),
        }
    }
}

fn wait_on(shared: &Shared, began: Instant) -> Result<(), Error> {
    if began.elapsed() > LONGEST {
        return Err(Error::NotVisible { seconds: LONGEST.as_secs() });
    }
    shared.sleep(POLL)
}
