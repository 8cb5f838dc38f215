//! Late writes: changes of moved tables at the source after the switch, which the target does not have.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use binlog::replica::{Replica, Start};
use innodb::binlog::LogPosition;

use crate::{
    CutOver, Error, Settings,
    active::{moved_tables, server_id},
    journal,
    link::{self, same_server},
    moved_table::MovedTable,
    state,
    stream::{lost, replica_settings},
    table_changes::TableChanges,
    xa::Prepared,
};

/// Pause before a lost source is connected to again.
const PAUSE: Duration = Duration::from_secs(1);

/// How [`watch_source`] has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchEnd {
    /// No moved table was changed at the source.
    Quiet,
    /// The caller has stopped it; nothing was changed until then.
    Stopped,
    /// The source could not be reached in the end, for this reason; nothing was changed until then.
    Unreachable(String),
}

/// Reads the source's log from the end that it had at the cut-over `done`.
struct Watch<'s> {
    settings: &'s Settings,
    tables: &'s [MovedTable],
    source_uuid: String,
    /// Everything before it was read.
    read: LogPosition,
    until: Instant,
    changes: TableChanges,
    prepared: Prepared,
}

/// After the cut-over `done`, watches the source's log for `time`.
///
/// # Errors
/// [`Error::LateWrite`] at the first change of a moved table, also one that was made before this call; and others.
pub fn watch_source(settings: &Settings, done: &CutOver, time: Duration) -> Result<WatchEnd, Error> {
    let tables = moved_tables(&settings.catalog.tables)?;
    let run = state::run(&mut link::target(&settings.target)?)?.ok_or(Error::NotBegun)?;
    let mut watch = Watch {
        settings,
        tables: &tables,
        source_uuid: run.source_uuid,
        read: done.source_end.parse().map_err(|_| Error::State { what: "source_end" })?,
        until: Instant::now().checked_add(time).unwrap_or_else(Instant::now),
        changes: TableChanges::default(),
        prepared: Prepared::default(),
    };
    loop {
        match watch.read() {
            Err(error) if error.is_transient() && watch.is_over() => {
                return Ok(WatchEnd::Unreachable(error.to_string()));
            }
            Err(error) if error.is_transient() && !settings.stopped() => sleep(PAUSE),
            Err(error) if error.is_transient() => return Ok(WatchEnd::Stopped),
            ended => return ended,
        }
    }
}

impl Watch<'_> {
    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    fn read(&mut self) -> Result<WatchEnd, Error> {
        let mut connection = link::stream(&self.settings.source).map_err(Error::Stream)?;
        same_server(&mut connection, &self.source_uuid)?;
        let start = Start::Position(self.read.clone());
        let mut replica = Replica::start(connection, &start, &replica_settings(server_id())).map_err(Error::Stream)?;
        self.changes = TableChanges::default();
        // Heartbeats end the wait for an event.
        while !self.is_over() {
            if self.settings.stopped() {
                return Ok(WatchEnd::Stopped);
            }
            self.next(&mut replica)?;
        }
        Ok(WatchEnd::Quiet)
    }

    fn next(&mut self, replica: &mut Replica) -> Result<(), Error> {
        let Some(event) = replica.next_event().map_err(Error::Stream)? else { return Err(Error::Stream(lost())) };
        let noted = self.changes.note(&event, self.tables, &mut self.prepared);
        let progress = replica.progress();
        noted.map_err(|fault| {
            let LogPosition { file, offset } = progress.position.clone();
            Error::Stream(binlog::Error::Stream { file, position: offset, fault })
        })?;
        if !progress.is_between_transactions() {
            return Ok(());
        }
        self.read.clone_from(&progress.boundary);
        let found = std::mem::take(&mut self.changes);
        if found.concerns_us() { Err(self.late_write(&found)?) } else { Ok(()) }
    }

    /// Records a late write for the proof. Returns the error that names it.
    fn late_write(&self, found: &TableChanges) -> Result<Error, Error> {
        let (table, position) = (found.names(self.tables), self.read.to_string());
        let mut target = link::target(&self.settings.target)?;
        journal::note(&mut target, "late-write", &format!("{table} at {position} of the source's log"))?;
        Ok(Error::LateWrite { table, position })
    }
}
