//! Late writes: changes of moved tables at the source after the switch, which the target does not have.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use binlog::{
    Body,
    replica::{Replica, Start},
};
use innodb::binlog::LogPosition;

use crate::{
    CutOver, Error, Settings,
    active::server_id,
    fence::Former,
    journal,
    link::{self, same_server},
    log_file::LogFile,
    moved_table::{MovedTable, moved_tables},
    position::log_end,
    state,
    stream::{damaged, idle_position, lost, replica_settings},
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
    /// The caller has stopped it; nothing was changed in what was read until then.
    Stopped,
    /// The source could not be reached in the end, for this reason; nothing was changed in what was read until then.
    Unreachable(String),
}

/// Reads the source's log from the end that it had at the cut-over.
struct Watch<'s> {
    settings: &'s Settings,
    tables: &'s [MovedTable],
    source_uuid: String,
    /// Everything before it was read. A stream can begin here.
    read: LogPosition,
    /// The newest file that was read.
    file: Option<LogFile>,
    until: Instant,
    prepared: Prepared,
}

/// After the cut-over `done`, watches the source's log for `time`.
///
/// # Errors
/// [`Error::LateWrite`] at the first change of a moved table, also one that was made before this call;
/// [`Error::NotReady`] if the source is kept ready for a fallback; and others.
pub fn watch_source(settings: &Settings, done: &CutOver, time: Duration) -> Result<WatchEnd, Error> {
    let tables = moved_tables(&settings.catalog, true)?;
    let mut target = link::target(&settings.target)?;
    let run = state::run(&mut target)?.ok_or(Error::NotBegun)?;
    state::compare_tables(&mut target, &tables)?;
    drop(target);
    if run.fallback > 0 {
        let what = "its source is kept ready for a fallback, which watches it (--fallback)".to_owned();
        return Err(Error::NotReady { what });
    }
    // With GTIDs, the source of the cut-over can be another server than that of the beginning.
    let fenced = Former::parse(&run.fence).map(|former| former.server_uuid).filter(|uuid| !uuid.is_empty());
    let mut watch = Watch {
        settings,
        tables: &tables,
        source_uuid: fenced.unwrap_or(run.source_uuid),
        read: done.source_end.parse().map_err(|_| Error::State { what: "source_end" })?,
        file: None,
        until: Instant::now().checked_add(time).unwrap_or_else(Instant::now),
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

    /// Reads until the time is over, and then up to the end that the log has.
    fn read(&mut self) -> Result<WatchEnd, Error> {
        self.check_log()?;
        let mut connection = link::stream(&self.settings.source).map_err(Error::Stream)?;
        same_server(&mut connection, &self.source_uuid)?;
        let start = Start::Position(self.read.clone());
        let mut replica = Replica::start(connection, &start, &replica_settings(server_id())).map_err(Error::Stream)?;
        let mut changes = TableChanges::default();
        let mut end = None;
        // Heartbeats end the wait for an event.
        loop {
            if self.settings.stopped() {
                return Ok(WatchEnd::Stopped);
            }
            let delivered = self.next(&mut replica, &mut changes)?;
            if end.is_none() && self.is_over() {
                let mut source = link::source(&self.settings.source)?;
                same_server(&mut source, &self.source_uuid)?;
                end = Some(log_end(&mut source)?);
            }
            if end.as_ref().is_some_and(|end| delivered >= *end) {
                self.check_log()?;
                return Ok(WatchEnd::Quiet);
            }
        }
    }

    /// Checks that the log was not removed and begun anew: the stream would wait, without an error.
    fn check_log(&self) -> Result<(), Error> {
        let check = |file: &LogFile| file.check(&self.settings.source, None, &replica_settings(server_id()));
        self.file.as_ref().map_or(Ok(()), check)
    }

    /// Reads an event. Returns the position up to which the log was delivered.
    fn next(&mut self, replica: &mut Replica, changes: &mut TableChanges) -> Result<LogPosition, Error> {
        let Some(event) = replica.next_event().map_err(Error::Stream)? else { return Err(Error::Stream(lost())) };
        let noted = changes.note(&event, self.tables, &mut self.prepared);
        let created = matches!(event.body, Body::FormatDescription(_)).then_some(event.header.timestamp);
        let idle = idle_position(&event);
        let progress = replica.progress();
        noted.map_err(|fault| Error::Stream(damaged(progress, fault)))?;
        if let Some(created) = created {
            let (server_uuid, file) = (self.source_uuid.clone(), progress.position.file.clone());
            self.file = Some(LogFile { server_uuid, file, created });
        }
        if !progress.is_between_transactions() {
            return Ok(self.read.clone());
        }
        let found = std::mem::take(changes);
        if found.is_foreign() {
            return Err(self.late_write(&found, &progress.boundary));
        }
        self.read.clone_from(&progress.boundary);
        Ok(idle.unwrap_or_else(|| self.read.clone()))
    }

    /// The error that names a late write, which is also noted for the proof, if that is possible.
    fn late_write(&self, found: &TableChanges, end: &LogPosition) -> Error {
        let (table, position) = (found.names(self.tables), end.to_string());
        let detail = format!("{table} at {position} of the source's log");
        let noted = link::target(&self.settings.target)
            .and_then(|mut target| journal::note(&mut target, "late-write", &detail));
        drop(noted);
        Error::LateWrite { table, position }
    }
}
