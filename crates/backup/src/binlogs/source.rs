//! The server whose binary log is archived: who it is, and which logs it has.
//!
//! An address may lead to different servers at different times. So every connection that will receive a log first asks
//! the server who it is.

use innodb::binlog::{FIRST_EVENT, LogPosition};
use replication::status::ChannelStatus;
use server::{
    Connection, Rows, ServerVersion,
    dialect::{gtid, statement},
};
use snapshot::follow::Account;

use super::failover::Gtids;
use crate::Error;

/// A server's answers about itself.
#[derive(Debug)]
pub(super) struct Source {
    /// Its name in the archive.
    pub(super) id: String,
    /// Its `server_id`, which is in the events that it makes for a replica.
    pub(super) server_id: u32,
    pub(super) version: ServerVersion,
    pub(super) is_mariadb: bool,
    /// Its logs, the oldest first, with their lengths.
    pub(super) logs: Vec<LogPosition>,
    /// Position at which its newest log ends.
    pub(super) end: LogPosition,
    /// MySQL: its GTIDs.
    pub(super) gtids: Gtids,
}

impl Source {
    /// Connects to a server and asks it.
    pub(super) fn connect(account: &Account) -> Result<(Connection, Self), Error> {
        let failed = |error: server::Error| Error::Binlog(error.into());
        let mut connection = Connection::open(&account.target, &account.options).map_err(failed)?;
        let identity = server::describe(&mut connection).map_err(failed)?;
        let is_mariadb = !identity.version.flavor.is_mysql_like();
        // Only this statement gives the position: the length of an encrypted log includes its header, which positions
        // do not count.
        let forbidden = |error| Error::Binlog(::binlog::Error::of_account(error));
        let status = connection.query(statement::binary_log_status(&identity.version)).map_err(forbidden)?;
        let Some(end) = positions(&status).next() else { return Err(Error::NoBinaryLog) };
        let logs = connection.query(statement::SHOW_BINARY_LOGS).map_err(forbidden)?;
        let logs = positions(&logs).collect();
        let gtids = if is_mariadb { Gtids::default() } else { gtids_of(&mut connection).map_err(failed)? };
        let server_id = identity.server_id;
        let id = identity.server_uuid.filter(|_| !is_mariadb).unwrap_or_else(|| server_id.to_string());
        Ok((connection, Self { id, server_id, version: identity.version, is_mariadb, logs, end, gtids }))
    }

    /// Connects again, to the same server.
    ///
    /// # Errors
    /// [`Error::OtherServer`] if another one answers.
    pub(super) fn connect_again(&self, account: &Account) -> Result<(Connection, Self), Error> {
        let (connection, now) = Self::connect(account)?;
        if now.id == self.id { Ok((connection, now)) } else { Err(self.is_other(now.id)) }
    }

    /// Whether a replication applier runs on the server.
    pub(super) fn applies(&self, connection: &mut Connection) -> Result<bool, Error> {
        let status = connection.query(statement::replica_status(&self.version));
        let status = status.map_err(|error| Error::Binlog(::binlog::Error::of_account(error)))?;
        Ok(ChannelStatus::all(&self.version, &status).iter().any(|channel| channel.applier_runs))
    }

    /// The error for a connection on which another server answers.
    pub(super) fn is_other(&self, now: String) -> Error {
        Error::OtherServer { before: self.id.clone(), now }
    }

    /// Position of the first event of the oldest log.
    pub(super) fn oldest(&self) -> LogPosition {
        let file = self.logs.first().map_or_else(String::new, |log| log.file.clone());
        LogPosition { file, offset: FIRST_EVENT }
    }

    /// The oldest log, which the server removes first; `None` if it still writes to it.
    pub(super) fn oldest_closed(&self) -> Option<&str> {
        self.logs.first().filter(|_| self.logs.len() > 1).map(|log| log.file.as_str())
    }

    /// Length of its logs behind a position, in bytes.
    pub(super) fn bytes_after(&self, position: &LogPosition) -> u64 {
        let from = self.logs.iter().position(|log| log.file == position.file).unwrap_or(0);
        let behind = self.logs.iter().skip(from).fold(0_u64, |sum, log| sum.saturating_add(log.offset));
        behind.saturating_sub(position.offset)
    }

    /// Whether the server still has the log, up to this position at least.
    pub(super) fn has(&self, position: &LogPosition) -> bool {
        self.logs.iter().any(|log| log.file == position.file && log.offset >= position.offset)
    }
}

fn gtids_of(connection: &mut Connection) -> Result<Gtids, server::Error> {
    let rows = connection.query(gtid::MYSQL_GTIDS)?;
    let set = |name: &str| rows.value(0, name).and_then(|set| set.parse().ok()).unwrap_or_default();
    // With ON_PERMISSIVE a replica may still write transactions without GTIDs.
    let is_on = rows.value(0, "mode").is_some_and(server::switch::is_on);
    Ok(Gtids { executed: set("executed"), purged: set("purged"), is_on })
}

/// Names and lengths of logs: the first two columns.
fn positions(rows: &Rows) -> impl Iterator<Item = LogPosition> {
    rows.rows.iter().filter_map(|row| {
        let (file, offset) = (row.first()?.clone()?, row.get(1)?.as_ref()?.parse().ok()?);
        Some(LogPosition { file, offset })
    })
}
