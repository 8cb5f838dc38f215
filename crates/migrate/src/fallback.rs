//! The fallback: after the switch, changes of the target are applied to the source, so that clients can return to it.
//!
//! It is a migration of its own, from the target to the source, whose state is at the source, in the same transactions
//! as the rows. It begins as a copy that is complete and compared, at the end that the target's log had at the switch;
//! so it can also begin after a kill, from what the switch has stored at the target. The fallback itself is its
//! cut-over. Until then the source stays read-only, except for accounts that may write in spite of it.

use std::sync::atomic::Ordering;

use server::{
    Connection,
    dialect::{
        statement::{READ_ONLY_ON, SUPER_READ_ONLY_OFF},
        variable::{READ_ONLY, SUPER_READ_ONLY},
    },
    error_code::VALUE_REFUSED,
};

use crate::{
    CutOver, Error, Event, Phase, Proof, Server, Settings, Side,
    active::{lock_target, logs_cascades, tracking, with_stream},
    cutover::{cut_over, lift_earlier},
    definitions,
    fence::{Former, block, set_lock_wait},
    journal,
    link::{self, identity, variable},
    log_access,
    moved_table::moved_tables,
    pause::pause,
    position::{Position, Start, Tracking},
    proof,
    run::{resuming, until},
    state::{self, Beginning, Run},
    user_sides::of_the_user,
    way_back::{now, swapped},
};

/// Attempts of a fallback to take over from a process that follows.
const TAKEOVERS: u32 = 3;

/// How [`follow_back`] has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FallbackEnd {
    /// The time for a fallback is over. Its state is removed, and the source stays read-only.
    Expired,
    /// Another process works on the way back.
    TakenOver,
    /// The caller has stopped it; the same call goes on.
    Stopped,
}

/// The way back from the target to the source.
struct WayBack {
    /// Settings with the sides swapped.
    back: Settings,
    /// What the cut-over has stored at the target.
    forward: Run,
}

/// The state of the way back, if it has begun.
///
/// # Errors
/// [`Error::OtherMigration`] if the state at the source is another one.
fn begun(old: &mut Connection, forward: &Run) -> Result<Option<Run>, Error> {
    match state::run(old)? {
        Some(run) if run.token != forward.back_token => {
            Err(Error::OtherMigration { what: "the source has the state of an earlier one".to_owned() })
        }
        run => Ok(run),
    }
}

/// Applies the target's changes to the source after `done`, a cut-over with [`Settings::fallback`], until the time is
/// over, the caller stops it or another process takes over. Resumes an earlier call.
///
/// # Errors
/// [`Error::NotSwitched`], [`Error::NoFallback`]; [`Error::FellBack`] if a fallback was done, and `done` was an earlier
/// cut-over; [`Error::WayBackClosed`] if the target has a change that the source cannot have; [`Error::WayBack`] and
/// others.
pub fn follow_back(settings: &Settings, done: &CutOver, events: &mut dyn FnMut(Event)) -> Result<FallbackEnd, Error> {
    let way = WayBack::open(settings)?;
    if way.begin()?.phase == Phase::Switched {
        // Another process has returned to the source just after the switch.
        return if done.blocked.is_some() { Ok(FallbackEnd::TakenOver) } else { Err(Error::FellBack) };
    }
    if way.is_over() {
        return way.close();
    }
    way.is_open()?;
    way.clear_pause()?;
    let mut events = |event| {
        if way.is_over() {
            settings.stop.store(true, Ordering::Relaxed);
        }
        way.report(event, events);
    };
    let ended = resuming(&way.back, &mut events, &mut |events| {
        // A server that was restarted has forgotten its settings.
        way.admit()?;
        with_stream(&way.back, false, |active| {
            let mut control = link::source_control(&way.back.source)?;
            // If a fallback was killed, clients can write to the target again.
            lift_earlier(&mut active.target, &mut control)?;
            until(active, events)
        })
    });
    match ended {
        Ok(_) | Err(Error::Stopped) if way.is_over() => way.close(),
        Ok(_) => Ok(FallbackEnd::Stopped),
        // The last two: it has returned to the source before this one could follow.
        Err(Error::Paused | Error::Switched | Error::FellBack) => Ok(FallbackEnd::TakenOver),
        Err(error) => Err(on_way_back(error)),
    }
}

/// Returns to the source: the target becomes read-only, its last changes are applied and compared, and the source is
/// writable as before the cut-over. A process that follows the way back ends first.
///
/// # Errors
/// Those of [`cut_over`], as [`Error::WayBack`]: the target is then writable again. [`Error::NoFallback`] and others.
pub fn fall_back(settings: &Settings, events: &mut dyn FnMut(Event)) -> Result<CutOver, Error> {
    let way = WayBack::open(settings)?;
    let mut events = |event| way.report(event, events);
    let mut takeovers = TAKEOVERS;
    let done = loop {
        match way.return_to_source(&mut events) {
            // A process that was just being started has begun to follow.
            Err(Error::Locked { .. }) if takeovers > 0 => takeovers = takeovers.saturating_sub(1),
            ended => break ended?,
        }
    };
    way.open_source()?;
    Ok(done)
}

/// Ends a migration whose cut-over was done with a fallback. See [`crate::finish()`].
pub(crate) fn finish<E: From<Error>>(
    (source, target): (&Server, &Server),
    forward: &Run,
    mut locked: Connection,
    save: Option<impl FnOnce(&Proof) -> Result<(), E>>,
) -> Result<(), E> {
    let mut control = link::source_control(source)?;
    same_source(&mut control, forward)?;
    let mut old = link::target(source)?;
    lock_way_back(&mut old)?;
    let fell_back = begun(&mut old, forward)?.is_some_and(|run| run.phase == Phase::Switched);
    if let Some(save) = save {
        let proof = if fell_back { proof::read(&mut old, source) } else { proof::read(&mut locked, target) };
        save(&proof?)?;
    }
    if fell_back {
        saved(forward)?.restore(&mut control)?;
        let mut control = link::source_control(target)?;
        write_through(&mut control)?;
        // The state at the source comes last: it tells a later call that the target has to be blocked.
        state::remove(&mut locked)?;
        return Ok(remove_rest(&mut old, &mut control)?);
    }
    remove_from_source(&mut old, &mut control, target)?;
    Ok(state::remove(&mut locked)?)
}

/// Ends what a killed [`finish`] after a fallback has left: the target's state is gone, that of the way back is not.
///
/// # Errors
/// [`Error::NotBegun`] if `source` has no state of a fallback from this target, and others.
pub(crate) fn finish_rest<E: From<Error>>(
    (source, target): (&Server, &Server),
    save: Option<impl FnOnce(&Proof) -> Result<(), E>>,
) -> Result<(), E> {
    let mut old = link::target(source)?;
    lock_target(&mut old)?;
    let mut control = link::source_control(target)?;
    let of_target = identity(&mut control, Side::Target)?;
    let is_rest = |run: &Run| run.phase == Phase::Switched && run.fallback == 0 && run.source_uuid == of_target;
    if !state::run(&mut old)?.is_some_and(|run| is_rest(&run)) {
        return Err(Error::NotBegun.into());
    }
    if let Some(save) = save {
        save(&proof::read(&mut old, source)?)?;
    }
    Ok(remove_rest(&mut old, &mut control)?)
}

/// Locks out processes that follow the way back.
///
/// # Errors
/// [`Error::Locked`], by the user's name of the side.
fn lock_way_back(old: &mut Connection) -> Result<(), Error> {
    lock_target(old).map_err(|error| match error {
        Error::Locked { .. } => Error::Locked { side: Side::Source },
        error => error,
    })
}

/// Blocks the target for good, and removes the state at the source, which tells that this has to be done.
fn remove_rest(old: &mut Connection, target: &mut Connection) -> Result<(), Error> {
    block(target)?;
    state::remove(old)
}

impl WayBack {
    /// Reads what the cut-over has stored.
    fn open(settings: &Settings) -> Result<Self, Error> {
        let forward = state::run(&mut link::target(&settings.target)?)?.ok_or(Error::NotBegun)?;
        match (forward.phase, forward.fallback) {
            (Phase::Switched, 1..) => Ok(Self { back: swapped(settings)?, forward }),
            (Phase::Switched, 0) => Err(Error::NoFallback),
            _ => Err(Error::NotSwitched),
        }
    }

    fn is_over(&self) -> bool {
        now() >= self.forward.fallback
    }

    /// A connection to the state, at the source.
    fn state(&self) -> Result<Connection, Error> {
        link::target(&self.back.target)
    }

    /// Keeps the source read-only for others, and lets this account write to it, unless another process has ended the
    /// way back or returned to the source.
    fn admit(&self) -> Result<(), Error> {
        let mut old = self.state()?;
        lock_target(&mut old)?;
        match begun(&mut old, &self.forward)? {
            Some(run) if run.phase == Phase::Switched => Err(Error::FellBack),
            Some(_) => self.admit_own_writes(),
            None => Err(Error::NoFallback),
        }
    }

    /// Lets this account write to the source, which stays read-only for others.
    fn admit_own_writes(&self) -> Result<(), Error> {
        let mut source = link::source_control(&self.back.target)?;
        same_source(&mut source, &self.forward)?;
        write_through(&mut source)
    }

    /// The cut-over from the target to the source. Resumes one that was killed.
    fn return_to_source(&self, events: &mut dyn FnMut(Event)) -> Result<CutOver, Error> {
        if self.begin()?.phase != Phase::Switched {
            self.end_follower()?;
            match self.admit() {
                // Another process has just done it.
                Err(Error::FellBack) => {}
                admitted => {
                    admitted?;
                    self.is_open()?;
                }
            }
        }
        cut_over(&self.back, events).map_err(|error| match error {
            locked @ Error::Locked { .. } => locked,
            error => on_way_back(error),
        })
    }

    /// Begins the way back, unless it has begun. Returns its state.
    fn begin(&self) -> Result<Run, Error> {
        let mut old = self.state()?;
        if let Some(run) = begun(&mut old, &self.forward)? {
            return Ok(run);
        }
        lock_target(&mut old)?;
        if let Some(run) = begun(&mut old, &self.forward)? {
            return Ok(run);
        }
        let mut new = link::target(&self.back.source)?;
        // Another process may have ended the way back.
        let is_wanted = |run: &Run| run.token == self.forward.token && run.fallback > 0;
        if !state::run(&mut new)?.is_some_and(|run| is_wanted(&run)) {
            return Err(Error::NoFallback);
        }
        self.admit_own_writes()?;
        let damaged = |what| move |_| Error::State { what };
        let gtids = self.forward.target_gtids.parse().map_err(|_| Error::State { what: "target_gtids" })?;
        let log = self.forward.target_end.parse().map_err(damaged("target_end"))?;
        let tracking = match tracking(&mut new)? {
            // They were off at the switch.
            Tracking::Gtids if self.forward.target_gtids.is_empty() => Tracking::Positions,
            tracking => tracking,
        };
        // Everything that the source's log has after the switch is a foreign write, unless it is one of the way back.
        let target_log = match log_access::start(&mut old)? {
            Some(_) => Some(self.forward.source_end.parse().map_err(damaged("source_end"))?),
            None => None,
        };
        let source_uuid = &identity(&mut new, Side::Source)?;
        let start = Start { position: Position { gtids, log, row: None }, ..Start::default() };
        let encrypted = self.back.encrypt.requires_any(&self.back.catalog.tables);
        let (phase, token) = (Phase::Copied, self.forward.back_token.clone());
        // Without the target's log, it is not known what others have written to it since a chunk was compared.
        let log_file = state::target_log(&mut new)?.map(|(file, _)| file);
        let mut more = state::copies_of_chunks(&mut new, &self.forward.target_end, log_file.is_some())?;
        // A log that was reset since the switch is another file.
        more.extend(log_file.filter(|file| file.created != 0).map(|file| state::store_log_file(&file)));
        let tables = moved_tables(&self.back.catalog, true)?;
        let logs_cascades = logs_cascades(&mut new)?;
        let beginning =
            Beginning { token, tracking, logs_cascades, source_uuid, start, encrypted, target_log, phase, more };
        state::store_beginning(&mut old, &tables, beginning)?;
        journal::note(&mut old, "way-back", &format!("from {} of the target's log", self.forward.target_end))?;
        state::run(&mut old)?.ok_or(Error::State { what: "run" })
    }

    /// Checks that both servers still have the same definitions.
    fn is_open(&self) -> Result<(), Error> {
        definitions::check(&self.back).map_err(on_way_back)
    }

    /// Takes back the request of a fallback that was killed, if no process works on the way back.
    fn clear_pause(&self) -> Result<(), Error> {
        let mut old = self.state()?;
        lock_target(&mut old).map_err(on_way_back)?;
        state::set_paused(&mut old, false)
    }

    /// Ends a process that follows the way back.
    fn end_follower(&self) -> Result<(), Error> {
        match pause(&self.back.target) {
            Ok(()) => state::set_paused(&mut self.state()?, false),
            // A fallback was killed, so that none follows.
            Err(Error::CutOverInterrupted | Error::Switched) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Gives the source its settings of before the cut-over.
    fn open_source(&self) -> Result<(), Error> {
        let saved = saved(&self.forward)?;
        let mut source = link::source_control(&self.back.target).map_err(|error| saved.still_fenced(&error))?;
        saved.restore(&mut source)
    }

    /// Ends the way back, unless another process has ended it: the source stays read-only for all.
    ///
    /// # Errors
    /// [`Error::FellBack`] if another process has returned to the source.
    fn close(&self) -> Result<FallbackEnd, Error> {
        let mut old = self.state()?;
        lock_target(&mut old)?;
        match begun(&mut old, &self.forward)? {
            Some(run) if run.phase == Phase::Switched => return Err(Error::FellBack),
            Some(_) => {}
            None => return Ok(FallbackEnd::TakenOver),
        }
        let mut target = link::target(&self.back.source)?;
        remove_from_source(&mut old, &mut link::source_control(&self.back.target)?, &self.back.source)?;
        state::end_fallback(&mut target)?;
        journal::note(&mut target, "way-back-over", "the time for a fallback is over")?;
        Ok(FallbackEnd::Expired)
    }

    /// Reports an event, with the names of the sides that the user has given them.
    fn report(&self, event: Event, events: &mut dyn FnMut(Event)) {
        match event {
            Event::Phase(_) | Event::Table { .. } => {}
            Event::Divergence(found) => events(Event::Divergence(of_the_user(found))),
            event => events(event),
        }
    }
}

/// Removes the state of the way back, and blocks all writes to the source. If a fallback was killed, the target is writable
/// again before that.
fn remove_from_source(old: &mut Connection, control: &mut Connection, target: &Server) -> Result<(), Error> {
    write_through(control)?;
    if state::run(old)?.is_some() {
        lift_earlier(old, &mut link::source_control(target)?)?;
    }
    state::remove(old)?;
    block(control)
}

fn saved(forward: &Run) -> Result<Former, Error> {
    Former::parse(&forward.fence).ok_or(Error::State { what: "fence" })
}

/// Checks that this is the server that the cut-over has fenced.
fn same_source(source: &mut Connection, forward: &Run) -> Result<(), Error> {
    link::same_server(source, &saved(forward)?.server_uuid)
}

/// Blocks writes of others, and permits those of accounts that may write in spite of `read_only`.
fn write_through(server: &mut Connection) -> Result<(), Error> {
    let mut set = |name: &str, is: &str, sql: &str| -> Result<(), Error> {
        if variable(server, Side::Source, name)? == is {
            set_lock_wait(server)?;
            server.query(sql).map_err(Error::at(Side::Source))?;
        }
        Ok(())
    };
    set(READ_ONLY, "0", READ_ONLY_ON)?;
    set(SUPER_READ_ONLY, "1", SUPER_READ_ONLY_OFF)
}

/// An error of the way back, and whether it can go on after it.
fn on_way_back(error: Error) -> Error {
    let error = match error {
        Error::Divergence(found) => Error::Divergence(found.into_iter().map(of_the_user).collect()),
        error => error,
    };
    match &error {
        Error::Stopped | Error::FellBack | Error::NoFallback => error,
        Error::DefinitionChanged { .. }
        | Error::StatementFormat { .. }
        | Error::LogGap { .. }
        | Error::LogReset { .. }
        | Error::Anonymous { .. }
        | Error::Columns { .. }
        | Error::ColumnType { .. }
        | Error::Change { .. }
        | Error::Structure { .. }
        | Error::OtherMigration { .. }
        | Error::Stream(binlog::Error::Unavailable { .. })
        | Error::RowNotFound { .. }
        | Error::UnloggedCascade { .. }
        | Error::ApplyWarnings { .. } => Error::WayBackClosed(Box::new(error)),
        Error::Server { side: Side::Target, error: server::Error::Server { code, .. } }
            if VALUE_REFUSED.contains(code) =>
        {
            Error::WayBackClosed(Box::new(error))
        }
        _ => Error::WayBack(Box::new(error)),
    }
}
