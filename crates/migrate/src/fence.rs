//! The fence of a cut-over: clients cannot write to the source for a limited time.
//!
//! A thread lifts the fence when the time is up or the caller stops the run, even if the cut-over is waiting for
//! something.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread::sleep,
    time::{Duration, Instant},
};

use server::{
    Account, Connection, Flavor, Grants,
    dialect::{
        statement::{
            OPEN_WRITERS, PREPARED_TRANSACTIONS, READ_ONLY_ON, SUPER_READ_ONLY_ON, XA_RECOVER, end_session,
            sessions_of, set_idle_timeout, set_lock_timeout,
        },
        variable::{READ_ONLY, SUPER_READ_ONLY},
    },
    error_code, quote,
};

use crate::{
    Error, Side, accounts,
    fencing::{Fencing, LastingFence},
    former::Former,
    link::{self, flavor, same_server, variable},
    preflight, program,
    settings::Settings,
    shared::Shared,
};

/// Time between checks whether the caller has stopped the run.
const POLL: Duration = Duration::from_millis(100);
/// Longest wait of the statement that blocks writes for statements in progress. New writes queue behind it meanwhile.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// Pause between readings of sessions and transactions that end.
const ENDING: Duration = Duration::from_millis(50);
/// Longest time for which the program that has stopped writes takes that back.
const LIFT_TIME: Duration = Duration::from_secs(60);
/// How long the session with the locks may be idle.
const IDLE: Duration = Duration::from_secs(86_400);

/// The variable that blocks writes, and the statement that sets it. MariaDB has only `read_only`, in spite of which
/// accounts with READ_ONLY ADMIN can write.
pub(crate) const fn write_block(flavor: Flavor) -> (&'static str, &'static str) {
    match flavor {
        Flavor::MariaDb => (READ_ONLY, READ_ONLY_ON),
        Flavor::MySql | Flavor::Percona => (SUPER_READ_ONLY, SUPER_READ_ONLY_ON),
    }
}

/// Checks, before writes are blocked, that the account has the privileges to block them.
///
/// # Errors
/// [`Error::MissingGrant`].
pub(crate) fn may_fence(source: &mut Connection, fencing: &Fencing) -> Result<(), Error> {
    let Some(version) = source.greeting().server_version() else { return Ok(()) };
    require_grants(source, Side::Source, &preflight::cut_over(&version, fencing))
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
    let statement = grant.statement(&missing, &account);
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

/// A session that locks the tables. They are locked for as long as it lasts, also after the fence is kept.
pub(crate) type TableLocks = Mutex<Option<Connection>>;

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
        if self.settings.fencing.lock_tables {
            let session = self.lock_tables(shared)?;
            *self.session() = Some(session);
        }
        match &self.settings.fencing.lasting {
            None => Ok(()),
            Some(LastingFence::ReadOnly) => {
                let (_, block) = write_block(flavor(source));
                set_lock_wait(source)?;
                source.query(block).map(drop).map_err(Error::at(Side::Source))
            }
            Some(LastingFence::Accounts(names)) => {
                for name in self.before.locks() {
                    let sql = format!("ALTER USER {} ACCOUNT LOCK", name.quoted());
                    source.query(&sql).map_err(Error::at(Side::Source))?;
                }
                end_sessions(source, names, shared)
            }
            Some(LastingFence::External(path)) => {
                path.iter().try_for_each(|path| program::run(path, "fence", self.settings, || shared.has_ended()))
            }
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
            let mut session = self.session();
            let alive = session.as_mut().is_some_and(|session| session.query("SELECT 1").is_ok());
            if !alive {
                return Err(not_ready("the session that has locked the tables was ended"));
            }
        }
        match &self.settings.fencing.lasting {
            None => return Ok(()),
            Some(LastingFence::ReadOnly) => {
                let (name, _) = write_block(flavor(source));
                return match variable(source, Side::Source, name)?.as_str() {
                    "1" => Ok(()),
                    _ => Err(not_ready(&format!("{name} was turned off at the source"))),
                };
            }
            Some(LastingFence::Accounts(names)) => {
                for name in names {
                    if accounts::is_locked(source, name).map_err(Error::at(Side::Source))? == Some(false) {
                        return Err(not_ready(&format!("the account {} was unlocked", name.quoted())));
                    }
                }
                if !sessions(source, names)?.is_empty() {
                    return Err(not_ready("accounts that are locked have sessions"));
                }
            }
            Some(LastingFence::External(_)) => {}
        }
        if self.holds_locks() { Ok(()) } else { no_open_transaction(source, shared) }
    }

    /// A session that locks all moved tables.
    fn lock_tables(&self, shared: &Shared) -> Result<Connection, Error> {
        let mut session = link::source_control(&self.settings.source)?;
        same_server(&mut session, &self.before.server_uuid)?;
        shared.require_lock(&mut session)?;
        set_lock_wait(&mut session)?;
        let names = self.settings.catalog.tables.iter();
        let names: Vec<_> = names.map(|table| format!("{} READ", quote::table(&table.schema, &table.name))).collect();
        for sql in [set_idle_timeout(IDLE), format!("LOCK TABLES {}", names.join(", "))] {
            session.query(&sql).map_err(Error::at(Side::Source))?;
        }
        Ok(session)
    }

    fn session(&self) -> MutexGuard<'_, Option<Connection>> {
        self.table_locks.lock().unwrap_or_else(PoisonError::into_inner)
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
                release(self.table_locks);
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
        release(self.table_locks);
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

fn not_ready(what: &str) -> Error {
    Error::NotReady { what: what.to_owned() }
}

fn set_lock_wait(source: &mut Connection) -> Result<(), Error> {
    source.query(&set_lock_timeout(LOCK_WAIT)).map(drop).map_err(Error::at(Side::Source))
}

/// Ends the session that locks the tables.
pub(crate) fn release(table_locks: &TableLocks) {
    if let Some(session) = table_locks.lock().unwrap_or_else(PoisonError::into_inner).take() {
        session.close();
    }
}

/// Lets the user's program take back what it did, if it has stopped writes.
///
/// # Errors
/// [`Error::StillFenced`].
pub(crate) fn lift_external(before: &Former, settings: &Settings) -> Result<(), Error> {
    let Some(LastingFence::External(Some(path))) = &settings.fencing.lasting else { return Ok(()) };
    if !before.is_external() {
        return Ok(());
    }
    let began = Instant::now();
    program::run(path, "lift", settings, || began.elapsed() > LIFT_TIME).map_err(|error| before.still_fenced(&error))
}

/// Ends the sessions of locked accounts, which their locks do not end.
fn end_sessions(source: &mut Connection, names: &[Account], shared: &Shared) -> Result<(), Error> {
    wait_until(shared, "sessions of locked accounts do not end", || {
        let sessions = sessions(source, names)?;
        for id in &sessions {
            match source.query(&end_session(id)) {
                Ok(_) | Err(server::Error::Server { code: error_code::NO_SUCH_THREAD, .. }) => {}
                Err(error) => return Err(Error::at(Side::Source)(error)),
            }
        }
        Ok(sessions.is_empty())
    })
}

/// The sessions of these users.
fn sessions(source: &mut Connection, names: &[Account]) -> Result<Vec<String>, Error> {
    let users: Vec<_> = names.iter().map(|name| name.user.as_str()).collect();
    let rows = source.query(&sessions_of(&users)).map_err(Error::at(Side::Source))?;
    Ok(rows.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
}

/// Waits until no transaction has changed rows that it could still commit.
///
/// # Errors
/// [`Error::NotReady`].
pub(crate) fn no_open_transaction(source: &mut Connection, shared: &Shared) -> Result<(), Error> {
    wait_until(shared, "transactions with changes are open at the source", || {
        let open = source.query(OPEN_WRITERS).map_err(Error::at(Side::Source))?;
        Ok(open.scalar() == Some("0"))
    })
}

/// Whether a transaction is prepared, which could be committed in spite of a fence.
pub(crate) fn has_prepared(source: &mut Connection, fencing: &Fencing) -> Result<bool, Error> {
    let is_mariadb = flavor(source) == Flavor::MariaDb;
    // For other fences the account does not have XA_RECOVER_ADMIN.
    let lists = is_mariadb || fencing.is_read_only();
    let rows = source.query(if lists { XA_RECOVER } else { PREPARED_TRANSACTIONS }).map_err(Error::at(Side::Source))?;
    Ok(if lists { !rows.rows.is_empty() } else { rows.scalar() != Some("0") })
}

fn wait_until(shared: &Shared, what: &str, mut is_so: impl FnMut() -> Result<bool, Error>) -> Result<(), Error> {
    let began = Instant::now();
    let mut times = 0_u32;
    // A session that has just logged in can be missing once.
    while times < 2 {
        times = if is_so()? { times.saturating_add(1) } else { 0 };
        if shared.has_ended() {
            return Err(Error::Stopped);
        }
        if times == 0 && began.elapsed() > LOCK_WAIT {
            return Err(not_ready(what));
        }
        sleep(ENDING);
    }
    Ok(())
}
