//! Follows the target's own log, to see whether somebody else changes the moved tables there.
//!
//! Every transaction of a migration that changes rows also changes the state, so a transaction that changes only rows is
//! not one of a migration. The account needs REPLICATION SLAVE and REPLICATION CLIENT at the target. Without them, or
//! without a log, foreign writes are found only where rows differ, and a cut-over compares every row again.

use std::time::Instant;

use binlog::{
    Body, Error as StreamError,
    replica::{Replica, Start},
};
use innodb::binlog::LogPosition;
use server::Connection;

use crate::{
    Error, Server, Side, journal, link,
    log_access::is_whole,
    log_file::{LogFile, oldest, start_of},
    moved_table::MovedTable,
    position::log_end_at,
    shared::{RunState, Shared},
    state,
    stream::{STORE_POSITION, damaged, idle_position, replica_settings},
    table_changes::TableChanges,
    xa::Prepared,
};

/// Gives up a part of the log that cannot be read: every row has to be compared again, and the log is read from its
/// present end on.
pub(crate) fn forget(target: &mut Connection, shared: &Shared) -> Result<(), Error> {
    let end = log_end_at(target, Side::Target)?;
    state::unverify(target)?;
    shared.update(RunState::forget_comparisons);
    state::store_target_log(target, &end, 0)?;
    journal::note(target, "target-log-gone", "every row is compared again")
}

/// Whether the target's log still has this file, or has purged it.
pub(crate) fn is_kept(
    known: &LogFile,
    target: &mut Connection,
    server: &Server,
    server_id: u32,
) -> Result<bool, Error> {
    let stream = link::stream(server).map_err(Error::at_target)?;
    known.is_kept(target, stream, &replica_settings(server_id)).map_err(Error::at_target)
}

/// Reads the target's log, in a thread of its own.
pub(crate) struct TargetLog<'m> {
    replica: Replica,
    shared: &'m Shared,
    tables: &'m [MovedTable],
    /// Stores what is found.
    target: Connection,
    changes: TableChanges,
    /// Prepared XA transactions that changed only other tables.
    prepared: Prepared,
    stored: Instant,
}

impl<'m> TargetLog<'m> {
    /// Opens the log where the last process has left it; `None` if this migration does not read it. If that part is
    /// gone, every row has to be compared again.
    ///
    /// # Errors
    /// [`Error`].
    pub(crate) fn open(
        server: &Server,
        shared: &'m Shared,
        tables: &'m [MovedTable],
        server_id: u32,
    ) -> Result<Option<Self>, Error> {
        let mut target = link::target(server)?;
        let Some((known, stored)) = state::target_log(&mut target)? else { return Ok(None) };
        if !is_whole(&mut target)? {
            state::give_up_target_log(&mut target)?;
            shared.update(RunState::forget_comparisons);
            journal::note(
                &mut target,
                "target-log-off",
                "every row is compared again, and the log is not read any more",
            )?;
            return Ok(None);
        }
        let connect = |from: &LogPosition| {
            let connection = link::stream(server).map_err(Error::at_target)?;
            Replica::start(connection, &Start::Position(from.clone()), &replica_settings(server_id))
                .map_err(Error::at_target)
        };
        let end = log_end_at(&mut target, Side::Target)?;
        let is_gone = known.server_uuid != link::identity(&mut target, Side::Target)?
            || end < stored
            || oldest(&mut target).map_err(Error::at(Side::Target))?
                > LogPosition { offset: u64::MAX, ..stored.clone() }
            || (known.created != 0 && !is_kept(&known, &mut target, server, server_id)?);
        let from = if is_gone { end } else { stored };
        if is_gone {
            forget(&mut target, shared)?;
        }
        let replica = connect(&from)?;
        shared.update(|state| state.target_log = Some(from));
        let (changes, prepared) = (TableChanges::default(), Prepared::default());
        Ok(Some(Self { replica, shared, tables, target, changes, prepared, stored: Instant::now() }))
    }

    /// Reads until the run ends, or others may write to the target.
    ///
    /// # Errors
    /// [`Error::TargetWritten`] and others.
    pub(crate) fn follow(&mut self) -> Result<(), Error> {
        while self.shared.lock().reads_target_log() {
            let Self { replica, changes, prepared, tables, .. } = self;
            let event = match replica.next_event() {
                Ok(Some(event)) => event,
                Ok(None) => {
                    return Err(Error::at(Side::Target)(server::Error::Lost { phase: server::Phase::BinaryLog }));
                }
                Err(error) => return Err(Error::at_target(error)),
            };
            let idle = idle_position(&event);
            let created = matches!(event.body, Body::FormatDescription(_)).then_some(event.header.timestamp);
            let noted = changes.note(&event, tables, prepared);
            let progress = replica.progress();
            noted.map_err(|fault| Error::TargetLog(damaged(progress, fault)))?;
            if let Some(created) = created {
                let file = progress.position.file.clone();
                self.begin_file(file, created)?;
            } else if progress.is_between_transactions() {
                let at = idle.unwrap_or_else(|| progress.position.clone());
                self.judge(at)?;
            }
        }
        Ok(())
    }

    /// Stores which file is read from now on: everything before it was judged.
    fn begin_file(&mut self, file: String, created: u32) -> Result<(), Error> {
        let Some(read) = self.shared.lock().target_log.clone() else { return Ok(()) };
        let from = if read.file == file { read } else { start_of(&file) };
        state::store_target_log(&mut self.target, &from, created)?;
        let server_uuid = link::identity(&mut self.target, Side::Target)?;
        self.shared.update(|state| state.target_file = Some(LogFile { server_uuid, file, created }));
        Ok(())
    }

    /// Judges a whole transaction. Unless it is ours, every row has to be compared again.
    fn judge(&mut self, end: LogPosition) -> Result<(), Error> {
        let found = std::mem::take(&mut self.changes);
        // Not known yet at the start of a file.
        let created = self.shared.lock().target_file.as_ref().filter(|it| it.file == end.file).map(|it| it.created);
        if !found.is_foreign() {
            if let Some(created) = created.filter(|_| self.stored.elapsed() > STORE_POSITION) {
                state::store_target_log(&mut self.target, &end, created)?;
                self.stored = Instant::now();
            }
            self.shared.update(|state| {
                if let Some(read) = &mut state.target_log {
                    *read = end;
                }
            });
            return Ok(());
        }
        if !self.shared.update(RunState::end_for_foreign_write) {
            return Ok(());
        }
        state::foreign_write(&mut self.target, &end, created.unwrap_or(0))?;
        let table = found.names(self.tables);
        let position = end.to_string();
        journal::note(&mut self.target, "foreign-write", &format!("{table} at {position} of the target's log"))?;
        Err(Error::TargetWritten { table, position })
    }
}

impl Error {
    /// An error of the target's log.
    fn at_target(error: StreamError) -> Self {
        match error {
            StreamError::Server(error) => Self::Server { side: Side::Target, error },
            error => Self::TargetLog(error),
        }
    }
}
