//! What can write in spite of a fence, and must not be there: each is looked for before the fence is up, and while it is.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use server::{
    Connection, Flavor,
    dialect::statement::{
        EXECUTING_EVENTS, OPEN_WRITERS, PREPARED_TRANSACTIONS, RUNNING_EVENTS, XA_RECOVER, replication_threads,
    },
};

use super::{LOCK_WAIT, not_ready, read_only};
use crate::{
    Error, Side,
    fencing::{Fencing, LastingFence},
    link::flavor,
    open_transactions,
    shared::Shared,
};

/// Pause between readings of sessions and transactions that end.
const ENDING: Duration = Duration::from_millis(50);

/// Checks that replication is stopped: its threads write in spite of the fence.
///
/// # Errors
/// [`Error::NotReady`].
pub(crate) fn no_replication(source: &mut Connection) -> Result<(), Error> {
    let threads = source.query(replication_threads(flavor(source))).map_err(Error::at(Side::Source))?;
    if threads.scalar() == Some("0") {
        return Ok(());
    }
    Err(not_ready("the source applies changes of another server (STOP REPLICA)"))
}

/// Checks that no transaction is prepared: it could be committed in spite of the fence.
///
/// # Errors
/// [`Error::NotReady`].
pub(crate) fn nothing_prepared(source: &mut Connection, fencing: &Fencing) -> Result<(), Error> {
    if !has_prepared(source, fencing)? {
        return Ok(());
    }
    Err(not_ready("XA transactions are prepared at the source (XA RECOVER)"))
}

fn has_prepared(source: &mut Connection, fencing: &Fencing) -> Result<bool, Error> {
    let is_mariadb = flavor(source) == Flavor::MariaDb;
    // For other fences the account does not have XA_RECOVER_ADMIN.
    let lists = is_mariadb || fencing.is_read_only();
    let prepared = if lists {
        source.query(XA_RECOVER).map(|rows| !rows.rows.is_empty())
    } else {
        open_transactions::count(source, PREPARED_TRANSACTIONS).map(|prepared| prepared > 0)
    };
    prepared.map_err(Error::at(Side::Source))
}

/// Checks that nothing is there that can write in spite of the fence: for `accounts` and `external`, and on MariaDB,
/// events; on MariaDB also sessions with READ_ONLY ADMIN.
///
/// # Errors
/// [`Error::NotReady`].
pub(crate) fn no_other_writers(
    source: &mut Connection,
    reader: &Connection,
    fencing: &Fencing,
    shared: &Shared,
) -> Result<(), Error> {
    match fencing.lasting {
        None => Ok(()),
        Some(LastingFence::ReadOnly) if flavor(source) == Flavor::MariaDb => {
            read_only::no_privileged_sessions(source, reader)?;
            no_events(source, shared)
        }
        Some(LastingFence::ReadOnly) => Ok(()),
        Some(LastingFence::Accounts(_) | LastingFence::External(_)) => no_events(source, shared),
    }
}

/// Checks that no event can begin, and waits for those that are being executed: to turn the scheduler off does not end them.
fn no_events(source: &mut Connection, shared: &Shared) -> Result<(), Error> {
    if !is_none(source, RUNNING_EVENTS)? {
        return Err(not_ready(
            "events of the source can write in spite of the fence (SET GLOBAL event_scheduler = OFF)",
        ));
    }
    let what = "an event of the source is still being executed, and can write in spite of the fence (SHOW PROCESSLIST)";
    wait_until(shared, what, || is_none(source, EXECUTING_EVENTS))
}

/// Whether a statement counts nothing.
fn is_none(source: &mut Connection, statement: &str) -> Result<bool, Error> {
    Ok(source.query(statement).map_err(Error::at(Side::Source))?.scalar() == Some("0"))
}

/// Waits until no transaction has changed rows that it could still commit.
///
/// # Errors
/// [`Error::NotReady`].
pub(super) fn no_open_transaction(source: &mut Connection, shared: &Shared) -> Result<(), Error> {
    wait_until(shared, "transactions with changes are open at the source", || {
        let open = open_transactions::count(source, OPEN_WRITERS).map_err(Error::at(Side::Source))?;
        Ok(open == 0)
    })
}

/// Waits until this is so in two readings in a row.
///
/// # Errors
/// [`Error::NotReady`] with `what` after [`LOCK_WAIT`]; [`Error::Stopped`].
pub(super) fn wait_until(
    shared: &Shared,
    what: &str,
    mut is_so: impl FnMut() -> Result<bool, Error>,
) -> Result<(), Error> {
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
