//! Where events begin in a part of MariaDB's encrypted log, without what is before it.
//!
//! The length of an event is readable, and most events name where they end. Looked for is the first
//! place that has a length and whose header, opened, names that end, or (MariaDB 11.4 and newer say
//! nothing inside transactions, relay logs keep the source's positions) looks like an event three
//! times in a row.

use zeroize::Zeroizing;

use crate::{
    binlog::{EVENT_HEADER_BYTES, EventHeader},
    bytes::{Bytes, as_u64, as_usize},
    crypt::binlog::{EventPieces, MariaDbEvents},
    verify::binlog::{format::known_type, has_known_flags, low},
};

/// Events that must look like events where none names its end.
const IN_A_ROW: usize = 3;
/// Headers that may be opened for one search. In sealed bytes one place of 4096 has a length that fits a MiB, in bytes made
/// for it nearly all have.
const MOST_HEADERS: u32 = 1 << 14;

/// Where the first whole event in `part` begins, which lies at `offset` of the file; `None` if there
/// is none that `events` opens, or none before too many places that have a length.
#[must_use]
pub fn first_event(events: &MariaDbEvents, offset: u64, part: &[u8]) -> Option<usize> {
    let places = part.len().saturating_sub(EVENT_HEADER_BYTES - 1);
    let mut left = MOST_HEADERS;
    (0..places).find(|at| begins(events, offset, part, *at, &mut left))
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

/// The header of the event at `at`, if it is whole and looks like one, and where the event ends.
fn header(events: &MariaDbEvents, offset: u64, part: &[u8], at: usize, left: &mut u32) -> Option<(EventHeader, usize)> {
    const LENGTH_AT: usize = 9;
    let sealed = part.get(at..)?;
    let bytes = sealed.le32(LENGTH_AT)?;
    let length = as_usize(u64::from(bytes));
    if length < EVENT_HEADER_BYTES || length > sealed.len() {
        return None;
    }
    *left = left.checked_sub(1)?;
    let mut start = Zeroizing::new([0; EventPieces::FIRST_BYTES]);
    let (piece, _) = start.split_at_mut(length.min(EventPieces::FIRST_BYTES));
    piece.copy_from_slice(sealed.range(0, piece.len()));
    events.pieces(offset.saturating_add(as_u64(at)), u64::from(bytes)).open(piece).ok()?;
    let event = EventHeader::parse(piece).filter(|event| known_type(event.kind) && has_known_flags(*event))?;
    Some((event, at.saturating_add(length)))
}
