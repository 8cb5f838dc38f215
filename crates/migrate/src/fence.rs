//! The fence of a cut-over: the source is read-only for a limited time.
//!
//! A thread lifts the fence when the time is up or the caller stops the run, even if the cut-over is waiting for
//! something.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use server::{
    Connection, Flavor, Grants,
    dialect::{
        statement::{READ_ONLY_OFF, READ_ONLY_ON, SUPER_READ_ONLY_OFF, SUPER_READ_ONLY_ON, set_lock_timeout},
        variable::{READ_ONLY, SUPER_READ_ONLY},
    },
    error_code,
};

use crate::{
    Error, Server, Side,
    link::{self, flavor, identity, same_server, variable},
    preflight,
    settings::Settings,
    shared::Shared,
};

/// Time between checks whether the caller has stopped the run.
const POLL: Duration = Duration::from_millis(100);
/// Longest wait of the statement that blocks writes for statements in progress. New writes queue behind it meanwhile.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// The variable that blocks writes, and the statement that sets it. MariaDB has only `read_only`, in spite of which
/// accounts with READ_ONLY ADMIN can write.
pub(crate) const fn write_block(flavor: Flavor) -> (&'static str, &'static str) {
    match flavor {
        Flavor::MariaDb => (READ_ONLY, READ_ONLY_ON),
        Flavor::MySql | Flavor::Percona => (SUPER_READ_ONLY, SUPER_READ_ONLY_ON),
    }
}

/// Stands for a variable that the server does not have, in the state.
const NONE: &str = "-";

/// The source's settings before it was fenced, and which server it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SavedSettings {
    /// `None` if the server does not have it.
    super_read_only: Option<bool>,
    read_only: bool,
    pub(crate) server_uuid: String,
}

impl SavedSettings {
    pub(crate) fn read(source: &mut Connection) -> Result<Self, Error> {
        let mut value = |name| variable(source, Side::Source, name);
        let (super_read_only, read_only) = (value(SUPER_READ_ONLY)?, value(READ_ONLY)?);
        let super_read_only = (!super_read_only.is_empty()).then(|| super_read_only == "1");
        Ok(Self { super_read_only, read_only: read_only == "1", server_uuid: identity(source, Side::Source)? })
    }

    /// The text that the state stores.
    pub(crate) fn text(&self) -> String {
        let super_read_only = self.super_read_only.map_or(NONE, |on| if on { "1" } else { "0" });
        format!("{super_read_only},{},{}", u8::from(self.read_only), self.server_uuid)
    }

    /// Parses the stored text; `None` if no fence is stored.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut fields = text.splitn(3, ',');
        let (super_read_only, read_only) = (fields.next()?, fields.next()? != "0");
        let super_read_only = (super_read_only != NONE).then_some(super_read_only != "0");
        Some(Self { super_read_only, read_only, server_uuid: fields.next().unwrap_or_default().to_owned() })
    }

    /// Restores the source's settings.
    ///
    /// # Errors
    /// [`Error::StillFenced`].
    pub(crate) fn restore(&self, source: &mut Connection) -> Result<(), Error> {
        self.try_restore(source).map_err(|error| self.still_fenced(&error))
    }

    pub(crate) fn still_fenced(&self, why: &Error) -> Error {
        Error::StillFenced { why: why.to_string(), statements: self.statements().join("; ") }
    }

    fn try_restore(&self, source: &mut Connection) -> Result<(), Error> {
        if !self.server_uuid.is_empty() {
            same_server(source, &self.server_uuid)?;
        }
        self.statements().iter().try_for_each(|sql| match source.query(sql) {
            // The account lacks the privilege, so it never fenced the source: the settings are unchanged.
            Err(server::Error::Server { code, .. })
                if error_code::ACCESS_DENIED.contains(&code) && Self::read(source)? == *self =>
            {
                Ok(())
            }
            ended => ended.map(drop).map_err(Error::at(Side::Source)),
        })
    }

    fn statements(&self) -> Vec<&'static str> {
        let super_read_only = (self.super_read_only == Some(false)).then_some(SUPER_READ_ONLY_OFF);
        super_read_only.into_iter().chain((!self.read_only).then_some(READ_ONLY_OFF)).collect()
    }
}

/// Checks, before writes are blocked, that the account has the privileges to block them.
///
/// # Errors
/// [`Error::MissingGrant`].
pub(crate) fn may_fence(source: &mut Connection) -> Result<(), Error> {
    let Some(version) = source.greeting().server_version() else { return Ok(()) };
    require_grants(source, Side::Source, &preflight::cut_over(&version))
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

/// A fence that is lifted unless [`Self::keep`] is called.
#[derive(Debug)]
pub(crate) struct Fence<'m> {
    source: &'m Server,
    pub(crate) before: SavedSettings,
    began: Instant,
    state: Mutex<State>,
    changed: Condvar,
}

impl<'m> Fence<'m> {
    /// Begins the limited time; [`Self::raise`] then blocks writes.
    pub(crate) fn new(source: &'m Server, before: SavedSettings) -> Self {
        Self { source, before, began: Instant::now(), state: Mutex::new(State::Up), changed: Condvar::new() }
    }

    pub(crate) fn age(&self) -> Duration {
        self.began.elapsed()
    }

    /// Blocks writes at the source.
    pub(crate) fn raise(&self, source: &mut Connection) -> Result<(), Error> {
        let (_, block) = write_block(flavor(source));
        for sql in [set_lock_timeout(LOCK_WAIT).as_str(), block] {
            source.query(sql).map_err(Error::at(Side::Source))?;
        }
        Ok(())
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
                drop(link::source_control(self.source).and_then(|mut source| self.before.restore(&mut source)));
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
        if self.before.restore(source).is_ok() {
            return Ok(());
        }
        let mut source = link::source_control(self.source).map_err(|error| self.before.still_fenced(&error))?;
        self.before.restore(&mut source)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn too_long(limit: Duration) -> Error {
    Error::NotReady { what: format!("the source has taken no writes for {} s", limit.as_secs_f32()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_on_before_stays_on() {
        let before = SavedSettings::parse("0,1,uuid").unwrap();
        assert_eq!(
            (before.text().as_str(), before.statements()),
            ("0,1,uuid", vec!["SET GLOBAL super_read_only = OFF"])
        );
        assert_eq!(SavedSettings::parse("0,0").unwrap().statements().len(), 2);
        let mariadb = SavedSettings::parse("-,0,id").unwrap();
        assert_eq!((mariadb.text().as_str(), mariadb.statements()), ("-,0,id", vec!["SET GLOBAL read_only = OFF"]));
        assert_eq!(SavedSettings::parse(""), None);
    }
}
