//! A migration in progress: both locks are held, the state is read, and the stream follows the source.

use std::{
    collections::HashSet,
    thread,
    time::{Duration, Instant},
};

use binlog::value::WholeDoubles;
use server::{Connection, dialect::statement::replication_threads};

use crate::{
    Error, Event, Phase, Progress, Side, Work,
    chunk_map::{Chunk, ChunkMap, Copied},
    definitions, journal,
    key::Key,
    link::{self, identity, variable},
    moved_table::{MovedTable, moved_tables},
    new_tables::NewTables,
    position::{self, Position, Tracking},
    preflight::{self, LOGS_REPLICATED, Link, NATIVE_FOREIGN_KEYS, ROW_SETTINGS, Transport},
    progress::{self, Pace, Sample},
    random::random,
    server_lock::{self, LOCK, is_one_server, one_server_lock, source_lock},
    settings::Settings,
    shared::{RunState, Shared},
    state,
    stream::{Follower, replica_settings},
    target_encryption::TargetEncryption,
    target_log::{self, TargetLog},
    visibility::{end_read, note_log_file, wait_until_visible},
    weights::Weights,
};

/// Time between heartbeats, and between reports of progress.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// Bytes that are read for a row alone: a page of its table.
const ROW_BYTES: u64 = 16 << 10;
/// Pause between checks for progress and for a request to stop.
const POLL: Duration = Duration::from_millis(20);

/// A migration in progress, as `body` of [`with_stream`] gets it.
pub(crate) struct Active<'m> {
    pub(crate) settings: &'m Settings,
    pub(crate) shared: &'m Shared,
    pub(crate) tables: &'m [MovedTable],
    /// Holds the lock at the source.
    pub(crate) source: Connection,
    /// Holds the lock at the target.
    pub(crate) target: Connection,
    pub(crate) phase: Phase,
    /// What the target encrypts beside the tables; `None` if that is not judged.
    encryption: Option<TargetEncryption>,
    /// Whether the source's log lacks what the source applies of other servers.
    omits_replicated: bool,
    work: Work,
    pace: Pace,
    beaten: Instant,
    /// The tables of the source that are not moved.
    pub(crate) new_tables: NewTables,
}

/// Opens the migration, follows the source while `body` works, and ends.
///
/// # Errors
/// Those of `body` and of the stream, whichever came first.
pub(crate) fn with_stream<T>(
    settings: &Settings,
    may_begin: bool,
    body: impl FnOnce(&mut Active<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let (mut source, mut target) = (link::source(&settings.source)?, link::target(&settings.target)?);
    lock_target(&mut target)?;
    if is_one_server(&mut source, &mut target)? {
        return Err(Error::OneServer);
    }
    let source_uuid = identity(&mut source, Side::Source)?;
    // Checked before the first row is sent to the target.
    definitions::check_encryption(settings)?;
    let earlier = state::run(&mut target)?;
    let encryption = TargetEncryption::open(settings, earlier.is_some(), &mut source, &mut target)?;
    // A source that is set otherwise meanwhile does not change how the tables are copied: each change says whether its
    // cascades are logged.
    let logs_cascades = match &earlier {
        Some(run) => run.logs_cascades,
        None => logs_cascades(&mut source)?,
    };
    let mut tables = moved_tables(&settings.catalog, logs_cascades)?;
    let json_is_text = target.greeting().is_mariadb();
    tables.iter_mut().for_each(|table| table.json_is_text = json_is_text);
    let run = match earlier {
        // After the switch the target has writes of its own, which the source's changes would overwrite.
        Some(run) if run.phase == Phase::Switched => return Err(Error::Switched),
        Some(run) => {
            state::require_whole(&mut target)?;
            server_lock::take(&mut source, Side::Source, &source_lock(&run.token))?;
            resumed(settings, run, &mut source, &mut target, &tables, &source_uuid)?
        }
        None if may_begin => {
            let run = begun(settings, &mut source, &mut target, &tables, (logs_cascades, &source_uuid))?;
            server_lock::take(&mut source, Side::Source, &source_lock(&run.token))?;
            run
        }
        None => return Err(Error::NotBegun),
    };
    let phase = run.phase;
    let omits_replicated = omits_replicated(&mut source)?;
    if omits_replicated && let Err(error) = nothing_is_replicated(&mut source) {
        state::unverify(&mut target)?;
        return Err(error);
    }
    journal::note(&mut target, journal::OPENED, &opened(settings, &source))?;
    if let Some(evidence) = encryption.as_ref().and_then(TargetEncryption::storage) {
        journal::note(&mut target, journal::STORAGE, evidence)?;
    }
    let shared = read_state(settings, &run, &mut source, &mut target, &tables)?;
    note_log_file(&mut source, &shared)?;
    let doubles = whole_doubles(&mut source)?;
    let mut follower = Follower::open(settings, &shared, &tables, server_id(), doubles)?;
    let mut target_log = TargetLog::open(&settings.target, &shared, &tables, server_id())?;
    let (work, pace, beaten) = (Work::Follow, Pace::default(), Instant::now());
    let (state, moved) = (&shared, tables.as_slice());
    // Keeps both locks until the threads have ended.
    let mut active = Active {
        settings,
        shared: state,
        tables: moved,
        source,
        target,
        phase,
        encryption,
        omits_replicated,
        work,
        pace,
        beaten,
        new_tables: NewTables::default(),
    };
    // What fails after the switch does not undo it.
    let (is_switched, result) = thread::scope(|threads| {
        threads.spawn(|| shared.watched(|| follower.follow()));
        if let Some(log) = &mut target_log {
            threads.spawn(|| shared.watched(|| log.follow()));
        }
        let _end = EndOfThreads(&shared);
        let result = body(&mut active);
        (active.phase == Phase::Switched, result)
    });
    let ended = match (shared.failure().filter(|_| !is_switched), result) {
        (Some(failure), Ok(_)) => Err(failure),
        // When a thread fails, `body` ends with `Stopped`; the thread's error says why. It can also be more than the
        // lost connection of `body`.
        (Some(failure), Err(error)) if matches!(error, Error::Stopped) || error.is_transient() => Err(failure),
        (_, result) => result,
    };
    // Only now: a thread that writes could make this a deadlock.
    match &ended {
        Err(Error::UnloggedReplication) => state::unverify(&mut active.target)?,
        Err(Error::TargetLog(_) | Error::TargetLogReset { .. }) => target_log::forget(&mut active.target, &shared)?,
        _ => {}
    }
    ended
}

/// Ends the threads when the work ends, also by a panic: the scope would wait for them for ever.
struct EndOfThreads<'a>(&'a Shared);

impl Drop for EndOfThreads<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Locks out other migrations to the target for as long as the connection lasts.
pub(crate) fn lock_target(target: &mut Connection) -> Result<(), Error> {
    server_lock::take(target, Side::Target, LOCK)
}

/// How a migration that begins now tells the source's transactions apart.
pub(crate) fn tracking(source: &mut Connection) -> Result<Tracking, Error> {
    if source.greeting().is_mariadb() {
        return Ok(Tracking::Snapshots);
    }
    let mode = variable(source, Side::Source, "gtid_mode")?;
    Ok(if mode == "ON" { Tracking::Gtids } else { Tracking::Positions })
}

/// Checks that the log contains whole rows of every change, and that its order tells which transactions are visible.
pub(crate) fn check_source(source: &mut Connection, tracking: Tracking) -> Result<(), Error> {
    let rows = ROW_SETTINGS.map(|(name, wanted, _)| (name, wanted));
    let order = match tracking {
        Tracking::Gtids => Some(("gtid_mode", "ON")),
        Tracking::Positions => Some(("binlog_order_commits", "1")),
        Tracking::Snapshots => None,
    };
    for (name, wanted) in [("log_bin", "1")].into_iter().chain(order).chain(rows) {
        let found = variable(source, Side::Source, name)?;
        if found != wanted {
            return Err(Error::SourceSetting { variable: name, found, wanted });
        }
    }
    Ok(())
}

/// Begins a migration.
fn begun(
    settings: &Settings,
    source: &mut Connection,
    target: &mut Connection,
    tables: &[MovedTable],
    (logs_cascades, source_uuid): (bool, &str),
) -> Result<state::Run, Error> {
    let tracking = tracking(source)?;
    check_source(source, tracking)?;
    let start = position::start(source, tracking)?;
    // A table may have changed since the plan was read. Changes after this position are in the log.
    definitions::check(settings)?;
    let encrypted = settings.encrypt.requires_any(&settings.catalog.tables);
    state::begin(target, (tracking, logs_cascades, source_uuid), tables, &start, encrypted)?;
    state::run(target)?.ok_or(Error::State { what: "run" })
}

/// Checks that a migration can resume with this source.
fn resumed(
    settings: &Settings,
    run: state::Run,
    source: &mut Connection,
    target: &mut Connection,
    tables: &[MovedTable],
    source_uuid: &str,
) -> Result<state::Run, Error> {
    if run.paused {
        return Err(Error::Paused);
    }
    check_source(source, run.tracking)?;
    // Log positions are valid on one server only.
    if run.tracking != Tracking::Gtids && run.source_uuid != source_uuid {
        return Err(Error::OtherServer { expected: run.source_uuid, found: source_uuid.to_owned() });
    }
    state::compare_tables(target, tables)?;
    if let Some(known) = state::log_file(target)? {
        let lock = one_server_lock(run.tracking, &run.token);
        known.check(&settings.source, lock.as_deref(), &replica_settings(server_id()))?;
    }
    let applied = state::position(target, tables)?;
    if !position::end(source, run.tracking)?.covers(&applied, run.tracking) {
        return Err(Error::OtherMigration { what: format!("its source, {}, is ahead of this one", run.source_uuid) });
    }
    Ok(run)
}

/// Whether the source logs the rows that foreign keys change.
pub(crate) fn logs_cascades(source: &mut Connection) -> Result<bool, Error> {
    let sql = format!("SHOW GLOBAL VARIABLES LIKE '{NATIVE_FOREIGN_KEYS}'");
    let rows = source.query(&sql).map_err(Error::at(Side::Source))?;
    let native = rows.of_name(NATIVE_FOREIGN_KEYS) == Some("ON");
    Ok(source.greeting().server_version().is_some_and(|version| preflight::logs_cascades(&version, native)))
}

/// Whether the source's log lacks what the source applies of other servers.
fn omits_replicated(source: &mut Connection) -> Result<bool, Error> {
    for name in LOGS_REPLICATED {
        if variable(source, Side::Source, name)? == "1" {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Checks that the source applies nothing of other servers.
///
/// # Errors
/// [`Error::UnloggedReplication`]: changes may be lost already, so every row has to be compared again.
fn nothing_is_replicated(source: &mut Connection) -> Result<(), Error> {
    let threads = source.query(replication_threads(link::flavor(source))).map_err(Error::at(Side::Source))?;
    if threads.scalar() == Some("0") { Ok(()) } else { Err(Error::UnloggedReplication) }
}

fn read_state(
    settings: &Settings,
    run: &state::Run,
    source: &mut Connection,
    target: &mut Connection,
    tables: &[MovedTable],
) -> Result<Shared, Error> {
    let epoch = state::begin_epoch(target)?;
    let mut loaded: Vec<Vec<Chunk<Key>>> = tables.iter().map(|_| Vec::new()).collect();
    let mut watched = HashSet::new();
    let mut copied = vec![Copied::default(); tables.len()];
    for stored in state::chunks(target, tables)? {
        if let Some(copied) = copied.get_mut(stored.table) {
            copied.add(stored.copied);
        }
        if stored.verified {
            watched.insert((stored.table, stored.chunk.number));
        }
        if let Some(chunks) = loaded.get_mut(stored.table) {
            chunks.push(stored.chunk);
        }
    }
    let mut weights = Weights::new(&settings.target);
    for (table, chunks) in tables.iter().zip(&mut loaded) {
        weights.set(&table.key, chunks.iter_mut().flat_map(|chunk| chunk.after.iter_mut().chain(&mut chunk.upto)))?;
    }
    let chunk_maps = loaded.into_iter().map(ChunkMap::resumed).collect();
    let start = state::position(target, tables)?;
    let shared = Shared::new(epoch, run, chunk_maps, state::snapshots(target)?, watched, copied, start);
    shared.lock().log_file = state::log_file(target)?;
    // The position was stored once its transactions were delivered. They may not be visible yet.
    let barrier = shared.lock().begun.barrier();
    wait_until_visible(source, &shared, tables, &barrier)?;
    end_read(source, &barrier)?;
    Ok(shared)
}

/// The source's address, version and link, and the version of this program, for the journal.
fn opened(settings: &Settings, source: &Connection) -> String {
    let server = &settings.source;
    let version = source.greeting().server_version().map_or_else(String::new, |version| version.to_string());
    let link = match Link::inspect(Side::Source, source, &server.options).transport {
        Transport::Tls { version, .. } => version.name().to_owned(),
        Transport::Socket => "its socket".to_owned(),
        Transport::Clear => "no encryption".to_owned(),
    };
    let program = concat!("sealant ", env!("CARGO_PKG_VERSION"));
    format!("{}, {version}, over {link}, by {program}", server.target.endpoint)
}

/// How the source prints numbers of JSON.
fn whole_doubles(source: &mut Connection) -> Result<WholeDoubles, Error> {
    // MariaDB's JSON is text, so that its log has no numbers of JSON.
    if source.greeting().is_mariadb() {
        return Ok(WholeDoubles::WithPoint);
    }
    // JSON cannot be made from text in `binary`, the session's character set.
    let sql = "SELECT CAST(CAST(_utf8mb4'[1.0]' AS JSON) AS CHAR)";
    let rows = source.query(sql).map_err(Error::at(Side::Source))?;
    Ok(if rows.scalar() == Some("[1]") { WholeDoubles::AsIntegers } else { WholeDoubles::WithPoint })
}

/// A random `server_id`, so that another replica of the source hardly ever has the same.
pub(crate) fn server_id() -> u32 {
    const LOWEST: u32 = 1 << 30;
    u32::try_from(random() & u64::from(LOWEST.wrapping_sub(1))).unwrap_or(0) | LOWEST
}

impl Active<'_> {
    /// Shows each second that the run is alive, keeps both locks, and ends the run if the caller has asked for it.
    pub(crate) fn heartbeat(&mut self, events: &mut dyn FnMut(Event)) -> Result<(), Error> {
        if self.settings.stopped() || self.shared.has_ended() {
            return Err(Error::Stopped);
        }
        if self.beaten.elapsed() < HEARTBEAT {
            return Ok(());
        }
        self.beaten = Instant::now();
        state::heartbeat(&mut self.target)?;
        if self.omits_replicated {
            nothing_is_replicated(&mut self.source)?;
        }
        if self.encryption.as_ref().is_some_and(TargetEncryption::is_due) {
            self.require_encryption()?;
        }
        self.look_for_new_tables(events)?;
        let lag = self.lag()?;
        self.report_tables(events);
        events(Event::Progress(self.progress(lag)));
        Ok(())
    }

    /// Lists the source's tables if there may be others than when they were last listed, but not all the time.
    fn look_for_new_tables(&mut self, events: &mut dyn FnMut(Event)) -> Result<(), Error> {
        let is_wanted = self.shared.lock().may_have_new_tables || !self.new_tables.is_empty();
        if is_wanted && self.new_tables.is_due() { self.list_new_tables(events) } else { Ok(()) }
    }

    /// Lists the source's tables, and reports those that are not moved and were not there before.
    pub(crate) fn list_new_tables(&mut self, events: &mut dyn FnMut(Event)) -> Result<(), Error> {
        // Before the list is read: what the log shows later may not be in it.
        self.shared.lock().may_have_new_tables = false;
        let tables = definitions::not_moved(self.settings, &mut self.source)?;
        let new = self.new_tables.update(tables, Instant::now());
        if !new.is_empty() {
            events(Event::NewTables { tables: definitions::named(&new) });
        }
        Ok(())
    }

    /// Checks that no table which is not moved has stayed at the source.
    ///
    /// # Errors
    /// [`Error::NewTables`].
    pub(crate) fn refuse_lasting_tables(&self) -> Result<(), Error> {
        definitions::refuse_new(self.new_tables.lasting(self.settings.new_table_limit))
    }

    /// Records an event in the journal, for the proof.
    pub(crate) fn note(&mut self, event: &str, detail: &str) -> Result<(), Error> {
        journal::note(&mut self.target, event, detail)
    }

    /// Sets the kind of work that reports of progress name.
    pub(crate) fn work_on(&mut self, work: Work) {
        self.work = work;
        self.pace.restart();
    }

    /// Reports the tables that were completed since the last call, and those that were in use.
    pub(crate) fn report_tables(&self, events: &mut dyn FnMut(Event)) {
        let in_use = std::mem::take(&mut self.shared.lock().in_use);
        in_use.into_iter().for_each(|tables| events(Event::InUse { tables }));
        let completed = self.shared.lock().take_completed();
        for (number, copied) in completed {
            if let Some(moved) = self.tables.get(number) {
                events(Event::Table { name: moved.shown.clone(), rows: copied.rows, bytes: copied.bytes });
            }
        }
    }

    /// Bytes of chunks, each with the number of its table: as many as the table has for each of its chunks.
    pub(crate) fn bytes_of(&self, chunks: &[(usize, Chunk<Key>)]) -> u64 {
        let state = self.shared.lock();
        chunks.iter().map(|(number, _)| self.chunk_bytes(&state, *number)).fold(0, u64::saturating_add)
    }

    /// Bytes that are read to compare these chunks again: of many, only the changed rows, where they are known.
    pub(crate) fn bytes_to_compare(&self, chunks: &[(usize, Chunk<Key>)]) -> u64 {
        let whole = self.bytes_of(chunks);
        if whole <= self.settings.whole_bytes {
            return whole;
        }
        let state = self.shared.lock();
        let bytes = chunks.iter().map(|(number, chunk)| {
            let whole = self.chunk_bytes(&state, *number);
            let rows = state.changed_rows.count((*number, chunk.number));
            rows.map_or(whole, |rows| as_u64(rows).saturating_mul(ROW_BYTES).min(whole))
        });
        bytes.fold(0, u64::saturating_add)
    }

    fn chunk_bytes(&self, state: &RunState, number: usize) -> u64 {
        let copied = state.copied.get(number).map_or(0, |copied| copied.bytes);
        let bytes = self.tables.get(number).map_or(0, |moved| moved.table.bytes).max(copied);
        let chunks = state.chunk_maps.get(number).map_or(0, |map| map.chunks().len());
        bytes.div_ceil(as_u64(chunks).max(1))
    }

    /// Age, by the source's clock, of the newest change that was applied; zero if the target has every change.
    fn lag(&mut self) -> Result<Option<Duration>, Error> {
        let end = self.shared.source_end(&mut self.source)?;
        let rows = self.source.query("SELECT UNIX_TIMESTAMP()").map_err(Error::at(Side::Source))?;
        let now: u64 = rows.scalar().and_then(|text| text.parse().ok()).unwrap_or(0);
        let state = self.shared.lock();
        if state.applied.covers(&end, self.shared.tracking) {
            return Ok(Some(Duration::ZERO));
        }
        let applied = u64::from(state.applied_time);
        Ok((applied > 0).then(|| Duration::from_secs(now.saturating_sub(applied))))
    }

    fn progress(&mut self, lag: Option<Duration>) -> Progress {
        let state = self.shared.lock();
        let chunks: usize = state.chunk_maps.iter().map(|map| map.chunks().len()).sum();
        let verified_chunks = state.watched.len();
        let (done_bytes, total_bytes) = progress::bytes(self.tables, &state);
        let (done, total) = match self.work {
            Work::Compare => (as_u64(verified_chunks), as_u64(chunks)),
            Work::Copy | Work::Follow => (done_bytes, total_bytes),
        };
        let mut copied = state.copied_now;
        state.loading.values().for_each(|size| copied.add(*size));
        let copied_bytes = copied.bytes;
        let [waits_for_target, waits_for_source] = state.waits;
        self.pace.note(Instant::now(), Sample { copied_bytes, done, waits_for_target, waits_for_source });
        let copies = self.work == Work::Copy;
        Progress {
            phase: self.phase,
            work: self.work,
            copied_rows: state.copied_now.rows,
            copied_bytes,
            done_bytes,
            total_bytes,
            bytes_per_second: self.pace.bytes_per_second(),
            limited_by: self.pace.limited_by().filter(|_| copies),
            applied_rows: state.applied_rows,
            lag,
            chunks,
            verified_chunks,
            eta: self.pace.left(total).filter(|_| self.work != Work::Follow),
        }
    }

    /// Waits until the target has every transaction that the source has executed by now.
    pub(crate) fn catch_up(&mut self, events: &mut dyn FnMut(Event)) -> Result<(), Error> {
        let end = self.shared.source_end(&mut self.source)?;
        while !self.shared.is_applied_within(&end, POLL)? {
            self.heartbeat(events)?;
        }
        self.check_log()
    }

    /// Checks that the source's log is still the one that the stream reads.
    pub(crate) fn check_log(&self) -> Result<(), Error> {
        self.shared.check_log(&self.settings.source, &replica_settings(server_id()))
    }

    /// Checks that the target still encrypts what it writes beside the tables.
    ///
    /// # Errors
    /// [`Error::LessEncrypted`].
    pub(crate) fn require_encryption(&mut self) -> Result<(), Error> {
        let Some(encryption) = &mut self.encryption else { return Ok(()) };
        encryption.read_again(&mut self.source, &mut self.target)?;
        encryption.require(Some(&mut self.target))
    }

    /// Checks that once more, and records for the proof what is encrypted.
    ///
    /// # Errors
    /// [`Error::LessEncrypted`].
    pub(crate) fn note_encryption(&mut self) -> Result<(), Error> {
        self.require_encryption()?;
        let described = self.encryption.as_ref().map(TargetEncryption::described);
        described.map_or(Ok(()), |described| self.note("encryption", &described))
    }

    /// Checks that nothing else than this migration has written to the target up to now.
    pub(crate) fn only_we_write(&mut self, events: &mut dyn FnMut(Event)) -> Result<(), Error> {
        // First, because the end of another log may never be reached.
        self.check_target_log()?;
        self.read_target_log(events)?;
        self.check_target_log()
    }

    /// Waits until the target's log was read up to its present end.
    pub(crate) fn read_target_log(&mut self, events: &mut dyn FnMut(Event)) -> Result<(), Error> {
        if self.shared.lock().target_log.is_none() {
            return Ok(());
        }
        let end = position::log_end_at(&mut self.target, Side::Target)?;
        while self.shared.lock().target_log.as_ref().is_some_and(|read| *read < end) {
            self.heartbeat(events)?;
            self.shared.sleep(POLL)?;
        }
        Ok(())
    }

    /// Checks that the target's log is still the one that is read: after a reset the stream waits, without an error.
    pub(crate) fn check_target_log(&mut self) -> Result<(), Error> {
        let Some(read) = self.shared.lock().target_file.clone() else { return Ok(()) };
        if target_log::is_kept(&read, &mut self.target, &self.settings.target, server_id())? {
            return Ok(());
        }
        Err(Error::TargetLogReset { file: read.file })
    }

    /// From now on the target is not only ours, so its log is not judged any more.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the run has ended, as after a foreign write.
    pub(crate) fn others_may_write(&self) -> Result<(), Error> {
        self.shared.update(|state| {
            if state.has_ended() {
                return Err(Error::Stopped);
            }
            state.target_log = None;
            Ok(())
        })
    }

    /// Waits until the stream has delivered what the log contained when the migration began. The chunks contain these
    /// changes, so none of them has to be applied.
    pub(crate) fn skip_old_changes(&mut self, events: &mut dyn FnMut(Event)) -> Result<(), Error> {
        let end = &self.shared.old_until;
        while self.shared.lock().delivered < *end {
            self.heartbeat(events)?;
            self.shared.sleep(POLL)?;
        }
        Ok(())
    }

    /// Waits until the target has everything before a position.
    pub(crate) fn wait_applied(&self, position: &Position) -> Result<(), Error> {
        self.shared.wait_applied(position, &self.settings.stop)
    }

    pub(crate) fn set_phase(&mut self, phase: Phase) -> Result<(), Error> {
        state::set_phase(&mut self.target, phase)?;
        self.phase = phase;
        Ok(())
    }

    /// The chunks that were not compared, or have changed since then.
    pub(crate) fn unverified(&self) -> Vec<(usize, Chunk<Key>)> {
        let state = self.shared.lock();
        let all = state.chunk_maps.iter().enumerate();
        all.flat_map(|(table, map)| map.chunks().iter().map(move |chunk| (table, chunk)))
            .filter(|(table, chunk)| !state.watched.contains(&(*table, chunk.number)))
            .map(|(table, chunk)| (table, chunk.clone()))
            .collect()
    }

    /// Those of [`Self::unverified`] whose changed rows are not known.
    pub(crate) fn whole_unverified(&self) -> Vec<(usize, Chunk<Key>)> {
        let mut chunks = self.unverified();
        let state = self.shared.lock();
        chunks.retain(|(table, chunk)| state.changed_rows.count((*table, chunk.number)).is_none());
        chunks
    }
}

fn as_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
