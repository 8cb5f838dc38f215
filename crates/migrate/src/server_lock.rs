//! Locks that tell whether two sessions are on the same server.
//!
//! A server knows only the locks of its own sessions. Names, addresses, and even UUIDs, which are kept in a file, can be
//! the same at two servers, as in containers and copied data directories.

use server::{Connection, quote};

use crate::{Error, Side, position::Tracking, random::random};

/// Name of the lock at the target.
pub(crate) const LOCK: &str = "sealant-migrate";
/// Longest wait for a lock, which a run that has just ended may still hold.
const SECONDS: u64 = 10;

/// Name of the lock that a process of the migration holds at the source.
pub(crate) fn source_lock(token: &str) -> String {
    format!("{LOCK}-{token}")
}

/// Name of the lock that every session at the source has to find; `None` with GTIDs, when any server that has the
/// transactions may answer.
pub(crate) fn one_server_lock(tracking: Tracking, token: &str) -> Option<String> {
    (tracking != Tracking::Gtids).then(|| source_lock(token))
}

/// Takes a lock for as long as the connection lasts.
///
/// # Errors
/// [`Error::Locked`] if another session keeps it.
pub(crate) fn take(connection: &mut Connection, side: Side, name: &str) -> Result<(), Error> {
    let sql = format!("SELECT GET_LOCK({}, {SECONDS})", quote::text(name));
    let rows = connection.query(&sql).map_err(Error::at(side))?;
    if rows.scalar() == Some("1") { Ok(()) } else { Err(Error::Locked { side }) }
}

/// Checks that this session is on the server of the source at which this process holds the lock.
///
/// # Errors
/// [`Error::SeveralServers`].
pub(crate) fn require(source: &mut Connection, name: &str) -> Result<(), Error> {
    if is_taken(source, Side::Source, name)? { Ok(()) } else { Err(Error::SeveralServers) }
}

/// Whether a session of this server holds the lock.
fn is_taken(connection: &mut Connection, side: Side, name: &str) -> Result<bool, Error> {
    let sql = format!("SELECT IS_USED_LOCK({}) IS NOT NULL", quote::text(name));
    Ok(connection.query(&sql).map_err(Error::at(side))?.scalar() == Some("1"))
}

/// Whether both connections reach the same server.
pub(crate) fn is_one_server(source: &mut Connection, target: &mut Connection) -> Result<bool, Error> {
    let name = format!("sealant-{:016x}", random());
    take(target, Side::Target, &name)?;
    let found = is_taken(source, Side::Source, &name)?;
    let release = format!("SELECT RELEASE_LOCK({})", quote::text(&name));
    target.query(&release).map_err(Error::at(Side::Target))?;
    Ok(found)
}
