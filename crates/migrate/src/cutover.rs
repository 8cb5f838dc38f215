//! The cut-over: the source takes no more writes, the target gets the last ones, and everything is compared.
//!
//! Each step is stored before and after it is done, so that the same call goes on after a kill. Until the last one,
//! `abort` undoes all.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use binlog::replica::LogPosition;
use server::Connection;

use crate::{
    End, Error, Event, Phase, Side,
    active::{Active, lock, moved_tables, with_stream},
    link, position,
    run::verify_changed,
    settings::Settings,
    state,
    verify::Hot,
};

/// Rounds of comparing what has changed before writes are blocked.
const ROUNDS: u32 = 3;
/// Pause between readings of the end of the log, which must not move.
const STILL: Duration = Duration::from_millis(20);

/// What a cut-over did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutOver {
    /// How long the source has taken no writes when the target was ready. Zero if an earlier call did it.
    pub blocked: Duration,
    /// The end of the source's log: everything before it is at the target.
    pub source_end: String,
}

/// Fences the source with `super_read_only`, applies and compares the rest, and leaves the target ready for writes.
///
/// # Errors
/// [`Error::NotReady`], [`Error::Divergence`] and others. The source takes writes again then, unless the connection to it
/// is lost; the same call, or [`abort`], repairs that.
pub fn cut_over(settings: &Settings, events: &mut dyn FnMut(Event)) -> Result<CutOver, Error> {
    with_stream(settings, false, |active| {
        if active.phase == Phase::Copy {
            return Err(Error::NotReady { what: "not every row was copied and compared".to_owned() });
        }
        if active.phase == Phase::Switched {
            return Ok(CutOver { blocked: Duration::ZERO, source_end: String::new() });
        }
        compare_before(active, events)?;
        let mut control = link::source_control(&settings.source)?;
        let began = Instant::now();
        let ended = fence(active, &mut control, events).and_then(|()| drain(active, &mut control, events));
        match ended {
            Ok(end) => Ok(CutOver { blocked: began.elapsed(), source_end: position::shown(&end) }),
            Err(error) => {
                lift(&mut control, &mut active.target)?;
                Err(error)
            }
        }
    })
}

/// Everything that can be compared while writes go on, so that little is left for the time without them.
fn compare_before(active: &mut Active<'_>, events: &mut dyn FnMut(Event)) -> Result<(), Error> {
    active.set_phase(Phase::CutOver)?;
    for _ in 0..ROUNDS {
        active.catch_up()?;
        verify_changed(active, Hot::Leave, events)?;
        if active.unverified().is_empty() {
            break;
        }
    }
    active.catch_up().map(drop)
}

fn fence(active: &mut Active<'_>, source: &mut Connection, events: &mut dyn FnMut(Event)) -> Result<(), Error> {
    // What it was before, but not what an earlier attempt has made of it.
    let run = state::run(&mut active.target)?.ok_or(Error::NotBegun)?;
    if run.fence.is_empty() {
        let before = fence_settings(source)?;
        state::set_step(&mut active.target, "fencing", &[("fence", &before)])?;
    }
    source.query("SET GLOBAL super_read_only = ON").map_err(Error::of(Side::Source))?;
    let prepared = source.query("XA RECOVER").map_err(Error::of(Side::Source))?;
    if !prepared.rows.is_empty() {
        return Err(Error::NotReady { what: "XA transactions are prepared at the source (XA RECOVER)".to_owned() });
    }
    state::set_step(&mut active.target, "fenced", &[])?;
    events(Event::Step { name: "fenced" });
    Ok(())
}

fn drain(
    active: &mut Active<'_>,
    source: &mut Connection,
    events: &mut dyn FnMut(Event),
) -> Result<LogPosition, Error> {
    let end = still_end(source)?;
    active.shared.wait_applied(&end)?;
    state::set_step(&mut active.target, "drained", &[("source_end", &position::shown(&end))])?;
    events(Event::Step { name: "drained" });
    verify_changed(active, Hot::Divide, events)?;
    if !active.unverified().is_empty() {
        return Err(Error::NotReady { what: "rows still change at the source".to_owned() });
    }
    state::set_step(&mut active.target, "verified", &[])?;
    events(Event::Step { name: "verified" });
    set_counters(active, source)?;
    let target_end = position::log_end(&mut active.target).map(|end| position::shown(&end)).unwrap_or_default();
    state::set_step(&mut active.target, "switched", &[("target_end", &target_end)])?;
    active.set_phase(Phase::Switched)?;
    events(Event::Step { name: "switched" });
    Ok(end)
}

/// The end of a log to which nothing is added any more: equal in three readings.
fn still_end(source: &mut Connection) -> Result<LogPosition, Error> {
    let mut end = position::log_end(source)?;
    let mut equal = 1_u32;
    while equal < 3 {
        sleep(STILL);
        let next = position::log_end(source)?;
        equal = if next == end { equal.saturating_add(1) } else { 1 };
        end = next;
    }
    Ok(end)
}

/// AUTO_INCREMENT goes on where the source was, even if its newest rows were deleted.
fn set_counters(active: &mut Active<'_>, source: &mut Connection) -> Result<(), Error> {
    source.query("SET SESSION information_schema_stats_expiry = 0").map_err(Error::of(Side::Source))?;
    let sql = "SELECT table_schema AS s, table_name AS n, auto_increment AS c FROM information_schema.tables \
               WHERE auto_increment IS NOT NULL";
    let counters = source.query(sql).map_err(Error::of(Side::Source))?;
    for row in 0..counters.rows.len() {
        let named = |moved: &&crate::copy::table::MovedTable| {
            counters.value(row, "s") == Some(&moved.table.schema) && counters.value(row, "n") == Some(&moved.table.name)
        };
        let counter = counters.value(row, "c").and_then(|text| text.parse::<u64>().ok());
        if let (Some(moved), Some(counter)) = (active.tables.iter().find(named), counter) {
            let sql = format!("ALTER TABLE {} AUTO_INCREMENT = {counter}", moved.quoted);
            active.target.query(&sql).map_err(Error::of(Side::Target))?;
        }
    }
    Ok(())
}

/// The settings that the fence changes, as `super_read_only,read_only`.
fn fence_settings(source: &mut Connection) -> Result<String, Error> {
    let rows = source.query("SELECT CONCAT(@@GLOBAL.super_read_only, ',', @@GLOBAL.read_only)");
    Ok(rows.map_err(Error::of(Side::Source))?.scalar().unwrap_or("0,0").to_owned())
}

/// Sets the source as it was before it was fenced.
fn lift(source: &mut Connection, target: &mut Connection) -> Result<(), Error> {
    let Some(run) = state::run(target)? else { return Ok(()) };
    let Some((super_read_only, read_only)) = run.fence.split_once(',') else { return Ok(()) };
    if super_read_only == "0" {
        source.query("SET GLOBAL super_read_only = OFF").map_err(Error::of(Side::Source))?;
    }
    if read_only == "0" {
        source.query("SET GLOBAL read_only = OFF").map_err(Error::of(Side::Source))?;
    }
    state::set_step(target, "", &[("fence", "")])?;
    state::set_phase(target, Phase::Copied)
}

/// Removes the state of a migration whose cut-over was done. The tables stay, at both ends.
///
/// # Errors
/// [`Error::NotReady`] before the cut-over.
pub fn finish(target: &End) -> Result<(), Error> {
    let mut target = link::target(target)?;
    lock(&mut target, Side::Target, "sealant-migrate")?;
    match state::run(&mut target)?.map(|run| run.phase) {
        None => Ok(()),
        Some(Phase::Switched) => state::remove(&mut target),
        Some(_) => Err(Error::NotReady { what: "the cut-over was not done".to_owned() }),
    }
}

/// Gives a migration up: the source takes writes as before, and the state at the target is removed, with its tables if
/// `drop_tables` is set.
///
/// # Errors
/// [`Error::NotReady`] after the cut-over: the target may have newer rows then.
pub fn abort(settings: &Settings, drop_tables: bool) -> Result<(), Error> {
    let mut target = link::target(&settings.target)?;
    lock(&mut target, Side::Target, "sealant-migrate")?;
    let Some(run) = state::run(&mut target)? else { return Ok(()) };
    if run.phase == Phase::Switched {
        return Err(Error::NotReady { what: "it was done, and the target may have newer rows".to_owned() });
    }
    if !run.fence.is_empty() {
        lift(&mut link::source_control(&settings.source)?, &mut target)?;
    }
    let tables = moved_tables(settings)?;
    if drop_tables {
        // Only tables that the migration has filled.
        state::compare_tables(&mut target, &tables)?;
        for table in &tables {
            target.query(&format!("DROP TABLE IF EXISTS {}", table.quoted)).map_err(Error::of(Side::Target))?;
        }
    }
    state::remove(&mut target)
}
