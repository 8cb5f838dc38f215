//! The fence `lock-tables`: a session locks the moved tables for as long as it lasts.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use server::{
    Connection,
    dialect::statement::{lock_for_reading, set_idle_timeout},
    quote,
};

use super::{not_ready, set_lock_wait};
use crate::{
    Error, Side,
    link::{self, same_server},
    settings::Settings,
    shared::Shared,
};

/// How long the session may be idle.
const IDLE: Duration = Duration::from_secs(86_400);

/// The session with the locks. They outlast a fence that is kept, until [`Self::release`].
#[derive(Debug, Default)]
pub(crate) struct TableLocks(Mutex<Option<Connection>>);

impl TableLocks {
    /// Locks all moved tables, on the server with this identity.
    pub(super) fn take(&self, settings: &Settings, server_uuid: &str, shared: &Shared) -> Result<(), Error> {
        let mut session = link::source_control(&settings.source)?;
        same_server(&mut session, server_uuid)?;
        shared.require_lock(&mut session)?;
        set_lock_wait(&mut session)?;
        let tables = settings.catalog.tables.iter();
        let names: Vec<_> = tables.map(|table| quote::table(&table.schema, &table.name)).collect();
        for sql in [set_idle_timeout(IDLE), lock_for_reading(names.iter().map(String::as_str))] {
            session.query(&sql).map_err(Error::at(Side::Source))?;
        }
        *self.session() = Some(session);
        Ok(())
    }

    /// Checks that the session still lasts.
    ///
    /// # Errors
    /// [`Error::NotReady`].
    pub(super) fn require_held(&self) -> Result<(), Error> {
        let is_alive = self.session().as_mut().is_some_and(|session| session.query("SELECT 1").is_ok());
        if is_alive { Ok(()) } else { Err(not_ready("the session that has locked the tables was ended")) }
    }

    /// Ends the session.
    pub(crate) fn release(&self) {
        if let Some(session) = self.session().take() {
            session.close();
        }
    }

    fn session(&self) -> MutexGuard<'_, Option<Connection>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
