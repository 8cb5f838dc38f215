//! The header of every event.
//!
//! Source: docs/formats, "Events".

use innodb::binlog::RELAY_LOG_FLAG;

pub use innodb::binlog::EVENT_HEADER_BYTES as HEADER_BYTES;

use crate::{EventType, Fault, bytes::Bytes};

/// Offset of the low byte of the flags.
pub(crate) const FLAGS_AT: usize = 17;

/// Header of every event: its first 19 bytes, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventHeader {
    /// Start of the statement, in seconds since 1970 UTC.
    pub timestamp: u32,
    /// Type of the event.
    pub kind: EventType,
    /// Server that first executed the change.
    pub server_id: u32,
    /// Length of the event with header and checksum.
    pub event_bytes: u32,
    /// Position after the event in the log of the server that sends or wrote it, modulo 2³²; 0 if it is unknown: in
    /// MariaDB 11.4 and newer inside transactions, and in events that the server makes for a replica.
    pub end_position: u32,
    /// Flags, see the constants.
    pub flags: u16,
}

impl EventHeader {
    /// Made by the server for a replica: not in the log.
    pub const ARTIFICIAL: u16 = 0x20;
    /// Written by a replica into its relay log; only in format description events.
    pub const RELAY_LOG: u16 = RELAY_LOG_FLAG;
    /// Readers that do not know the type of the event may skip it.
    pub const IGNORABLE: u16 = 0x80;

    /// Parses the header at the start of an event. Does not compare the length with that of `event`.
    ///
    /// # Errors
    /// [`Fault`] if there are fewer than 19 bytes, or the event gives a shorter length than that.
    pub fn parse(event: &[u8]) -> Result<Self, Fault> {
        let mut bytes = Bytes::new(event, "event header");
        let header = Self {
            timestamp: bytes.u32()?,
            kind: EventType(bytes.u8()?),
            server_id: bytes.u32()?,
            event_bytes: bytes.u32()?,
            end_position: bytes.u32()?,
            flags: bytes.u16()?,
        };
        let fits = usize::try_from(header.event_bytes).is_ok_and(|bytes| bytes >= HEADER_BYTES);
        if fits { Ok(header) } else { Err(bytes.malformed()) }
    }

    /// Whether the server made the event for a replica.
    #[must_use]
    pub const fn is_artificial(&self) -> bool {
        self.flags & Self::ARTIFICIAL != 0
    }

    /// Whether the server sends this head of a log again, because the stream begins inside the log: the format
    /// description, and the start of encryption (seen on MariaDB 10.11). The log has no event at this place.
    #[must_use]
    pub const fn is_repeated_head(&self) -> bool {
        self.end_position == 0
            && matches!(
                self.kind,
                EventType::FORMAT_DESCRIPTION | EventType::START_ENCRYPTION | EventType::START_ENCRYPTION_PERCONA
            )
    }

    /// Whether a replica wrote the event, at the start of a relay log.
    #[must_use]
    pub const fn is_of_relay_log(&self) -> bool {
        self.flags & Self::RELAY_LOG != 0
    }
}
