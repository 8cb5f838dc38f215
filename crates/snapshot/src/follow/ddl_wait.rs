//! Ends a copy if a change of definitions has waited for it too long.
//!
//! MySQL's backup lock blocks DDL for the whole copy, that of MariaDB for a moment at the end. Both servers show which
//! sessions wait for it, but not reliably since when: the time of a replica's thread is that of its source.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use server::dialect::backup_lock;

use super::{
    Job,
    session::{Privilege, Session},
};
use crate::{error::Error, lock_holder::Holder};

/// Interval at which the server is asked who waits.
const POLL: Duration = Duration::from_secs(1);
/// Interval at which the end of the copy is noticed.
const PAUSE: Duration = Duration::from_millis(50);

/// Watches the sessions that wait for a copy.
pub(super) struct DdlWatch {
    session: Session,
    query: &'static str,
    longest: Duration,
}

impl DdlWatch {
    /// Connects, if there is a limit, and checks that the account sees all sessions that wait.
    pub(super) fn open(job: &Job<'_>) -> Result<Option<Self>, Error> {
        let Some(longest) = job.ddl_wait_max else { return Ok(None) };
        let mut session = Session::open(job.account)?;
        let query = if session.identity.version.flavor.is_mysql_like() {
            session.run_with(Privilege::Waiting, backup_lock::MYSQL_WAITING)?;
            if session.scalar(backup_lock::MYSQL_SEES_HOLDERS)?.as_deref() == Some("0") {
                return Err(Error::DdlUnseen { advice: backup_lock::ENABLE_MYSQL_HOLDERS });
            }
            backup_lock::MYSQL_WAITING
        } else {
            // Without the privilege the list has only the account's own sessions.
            if !session.grants()?.cover("PROCESS ON *.*") {
                return Err(Error::DdlUnseen { advice: backup_lock::GRANT_MARIADB_RUNNING });
            }
            backup_lock::MARIADB_WAITING
        };
        Ok(Some(Self { session, query, longest }))
    }

    /// Watches until the copy is over. Stops it if a session has waited too long.
    pub(super) fn run(mut self, is_over: &AtomicBool, stop: &AtomicBool) -> Result<(), Error> {
        let mut waits = Waits::default();
        while !is_over.load(Ordering::Relaxed) {
            let asked = Instant::now();
            self.look(&mut waits).inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
            while asked.elapsed() < POLL && !is_over.load(Ordering::Relaxed) {
                thread::sleep(PAUSE);
            }
        }
        Ok(())
    }

    fn look(&mut self, waits: &mut Waits) -> Result<(), Error> {
        let waiting = Holder::from_rows(&self.session.rows(self.query, Privilege::Waiting)?);
        match waits.note(waiting, Instant::now(), self.longest) {
            Some(session) => Err(Error::DdlWaited { session, longest: self.longest }),
            None => Ok(()),
        }
    }
}

/// Since when sessions have been seen waiting, by their ids.
#[derive(Default)]
struct Waits(HashMap<u64, Instant>);

impl Waits {
    /// Notes who waits now. Returns a session that has been seen waiting for at least `longest`.
    fn note(&mut self, waiting: Vec<Holder>, now: Instant, longest: Duration) -> Option<Holder> {
        self.0.retain(|id, _| waiting.iter().any(|session| session.id == *id));
        waiting.into_iter().find(|session| {
            let since = *self.0.entry(session.id).or_insert(now);
            now.saturating_duration_since(since) >= longest
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_waited_since_it_was_first_seen_without_a_break() {
        let (began, longest) = (Instant::now(), Duration::from_secs(10));
        let mut waits = Waits::default();
        let mut note = |second: u64, ids: &[u64]| {
            let session = |id: &u64| Holder {
                id: *id,
                user: "app".to_owned(),
                statement: "ALTER TABLE shop.orders".to_owned(),
                // That of a replica is the age of an event.
                seconds: 9000,
            };
            let waiting = ids.iter().map(session).collect();
            waits.note(waiting, began + Duration::from_secs(second), longest).map(|session| session.id)
        };
        assert_eq!(note(0, &[7]), None);
        assert_eq!(note(9, &[7, 8]), None);
        assert_eq!(note(10, &[8]), None, "7 has been granted its lock");
        assert_eq!(note(18, &[7, 8]), None);
        assert_eq!(note(19, &[7, 8]), Some(8));
    }
}
