//! What the threads of a run share: the chunk maps of the tables, and how far the stream is.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use binlog::replica::Settings;
use innodb::binlog::LogPosition;
use server::Connection;

use crate::{
    Error, Server,
    barrier::{Barrier, Begun},
    changed_rows::{ChangedRows, ChunkId},
    chunk_map::{ChangeDecision, ChunkMap, Copied, LoadedChunk, State},
    key::Key,
    link::{self, same_server},
    log_file::LogFile,
    moved_table::MovedTable,
    position::{self, Position, Tracking},
    server_lock::{self, one_server_lock, source_lock},
    state::Run,
};

/// How long after a new log file of MariaDB a snapshot may lack transactions of the file before. A commit in the engine
/// takes milliseconds once it is logged.
pub(crate) const SETTLING: Duration = Duration::from_secs(1);
/// How long a waiting thread sleeps before it looks whether the run has ended.
const POLL: Duration = Duration::from_millis(100);

/// A range that is being compared, and whether it has changed meanwhile.
#[derive(Debug)]
struct Probe {
    number: u64,
    table: usize,
    after: Option<Key>,
    upto: Option<Key>,
    touched: bool,
}

impl Probe {
    fn has(&self, table: usize, key: &Key) -> bool {
        let after = self.after.as_ref().is_none_or(|after| key > after);
        self.table == table && after && self.upto.as_ref().is_none_or(|upto| key <= upto)
    }
}

/// State of a run in memory.
#[derive(Debug)]
pub(crate) struct RunState {
    /// The chunks of each table, by its number.
    pub(crate) chunk_maps: Vec<ChunkMap<Key>>,
    /// The snapshots from which tables were copied whole. A table without one was not copied from this source.
    pub(crate) snapshots: HashMap<usize, Position>,
    /// Chunks that were equal and have not changed since then, by table and number.
    pub(crate) watched: HashSet<ChunkId>,
    /// Rows that have changed since their chunks were equal.
    pub(crate) changed_rows: ChangedRows,
    /// Transactions that the stream has begun to deliver.
    pub(crate) begun: Begun,
    /// The log file of the newest snapshot of MariaDB, and when the first snapshot in it was taken.
    snapshot_file: Option<(String, Instant)>,
    /// Position up to which the stream has delivered the log.
    pub(crate) delivered: LogPosition,
    /// The newest end of the source's log that was read from the source.
    pub(crate) seen_end: Position,
    /// The newest file of the source's log that was read.
    pub(crate) log_file: Option<LogFile>,
    /// How far the target's log was read; `None` if it is not read.
    pub(crate) target_log: Option<LogPosition>,
    /// The newest file of the target's log that was read.
    pub(crate) target_file: Option<LogFile>,
    /// Transactions that the target has.
    pub(crate) applied: Position,
    /// Number of changed rows that were applied.
    pub(crate) applied_rows: u64,
    /// Commit time of the newest transaction that was applied, in seconds since 1970.
    pub(crate) applied_time: u32,
    /// What was copied of each table, including by earlier processes.
    pub(crate) copied: Vec<Copied>,
    /// What was loaded of the tables that are being copied whole, and is not committed yet.
    pub(crate) loading: HashMap<usize, Copied>,
    /// What this process has copied.
    pub(crate) copied_now: Copied,
    /// Completed tables, until they are reported.
    pub(crate) completed: Vec<usize>,
    /// Names of tables that were in use when they were to be copied, until they are reported.
    pub(crate) in_use: Vec<String>,
    /// How long readers have waited for loaders, and loaders for readers.
    pub(crate) waits: [Duration; 2],
    /// Whether a thread is waiting for a change that is not applied yet.
    pub(crate) flush_wanted: bool,
    /// Whether the log has shown that the source may have more tables than when they were last listed.
    pub(crate) may_have_new_tables: bool,
    probes: Vec<Probe>,
    next_probe: u64,
    ended: bool,
    failure: Option<Error>,
}

impl RunState {
    /// Notes that a chunk was loaded: from now on its changes are applied.
    pub(crate) fn loaded(&mut self, table: usize, chunk: u64, content: Copied) {
        self.add_copied(table, content);
        if let Some(map) = self.chunk_maps.get_mut(table) {
            map.set(chunk, State::Loaded);
            if map.is_complete() {
                self.completed.push(table);
            }
        }
    }

    /// Notes that a table was copied whole, from a snapshot at this position.
    pub(crate) fn loaded_whole(&mut self, table: usize, chunks: Vec<LoadedChunk>, snapshot: Position) {
        self.loading.remove(&table);
        let (chunks, sizes): (Vec<_>, Vec<_>) = chunks.into_iter().unzip();
        sizes.into_iter().for_each(|size| self.add_copied(table, size));
        if let Some(map) = self.chunk_maps.get_mut(table) {
            *map = ChunkMap::resumed(chunks);
        }
        self.snapshots.insert(table, snapshot);
        self.completed.push(table);
    }

    fn add_copied(&mut self, table: usize, content: Copied) {
        if let Some(copied) = self.copied.get_mut(table) {
            copied.add(content);
        }
        self.copied_now.add(content);
    }

    /// Whether a change of one of these rows waits for a chunk in flight.
    pub(crate) fn holds(&self, table: usize, keys: &[Key]) -> bool {
        let map = self.chunk_maps.get(table);
        map.is_some_and(|map| keys.iter().any(|key| map.verdict(key) == ChangeDecision::Hold))
    }

    /// Marks all tables of a group as in flight, each of them as one chunk.
    pub(crate) fn begin_whole(&mut self, group: &[usize]) {
        for number in group {
            let Some(map) = self.chunk_maps.get_mut(*number) else { continue };
            if map.chunks().is_empty() {
                map.extend(None);
            }
            if let Some(chunk) = map.waiting().map(|chunk| chunk.number) {
                map.set(chunk, State::InFlight);
            }
        }
    }

    /// Gives back tables of a group that were not copied.
    pub(crate) fn give_back(&mut self, group: &[usize]) {
        for number in group {
            let Some(map) = self.chunk_maps.get_mut(*number) else { continue };
            if let Some(chunk) = map.chunks().first().map(|chunk| chunk.number) {
                map.set(chunk, State::Waiting);
            }
        }
    }

    /// The tables that were completed since the last call.
    pub(crate) fn take_completed(&mut self) -> Vec<(usize, Copied)> {
        let copied = |number: usize| self.copied.get(number).copied().unwrap_or_default();
        let completed = self.completed.iter().map(|number| (*number, copied(*number))).collect();
        self.completed.clear();
        completed
    }

    /// Adds the time for which a reader has waited for loaders, or a loader for readers.
    pub(crate) fn note_wait(&mut self, reader: bool, time: Duration) {
        let [readers, loaders] = &mut self.waits;
        let waits = if reader { readers } else { loaders };
        *waits = waits.saturating_add(time);
    }

    /// Begins to watch a range for changes. Returns the number of the probe.
    pub(crate) fn begin_probe(&mut self, table: usize, after: &Option<Key>, upto: &Option<Key>) -> u64 {
        let number = self.next_probe;
        self.next_probe = number.saturating_add(1);
        self.probes.push(Probe { number, table, after: after.clone(), upto: upto.clone(), touched: false });
        number
    }

    /// Ends a probe. Returns whether nothing has changed in its range.
    pub(crate) fn end_probe(&mut self, number: u64) -> bool {
        let at = self.probes.iter().position(|probe| probe.number == number);
        at.is_some_and(|at| !self.probes.swap_remove(at).touched)
    }

    /// Ends the run for a foreign write, unless others may write to the target by now. Returns whether it has.
    pub(crate) const fn end_for_foreign_write(&mut self) -> bool {
        let is_judged = self.target_log.is_some();
        self.ended |= is_judged;
        is_judged
    }

    pub(crate) const fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether the target's log still has to be read.
    pub(crate) const fn reads_target_log(&self) -> bool {
        !self.ended && self.target_log.is_some()
    }

    /// Requests that the batch is applied at once, if `is_there` is false.
    const fn wants(&mut self, is_there: bool) -> Option<()> {
        self.flush_wanted |= !is_there;
        if is_there { Some(()) } else { None }
    }

    /// Notes that rows of a table may have changed. Adds its chunks that are watched to `touched`.
    pub(crate) fn touch_all(&mut self, table: usize, touched: &mut Vec<(usize, u64)>) {
        self.probes.iter_mut().filter(|probe| probe.table == table).for_each(|probe| probe.touched = true);
        touched.extend(self.watched.extract_if(|(number, _)| *number == table));
        self.changed_rows.forget_table(table);
    }

    /// Notes a change of a row that is at the target.
    fn touch(&mut self, table: usize, key: &Key, chunk: u64, touched: &mut Vec<(usize, u64)>) {
        self.probes.iter_mut().filter(|probe| probe.has(table, key)).for_each(|probe| probe.touched = true);
        let chunk = (table, chunk);
        if self.watched.remove(&chunk) {
            touched.push(chunk);
            if !key.is_empty() {
                self.changed_rows.begin(chunk);
            }
        }
        self.changed_rows.note(chunk, key);
    }

    /// Notes that every row of a chunk is equal, and that it has not changed meanwhile.
    pub(crate) fn watch(&mut self, chunk: ChunkId) {
        self.changed_rows.forget(chunk);
        self.watched.insert(chunk);
    }

    /// Notes that changed rows of a chunk are equal, except those that have changed again after `since`. Returns whether
    /// the whole chunk is equal by that; it is watched from then on.
    pub(crate) fn settle(&mut self, chunk: ChunkId, keys: &[Key], since: u64) -> bool {
        let is_equal = self.changed_rows.settle(chunk, keys, since);
        if is_equal {
            self.watched.insert(chunk);
        }
        is_equal
    }

    /// Lets every row be compared again.
    pub(crate) fn forget_comparisons(&mut self) {
        self.watched.clear();
        self.changed_rows.forget_all();
    }
}

/// [`RunState`] behind a lock, with what does not change during a run.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Number of this process among all processes of the migration.
    pub(crate) epoch: u64,
    pub(crate) tracking: Tracking,
    /// The source's identity.
    source_uuid: String,
    /// The migration's random text, which its state has.
    pub(crate) token: String,
    /// The end of the source's log when the migration began. The file is empty if there are no earlier changes to skip.
    pub(crate) old_until: LogPosition,
    state: Mutex<RunState>,
    changed: Condvar,
}

impl Shared {
    pub(crate) fn new(
        epoch: u64,
        run: &Run,
        chunk_maps: Vec<ChunkMap<Key>>,
        snapshots: HashMap<usize, Position>,
        watched: HashSet<ChunkId>,
        copied: Vec<Copied>,
        start: Position,
    ) -> Self {
        // With GTIDs, another server may answer now. The file of the stored position does not exist there.
        let tracking = run.tracking;
        let log = if tracking == Tracking::Gtids { LogPosition::default() } else { start.log.clone() };
        let state = RunState {
            chunk_maps,
            snapshots,
            watched,
            changed_rows: ChangedRows::default(),
            begun: Begun::new(tracking, &start),
            snapshot_file: None,
            delivered: log.clone(),
            seen_end: Position::default(),
            log_file: None,
            target_log: None,
            target_file: None,
            applied: Position { log, ..start },
            applied_rows: 0,
            applied_time: 0,
            copied,
            loading: HashMap::new(),
            copied_now: Copied::default(),
            completed: Vec::new(),
            in_use: Vec::new(),
            waits: [Duration::ZERO; 2],
            flush_wanted: false,
            // They were not listed by this process.
            may_have_new_tables: true,
            probes: Vec::new(),
            next_probe: 0,
            ended: false,
            failure: None,
        };
        let (source_uuid, token, old_until) = (run.source_uuid.clone(), run.token.clone(), run.old_until.clone());
        Self { epoch, tracking, source_uuid, token, old_until, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// A connection that reads from the source.
    ///
    /// # Errors
    /// [`Error::OtherServer`] if another server answers: the barrier does not hold for its rows.
    pub(crate) fn source(&self, server: &Server) -> Result<Connection, Error> {
        let mut source = link::source(server)?;
        self.require_source(&mut source)?;
        Ok(source)
    }

    /// Without GTIDs, checks that this server is the one whose log positions are recorded.
    pub(crate) fn require_source(&self, source: &mut Connection) -> Result<(), Error> {
        if self.tracking == Tracking::Gtids {
            return Ok(());
        }
        same_server(source, &self.source_uuid)?;
        self.require_lock(source)
    }

    /// Checks that this connection reaches the server at which this process holds its lock.
    ///
    /// # Errors
    /// [`Error::SeveralServers`].
    pub(crate) fn require_lock(&self, source: &mut Connection) -> Result<(), Error> {
        server_lock::require(source, &source_lock(&self.token))
    }

    /// The end of the source's log. It never moves back, unless the log was reset.
    ///
    /// # Errors
    /// [`Error::LogReset`].
    pub(crate) fn source_end(&self, source: &mut Connection) -> Result<Position, Error> {
        let before = self.lock().seen_end.clone();
        let end = position::end(source, self.tracking)?;
        if !end.covers(&before, self.tracking) {
            let file = self.lock().log_file.as_ref().map(|known| known.file.clone());
            return Err(Error::LogReset { file: file.unwrap_or_else(|| "its newest file".to_owned()) });
        }
        let mut state = self.lock();
        if end.covers(&state.seen_end, self.tracking) {
            state.seen_end.clone_from(&end);
        }
        Ok(end)
    }

    /// Checks that the source's log is still the one that was read.
    ///
    /// # Errors
    /// [`Error::LogReset`].
    pub(crate) fn check_log(&self, source: &Server, settings: &Settings) -> Result<(), Error> {
        let known = self.lock().log_file.clone();
        let lock = one_server_lock(self.tracking, &self.token);
        known.map_or(Ok(()), |known| known.check(source, lock.as_deref(), settings))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, RunState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and wakes the threads that wait for a change.
    pub(crate) fn update<T>(&self, change: impl FnOnce(&mut RunState) -> T) -> T {
        let result = change(&mut self.lock());
        self.changed.notify_all();
        result
    }

    /// Waits until `found` returns a value.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the run ends before that.
    pub(crate) fn wait<T>(&self, mut found: impl FnMut(&mut RunState) -> Option<T>) -> Result<T, Error> {
        let mut state = self.lock();
        loop {
            if state.ended {
                return Err(Error::Stopped);
            }
            if let Some(found) = found(&mut state) {
                return Ok(found);
            }
            state = self.changed.wait_timeout(state, POLL).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether to apply a change of a row. Waits while its chunk is in flight. If the row's chunk is watched, adds the
    /// chunk to `touched`.
    pub(crate) fn admit(&self, table: usize, key: &Key, touched: &mut Vec<(usize, u64)>) -> Result<bool, Error> {
        self.wait(|state| {
            let map = state.chunk_maps.get(table)?;
            match map.verdict(key) {
                ChangeDecision::Hold => None,
                ChangeDecision::Drop => {
                    state.begun.note(table, key);
                    Some(false)
                }
                ChangeDecision::Apply => {
                    let chunk = map.chunk_of(key)?.number;
                    state.begun.note(table, key);
                    state.touch(table, key, chunk, touched);
                    Some(true)
                }
            }
        })
    }

    /// As [`Self::admit`], for a table that is copied whole: a change of the rows with these keys is applied unless the
    /// snapshot from which the table was copied has it.
    pub(crate) fn admit_once(
        &self,
        table: &MovedTable,
        keys: &[Key],
        transaction: &Position,
        cascade: &[usize],
        touched: &mut Vec<(usize, u64)>,
    ) -> Result<bool, Error> {
        let number = table.number;
        self.wait(|state| {
            let map = state.chunk_maps.get(number)?;
            let decisions: Vec<_> = keys.iter().map(|key| map.verdict(key)).collect();
            let chunks: Vec<_> = keys.iter().filter_map(|key| Some((key, map.chunk_of(key)?.number))).collect();
            if decisions.contains(&ChangeDecision::Hold) {
                return None;
            }
            if let Some(key) = keys.first().filter(|_| table.has_key()) {
                state.begun.note(number, key);
            }
            let copied = state.snapshots.get(&number).is_some_and(|it| it.has(transaction, self.tracking));
            if copied || decisions.contains(&ChangeDecision::Drop) {
                return Some(false);
            }
            chunks.into_iter().for_each(|(key, chunk)| state.touch(number, key, chunk, touched));
            cascade.iter().for_each(|changed| state.touch_all(*changed, touched));
            Some(true)
        })
    }

    /// Waits until the target has everything before a position.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the run ends before that, or the caller sets `stop`.
    pub(crate) fn wait_applied(&self, position: &Position, stop: &AtomicBool) -> Result<(), Error> {
        self.wait(|state| {
            if stop.load(Ordering::Relaxed) {
                return Some(Err(Error::Stopped));
            }
            state.wants(state.applied.covers(position, self.tracking)).map(Ok)
        })?
    }

    /// Waits at most `time` until the target has everything before a position. Returns whether it has.
    pub(crate) fn is_applied_within(&self, position: &Position, time: Duration) -> Result<bool, Error> {
        let began = Instant::now();
        self.wait(|state| {
            let applied = state.wants(state.applied.covers(position, self.tracking)).is_some();
            (applied || began.elapsed() >= time).then_some(applied)
        })
    }

    /// Waits until the target has every transaction that the stream has begun to deliver. Returns the barrier that
    /// makes them visible at the source.
    pub(crate) fn wait_begun_applied(&self) -> Result<Barrier, Error> {
        let begun = self.lock().begun.clone();
        self.wait(|state| state.wants(begun.is_applied(&state.applied)))?;
        Ok(begun.barrier())
    }

    /// Whether a snapshot whose position is in this file has every transaction of earlier files: an earlier snapshot was
    /// in this file, long enough ago.
    pub(crate) fn is_settled(&self, file: &str) -> bool {
        let mut state = self.lock();
        match &state.snapshot_file {
            Some((known, since)) if known == file => since.elapsed() >= SETTLING,
            _ => {
                state.snapshot_file = Some((file.to_owned(), Instant::now()));
                false
            }
        }
    }

    /// Sleeps; ends early if the run ends.
    pub(crate) fn sleep(&self, time: Duration) -> Result<(), Error> {
        let until = Instant::now().checked_add(time).unwrap_or_else(Instant::now);
        let mut state = self.lock();
        loop {
            if state.ended {
                return Err(Error::Stopped);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.lock().ended
    }

    /// Ends all threads.
    pub(crate) fn end(&self) {
        self.update(|state| state.ended = true);
    }

    /// Ends all threads because one of them failed. The first failure is kept, unless it may be gone at the next attempt
    /// and a later one is not.
    pub(crate) fn fail(&self, error: Error) {
        self.update(|state| {
            state.ended = true;
            if !matches!(error, Error::Stopped) {
                let is_kept = state.failure.as_ref().is_some_and(|first| !first.is_transient() || error.is_transient());
                if !is_kept {
                    state.failure = Some(error);
                }
            }
        });
    }

    /// Runs the work of a thread. If it fails, all threads end.
    pub(crate) fn watched(&self, work: impl FnOnce() -> Result<(), Error>) {
        if let Err(error) = work() {
            self.fail(error);
        }
    }

    /// Why the run ended, if a thread failed.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.lock().failure.take()
    }
}
