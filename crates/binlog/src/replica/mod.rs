//! The events that a server sends to a replica.
//!
//! The server treats this client as a replica: it decrypts its log, sends heartbeats while it has no events, and keeps
//! the logs that it would keep for any replica. Nothing is acknowledged (no semi-synchronous replication).

mod gtid_set;
mod progress;

use std::time::Duration;

use innodb::binlog::LogPosition;
use replication::gtid::{mariadb::GtidPosition, mysql::GtidSet};
use server::{Connection, DumpFrom, EventPackets, FIRST_EVENT, Target, error_code};

pub use self::progress::Progress;
use crate::{Checksum, Decoder, Error, Event, EventHeader, EventType, Limits, bytes::as_usize};

/// Number of missing heartbeats after which the connection counts as lost.
const MISSED_HEARTBEATS: u32 = 4;

/// Start of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// At the start of an event of a log.
    Position(LogPosition),
    /// MySQL: after these transactions.
    MySql(GtidSet),
    /// MariaDB: after the last transaction of each domain.
    MariaDb(GtidPosition),
}

/// Settings for following a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `server_id` of this replica: not 0, and different from that of every other replica and server.
    pub server_id: u32,
    /// Time between heartbeats while the server has no events; at least a millisecond.
    pub heartbeat: Duration,
    /// Limits of events.
    pub limits: Limits,
}

/// A server's log as a stream of events.
#[derive(Debug)]
pub struct Replica {
    packets: EventPackets,
    decoder: Decoder,
    progress: Progress,
    event: Vec<u8>,
    /// Whether no event has arrived yet.
    fresh: bool,
}

impl Replica {
    /// Connects, registers and requests the log. TLS is as in `options`, which should verify the server: someone who
    /// can read the connection can read all rows, even those of encrypted logs.
    ///
    /// # Errors
    /// [`Error`].
    pub fn connect(
        target: &Target,
        options: &server::Options,
        start: &Start,
        settings: &Settings,
    ) -> Result<Self, Error> {
        Self::start(Connection::open(target, options)?, start, settings)
    }

    /// Like [`Self::connect`], on an open connection, on which the caller may have asked for the server's identity.
    ///
    /// # Errors
    /// [`Error`].
    pub fn start(mut connection: Connection, start: &Start, settings: &Settings) -> Result<Self, Error> {
        prepare(&mut connection, start, settings)?;
        connection.register_replica(settings.server_id).map_err(Error::of_account)?;
        let read_timeout = settings.heartbeat.saturating_mul(MISSED_HEARTBEATS).saturating_add(Duration::from_secs(5));
        let packets = dump(connection, start, settings.server_id, read_timeout)?;
        let decoder = Decoder::new(settings.limits);
        Ok(Self { packets, decoder, progress: Progress::new(start), event: Vec::new(), fresh: true })
    }

    /// Waits for the next event. `None` if the server ends the stream, as it does when it is stopped.
    ///
    /// # Errors
    /// [`Error`]: the stream has ended. It can be resumed from [`Self::progress`].
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>, Error> {
        let limit = as_usize(self.decoder.limits().event_bytes);
        let Some(event) = self.packets.next_event(limit).map_err(unavailable)? else { return Ok(None) };
        self.event = event;
        if self.fresh {
            self.decoder.expect_checksum(first_checksum(&self.event));
            self.fresh = false;
        }
        let event = self.decoder.decode(&self.event).map_err(|fault| {
            let LogPosition { file, offset } = self.progress.position.clone();
            Error::Stream { file, position: offset, fault }
        })?;
        self.progress.note(&event);
        Ok(Some(event))
    }

    /// The bytes of the newest event, with its header and checksum.
    #[must_use]
    pub fn event_bytes(&self) -> &[u8] {
        &self.event
    }

    /// The decoder, for the events of a [`crate::event::Payload`].
    pub const fn decoder(&mut self) -> &mut Decoder {
        &mut self.decoder
    }

    /// The position that the stream has reached.
    #[must_use]
    pub const fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The connection to the server.
    #[must_use]
    pub const fn connection(&self) -> &Connection {
        self.packets.connection()
    }
}

/// Sets the variables from which a server learns the capabilities of a replica.
fn prepare(connection: &mut Connection, start: &Start, settings: &Settings) -> Result<(), Error> {
    let period = settings.heartbeat.as_nanos().max(1_000_000);
    let heartbeat = format!("SET @master_heartbeat_period = {period}, @source_heartbeat_period = {period}");
    // Without this variable, a server omits checksums.
    let checksum = "SET @master_binlog_checksum = 'CRC32', @source_binlog_checksum = 'CRC32'".to_owned();
    let mut statements = vec![heartbeat, checksum];
    if connection.greeting().is_mariadb() {
        // 4: GTIDs. Without this variable, MariaDB replaces its own events with older ones.
        statements.push("SET @mariadb_slave_capability = 4".to_owned());
    }
    if let Start::MariaDb(position) = start {
        statements.push(format!("SET @slave_connect_state = '{position}'"));
        statements.push("SET @slave_gtid_strict_mode = 0, @slave_gtid_ignore_duplicates = 0".to_owned());
    }
    for statement in statements {
        connection.query(&statement)?;
    }
    Ok(())
}

fn dump(connection: Connection, start: &Start, server_id: u32, read_timeout: Duration) -> Result<EventPackets, Error> {
    let packets = match start {
        Start::Position(LogPosition { file, offset }) => {
            let position = u32::try_from(*offset).map_err(|_| Error::Position(*offset))?;
            connection.dump(server_id, DumpFrom::Position { file, position }, read_timeout)
        }
        Start::MySql(set) => connection.dump(server_id, DumpFrom::Gtids { set: &gtid_set::encode(set) }, read_timeout),
        Start::MariaDb(_) => {
            connection.dump(server_id, DumpFrom::Position { file: "", position: FIRST_EVENT }, read_timeout)
        }
    };
    Ok(packets?)
}

/// The checksum algorithm of the first event, an artificial rotate event, which no earlier event states.
fn first_checksum(event: &[u8]) -> Checksum {
    let kind = EventHeader::parse(event).map_or(EventType::ROTATE, |header| header.kind);
    if Checksum::Crc32.strip(event, kind).is_ok() { Checksum::Crc32 } else { Checksum::None }
}

fn unavailable(error: server::Error) -> Error {
    match error {
        server::Error::Server { code: error_code::FATAL_ERROR_READING_BINLOG, message, .. } => {
            Error::Unavailable { message }
        }
        other => Error::Server(other),
    }
}
