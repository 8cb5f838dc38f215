//! The fence of a cut-over: clients cannot write to the source for a limited time. Each kind of fence is a file here.
//!
//! A thread lifts the fence when the time is up or the caller stops the run, even if the cut-over is waiting for
//! something.

mod account_locks;
mod checks;
mod external;
mod former;
mod read_only;
mod table_locks;

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use server::{
    Connection, Grants,
    dialect::{managed::ManagedService, statement::set_lock_timeout},
};

pub(crate) use self::{
    checks::{no_other_writers, no_replication, nothing_prepared},
    external::lift_external,
    former::Former,
    read_only::block,
    table_locks::TableLocks,
};
use crate::{
    Error, Side,
    fencing::{Fencing, LastingFence},
    link, preflight,
    settings::Settings,
    shared::Shared,
};

/// Time between checks whether the caller has stopped the run.
const POLL: Duration = Duration::from_millis(100);
/// Longest wait of the statement that blocks writes for statements in progress. New writes queue behind it meanwhile.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// Checks, before writes are blocked, that the account has the privileges to block them.
///
/// # Errors
/// [`Error::MissingGrant`].
pub(crate) fn may_fence(source: &mut Connection, fencing: &Fencing) -> Result<(), Error> {
    let Some(version) = source.greeting().server_version() else { return Ok(()) };
    let service = ManagedService::of_session(source).map_err(Error::at(Side::Source))?;
    let kill_procedure = service.and_then(ManagedService::kill_procedure);
    require_grants(source, Side::Source, &preflight::cut_over(&version, kill_procedure, fencing))
}

/// Checks that the account of this side has these privileges.
///
/// # Errors
/// [`Error::MissingGrant`].
pub(crate) fn require_grants(
    connection: &mut Connection,
    side: Side,
    grants: &[preflight::Grant],
) -> Result<(), Error> {
    let held = Grants::of_session(connection).map_err(Error::at(side))?;
    let missing = |grant: &preflight::Grant| Some(grant.missing(&held)).filter(|missing| !missing.is_empty());
    let Some((grant, missing)) = grants.iter().find_map(|grant| Some((grant, missing(grant)?))) else {
        return Ok(());
    };
    let account = connection.query("SELECT CURRENT_USER()").map_err(Error::at(side))?;
    let account = preflight::quoted_account(account.scalar().unwrap_or_default());
    let statement = grant.statement(&held, &missing, &account);
    Err(Error::MissingGrant { side, privileges: missing.join(", "), statement })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The fence is up for a limited time, or about to be.
    Up,
    /// The fence stays, because the cut-over is done.
    Kept,
    /// The fence was lifted, or has to be.
    Ended,
}

/// A fence that is lifted unless [`Self::keep`] is called.
#[derive(Debug)]
pub(crate) struct Fence<'m> {
    settings: &'m Settings,
    pub(crate) before: Former,
    table_locks: &'m TableLocks,
    began: Instant,
    state: Mutex<State>,
    changed: Condvar,
}

impl<'m> Fence<'m> {
    /// Begins the limited time; [`Self::raise`] then blocks writes.
    pub(crate) fn new(settings: &'m Settings, before: Former, table_locks: &'m TableLocks) -> Self {
        let (began, state, changed) = (Instant::now(), Mutex::new(State::Up), Condvar::new());
        Self { settings, before, table_locks, began, state, changed }
    }

    pub(crate) fn age(&self) -> Duration {
        self.began.elapsed()
    }

    /// Blocks writes at the source.
    pub(crate) fn raise(&self, source: &mut Connection, shared: &Shared) -> Result<(), Error> {
        if self.holds_locks() {
            self.table_locks.take(self.settings, &self.before.server_uuid, shared)?;
        }
        match &self.settings.fencing.lasting {
            None | Some(LastingFence::External(None)) => Ok(()),
            Some(LastingFence::ReadOnly) => block(source),
            Some(LastingFence::Accounts(names)) => {
                self.before.lock_accounts(source)?;
                account_locks::end_sessions(source, names, shared)
            }
            Some(LastingFence::External(Some(program))) => external::raise(program, self.settings, shared),
        }
    }

    pub(crate) const fn fencing(&self) -> &Fencing {
        &self.settings.fencing
    }

    /// Whether the log contains every change of a moved table, even while it grows.
    pub(crate) const fn holds_locks(&self) -> bool {
        self.settings.fencing.lock_tables
    }

    /// Checks that clients still cannot write, and that nobody has written with a transaction that is open.
    ///
    /// # Errors
    /// [`Error::NotReady`].
    pub(crate) fn require_held(&self, source: &mut Connection, shared: &Shared) -> Result<(), Error> {
        if self.holds_locks() {
            self.table_locks.require_held()?;
        }
        match &self.settings.fencing.lasting {
            None => return Ok(()),
            Some(LastingFence::ReadOnly) => return read_only::require_held(source),
            Some(LastingFence::Accounts(names)) => account_locks::require_held(source, names)?,
            Some(LastingFence::External(_)) => {}
        }
        if self.holds_locks() { Ok(()) } else { checks::no_open_transaction(source, shared) }
    }

    /// Lifts the fence and ends the run when the time is up or the caller stops the run. Returns when the fence is kept
    /// or lifted.
    pub(crate) fn guard(&self, settings: &Settings, shared: &Shared) {
        let mut state = self.lock();
        while *state == State::Up {
            let is_late = self.age() >= settings.max_blocked;
            if is_late || settings.stopped() {
                *state = State::Ended;
                // The thread of the cut-over lifts the fence as well, and reports if neither thread can.
                self.table_locks.release();
                drop(
                    link::source_control(&self.settings.source).and_then(|mut source| self.before.restore(&mut source)),
                );
                shared.fail(if is_late { too_long(settings.max_blocked) } else { Error::Stopped });
                return;
            }
            state = self.changed.wait_timeout(state, POLL).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Lets the fence stay for good.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the time was up before.
    pub(crate) fn keep(&self) -> Result<(), Error> {
        let mut state = self.lock();
        if *state == State::Ended {
            return Err(Error::Stopped);
        }
        *state = State::Kept;
        self.changed.notify_all();
        Ok(())
    }

    /// Restores the source's settings, over a new connection if `source` is lost. Does so even if the guard already
    /// has: the statement that blocks writes may have completed after that.
    ///
    /// # Errors
    /// [`Error::StillFenced`].
    pub(crate) fn lift(&self, source: &mut Connection) -> Result<(), Error> {
        *self.lock() = State::Ended;
        self.changed.notify_all();
        self.table_locks.release();
        lift_external(&self.before, self.settings)?;
        if self.before.restore(source).is_ok() {
            return Ok(());
        }
        let source = link::source_control(&self.settings.source);
        source.map_err(|error| self.before.still_fenced(&error)).and_then(|mut source| self.before.restore(&mut source))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn too_long(limit: Duration) -> Error {
    Error::NotReady { what: format!("the source has taken no writes for {} s", limit.as_secs_f32()) }
}

fn not_ready(what: impl Into<String>) -> Error {
    Error::NotReady { what: what.into() }
}

/// Limits how long a statement of this session waits for locks.
pub(crate) fn set_lock_wait(source: &mut Connection) -> Result<(), Error> {
    source.query(&set_lock_timeout(LOCK_WAIT)).map(drop).map_err(Error::at(Side::Source))
}
