//! A migration in progress: both locks are held, the state is read, and the stream follows the source.

use std::{
    collections::{HashSet, hash_map::RandomState},
    hash::{BuildHasher, Hasher},
    thread,
    time::{Duration, Instant},
};

use binlog::value::WholeDoubles;
use server::{Connection, error_code, quote};

use crate::{
    Error, Phase, Progress, Side,
    barrier::wait_until_visible,
    copy::{
        gate::{Chunk, Gate},
        table::MovedTable,
    },
    definitions::{self, Compare},
    key::Key,
    link,
    position::{self, Position, Tracking},
    preflight::ROW_SETTINGS,
    settings::Settings,
    shared::Shared,
    state,
    stream::Follower,
};

/// Longest wait for the lock of a run that has just ended.
const LOCK_SECONDS: u64 = 10;
/// Time between signs of life, and between reports of progress.
const BEAT: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(20);

/// What `work` of [`with_stream`] works with.
pub(crate) struct Active<'m> {
    pub(crate) settings: &'m Settings,
    pub(crate) shared: &'m Shared,
    pub(crate) tables: &'m [MovedTable],
    /// Holds the lock at the source.
    pub(crate) source: Connection,
    /// Holds the lock at the target.
    pub(crate) target: Connection,
    pub(crate) phase: Phase,
    beaten: Instant,
}

/// Opens the migration, follows the source while `work` works, and ends.
///
/// # Errors
/// Those of `work` and of the stream, whichever came first.
pub(crate) fn with_stream<T>(
    settings: &Settings,
    may_begin: bool,
    work: impl FnOnce(&mut Active<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let tables = moved_tables(settings)?;
    let (mut source, mut target) = (link::source(&settings.source)?, link::target(&settings.target)?);
    lock_target(&mut target)?;
    let source_uuid = variable(&mut source, Side::Source, "server_uuid")?;
    let target_uuid = variable(&mut target, Side::Target, "server_uuid")?;
    lock(&mut source, Side::Source, &format!("sealant-migrate-{target_uuid}"))?;
    // Before the first row goes there.
    definitions::check(settings, Compare::Encryption)?;
    let run = match state::run(&mut target)? {
        Some(run) => resumed(run, &mut source, &mut target, &tables, &source_uuid)?,
        None if may_begin => begun(settings, &mut source, &mut target, &tables, &source_uuid)?,
        None => return Err(Error::NotBegun),
    };
    let phase = run.phase;
    let shared = read_state(&run, &mut source, &mut target, &tables)?;
    let doubles = whole_doubles(&mut source)?;
    let mut follower = Follower::open(settings, &shared, &tables, server_id(), doubles)?;
    let result = thread::scope(|threads| {
        threads.spawn(|| shared.watched(|| follower.follow()));
        let (shared, tables) = (&shared, tables.as_slice());
        let mut active = Active { settings, shared, tables, source, target, phase, beaten: Instant::now() };
        let result = work(&mut active);
        shared.end();
        result
    });
    match (shared.failure(), result) {
        // The work fails with it when the stream has failed.
        (Some(failure), Err(Error::Stopped) | Ok(_)) => Err(failure),
        (_, result) => result,
    }
}

/// The tables in the order of their names, by which the state numbers them.
pub(crate) fn moved_tables(settings: &Settings) -> Result<Vec<MovedTable>, Error> {
    let mut tables: Vec<_> = settings.tables.iter().collect();
    tables.sort_by_key(|table| (&table.schema, &table.name));
    if tables.is_empty() {
        return Err(Error::NoTables);
    }
    tables.into_iter().enumerate().map(|(number, table)| MovedTable::new(number, table)).collect()
}

/// Locks out other migrations to the target for as long as the connection lasts.
pub(crate) fn lock_target(target: &mut Connection) -> Result<(), Error> {
    lock(target, Side::Target, "sealant-migrate")
}

/// Locks out other processes for as long as the connection lasts.
fn lock(connection: &mut Connection, side: Side, name: &str) -> Result<(), Error> {
    let sql = format!("SELECT GET_LOCK({}, {LOCK_SECONDS})", quote::text(name));
    let rows = connection.query(&sql).map_err(Error::of(side))?;
    if rows.scalar() == Some("1") { Ok(()) } else { Err(Error::Locked { side }) }
}

/// A global variable; empty if the server does not have it.
pub(crate) fn variable(connection: &mut Connection, side: Side, name: &str) -> Result<String, Error> {
    match connection.query(&format!("SELECT @@GLOBAL.{name}")) {
        Ok(rows) => Ok(rows.scalar().unwrap_or_default().to_owned()),
        Err(server::Error::Server { code: error_code::UNKNOWN_SYSTEM_VARIABLE, .. }) => Ok(String::new()),
        Err(error) => Err(Error::of(side)(error)),
    }
}

/// How the source's transactions can be told apart, if it is followed from now on.
fn tracking(source: &mut Connection) -> Result<Tracking, Error> {
    let mode = variable(source, Side::Source, "gtid_mode")?;
    Ok(if mode == "ON" { Tracking::Gtids } else { Tracking::Positions })
}

/// Checks that the log has every change of a row, whole, and that its order says what is visible.
fn check_source(source: &mut Connection, tracking: Tracking) -> Result<(), Error> {
    let rows = ROW_SETTINGS.map(|(name, wanted, _)| (name, wanted));
    let order = match tracking {
        Tracking::Gtids => ("gtid_mode", "ON"),
        Tracking::Positions => ("binlog_order_commits", "1"),
    };
    for (name, wanted) in [("log_bin", "1"), order].into_iter().chain(rows) {
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
    source_uuid: &str,
) -> Result<state::Run, Error> {
    let tracking = tracking(source)?;
    check_source(source, tracking)?;
    let start = position::start(source, tracking)?;
    let encrypted = settings.encrypt || tables.iter().any(|moved| moved.table.encrypted);
    state::begin(target, (tracking, source_uuid), tables, &start, encrypted)?;
    state::run(target)?.ok_or(Error::State { what: "run" })
}

/// Checks that a migration that was begun can go on from this source.
fn resumed(
    run: state::Run,
    source: &mut Connection,
    target: &mut Connection,
    tables: &[MovedTable],
    source_uuid: &str,
) -> Result<state::Run, Error> {
    // The target has writes of its own from then on, which the source's changes would overwrite.
    if run.phase == Phase::Switched {
        return Err(Error::Switched);
    }
    check_source(source, run.tracking)?;
    // Positions are those of one server.
    if run.tracking == Tracking::Positions && run.source_uuid != source_uuid {
        return Err(Error::OtherServer { expected: run.source_uuid, found: source_uuid.to_owned() });
    }
    state::compare_tables(target, tables)?;
    let applied = state::position(target, tables)?;
    if !position::end(source, run.tracking)?.covers(&applied, run.tracking) {
        return Err(Error::OtherMigration { what: format!("its source, {}, is ahead of this one", run.source_uuid) });
    }
    Ok(run)
}

fn read_state(
    run: &state::Run,
    source: &mut Connection,
    target: &mut Connection,
    tables: &[MovedTable],
) -> Result<Shared, Error> {
    let epoch = state::begin_epoch(target)?;
    let mut loaded: Vec<Vec<Chunk<Key>>> = tables.iter().map(|_| Vec::new()).collect();
    let mut watched = HashSet::new();
    for stored in state::chunks(target, tables)? {
        if stored.verified {
            watched.insert((stored.table, stored.chunk.number));
        }
        if let Some(chunks) = loaded.get_mut(stored.table) {
            chunks.push(stored.chunk);
        }
    }
    let gates = loaded.into_iter().map(Gate::resumed).collect();
    let start = state::position(target, tables)?;
    let shared = Shared::new(epoch, run, gates, watched, start);
    // The position was stored after its transactions were delivered, not after they were visible.
    let barrier = shared.lock().begun.barrier();
    wait_until_visible(source, &shared, tables, &barrier)?;
    Ok(shared)
}

/// How the source prints numbers of JSON.
fn whole_doubles(source: &mut Connection) -> Result<WholeDoubles, Error> {
    // The session's character set is binary, of which no JSON is made.
    let sql = "SELECT CAST(CAST(_utf8mb4'[1.0]' AS JSON) AS CHAR)";
    let rows = source.query(sql).map_err(Error::of(Side::Source))?;
    Ok(if rows.scalar() == Some("[1]") { WholeDoubles::AsIntegers } else { WholeDoubles::WithPoint })
}

/// A `server_id` that hardly any other replica has.
fn server_id() -> u32 {
    const LOWEST: u32 = 1 << 30;
    let random = RandomState::new().build_hasher().finish();
    u32::try_from(random & u64::from(LOWEST.wrapping_sub(1))).unwrap_or(0) | LOWEST
}

impl Active<'_> {
    /// Each second: shows that the run is alive, and keeps both locks. Ends the run if the caller wants that.
    pub(crate) fn beat(&mut self, report: &mut dyn FnMut(Progress)) -> Result<(), Error> {
        if self.settings.stopped() || self.shared.has_ended() {
            return Err(Error::Stopped);
        }
        if self.beaten.elapsed() < BEAT {
            return Ok(());
        }
        self.beaten = Instant::now();
        state::beat(&mut self.target)?;
        self.source.query("SELECT 1").map_err(Error::of(Side::Source))?;
        report(self.progress());
        Ok(())
    }

    pub(crate) fn progress(&self) -> Progress {
        let following = self.shared.lock();
        let chunks = following.gates.iter().map(|gate| gate.chunks().len()).sum();
        Progress {
            phase: self.phase,
            copied_rows: following.copied.0,
            copied_bytes: following.copied.1,
            applied_rows: following.applied_rows,
            applied_time: following.applied_time,
            chunks,
            verified_chunks: following.watched.len(),
        }
    }

    /// Waits until the target has everything that the source has executed.
    pub(crate) fn catch_up(&mut self) -> Result<(), Error> {
        let end = position::end(&mut self.source, self.shared.tracking)?;
        self.wait_applied(&end)
    }

    /// Waits until the stream has delivered what the log had when the migration was begun. The chunks have it: nothing of
    /// it has to be applied.
    pub(crate) fn skip_old_changes(&mut self, report: &mut dyn FnMut(Progress)) -> Result<(), Error> {
        let end = &self.shared.old_until;
        while !self.shared.lock().delivered.has_reached(&end.file, end.position) {
            self.beat(report)?;
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
        let following = self.shared.lock();
        let all = following.gates.iter().enumerate();
        all.flat_map(|(table, gate)| gate.chunks().iter().map(move |chunk| (table, chunk)))
            .filter(|(table, chunk)| !following.watched.contains(&(*table, chunk.number)))
            .map(|(table, chunk)| (table, chunk.clone()))
            .collect()
    }
}
