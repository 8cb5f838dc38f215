//! Recognizes a log that was removed and begun anew (`RESET BINARY LOGS AND GTIDS`). The same positions, and even the
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

use crate::{Error, Server, Side, link};

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

    /// Checks that the source's log still has this file, or has purged it. Another server has other files.
    ///
    /// # Errors
    /// [`Error::LogReset`].
    pub(crate) fn check(&self, server: &Server, settings: &Settings) -> Result<(), Error> {
        let mut source = link::source(server)?;
        if link::identity(&mut source, Side::Source)? != self.server_uuid {
            return Ok(());
        }
        match created(link::stream(server).map_err(Error::Stream)?, &self.file, settings) {
            Ok(Some(created)) if created == self.created => Ok(()),
            Err(StreamError::Unavailable { .. }) if oldest(&mut source)? > start_of(&self.file) => Ok(()),
            Ok(_) | Err(StreamError::Unavailable { .. }) => Err(Error::LogReset { file: self.file.clone() }),
            Err(error) => Err(Error::Stream(error)),
        }
    }
}

fn start_of(file: &str) -> LogPosition {
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
fn oldest(source: &mut Connection) -> Result<LogPosition, Error> {
    let rows = source.query(SHOW_BINARY_LOGS).map_err(Error::at(Side::Source))?;
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
