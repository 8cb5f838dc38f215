//! GTIDs of MySQL.

use std::fmt;

use crate::{Fault, bytes::Bytes, event::serialized::Message};

/// UUID of a server.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uuid(pub [u8; 16]);

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let dash = matches!(index, 4 | 6 | 8 | 10);
            write!(f, "{}{byte:02x}", if dash { "-" } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A transaction of MySQL: `uuid:number`, or `uuid:tag:number`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gtid {
    /// Server or group that first executed the transaction.
    pub uuid: Uuid,
    /// Tag; empty if there is none.
    pub tag: String,
    /// Number of the transaction, from 1.
    pub number: u64,
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.uuid)?;
        if !self.tag.is_empty() {
            write!(f, "{}:", self.tag)?;
        }
        write!(f, "{}", self.number)
    }
}

/// Numbers for parallel replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogicalClock {
    /// Newest transaction that this one may depend on.
    pub last_committed: u64,
    /// Number of this transaction in the log.
    pub sequence_number: u64,
}

/// Begins a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GtidEvent {
    /// The GTID; `None` for an anonymous transaction.
    pub gtid: Option<Gtid>,
    /// Whether the transaction may contain statements besides rows.
    pub may_have_statements: bool,
    /// Numbers for parallel replay, from MySQL 5.7 on.
    pub clock: Option<LogicalClock>,
    /// Commit on the server that wrote this log, in microseconds since 1970 UTC; from MySQL 8.0.1 on.
    pub immediate_commit: Option<u64>,
    /// Commit on the first server, in microseconds since 1970 UTC.
    pub original_commit: Option<u64>,
    /// Bytes of the transaction in the log, this event included.
    pub transaction_bytes: Option<u64>,
    /// Version of the server that wrote this log, as 80033.
    pub immediate_version: Option<u32>,
    /// Version of the first server.
    pub original_version: Option<u32>,
}

/// Bit that is set in a commit time or version if the one of the first server follows.
const COMMIT_TIME_FOLLOWS: u64 = 1 << 55;
const VERSION_FOLLOWS: u32 = 1 << 31;
/// Bytes of a commit time.
const COMMIT_TIME_BYTES: usize = 7;

impl GtidEvent {
    pub(crate) fn parse(mut bytes: Bytes<'_>, has_gtid: bool) -> Result<Self, Fault> {
        const LOGICAL_CLOCK: u8 = 2;
        let flags = bytes.u8()?;
        let (uuid, number) = (Uuid(bytes.array()?), bytes.u64()?);
        let gtid = has_gtid.then_some(Gtid { uuid, tag: String::new(), number });
        let mut event = Self { gtid, may_have_statements: flags & 1 != 0, ..Self::default() };
        // MySQL 5.6 ends here, MySQL 5.7 after the clock.
        if bytes.is_empty() || bytes.u8()? != LOGICAL_CLOCK {
            return Ok(event);
        }
        event.clock = Some(LogicalClock { last_committed: bytes.u64()?, sequence_number: bytes.u64()? });
        if bytes.is_empty() {
            return Ok(event);
        }
        let immediate = bytes.little(COMMIT_TIME_BYTES)?;
        event.immediate_commit = Some(immediate & !COMMIT_TIME_FOLLOWS);
        event.original_commit = event.immediate_commit;
        if immediate & COMMIT_TIME_FOLLOWS != 0 {
            event.original_commit = Some(bytes.little(COMMIT_TIME_BYTES)?);
        }
        if bytes.is_empty() {
            return Ok(event);
        }
        event.transaction_bytes = Some(bytes.length_encoded()?);
        if bytes.is_empty() {
            return Ok(event);
        }
        let immediate = bytes.u32()?;
        event.immediate_version = Some(immediate & !VERSION_FOLLOWS);
        event.original_version = event.immediate_version;
        if immediate & VERSION_FOLLOWS != 0 {
            event.original_version = Some(bytes.u32()?);
        }
        // A ticket for group commit may follow.
        Ok(event)
    }

    /// MySQL 8.3 and newer.
    pub(crate) fn parse_tagged(bytes: Bytes<'_>) -> Result<Self, Fault> {
        const FLAGS: u64 = 0;
        const UUID: u64 = 1;
        const NUMBER: u64 = 2;
        const TAG: u64 = 3;
        const LAST_COMMITTED: u64 = 4;
        const SEQUENCE_NUMBER: u64 = 5;
        const IMMEDIATE_COMMIT: u64 = 6;
        const ORIGINAL_COMMIT: u64 = 7;
        const TRANSACTION_BYTES: u64 = 8;
        const IMMEDIATE_VERSION: u64 = 9;
        const ORIGINAL_VERSION: u64 = 10;
        const TICKET: u64 = 11;

        let malformed = bytes.malformed();
        let mut message = Message::parse(bytes)?;
        let mut gtid = Gtid { uuid: Uuid([0; 16]), tag: String::new(), number: 0 };
        let mut clock = LogicalClock { last_committed: 0, sequence_number: 0 };
        let mut event = Self::default();
        while let Some(field) = message.next_field()? {
            match field {
                FLAGS => event.may_have_statements = message.unsigned()? & 1 != 0,
                UUID => gtid.uuid = Uuid(message.small_numbers()?),
                NUMBER => gtid.number = u64::try_from(message.signed()?).map_err(|_| malformed.clone())?,
                TAG => gtid.tag = String::from_utf8_lossy(message.text()?).into_owned(),
                LAST_COMMITTED => clock.last_committed = message.signed()?.unsigned_abs(),
                SEQUENCE_NUMBER => clock.sequence_number = message.signed()?.unsigned_abs(),
                IMMEDIATE_COMMIT => event.immediate_commit = Some(message.unsigned()?),
                ORIGINAL_COMMIT => event.original_commit = Some(message.unsigned()?),
                TRANSACTION_BYTES => event.transaction_bytes = Some(message.unsigned()?),
                IMMEDIATE_VERSION => event.immediate_version = u32::try_from(message.unsigned()?).ok(),
                ORIGINAL_VERSION => event.original_version = u32::try_from(message.unsigned()?).ok(),
                TICKET => {
                    message.unsigned()?;
                }
                // A later field, of unknown length.
                _ => break,
            }
        }
        event.original_commit = event.original_commit.or(event.immediate_commit);
        event.original_version = event.original_version.or(event.immediate_version);
        event.gtid = Some(gtid);
        event.clock = Some(clock);
        Ok(event)
    }
}
