//! Checksums of events.

use crc_fast::{CrcAlgorithm::Crc32IsoHdlc, Digest};

use crate::{EventType, Fault, header::FLAGS_AT};

/// Bytes of a checksum.
pub(crate) const CHECKSUM_BYTES: usize = 4;

/// The checksum algorithm of a log, as stated in its format description event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksum {
    /// Events have no checksum.
    #[default]
    None,
    /// Zlib's CRC-32 in the last four bytes.
    Crc32,
}

impl Checksum {
    pub(crate) const fn from_code(code: u8) -> Result<Self, Fault> {
        match code {
            // 255: the server is too old for checksums.
            0 | 255 => Ok(Self::None),
            1 => Ok(Self::Crc32),
            other => Err(Fault::ChecksumAlgorithm(other)),
        }
    }

    /// Compares the checksum at the end of an event and returns the event without it.
    pub(crate) fn strip(self, event: &[u8], kind: EventType) -> Result<&[u8], Fault> {
        match self {
            Self::None => Ok(event),
            Self::Crc32 => check(event, kind),
        }
    }
}

fn check(event: &[u8], kind: EventType) -> Result<&[u8], Fault> {
    let (covered, stored) = event.split_last_chunk::<CHECKSUM_BYTES>().ok_or(Fault::Short { what: "checksum" })?;
    let stored = u32::from_le_bytes(*stored);
    let computed = crc32(covered, kind);
    if stored == computed { Ok(covered) } else { Err(Fault::Checksum { stored, computed }) }
}

/// The CRC-32 of an event. The server clears the lowest bit of a format description's flags when it closes the log, so
/// the checksum is that of the event with this bit cleared.
pub(crate) fn crc32(covered: &[u8], kind: EventType) -> u32 {
    let mut digest = Digest::new(Crc32IsoHdlc);
    match (kind, covered.split_at_checked(FLAGS_AT)) {
        (EventType::FORMAT_DESCRIPTION, Some((before, [flags, rest @ ..]))) => {
            digest.update(before);
            digest.update(&[flags & !1]);
            digest.update(rest);
        }
        _ => digest.update(covered),
    }
    u32::try_from(digest.finalize()).unwrap_or(0)
}
