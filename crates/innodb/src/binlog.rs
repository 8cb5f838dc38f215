//! Binary and relay logs: whether they are encrypted, and the headers of their events.
//!
//! Source: docs/formats, "MySQL binary / relay log encryption" and "Binary / relay log" of MariaDB; event layouts from
//! `libbinlogevents` (`binlog_event.h`). Confirmed on MySQL 9.7 and MariaDB 10.11 logs in testdata.

use files::ReadAt;
use serde::{Deserialize, Serialize};

mod position;
mod previous_gtids;

pub(crate) use self::previous_gtids::FirstGtids;
pub use self::{
    position::{CopyPosition, LogPosition},
    previous_gtids::prevents_start_as_second_event,
};

use crate::{
    bytes::{Bytes, as_u64, as_usize, ascii_text},
    error::ScanError,
    ids::KeyVersion,
    randomness::looks_random,
    read::{fill, length},
};

/// How a log is encrypted, if at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum BinlogEncryption {
    /// Events are readable.
    Clear,
    /// MySQL 8.0.14 and newer: the whole log is one stream after a 512-byte header.
    #[serde(rename = "mysql")]
    MySql {
        /// Version of the header, 1.
        version: u8,
        /// Name of the master key in the keyring, `MySQLReplicationKey_<uuid>_<n>`.
        key_id: Option<String>,
    },
    /// MariaDB: a start-encryption event, then encrypted events.
    #[serde(rename = "mariadb")]
    MariaDb {
        /// Number of the encryption scheme, always 1.
        scheme: u8,
        /// Version of key 1.
        key_version: KeyVersion,
    },
    /// Percona Server 5.7: like MariaDB, with its own type of start-encryption event.
    Percona {
        /// Number of the encryption scheme, always 1.
        scheme: u8,
        /// Version of the key in the keyring, `percona_binlog:<version>`.
        key_version: KeyVersion,
    },
    /// The magic says encrypted (MySQL), but clear text follows the header. MariaDB's logs are not tested for this,
    /// because the lengths of encrypted events stay readable.
    Mislabelled,
}

/// The beginning of a binary or relay log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BinlogHead {
    /// How the log is encrypted, if at all.
    pub encryption: BinlogEncryption,
    /// Server that wrote the log; unreadable in MySQL's encrypted logs.
    pub server_version: Option<String>,
    /// When the log was started, in seconds since 1970 UTC; unreadable in MySQL's encrypted logs.
    pub created: Option<u32>,
    /// Length of the file in bytes.
    pub file_bytes: u64,
}

impl BinlogHead {
    /// Whether events can be read without a key.
    #[must_use]
    pub const fn is_clear(&self) -> bool {
        matches!(self.encryption, BinlogEncryption::Clear | BinlogEncryption::Mislabelled)
    }

    /// Whether the file holds only the magic.
    #[must_use]
    pub fn has_no_event(&self) -> bool {
        self.file_bytes <= as_u64(MAGIC_CLEAR.len())
    }
}

/// First bytes of a clear log.
pub const MAGIC_CLEAR: &[u8] = b"\xfebin";
/// Offset of the first event in a clear log or stream, after the magic number.
pub const FIRST_EVENT: u64 = 4;
/// First bytes of a log that MySQL encrypted.
pub const MAGIC_ENCRYPTED: &[u8; 4] = b"\xfdbin";
/// Bytes of the header of an event.
pub const EVENT_HEADER_BYTES: usize = 19;
/// Flag of the format description event that a replica writes at the start of a relay log.
///
/// Source: `binlog_event.h` (`LOG_EVENT_RELAY_LOG_F`); confirmed on relay logs that MySQL 9.7,
/// MariaDB 10.11 and 11.8 wrote.
pub const RELAY_LOG_FLAG: u16 = 0x40;
pub(crate) const FORMAT_DESCRIPTION: u8 = 15;
/// MariaDB's start-encryption event.
pub(crate) const START_ENCRYPTION: u8 = 164;
/// Start-encryption event of Percona Server 5.7, and of 8.0 before 8.0.14
/// (`START_5_7_ENCRYPTION_EVENT`).
///
/// Source: seen on Percona Server 5.7.22.
pub(crate) const START_ENCRYPTION_PERCONA: u8 = 159;
/// Bytes of the header before the encrypted stream of a MySQL log.
pub const MYSQL_HEADER_BYTES: usize = 512;
/// Enough for the headers of the first two or three events.
const HEAD_BYTES: usize = 4096;

/// Reads the start of a binary or relay log.
///
/// # Errors
/// [`ScanError::EmptyFile`], [`ScanError::NotRecognised`] without one of the two magics,
/// [`ScanError::Io`].
pub fn recognise<R: ReadAt + ?Sized>(source: &R) -> Result<BinlogHead, ScanError> {
    let file_bytes = length(source)?;
    if file_bytes == 0 {
        return Err(ScanError::EmptyFile);
    }
    let mut buf = vec![0; HEAD_BYTES];
    let head = fill(source, 0, &mut buf)?;
    if head.starts_with(MAGIC_ENCRYPTED) {
        // Zeros after a short log are neither random nor text.
        let end = head.iter().rposition(|byte| *byte != 0).map_or(0, |last| last.saturating_add(1));
        let clear = looks_random(head.range(MYSQL_HEADER_BYTES, end)) == Some(false);
        let encryption = if clear { BinlogEncryption::Mislabelled } else { mysql_header(head) };
        return Ok(BinlogHead { encryption, server_version: None, created: None, file_bytes });
    }
    if !head.starts_with(MAGIC_CLEAR) {
        return Err(ScanError::NotRecognised { expected: "binary log" });
    }
    Ok(clear_header(head, file_bytes))
}

/// Header of every event: its first 19 bytes, integers little-endian.
///
/// Source: `libbinlogevents/include/binlog_event.h`; confirmed on testdata.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventHeader {
    pub(crate) timestamp: u32,
    pub(crate) kind: u8,
    /// Length of the whole event in bytes, header and checksum included; at least 19.
    pub(crate) bytes: u32,
    /// Offset of the next event in the log that this event was first written to, modulo 2³²; 0 if
    /// not recorded.
    pub(crate) end_log_pos: u32,
    pub(crate) flags: u16,
}

impl EventHeader {
    /// Parses the common header. `None` if `bytes` is too short, or if the event's length is less than its header's.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let [kind] = bytes.array_at(4)?;
        let event = Self {
            timestamp: bytes.le32(0)?,
            kind,
            bytes: bytes.le32(9)?,
            end_log_pos: bytes.le32(13)?,
            flags: bytes.le16(17)?,
        };
        (bytes.len() >= EVENT_HEADER_BYTES && as_usize(u64::from(event.bytes)) >= EVENT_HEADER_BYTES).then_some(event)
    }
}

/// Parses a list of fields, each a type and a value. Source: docs/formats, "MySQL binary / relay log encryption".
fn mysql_header(head: &[u8]) -> BinlogEncryption {
    let [version] = head.array_at(4).unwrap_or_default();
    let mut at = 5_usize;
    let mut key_id = None;
    while let Some([field]) = head.range(0, MYSQL_HEADER_BYTES).array_at(at) {
        at = at.saturating_add(1);
        let length = match field {
            1 => {
                let [length] = head.array_at(at).unwrap_or_default();
                at = at.saturating_add(1);
                let end = at.saturating_add(usize::from(length));
                key_id = ascii_text(head.range(at, end));
                usize::from(length)
            }
            2 => 32,
            3 => 16,
            _ => break,
        };
        at = at.saturating_add(length);
    }
    BinlogEncryption::MySql { version, key_id }
}

fn clear_header(head: &[u8], file_bytes: u64) -> BinlogHead {
    let mut found = BinlogHead { encryption: BinlogEncryption::Clear, server_version: None, created: None, file_bytes };
    let mut at = MAGIC_CLEAR.len();
    while let Some(event) = EventHeader::parse(head.range(at, head.len())) {
        let body = head.range(at.saturating_add(EVENT_HEADER_BYTES), head.len());
        match event.kind {
            FORMAT_DESCRIPTION if found.server_version.is_none() => {
                found.server_version = ascii_text(body.range(2, 52));
                // Logs started by a rotation have creation time 0: use the event's own time.
                let created = body.le32(52).filter(|created| *created != 0);
                found.created = created.or_else(|| (event.timestamp != 0).then_some(event.timestamp));
            }
            START_ENCRYPTION | START_ENCRYPTION_PERCONA => {
                let [scheme] = body.array_at(0).unwrap_or_default();
                let key_version = KeyVersion(body.le32(1).unwrap_or(0));
                found.encryption = match event.kind {
                    START_ENCRYPTION => BinlogEncryption::MariaDb { scheme, key_version },
                    _ => BinlogEncryption::Percona { scheme, key_version },
                };
                break;
            }
            _ if found.server_version.is_none() => break,
            _ => {}
        }
        at = at.saturating_add(as_usize(u64::from(event.bytes)));
    }
    found
}

/// Whether servers write events of this type. Types of newer versions may be missing here, so an
/// unknown type is not damage.
///
/// Source: `binlog_event.h` (MySQL up to 9.x: 42), MariaDB `log_event.h` (from 160), Percona Server 5.7
/// (159).
pub(crate) const fn known_type(kind: u8) -> bool {
    matches!(kind, 1..=50 | 159..=180)
}
