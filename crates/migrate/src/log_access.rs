//! What a server's log contains, and whether an account may read that of the target.

use innodb::binlog::LogPosition;
use server::{
    Connection, Error as ServerError, Flavor, Grants,
    dialect::statement::{SHOW_BINARY_LOG_STATUS, binary_log_status},
};

use crate::{Error, Side, link, position::log_end_at};

/// Privileges to read the log.
pub(crate) const fn privileges(flavor: Flavor) -> [&'static str; 2] {
    match flavor {
        Flavor::MariaDb => ["REPLICATION SLAVE", "BINLOG MONITOR"],
        Flavor::MySql | Flavor::Percona => ["REPLICATION SLAVE", "REPLICATION CLIENT"],
    }
}

/// The privileges to read the log that an account lacks.
pub(crate) fn missing(flavor: Flavor, held: &Grants) -> Vec<&'static str> {
    privileges(flavor).into_iter().filter(|name| !held.cover(&format!("{name} ON *.*"))).collect()
}

/// Where a migration that begins now starts to read the target's log; `None` if it cannot.
///
/// # Errors
/// [`Error::Server`].
pub(crate) fn start(target: &mut Connection) -> Result<Option<LogPosition>, Error> {
    let held = Grants::of_session(target).map_err(Error::at(Side::Target))?;
    if !missing(link::flavor(target), &held).is_empty() || !is_whole(target)? {
        return Ok(None);
    }
    log_end_at(target, Side::Target).map(Some)
}

/// Whether the target has a log, and logs all schemas: a filter could leave out foreign writes, or the state, which
/// tells a migration's own writes from them.
pub(crate) fn is_whole(target: &mut Connection) -> Result<bool, Error> {
    Ok(link::variable(target, Side::Target, "log_bin")? == "1"
        && log_filters(target).map_err(Error::at(Side::Target))?.is_empty())
}

/// Options that limit a server's log to some schemas, and their values; empty without a log.
pub(crate) fn log_filters(connection: &mut Connection) -> Result<Vec<(String, String)>, ServerError> {
    let version = connection.greeting().server_version();
    let rows = connection.query(version.as_ref().map_or(SHOW_BINARY_LOG_STATUS, binary_log_status))?;
    let filter = |(column, option): (&str, &str)| {
        let value = rows.value(0, column).filter(|value| !value.is_empty())?;
        Some((option.to_owned(), value.to_owned()))
    };
    let options = [("Binlog_Do_DB", "binlog-do-db"), ("Binlog_Ignore_DB", "binlog-ignore-db")];
    Ok(options.into_iter().filter_map(filter).collect())
}
