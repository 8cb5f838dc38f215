//! The runs of a migration: copy, follow, compare.

use std::{
    convert::Infallible,
    mem::swap,
    thread,
    time::{Duration, Instant},
};

use crate::{
    Error, Event, Phase, Side, Work,
    active::{Active, with_stream},
    catalog::create,
    chunk_map::{Chunk, ChunkMap},
    collision, copy, definitions,
    key::Key,
    link,
    new_tables::NewTables,
    settings::{Settings, Until},
    shared::RunState,
    state,
    verify::{self, OnChange, Outcome},
};

/// Attempts to resume a run after lost connections without progress.
const RESUMES: u32 = 10;
/// Pause before each attempt.
const RESUME_PAUSE: Duration = Duration::from_secs(1);
/// Number of differing rows whose keys are recorded in the journal.
const NOTED: usize = 100;
const POLL: Duration = Duration::from_millis(100);
/// Chunks that are compared before the rows that have changed meanwhile.
const SLICE: usize = 64;
/// Further attempts to compare rows that change all the time.
const ROW_PASSES: u32 = 3;
/// Pause between the rounds that compare changed chunks.
const ROUND: Duration = Duration::from_secs(10);

/// Result of comparing rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Chunks that were compared in this run.
    pub chunks: u64,
    /// Rows of the source that were compared in this run, and were equal.
    pub rows: u64,
    /// Ranges that could not be compared because they changed all the time. The cut-over compares them.
    pub open: u64,
}

/// Copies the tables and follows the source up to [`Settings::until`]. Resumes an earlier run.
///
/// # Errors
/// [`Error::Divergence`] if rows differ, [`Error::Stopped`] if the caller has stopped the run before its goal,
/// [`Error::CutOverInterrupted`] if the source may be read-only, and others.
pub fn run(settings: &Settings, events: &mut dyn FnMut(Event)) -> Result<Verified, Error> {
    // What is known of new tables outlasts a lost connection: how long each has been there counts from the first sight.
    let mut new_tables = NewTables::default();
    resuming(settings, events, &mut |events| {
        with_stream(settings, true, |active| {
            swap(&mut active.new_tables, &mut new_tables);
            let ended = until(active, events);
            swap(&mut active.new_tables, &mut new_tables);
            ended
        })
    })
}

/// An attempt at a run, which reports events.
type Attempt<'a> = dyn FnMut(&mut dyn FnMut(Event)) -> Result<Verified, Error> + 'a;

/// Makes attempts at a run, until one ends otherwise than by a lost connection.
pub(crate) fn resuming(
    settings: &Settings,
    events: &mut dyn FnMut(Event),
    attempt: &mut Attempt<'_>,
) -> Result<Verified, Error> {
    let mut attempts = RESUMES;
    loop {
        let mut advanced = false;
        let ended = attempt(&mut |event| {
            advanced |=
                matches!(&event, Event::Progress(progress) if progress.copied_rows > 0 || progress.applied_rows > 0);
            events(event);
        });
        match ended {
            Err(error) if error.is_transient() && attempts > 0 && !settings.stopped() => {
                attempts = if advanced { RESUMES } else { attempts.saturating_sub(1) };
                events(Event::Resumed { why: error.to_string() });
                thread::sleep(RESUME_PAUSE);
            }
            ended => return ended,
        }
    }
}

/// Copies, follows and compares up to [`Settings::until`].
pub(crate) fn until(active: &mut Active<'_>, events: &mut dyn FnMut(Event)) -> Result<Verified, Error> {
    if state::run(&mut active.target)?.is_some_and(|run| !run.fence.is_empty()) {
        return Err(Error::CutOverInterrupted);
    }
    events(Event::Phase(active.phase));
    copy_all(active, events)?;
    // No chunk contains a change after the end that is read here. Once that end is applied, the target has a consistent
    // state.
    active.work_on(Work::Follow);
    active.catch_up(events)?;
    // Checked after the stream has caught up: the stream's error names the statement that changed a table.
    definitions::check_moved(active.settings)?;
    active.require_encryption()?;
    if active.phase == Phase::Copy {
        active.set_phase(Phase::Copied)?;
        active.note("copied", "every row, and every change since then")?;
        events(Event::Phase(Phase::Copied));
    }
    let mut verified = Verified::default();
    if active.settings.until != Until::Copied {
        verified = verify_changed(active, OnChange::Split, events)?;
    }
    active.only_we_write(events)?;
    if active.settings.until != Until::Forever {
        wait_for_new_tables(active, events)?;
        return Ok(verified);
    }
    match follow(active, &mut verified, events) {
        // Until it is stopped, the run follows; so it has reached its goal.
        Err(Error::Stopped) if active.settings.stopped() => Ok(verified),
        Err(error) => Err(error),
        Ok(never) => match never {},
    }
}

/// Follows the source, and compares changed chunks in rounds.
fn follow(
    active: &mut Active<'_>,
    verified: &mut Verified,
    events: &mut dyn FnMut(Event),
) -> Result<Infallible, Error> {
    loop {
        let round = Instant::now();
        active.work_on(Work::Follow);
        while round.elapsed() < ROUND {
            active.heartbeat(events)?;
            thread::sleep(POLL);
        }
        let compared = verify_changed(active, OnChange::Defer, events)?;
        active.only_we_write(events)?;
        // The log does not show what sessions with `sql_log_bin=0` make.
        if active.new_tables.is_due() {
            active.list_new_tables(events)?;
        }
        active.refuse_lasting_tables()?;
        verified.chunks = verified.chunks.saturating_add(compared.chunks);
        verified.rows = verified.rows.saturating_add(compared.rows);
        verified.open = compared.open;
    }
}

fn copy_all(active: &mut Active<'_>, events: &mut dyn FnMut(Event)) -> Result<(), Error> {
    if active.shared.lock().chunk_maps.iter().all(ChunkMap::is_complete) {
        return Ok(());
    }
    active.skip_old_changes(events)?;
    let (settings, shared, tables) = (active.settings, active.shared, active.tables);
    active.work_on(Work::Copy);
    let copied = copy::copy(settings, shared, tables, &mut || active.heartbeat(events));
    active.report_tables(events);
    copied
}

/// Compares, once, every chunk that has not been compared since it last changed.
///
/// # Errors
/// [`Error::Divergence`].
pub(crate) fn verify_changed(
    active: &mut Active<'_>,
    on_change: OnChange,
    events: &mut dyn FnMut(Event),
) -> Result<Verified, Error> {
    let chunks = active.unverified();
    active.work_on(Work::Compare);
    let outcome = if active.bytes_of(&chunks) > active.settings.whole_bytes {
        compare_by_rows(active, on_change, events)?
    } else {
        compare(active, chunks, on_change, events)?
    };
    note_compared(active, on_change, &outcome)?;
    if outcome.divergences.is_empty() {
        return Ok(Verified { chunks: outcome.chunks, rows: outcome.rows, open: outcome.open });
    }
    outcome.divergences.iter().for_each(|divergence| events(Event::Divergence(divergence.clone())));
    Err(Error::Divergence(outcome.divergences))
}

fn compare(
    active: &mut Active<'_>,
    chunks: Vec<(usize, Chunk<Key>)>,
    on_change: OnChange,
    events: &mut dyn FnMut(Event),
) -> Result<Outcome, Error> {
    let (settings, shared, tables) = (active.settings, active.shared, active.tables);
    verify::compare(settings, shared, tables, chunks, on_change, &mut || active.heartbeat(events))
}

/// Compares many chunks, while clients may write to all of them: of those that were equal before, only the rows that have
/// changed. That is repeated now and then, so that these stay few. Rows that change again meanwhile are left for later, with
/// [`OnChange::Split`] only after some more attempts.
fn compare_by_rows(
    active: &mut Active<'_>,
    on_change: OnChange,
    events: &mut dyn FnMut(Event),
) -> Result<Outcome, Error> {
    let mut total = Outcome::default();
    let mut open = compare_changed_rows(active, &mut total, events)?;
    for slice in active.whole_unverified().chunks(SLICE) {
        total.add(compare(active, slice.to_vec(), OnChange::LeaveRows, events)?);
        open = compare_changed_rows(active, &mut total, events)?;
    }
    let passes = if on_change == OnChange::Split { ROW_PASSES } else { 0 };
    for _ in 0..passes {
        if open == 0 {
            break;
        }
        open = compare_changed_rows(active, &mut total, events)?;
    }
    total.open = total.open.saturating_add(open);
    // A chunk with a changed row that differs was compared whole after that.
    total.name_once();
    Ok(total)
}

/// Compares the changed rows that are known. Returns the number of chunks in which some have changed again meanwhile.
fn compare_changed_rows(
    active: &mut Active<'_>,
    total: &mut Outcome,
    events: &mut dyn FnMut(Event),
) -> Result<u64, Error> {
    let (settings, shared, tables) = (active.settings, active.shared, active.tables);
    let found = verify::compare_changed_rows(settings, shared, tables, &mut || active.heartbeat(events))?;
    let open = found.open;
    total.add(Outcome { open: 0, ..found });
    Ok(open)
}

/// Records the result for the proof. The rounds of [`follow`] are too many to record, unless rows differ.
fn note_compared(active: &mut Active<'_>, on_change: OnChange, outcome: &Outcome) -> Result<(), Error> {
    if on_change == OnChange::Split && outcome.divergences.is_empty() {
        active
            .note("compared", &format!("{} rows equal, {} ranges changed all the time", outcome.rows, outcome.open))?;
    }
    if !outcome.divergences.is_empty() {
        active.note("differing", &format!("{} rows", outcome.divergences.len()))?;
    }
    for found in outcome.divergences.iter().take(NOTED) {
        active.note("differs", &format!("{} {}: {:?}", found.table, found.key, found.kind))?;
    }
    Ok(())
}

/// Compares every row again.
///
/// # Errors
/// [`Error::NotCopied`] before everything was copied; [`Error::Divergence`].
pub fn verify(settings: &Settings, events: &mut dyn FnMut(Event)) -> Result<Verified, Error> {
    with_stream(settings, false, |active| {
        if active.phase == Phase::Copy {
            return Err(Error::NotCopied);
        }
        active.catch_up(events)?;
        forget_comparisons(active)?;
        let verified = verify_changed(active, OnChange::Split, events)?;
        active.only_we_write(events)?;
        wait_for_new_tables(active, events)?;
        Ok(verified)
    })
}

/// At the end of a run, waits until the tables that the source has now, and that are not moved, are gone. Before that, they
/// end nothing, so that no work is lost. Those that are made later are left to the cut-over, which refuses each.
///
/// # Errors
/// [`Error::NewTables`] for tables that stay.
fn wait_for_new_tables(active: &mut Active<'_>, events: &mut dyn FnMut(Event)) -> Result<(), Error> {
    active.list_new_tables(events)?;
    let waited_for = active.new_tables.clone();
    while active.new_tables.has_any_of(&waited_for) {
        active.refuse_lasting_tables()?;
        active.heartbeat(events)?;
        thread::sleep(POLL);
    }
    Ok(())
}

/// Lets every row be compared again. That is stored before comparing: a chunk in which this run finds a difference must
/// not count as compared afterwards.
pub(crate) fn forget_comparisons(active: &mut Active<'_>) -> Result<(), Error> {
    // The stream marks chunks as changed meanwhile.
    collision::repeat(active, |this| &mut this.target, |this| state::unverify(&mut this.target))?;
    active.shared.update(RunState::forget_comparisons);
    Ok(())
}

/// Creates the tables of the source at the target.
///
/// # Errors
/// Those of [`create`].
pub fn create_tables(settings: &Settings) -> Result<(), Error> {
    let mut target = link::definitions(Side::Target, &settings.target)?;
    create(&mut target, &settings.catalog, settings.encrypt).map(drop)
}
