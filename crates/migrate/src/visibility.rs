//! Waits until everything before a barrier is visible to the next read of the source.

use std::time::{Duration, Instant};

use innodb::binlog::LogPosition;
use replication::gtid::mysql::GtidSet;
use server::{
    Connection,
    dialect::{
        backup_lock::UNLOCK_TABLES,
        statement::{OPEN_SNAPSHOT, lock_for_reading, set_lock_timeout},
    },
    quote,
};

use crate::{
    Error, Server, Side,
    barrier::Barrier,
    link::identity,
    moved_table::MovedTable,
    position::{self, ChangedRow, Position, Tracking, close_snapshot, open_snapshot},
    shared::{SETTLING, Shared},
};

/// Longest wait until delivered transactions are visible. It takes milliseconds.
const LONGEST: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(2);
/// How long tables may be in use until their lock is given up.
pub(crate) const LONGEST_LOCK_WAIT: Duration = LONGEST;
/// Longest wait of an attempt to lock tables.
const LOCK_WAIT: Duration = Duration::from_secs(1);
/// Pause between the attempts.
const LOCK_PAUSE: Duration = Duration::from_millis(500);

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
        Barrier::Snapshot(position) => wait_for_snapshot(source, shared, position).map(drop),
    }
}

/// Closes the snapshot of a read, if [`wait_until_visible`] has opened one.
pub(crate) fn end_read(source: &mut Connection, barrier: &Barrier) -> Result<(), Error> {
    if matches!(barrier, Barrier::Snapshot(_)) { close_snapshot(source) } else { Ok(()) }
}

/// Opens a snapshot at the position or after it, and not soon after a new log file: see [`open_snapshot`]. Returns its
/// position.
fn wait_for_snapshot(source: &mut Connection, shared: &Shared, position: &LogPosition) -> Result<LogPosition, Error> {
    let began = Instant::now();
    loop {
        let found = open_snapshot(source)?;
        let is_settled = shared.is_settled(&found.file);
        if found >= *position && is_settled {
            return Ok(found);
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

/// Opens a snapshot of tables on this connection, so that its position in the log is known exactly: the snapshot has all
/// changes of the tables before it, and no other ones. A snapshot of MariaDB tells its position. On MySQL the tables are
/// locked for reading meanwhile.
///
/// # Errors
/// [`Error::TableInUse`], [`Error::NotVisible`].
pub(crate) fn open_exact_snapshot(
    source: &mut Connection,
    server: &Server,
    shared: &Shared,
    tables: &[&MovedTable],
    patience: Duration,
) -> Result<Position, Error> {
    let begun = shared.lock().begun.clone();
    match begun.barrier() {
        Barrier::Snapshot(position) => {
            let log = wait_for_snapshot(source, shared, &position)?;
            return Ok(Position { log, ..Position::default() });
        }
        // With GTIDs, this server can be behind the one whose log is read.
        Barrier::Gtids(gtids) => wait_until_executed(source, shared, &gtids)?,
        Barrier::Row(_) => {}
    }
    with_table_locks(server, shared, tables, patience, |locked| {
        for sql in OPEN_SNAPSHOT {
            source.query(sql).map_err(Error::at(Side::Source))?;
        }
        if identity(source, Side::Source)? != identity(locked, Side::Source)? {
            return Err(Error::SeveralServers);
        }
        position::end(locked, shared.tracking)
    })
}

/// Calls `act` while read locks on tables of MySQL are held at the source: they are granted once every transaction that has
/// changed the tables is visible, and the log gets no change of the tables meanwhile.
///
/// # Errors
/// [`Error::TableInUse`], and those of `act`.
pub(crate) fn with_table_locks<T>(
    server: &Server,
    shared: &Shared,
    tables: &[&MovedTable],
    patience: Duration,
    act: impl FnOnce(&mut Connection) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut session = shared.source(server)?;
    session.query(&set_lock_timeout(LOCK_WAIT)).map_err(Error::at(Side::Source))?;
    let began = Instant::now();
    let lock = lock_for_reading(tables.iter().map(|table| table.quoted.as_str()));
    // Clients wait behind a lock that is waited for, so each attempt is short.
    while let Err(error) = session.query(&lock).map_err(Error::at(Side::Source)) {
        if !error.is_collision() {
            return Err(error);
        }
        if began.elapsed() > patience {
            let names: Vec<_> = tables.iter().map(|table| table.shown.as_str()).collect();
            return Err(Error::TableInUse { tables: names.join(", "), seconds: patience.as_secs() });
        }
        shared.sleep(LOCK_PAUSE)?;
    }
    let result = act(&mut session)?;
    session.query(UNLOCK_TABLES).map_err(Error::at(Side::Source))?;
    Ok(result)
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
