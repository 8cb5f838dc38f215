//! The runs of a migration: copy, follow, compare.

use std::{thread, time::Duration};

use server::Connection;

use crate::{
    Divergence, End, Error, Phase, Side,
    active::{Active, with_stream},
    catalog::{Creation, Filter, create, read},
    copy,
    definitions::{self, Compare},
    link,
    settings::{Settings, Until},
    state,
    verify::{self, Hot},
};

/// Pause before a run goes on after a connection was lost, and number of attempts without anything done.
const RESUME: (Duration, u32) = (Duration::from_secs(1), 10);
const POLL: Duration = Duration::from_millis(100);
/// Pause between rounds of comparing what has changed.
const ROUND: Duration = Duration::from_secs(10);

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Phase.
    pub phase: Phase,
    /// Rows that this run has copied.
    pub copied_rows: u64,
    /// Bytes of these rows, as texts.
    pub copied_bytes: u64,
    /// Changed rows that this run has applied.
    pub applied_rows: u64,
    /// Commit time of the newest transaction that was applied, in seconds since 1970 UTC; 0 before the first.
    pub applied_time: u32,
    /// Chunks so far.
    pub chunks: usize,
    /// Chunks that were equal and have not changed since then.
    pub verified_chunks: usize,
}

/// What a run tells while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Each second.
    Progress(Progress),
    /// A phase begins.
    Phase(Phase),
    /// A connection was lost; the run goes on.
    Resumed {
        /// What had failed.
        why: String,
    },
    /// A row differs.
    Divergence(Divergence),
    /// A step of the cut-over was done.
    Step {
        /// Its name.
        name: &'static str,
    },
}

/// What was compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Chunks that were compared in this run.
    pub chunks: u64,
    /// Rows that changed all the time, so that they could not be compared. The cut-over compares them.
    pub open: u64,
}

/// Copies the tables and follows the source, as far as [`Settings::until`] says. Goes on where an earlier run ended.
///
/// # Errors
/// [`Error`]; [`Error::Divergence`] if rows differ, [`Error::Stopped`] if the caller has stopped it.
pub fn run(settings: &Settings, events: &mut dyn FnMut(Event)) -> Result<Verified, Error> {
    let mut attempts = RESUME.1;
    loop {
        let mut advanced = false;
        let ended = with_stream(settings, true, |active| {
            until(active, &mut |event| {
                advanced |=
                    matches!(event, Event::Progress(progress) if progress.copied_rows > 0 || progress.applied_rows > 0);
                events(event);
            })
        });
        match ended {
            Err(error) if error.is_transient() && attempts > 0 && !settings.stopped() => {
                attempts = if advanced { RESUME.1 } else { attempts.saturating_sub(1) };
                events(Event::Resumed { why: error.to_string() });
                thread::sleep(RESUME.0);
            }
            ended => return ended,
        }
    }
}

fn until(active: &mut Active<'_>, events: &mut dyn FnMut(Event)) -> Result<Verified, Error> {
    events(Event::Phase(active.phase));
    copy_all(active, events)?;
    // The chunks have seen nothing behind this end; from here on the target has the rows of one moment.
    active.catch_up()?;
    // After the stream, which knows the statement that changed a table of the source.
    definitions::check(active.settings, Compare::Everything)?;
    if active.phase == Phase::Copy {
        active.set_phase(Phase::Copied)?;
        events(Event::Phase(Phase::Copied));
    }
    let mut verified = Verified::default();
    if active.settings.until != Until::Copied {
        verified = verify_changed(active, Hot::Divide, events)?;
    }
    while active.settings.until == Until::Forever {
        let round = std::time::Instant::now();
        while round.elapsed() < ROUND {
            active.beat(&mut |progress| events(Event::Progress(progress)))?;
            thread::sleep(POLL);
        }
        verify_changed(active, Hot::Leave, events)?;
    }
    Ok(verified)
}

fn copy_all(active: &mut Active<'_>, events: &mut dyn FnMut(Event)) -> Result<(), Error> {
    if active.shared.lock().gates.iter().all(copy::gate::Gate::is_complete) {
        return Ok(());
    }
    active.skip_old_changes(&mut |progress| events(Event::Progress(progress)))?;
    let (settings, shared, tables) = (active.settings, active.shared, active.tables);
    copy::copy(settings, shared, tables, &mut || active.beat(&mut |progress| events(Event::Progress(progress))))
}

/// Compares every chunk once that was not compared since it changed.
///
/// # Errors
/// [`Error::Divergence`].
pub(crate) fn verify_changed(
    active: &mut Active<'_>,
    hot: Hot,
    events: &mut dyn FnMut(Event),
) -> Result<Verified, Error> {
    let (settings, shared, tables) = (active.settings, active.shared, active.tables);
    let chunks = active.unverified();
    let mut watch = || active.beat(&mut |progress| events(Event::Progress(progress)));
    let outcome = verify::compare(settings, shared, tables, chunks, hot, &mut watch)?;
    if outcome.divergences.is_empty() {
        return Ok(Verified { chunks: outcome.chunks, open: outcome.open });
    }
    outcome.divergences.iter().for_each(|divergence| events(Event::Divergence(divergence.clone())));
    Err(Error::Divergence(outcome.divergences))
}

/// Compares every row again.
///
/// # Errors
/// [`Error::NotReady`] before everything was copied; [`Error::Divergence`].
pub fn verify(settings: &Settings, events: &mut dyn FnMut(Event)) -> Result<Verified, Error> {
    with_stream(settings, false, |active| {
        if active.phase == Phase::Copy {
            return Err(Error::NotReady { what: "not every row was copied".to_owned() });
        }
        active.catch_up()?;
        // Stored first: what this run finds must not be forgotten when it ends.
        state::unverify(&mut active.target)?;
        active.shared.update(|following| following.watched.clear());
        verify_changed(active, Hot::Divide, events)
    })
}

/// State of a migration, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Phase.
    pub phase: Phase,
    /// The last step of the cut-over, if it was begun.
    pub step: String,
    /// Transactions that were applied: GTIDs, or the file and position behind the last one.
    pub position: String,
    /// Tables.
    pub tables: Vec<TableStatus>,
}

/// State of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableStatus {
    /// `schema.table`.
    pub name: String,
    /// Chunks that were copied.
    pub chunks: u64,
    /// Rows that were copied.
    pub rows: u64,
    /// Chunks that were equal and have not changed since then.
    pub verified: u64,
    /// Whether every row was copied.
    pub complete: bool,
}

/// Whether a migration was begun at a target.
///
/// # Errors
/// [`Error::Server`]; [`Error::ForeignState`] if the schema of the state is not of a migration.
pub fn is_begun(target: &End) -> Result<bool, Error> {
    Ok(state::run(&mut link::target(target)?)?.is_some())
}

/// Creates the tables of the source at the target.
///
/// # Errors
/// Those of [`create`].
pub fn create_tables(settings: &Settings, filter: &Filter, creation: Creation) -> Result<(), Error> {
    let catalog =
        read(&mut link::definitions(Side::Source, &settings.source)?, filter).map_err(Error::of(Side::Source))?;
    create(&mut link::definitions(Side::Target, &settings.target)?, &catalog, creation).map(drop)
}

/// Reads the state, also while another process runs the migration.
///
/// # Errors
/// [`Error::NotBegun`] and others.
pub fn status(settings: &Settings) -> Result<Status, Error> {
    let tables = crate::active::moved_tables(settings)?;
    let mut target: Connection = link::target(&settings.target)?;
    let run = state::run(&mut target)?.ok_or(Error::NotBegun)?;
    state::compare_tables(&mut target, &tables)?;
    let position = state::position(&mut target, &tables)?.text(run.tracking);
    let stored = state::chunks(&mut target, &tables)?;
    let of = |number: usize| stored.iter().filter(move |chunk| chunk.table == number);
    let tables = tables.iter().map(|table| TableStatus {
        name: table.shown.clone(),
        chunks: of(table.number).map(|_| 1).sum(),
        rows: of(table.number).map(|chunk| chunk.rows).sum(),
        verified: of(table.number).map(|chunk| u64::from(chunk.verified)).sum(),
        complete: copy::gate::Gate::resumed(of(table.number).map(|chunk| chunk.chunk.clone()).collect()).is_complete(),
    });
    Ok(Status { phase: run.phase, step: run.step, position, tables: tables.collect() })
}
