//! Commands of a replica: a server sends its binary log over the connection.
//!
//! Source: MySQL's "COM_REGISTER_SLAVE", "COM_BINLOG_DUMP", "COM_BINLOG_DUMP_GTID".

use std::{
    io::{self, Read},
    time::Duration,
};

use super::{Connection, rows::is_end};
use crate::{
    error::{Error, Phase},
    packet::{self, PacketError},
};

const COM_BINLOG_DUMP: u8 = 0x12;
const COM_REGISTER_SLAVE: u8 = 0x15;
const COM_BINLOG_DUMP_GTID: u8 = 0x1e;
/// `BINLOG_SEND_ANNOTATE_ROWS_EVENT` of MariaDB (`sql/sql_repl.h`). MySQL always sends these events.
const ANNOTATE_ROWS: u16 = 2;

/// Offset of the first event of a log, after its magic number.
pub const FIRST_EVENT: u32 = 4;

/// Where a server starts to send its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpFrom<'a> {
    /// At a position. An empty name means the oldest log or, on MariaDB, the position in `@slave_connect_state`.
    /// MariaDB is asked to send annotate events (the statements of row events) too: without them, the positions of the
    /// following events would be unknown.
    Position {
        /// Name of the log.
        file: &'a str,
        /// Position in it.
        position: u32,
    },
    /// After these transactions; MySQL only.
    Gtids {
        /// The set, encoded as in the previous-GTIDs event.
        set: &'a [u8],
    },
}

impl Connection {
    /// Registers as a replica, so that the server lists it.
    ///
    /// # Errors
    /// [`Error`]; without the privilege REPLICATION SLAVE [`Error::AccessDenied`] or [`Error::is_privilege`].
    pub fn register_replica(&mut self, server_id: u32) -> Result<(), Error> {
        let mut command = vec![COM_REGISTER_SLAVE];
        command.extend(server_id.to_le_bytes());
        // Host, user and password of the replica, its port, its rank, and the id of its source, which the server sets.
        command.extend([0; 3 + 2 + 4 + 4]);
        self.start(&command)?;
        let result = self.read_result();
        self.broken = result.is_err();
        result.map(drop)
    }

    /// Asks for the log and turns the connection into the stream of its events.
    ///
    /// # Errors
    /// [`Error`] if the command cannot be sent. A missing log is reported only when the first event is read.
    pub fn dump(mut self, server_id: u32, from: DumpFrom<'_>, read_timeout: Duration) -> Result<EventPackets, Error> {
        let flags = if self.greeting.is_mariadb() { ANNOTATE_ROWS } else { 0 };
        let command = dump_command(server_id, flags, from);
        self.start(&command)?;
        Ok(EventPackets { connection: self, read_timeout })
    }
}

fn dump_command(server_id: u32, flags: u16, from: DumpFrom<'_>) -> Vec<u8> {
    match from {
        DumpFrom::Position { file, position } => {
            let mut command = vec![COM_BINLOG_DUMP];
            command.extend(position.to_le_bytes());
            command.extend(flags.to_le_bytes());
            command.extend(server_id.to_le_bytes());
            command.extend(file.as_bytes());
            command
        }
        DumpFrom::Gtids { set } => {
            let mut command = vec![COM_BINLOG_DUMP_GTID];
            command.extend(flags.to_le_bytes());
            command.extend(server_id.to_le_bytes());
            // No name of a log.
            command.extend(0_u32.to_le_bytes());
            command.extend(u64::from(FIRST_EVENT).to_le_bytes());
            command.extend(u32::try_from(set.len()).unwrap_or(u32::MAX).to_le_bytes());
            command.extend(set);
            command
        }
    }
}

/// Restarts the timeout whenever bytes arrive: an event may have a size of 1 GiB.
struct WhileBytesArrive<'c> {
    connection: &'c mut Connection,
    timeout: Duration,
}

impl Read for WhileBytesArrive<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.connection.transport.read(buffer)?;
        self.connection.allow(self.timeout);
        Ok(count)
    }
}

/// The events of a server's log, as it sends them.
#[derive(Debug)]
pub struct EventPackets {
    connection: Connection,
    /// Longest wait for an event. A server that was asked for heartbeats is never silent for longer than their period.
    read_timeout: Duration,
}

impl EventPackets {
    /// The bytes of the next event, of at most `limit_bytes`; `None` if the server ends the stream, as it does when it
    /// is stopped.
    ///
    /// # Errors
    /// [`Error::Server`] if the server cannot send its log, [`Error::Timeout`], [`Error::Lost`],
    /// [`Error::ResultTooLarge`], [`Error::Malformed`]: the stream has ended.
    pub fn next_event(&mut self, limit_bytes: usize) -> Result<Option<Vec<u8>>, Error> {
        const PHASE: Phase = Phase::BinaryLog;
        self.connection.allow(self.read_timeout);
        let mut sequence = 0;
        // The first byte of each packet gives its kind; the event follows.
        let limit = limit_bytes.saturating_add(1);
        let mut stream = WhileBytesArrive { connection: &mut self.connection, timeout: self.read_timeout };
        let packet = packet::read(&mut stream, &mut sequence, limit).map_err(|error| match error {
            PacketError::Io(error) => self.connection.failure(PHASE, error),
            PacketError::TooLarge => {
                Error::ResultTooLarge { limit_bytes: u64::try_from(limit_bytes).unwrap_or(u64::MAX) }
            }
        })?;
        match packet.first() {
            Some(0) => {
                let mut event = packet;
                event.remove(0);
                Ok(Some(event))
            }
            _ if is_end(&packet) => Ok(None),
            Some(0xff) => Err(packet::server_error(&packet).unwrap_or(Error::Malformed { what: "error packet" })),
            _ => Err(Error::Malformed { what: "packet of the binary log" }),
        }
    }

    /// The connection's observations: TLS, greeting.
    pub const fn connection(&self) -> &Connection {
        &self.connection
    }
}
