//! Finds the first event in a part of MariaDB's encrypted log.
//!
//! The length of an event is readable, and most events name their end position. The search takes
//! the first offset that has a plausible length and whose decrypted header names that end. MariaDB
//! 11.4 and newer name no position inside transactions, and relay logs keep the source's; there,
//! three consecutive events must look like events.

use zeroize::Zeroizing;

use crate::{
    binlog::{EVENT_HEADER_BYTES, EventHeader, known_type},
    bytes::{Bytes, as_u64, as_usize},
    crypt::binlog::{EventPieces, MariaDbEvents},
    verify::binlog::{chain::low, encrypted_events::has_known_flags},
};

/// Consecutive events that must look valid if none names its end.
const IN_A_ROW: usize = 3;
/// Maximum number of headers decrypted in one search. In ciphertext one of 4096 offsets has a
/// length that fits a MiB; crafted input can have one at nearly every offset.
const MAX_HEADERS: u32 = 1 << 14;

/// Offset of the first whole event in `part`, which starts at `offset` of the file. `None` if
/// `events` decrypts none, or after too many candidates.
#[must_use]
pub fn first_event(events: &MariaDbEvents, offset: u64, part: &[u8]) -> Option<usize> {
    let offsets = part.len().saturating_sub(EVENT_HEADER_BYTES - 1);
    let mut left = MAX_HEADERS;
    (0..offsets).find(|at| begins(events, offset, part, *at, &mut left))
}

fn begins(events: &MariaDbEvents, offset: u64, part: &[u8], mut at: usize, left: &mut u32) -> bool {
    for number in 1..=IN_A_ROW {
        let Some((event, end)) = header(events, offset, part, at, left) else { return false };
        if event.end_log_pos == low(offset.saturating_add(as_u64(end))) || number == IN_A_ROW {
            return true;
        }
        at = end;
    }
    false
}

/// The decrypted header and the end of the event at `at`, if it is complete and looks like an
/// event.
fn header(events: &MariaDbEvents, offset: u64, part: &[u8], at: usize, left: &mut u32) -> Option<(EventHeader, usize)> {
    const LENGTH_AT: usize = 9;
    let encrypted = part.get(at..)?;
    let bytes = encrypted.le32(LENGTH_AT)?;
    let length = as_usize(u64::from(bytes));
    if length < EVENT_HEADER_BYTES || length > encrypted.len() {
        return None;
    }
    *left = left.checked_sub(1)?;
    let mut start = Zeroizing::new([0; EventPieces::FIRST_BYTES]);
    let (piece, _) = start.split_at_mut(length.min(EventPieces::FIRST_BYTES));
    piece.copy_from_slice(encrypted.range(0, piece.len()));
    events.pieces(offset.saturating_add(as_u64(at)), u64::from(bytes)).decrypt(piece).ok()?;
    let event = EventHeader::parse(piece).filter(|event| known_type(event.kind) && has_known_flags(*event))?;
    Some((event, at.saturating_add(length)))
}
