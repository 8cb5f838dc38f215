//! Recognizes a log of either server that was removed and begun anew (`RESET BINARY LOGS AND GTIDS`). The same positions, and even the
//! same GTIDs, then stand for other transactions.
//!
//! Each file begins with the time of its creation. The newest file that a migration has read must still be there with
//! the same time, unless it was purged together with all older ones.

use binlog::{
    Body, Error as StreamError,
    replica::{Replica, Settings, Start},
};
use innodb::binlog::{FIRST_EVENT, LogPosition};
use server::{Connection, dialect::statement::SHOW_BINARY_LOGS};

use crate::{Error, Server, Side, link, server_lock};

/// A file of a server's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogFile {
    pub(crate) server_uuid: String,
    pub(crate) file: String,
    /// When it was created, in seconds since 1970.
    pub(crate) created: u32,
}

impl LogFile {
    /// Whether this file is older than another of the same server.
    pub(crate) fn is_older_than(&self, other: &Self) -> bool {
        self.server_uuid == other.server_uuid && start_of(&self.file) < start_of(&other.file)
    }

    /// Checks that the source's log still has this file, or has purged it. Another server has other files. `lock` is the
    /// name of the lock that this process holds at the source, unless several servers may answer there.
    ///
    /// # Errors
    /// [`Error::LogReset`], [`Error::SeveralServers`].
    pub(crate) fn check(&self, server: &Server, lock: Option<&str>, settings: &Settings) -> Result<(), Error> {
        let mut source = link::source(server)?;
        let mut stream = link::stream(server).map_err(Error::Stream)?;
        for connection in [&mut source, &mut stream] {
            if link::identity(connection, Side::Source)? != self.server_uuid {
                return Ok(());
            }
            lock.map_or(Ok(()), |lock| server_lock::require(connection, lock))?;
        }
        let is_kept = self.is_kept(&mut source, stream, settings).map_err(Error::Stream)?;
        if is_kept { Ok(()) } else { Err(Error::LogReset { file: self.file.clone() }) }
    }

    /// Whether the server's log still has this file, or has purged it. `stream` is another connection to that server.
    ///
    /// # Errors
    /// [`StreamError`].
    pub(crate) fn is_kept(
        &self,
        connection: &mut Connection,
        stream: Connection,
        settings: &Settings,
    ) -> Result<bool, StreamError> {
        match created(stream, &self.file, settings) {
            Ok(found) => Ok(found == Some(self.created)),
            Err(StreamError::Unavailable { .. }) => Ok(oldest(connection)? > start_of(&self.file)),
            Err(error) => Err(error),
        }
    }
}

pub(crate) fn start_of(file: &str) -> LogPosition {
    LogPosition { file: file.to_owned(), offset: FIRST_EVENT }
}

/// When a file was created, by its first event.
fn created(connection: Connection, file: &str, settings: &Settings) -> Result<Option<u32>, StreamError> {
    let mut replica = Replica::start(connection, &Start::Position(start_of(file)), settings)?;
    while let Some(event) = replica.next_event()? {
        if matches!(event.body, Body::FormatDescription(_)) {
            return Ok(Some(event.header.timestamp));
        }
    }
    Ok(None)
}

/// The start of the oldest file.
pub(crate) fn oldest(connection: &mut Connection) -> Result<LogPosition, server::Error> {
    let rows = connection.query(SHOW_BINARY_LOGS)?;
    Ok(start_of(rows.value(0, "Log_name").unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_ordered_by_their_numbers() {
        let file = |server: &str, file: &str| LogFile { server_uuid: server.into(), file: file.into(), created: 0 };
        assert!(file("a", "binlog.999999").is_older_than(&file("a", "binlog.1000000")));
        assert!(!file("a", "binlog.000002").is_older_than(&file("a", "binlog.000002")));
        assert!(!file("a", "binlog.000002").is_older_than(&file("b", "binlog.000003")));
    }
}
