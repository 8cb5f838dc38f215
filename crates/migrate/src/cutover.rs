//! The cut-over: the source becomes read-only, the target gets the last writes, and everything is compared.
//!
//! Each step is stored before it begins and after it ends, so that the same call resumes after a kill. Before the last
//! step, `abort` undoes everything.

use std::{
    thread::{self, sleep},
    time::Duration,
};

use server::{Connection, Flavor};

use crate::{
    Error, Event, Phase, Side,
    accounts::{self, Accounts, Moved},
    active::{Active, lock_target, with_stream},
    catalog::{Filter, read},
    counters, definitions,
    fence::{Fence, Former, TableLocks, lift_external, may_fence, no_other_writers, no_replication, nothing_prepared},
    link::{self, Server, identity, same_server},
    moved_table::moved_tables,
    position::{self, Position},
    prepare::give_up,
    program,
    run::{forget_comparisons, verify_changed},
    settings::Settings,
    shared::Shared,
    state::{self, SwitchEnd},
    verify::OnChange,
    way_back,
};

/// Number of rounds that compare changed chunks before writes are blocked.
const ROUNDS: u32 = 3;
/// Pause between readings of the end of the log, until it has stopped growing.
const STILL: Duration = Duration::from_millis(20);
/// Bytes of rows that the two servers can compare per second; a low estimate.
const COMPARED_BYTES: u64 = 50 << 20;

/// What a cut-over did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutOver {
    /// How long the source had been read-only when the target was ready. `None` if an earlier call did the cut-over.
    pub blocked: Option<Duration>,
    /// The end of the source's log: everything before it is at the target.
    pub source_end: String,
}

/// Stops writes at the source by [`Settings::fencing`], applies and compares the remaining changes, and leaves the target
/// ready for writes.
///
/// # Errors
/// [`Error::NotReady`], [`Error::Divergence`] and others. The source is then writable again, except after
/// [`Error::StillFenced`]; the same call, or [`abort`], lifts that fence.
pub fn cut_over(settings: &Settings, events: &mut dyn FnMut(Event)) -> Result<CutOver, Error> {
    let stored = state::run(&mut link::target(&settings.target)?)?;
    if let Some(run) = stored.filter(|run| run.phase == Phase::Switched) {
        lead_to_target(settings)?;
        return Ok(CutOver { blocked: None, source_end: run.source_end });
    }
    // Released after the stream has ended: it would apply what is written at the source then.
    let table_locks = TableLocks::default();
    let done = with_stream(settings, false, |active| {
        if active.phase == Phase::Copy {
            return Err(Error::NotCopied);
        }
        let mut control = link::source_control(&settings.source)?;
        let source_uuid = identity(&mut active.source, Side::Source)?;
        same_server(&mut control, &source_uuid)?;
        active.shared.require_lock(&mut control)?;
        may_fence(&mut control, &settings.fencing)?;
        if let Some(before) = lift_earlier(&mut active.target, &mut control)? {
            lift_external(&before, settings)?;
        }
        no_replication(&mut control)?;
        nothing_prepared(&mut control, &settings.fencing)?;
        no_other_writers(&mut control, &active.source, &settings.fencing, active.shared)?;
        if settings.fallback.is_some() {
            way_back::require_possible(settings, &mut control, &mut active.target)?;
        }
        create_accounts(active, events)?;
        compare_before(active, events)?;
        counters::raise(active, &mut control, events)?;
        let fence = Fence::new(settings, Former::read(&mut control, &settings.fencing)?, &table_locks);
        let shared = active.shared;
        let ended = thread::scope(|threads| {
            threads.spawn(|| fence.guard(settings, shared));
            fenced(active, &fence, &mut control, events).or_else(|error| match error {
                // It is not known whether the target is ready.
                Error::StillFenced { .. } => Err(error),
                error => lift(active, &fence, &mut control).and(Err(error)),
            })
        });
        let end = ended?;
        let done = CutOver { blocked: Some(fence.age()), source_end: end.log.to_string() };
        lead_to_target(settings)?;
        Ok(done)
    });
    table_locks.release();
    done
}

/// Lets clients use the target, after the switch. What fails does not undo it.
fn lead_to_target(settings: &Settings) -> Result<(), Error> {
    // Only now, so that none of them can write before the switch.
    accounts::open(&settings.target)?;
    let run = |path| program::run(path, "switched", settings, || settings.stopped());
    settings.on_switch.as_deref().map_or(Ok(()), run)
}

/// Creates the accounts of the source at the target, if that is wanted.
fn create_accounts(active: &mut Active<'_>, events: &mut dyn FnMut(Event)) -> Result<(), Error> {
    let settings = active.settings;
    if settings.accounts == Accounts::Report {
        return Ok(());
    }
    if link::flavor(&active.source) == Flavor::MySql && link::flavor(&active.target) == Flavor::MariaDb {
        let what = "accounts of MySQL are not yet created at a MariaDB server (--accounts report)".to_owned();
        return Err(Error::NotReady { what });
    }
    let tables = definitions::names(settings);
    let moved = Moved { filter: &settings.filter, tables: &tables };
    accounts::create((&settings.source, &settings.target), &moved, &mut active.target)?;
    events(Event::Step { name: "accounts" });
    Ok(())
}

/// Lifts the fence of a cut-over that was killed, so that clients can write while most rows are compared. Returns what
/// it had changed.
pub(crate) fn lift_earlier(target: &mut Connection, source: &mut Connection) -> Result<Option<Former>, Error> {
    let run = state::run(target)?.ok_or(Error::NotBegun)?;
    let Some(before) = Former::parse(&run.fence) else { return Ok(None) };
    before.restore(source)?;
    state::set_lifted(target)?;
    Ok(Some(before))
}

/// Compares as much as possible while clients write, so that little is left for the time when they cannot.
fn compare_before(active: &mut Active<'_>, events: &mut dyn FnMut(Event)) -> Result<(), Error> {
    // Also before the comparisons, which can take long.
    definitions::check_list(active.settings, &mut active.source)?;
    if active.shared.lock().target_log.is_none() {
        forget_all(active, events)?;
    }
    for _ in 0..ROUNDS {
        active.catch_up(events)?;
        verify_changed(active, OnChange::Defer, events)?;
        if active.unverified().is_empty() {
            break;
        }
    }
    active.catch_up(events)?;
    // The log can be long, and is read while clients can still write.
    active.only_we_write(events)?;
    definitions::check(active.settings)?;
    active.require_encryption()?;
    let chunks = active.unverified();
    let left = chunks.len();
    if active.bytes_to_compare(&chunks) > comparable(active.settings) {
        let what = format!("{left} chunks have changed since they were compared: too many for --max-blocked");
        return Err(Error::NotReady { what });
    }
    Ok(())
}

/// Lets every row be compared again: nothing has told whether somebody else has changed rows of the target since they
/// were compared, even if that was a moment ago, in an attempt that has failed.
fn forget_all(active: &mut Active<'_>, events: &mut dyn FnMut(Event)) -> Result<(), Error> {
    events(Event::ComparesAgain);
    active.note("compares-again", "every row, before writes are blocked: the target's log is not read")?;
    forget_comparisons(active)
}

/// Bytes that can be compared while writes are blocked: those of one chunk at least.
fn comparable(settings: &Settings) -> u64 {
    let bytes = settings.max_blocked.as_secs().max(1).saturating_mul(COMPARED_BYTES);
    bytes.max(u64::try_from(settings.chunk_bytes).unwrap_or(u64::MAX))
}

fn fenced(
    active: &mut Active<'_>,
    fence: &Fence<'_>,
    source: &mut Connection,
    events: &mut dyn FnMut(Event),
) -> Result<Position, Error> {
    active.note("clients", &clients(source)?)?;
    state::set_fencing(&mut active.target, &fence.before.text())?;
    active.phase = Phase::CutOver;
    let (shared, fencing) = (active.shared, &active.settings.fencing);
    fence.raise(source, shared)?;
    no_replication(source)?;
    nothing_prepared(source, fencing)?;
    no_other_writers(source, &active.source, fencing, shared)?;
    fence.require_held(source, shared)?;
    state::set_step(&mut active.target, "fenced", &[])?;
    step(active, "fenced", "", events)?;
    let end = drain(active, fence, source, events)?;
    counters::complete(active, source)?;
    active.note_encryption()?;
    // Before the log is read: it shows that nobody else has written to the target before this position.
    let switch_end = way_back::switch_end(active)?;
    active.read_target_log(events)?;
    // Only here: it opens a connection, while writes are blocked.
    active.check_target_log()?;
    // As late as possible: under the locks of tables, others can be made.
    definitions::check_list(active.settings, source)?;
    switch(active, fence, source, &end, &switch_end)?;
    let detail = format!("{:.3} s without writes at the source", fence.age().as_secs_f64());
    // The switch is done, even if the journal cannot record it.
    drop(step(active, "switched", &detail, events));
    Ok(end)
}

/// Records and reports a completed step.
fn step(active: &mut Active<'_>, name: &'static str, detail: &str, events: &mut dyn FnMut(Event)) -> Result<(), Error> {
    events(Event::Step { name });
    active.note(name, detail)
}

/// Lists the clients that are connected when writes are blocked.
fn clients(source: &mut Connection) -> Result<String, Error> {
    let sql = "SELECT CONCAT(user, '@', SUBSTRING_INDEX(host, ':', 1), ': ', COUNT(*)) \
               FROM information_schema.processlist WHERE user NOT IN ('event_scheduler', 'system user') \
               AND user <> SUBSTRING_INDEX(CURRENT_USER(), '@', 1) \
               GROUP BY user, SUBSTRING_INDEX(host, ':', 1) ORDER BY COUNT(*) DESC";
    let rows = source.query(sql).map_err(Error::at(Side::Source))?;
    let clients: Vec<_> = rows.rows.iter().filter_map(|row| row.first()?.clone()).collect();
    Ok(if clients.is_empty() { "none".to_owned() } else { clients.join(", ") })
}

/// Applies and compares the remaining changes.
fn drain(
    active: &mut Active<'_>,
    fence: &Fence<'_>,
    source: &mut Connection,
    events: &mut dyn FnMut(Event),
) -> Result<Position, Error> {
    let end = still_end(source, fence, active.shared)?;
    active.wait_applied(&end)?;
    active.check_log()?;
    state::set_step(&mut active.target, "drained", &[("source_end", &end.log.to_string())])?;
    step(active, "drained", "", events)?;
    verify_changed(active, OnChange::Split, events)?;
    if !active.unverified().is_empty() {
        return Err(Error::NotReady { what: "rows still change at the source".to_owned() });
    }
    active.read_target_log(events)?;
    state::set_step(&mut active.target, "verified", &[])?;
    step(active, "verified", "", events)?;
    Ok(end)
}

/// Makes the fence permanent, and stores that the target is ready for writes.
fn switch(
    active: &mut Active<'_>,
    fence: &Fence<'_>,
    source: &mut Connection,
    end: &Position,
    switch_end: &SwitchEnd,
) -> Result<(), Error> {
    // From `keep` on, nothing lifts the fence when the time is up: only what the target may wait for limits it.
    let left = active.settings.max_blocked.saturating_sub(fence.age());
    let waits = link::limit_waits(&mut active.target, left)?;
    unchanged(source, fence, &active.source, end, active.shared)?;
    fence.keep()?;
    active.others_may_write()?;
    let stored = state::set_switched(&mut active.target, switch_end);
    active.target.set_statement_timeout(waits);
    match stored {
        Ok(()) => {}
        Err(error) if error.is_collision() => {
            return Err(Error::NotReady { what: format!("the target does not store the switch in time: {error}") });
        }
        // Nothing is stored.
        Err(error @ (Error::Server { error: server::Error::Server { .. }, .. } | Error::State { .. })) => {
            return Err(error);
        }
        // The phase may be stored although the answer was lost. The two servers must never be writable at the same
        // time.
        Err(error) => {
            let phase = phase_of_new_session(active).map_err(|_| fence.before.still_fenced(&error))?;
            if phase != Some(Phase::Switched) {
                return Err(error);
            }
        }
    }
    active.phase = Phase::Switched;
    Ok(())
}

/// Reads the stored phase in a new session. The lock shows that the lost session has ended, so that it cannot store
/// anything later.
fn phase_of_new_session(active: &mut Active<'_>) -> Result<Option<Phase>, Error> {
    active.target = link::target(&active.settings.target)?;
    lock_target(&mut active.target)?;
    Ok(state::run(&mut active.target)?.map(|run| run.phase))
}

/// Checks that nothing was written since the end of the log was read, and that nothing can be.
fn unchanged(
    source: &mut Connection,
    fence: &Fence<'_>,
    reader: &Connection,
    end: &Position,
    shared: &Shared,
) -> Result<(), Error> {
    fence.require_held(source, shared)?;
    no_other_writers(source, reader, fence.fencing(), shared)?;
    let now = shared.source_end(source)?;
    // Other tables may change under the locks.
    if !fence.holds_locks() && !end.covers(&now, shared.tracking) {
        return Err(Error::NotReady { what: "transactions were executed at the fenced source".to_owned() });
    }
    Ok(())
}

/// Makes the source writable again before anything else.
fn lift(active: &mut Active<'_>, fence: &Fence<'_>, source: &mut Connection) -> Result<(), Error> {
    fence.lift(source)?;
    // If this fails, the next call lifts the fence again. The reason why the cut-over failed matters more.
    drop(state::set_lifted(&mut active.target));
    drop(active.note("lifted", &format!("{:.3} s without writes at the source", fence.age().as_secs_f64())));
    Ok(())
}

/// The end of the log once it has stopped growing: three readings in a row are equal.
fn still_end(source: &mut Connection, fence: &Fence<'_>, shared: &Shared) -> Result<Position, Error> {
    let mut log = position::log_end(source)?;
    // Under the locks it has every change of a moved table, and may go on growing.
    let mut equal = if fence.holds_locks() { 3_u32 } else { 1 };
    while equal < 3 {
        if shared.has_ended() {
            return Err(Error::Stopped);
        }
        sleep(STILL);
        let next = position::log_end(source)?;
        equal = if next == log { equal.saturating_add(1) } else { 1 };
        log = next;
    }
    Ok(Position { log, ..shared.source_end(source)? })
}

/// Gives a migration up: makes the source writable as before, and removes the accounts that a cut-over has created, and
/// the state at the target. With `drop_tables`,
/// also drops the target's copies of the tables that the filter selects at the source; these must be exactly the tables
/// of the migration. Of a migration that has not begun, it drops the tables that an interrupted
/// [`prepare`](crate::prepare()) has created. The source is contacted only to lift a fence or to select tables.
///
/// # Errors
/// [`Error::NotBegun`] if there is no migration; [`Error::NotEmpty`] if one that has not begun has tables with rows;
/// [`Error::Switched`] after the cut-over; [`Error::OtherMigration`] if the filter selects other tables.
pub fn abort(source: &Server, server: &Server, drop_tables: Option<&Filter>) -> Result<(), Error> {
    let mut target = link::target(server)?;
    lock_target(&mut target)?;
    let Some(run) = state::run(&mut target)? else { return give_up(&mut target, drop_tables.is_some()) };
    if run.phase == Phase::Switched {
        return Err(Error::Switched);
    }
    if !run.fence.is_empty() {
        lift_earlier(&mut target, &mut link::source_control(source)?)?;
    }
    accounts::drop_created(server, &mut target)?;
    if let Some(filter) = drop_tables {
        drop_copies(source, &mut target, filter)?;
    }
    state::remove(&mut target)
}

/// Drops the selected tables at the target, if they are the tables of the migration.
fn drop_copies(source: &Server, target: &mut Connection, filter: &Filter) -> Result<(), Error> {
    let selected = read(&mut link::definitions(Side::Source, source)?, filter).map_err(Error::at(Side::Source))?;
    let tables = moved_tables(&selected, true)?;
    state::compare_tables(target, &tables)?;
    for table in &tables {
        target.query(&format!("DROP TABLE IF EXISTS {}", table.quoted)).map_err(Error::at(Side::Target))?;
    }
    Ok(())
}
