//! Mini-transactions of MariaDB 10.8 and newer: where their records end, and whether they are
//! valid.
//!
//! A mini-transaction consists of records, a sequence byte, a nonce if it is encrypted, and a
//! checksum. Type and length of each record are readable in every format.
//!
//! Source: docs/formats, "Redo (`ib_logfile0`)", confirmed on MariaDB 10.11, 11.4 and 11.8; valid record contents from
//! `log0recv.cc` (`recv_sys_t::parse_tail`).

use crate::{
    bytes::Bytes,
    ids::Lsn,
    page::{
        checksum::crc32c,
        // The log does not record its page size.
        layout::{MAX_PAGE_BYTES, TYPE},
    },
};

/// Longest mini-transaction that a server recovers (`MTR_SIZE_MAX`).
pub const MAX_BYTES: usize = 1 << 20;

/// What the first bytes of a part of a log are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Records of this many bytes, followed by a sequence byte of 0 or 1.
    Records(usize),
    /// The input ends before the records do.
    More,
    /// No record: the log ends here. Servers write a zero after the newest record.
    End,
    /// Longer than any mini-transaction.
    TooLong,
}

/// Finds the end of the records at the start of `bytes`.
#[must_use]
pub fn frame(bytes: &[u8]) -> Framing {
    let mut unlimited = usize::MAX;
    frame_within(bytes, &mut unlimited)
}

/// As [`frame`], but each record takes one from `work`, and the search stops at 0.
pub(crate) fn frame_within(bytes: &[u8], work: &mut usize) -> Framing {
    let mut at = 0_usize;
    loop {
        let Some(left) = work.checked_sub(1) else { return Framing::TooLong };
        *work = left;
        match bytes.get(at) {
            None => return Framing::More,
            Some(0 | 1) if at == 0 => return Framing::End,
            Some(0 | 1) => return Framing::Records(at),
            Some(_) if at >= MAX_BYTES => return Framing::TooLong,
            Some(first) => match following(*first, bytes, at.saturating_add(1)) {
                Ok(following) => at = at.saturating_add(1).saturating_add(following),
                Err(other) => return other,
            },
        }
    }
}

/// The checksum of a mini-transaction. It does not cover the sequence byte between records and
/// nonce.
pub(crate) fn checksum(records: &[u8], nonce: &[u8]) -> u32 {
    if nonce.is_empty() {
        return crc32c(records);
    }
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    digest.update(records);
    digest.update(nonce);
    u32::try_from(digest.finalize() & 0xffff_ffff).unwrap_or_default()
}

/// Bytes of a record after its first byte, computed from that byte and the length field that may
/// follow.
fn following(first: u8, bytes: &[u8], at: usize) -> Result<usize, Framing> {
    match first & 0x0f {
        0 => {
            let width = bytes.get(at).map(|byte| varint_bytes(*byte)).ok_or(Framing::More)?;
            if at.saturating_add(width) > bytes.len() {
                return Err(Framing::More);
            }
            let (value, _) = varint(bytes.range(at, bytes.len())).ok_or(Framing::TooLong)?;
            let value = usize::try_from(value).map_err(|_| Framing::TooLong)?;
            if value < MAX_BYTES { Ok(value.saturating_add(15)) } else { Err(Framing::TooLong) }
        }
        length => Ok(usize::from(length)),
    }
}

const fn varint_bytes(first: u8) -> usize {
    match first {
        0..0x80 => 1,
        0x80..0xc0 => 2,
        0xc0..0xe0 => 3,
        0xe0..0xf0 => 4,
        0xf0.. => 5,
    }
}

/// A variable-length number and the bytes it takes (1 to 5).
///
/// Source: docs/formats, "Redo (`ib_logfile0`)"; 4 and 5 bytes from `mtr0log.h`, not confirmed on a file.
#[must_use]
pub fn varint(bytes: &[u8]) -> Option<(u32, usize)> {
    const MIN_2: u32 = 0x80;
    const MIN_3: u32 = MIN_2 + 0x4000;
    const MIN_4: u32 = MIN_3 + 0x20_0000;
    const MIN_5: u32 = MIN_4 + 0x1000_0000;
    let [first] = bytes.array_at(0)?;
    let width = varint_bytes(first);
    let value = match width {
        1 => u32::from(first),
        2 => MIN_2.checked_add(u32::from(bytes.be16(0)?) & 0x3fff)?,
        3 => {
            let [a, b, c] = bytes.array_at(0)?;
            MIN_3.checked_add(u32::from_be_bytes([0, a, b, c]) & 0x1f_ffff)?
        }
        4 => MIN_4.checked_add(bytes.be32(0)? & 0x0fff_ffff)?,
        _ if first == 0xf0 => MIN_5.checked_add(bytes.be32(1)?)?,
        _ => return None,
    };
    Some((value, width))
}

/// One record. Offsets count from the start of the mini-transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Type and, in the lower four bits, length.
    pub first: u8,
    /// Offset of the record.
    pub begin: usize,
    /// Offset after type and length.
    pub payload: usize,
    /// Offset of the record's end.
    pub end: usize,
}

/// Iterates over the records of a mini-transaction; ends early if they are cut off.
#[derive(Clone, Debug)]
pub struct Records<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Records<'b> {
    /// `bytes` are records that [`frame`] found.
    #[must_use]
    pub const fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }
}

/// The record at `at`, for callers that change records while they iterate.
pub(crate) fn record_at(bytes: &[u8], at: usize) -> Option<Record> {
    Records { bytes, at }.next()
}

impl Iterator for Records<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        let begin = self.at;
        let first = *self.bytes.get(begin)?;
        let behind = begin.checked_add(1)?;
        let end = behind.checked_add(following(first, self.bytes, behind).ok()?)?;
        let payload = match first & 0x0f {
            0 => behind.checked_add(varint_bytes(*self.bytes.get(behind)?))?,
            _ => behind,
        };
        self.at = end;
        (end <= self.bytes.len()).then_some(Record { first, begin, payload, end })
    }
}

/// The page that a record changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageId {
    pub(crate) space: u32,
    pub(crate) page: u32,
    /// Bytes of the encoded space id and page number.
    pub(crate) bytes: usize,
}

impl PageId {
    /// Parses the start of a record's payload. A record needs one byte more than its space id.
    pub(crate) fn parse(payload: &[u8]) -> Option<Self> {
        let (space, space_bytes) = varint(payload)?;
        let (page, page_bytes) = varint(payload.get(space_bytes..)?)?;
        let bytes = space_bytes.checked_add(page_bytes)?;
        Some(Self { space, page, bytes })
    }
}

/// Whether a record changes the same page as the one before it. `follows` says whether that one changed a page.
pub(crate) const fn same_page(first: u8, follows: bool) -> bool {
    first & 0x80 != 0 && follows
}

/// Contents of decrypted records that can confirm the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The checkpoint that the mini-transaction completes.
    pub checkpoint: Option<Lsn>,
    /// Number of records whose body was checked.
    pub bodies: u64,
}

const FREE_PAGE: u8 = 0x00;
const INIT_PAGE: u8 = 0x10;
const EXTENDED: u8 = 0x20;
const WRITE: u8 = 0x30;
const MEMSET: u8 = 0x40;
const MEMMOVE: u8 = 0x50;
const RESERVED: u8 = 0x60;
const OPTION: u8 = 0x70;
const FILE_CREATE: u8 = 0x80;
const FILE_DELETE: u8 = 0x90;
const FILE_RENAME: u8 = 0xa0;
const FILE_MODIFY: u8 = 0xb0;
const FILE_CHECKPOINT: u8 = 0xf0;

/// First byte of a page that records write; checksum and page number come before it.
const FIRST_WRITTEN: usize = 8;

/// Parses decrypted records as recovery does; `None` if recovery would reject one.
#[must_use]
pub fn contents(records: &[u8]) -> Option<Contents> {
    let mut found = Contents::default();
    let mut page = None;
    let mut end = 0;
    for record in Records::new(records) {
        end = record.end;
        let payload = records.range(record.payload, record.end);
        if record.first & 0x70 == RESERVED && record.first & 0x80 == 0 {
            return None;
        }
        if same_page(record.first, page.is_some()) {
            let write = page.as_mut()?;
            body(record.first & 0x70, payload, write, true)?;
        } else if record.first & 0x80 != 0 {
            page = None;
            found.checkpoint = file_record(record.first, payload)?.or(found.checkpoint);
            continue;
        } else {
            let id = PageId::parse(payload)?;
            let write = page.insert(LastWrite::At(0));
            body(record.first & 0x70, payload.range(id.bytes, payload.len()), write, false)?;
        }
        found.bodies = found.bodies.saturating_add(1);
    }
    (end == records.len()).then_some(found)
}

/// End of the last write to the page.
enum LastWrite {
    At(usize),
    /// No further record for the page is allowed.
    None,
}

fn body(kind: u8, body: &[u8], last: &mut LastWrite, same_page: bool) -> Option<()> {
    let LastWrite::At(from) = *last else { return None };
    *last = match (kind, body) {
        (FREE_PAGE, []) if !same_page => LastWrite::None,
        // A record that initialises a page ends its write at the page type.
        (INIT_PAGE, []) if !same_page => LastWrite::At(TYPE),
        (EXTENDED, [kind, ..]) if *kind < EXTENDED_KINDS => LastWrite::At(TYPE),
        (OPTION, _) => LastWrite::At(from),
        (WRITE | MEMSET | MEMMOVE, _) => LastWrite::At(write(kind, body, from)?),
        _ => return None,
    };
    Some(())
}

/// Operations on index and undo pages have 16 kinds at most; 0 to 10 are known.
const EXTENDED_KINDS: u8 = 16;

fn write(kind: u8, body: &[u8], from: usize) -> Option<usize> {
    let (offset, rest) = short(body)?;
    let at = from.checked_add(offset)?;
    if rest.is_empty() || !(FIRST_WRITTEN..MAX_PAGE_BYTES).contains(&at) {
        return None;
    }
    if kind == WRITE {
        return at.checked_add(rest.len()).filter(|end| *end <= MAX_PAGE_BYTES);
    }
    let (length, rest) = short(rest)?;
    let end = at.checked_add(length).filter(|end| *end <= MAX_PAGE_BYTES)?;
    match kind {
        MEMSET if rest.len() <= length => Some(end),
        MEMMOVE => {
            let (source, rest) = short(rest)?;
            let distance = source / 2;
            let source = match source % 2 {
                1 => at.checked_sub(distance)?.checked_sub(1)?,
                _ => at.checked_add(distance)?.checked_add(1)?,
            };
            let inside = source >= FIRST_WRITTEN && source.checked_add(length)? <= MAX_PAGE_BYTES;
            (rest.is_empty() && inside).then_some(end)
        }
        _ => None,
    }
}

/// A number of at most 3 bytes, and the bytes after it.
fn short(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (value, width) = varint(bytes).filter(|(_, width)| *width <= 3)?;
    Some((usize::try_from(value).ok()?, bytes.get(width..)?))
}

/// Parses a record about a file. Returns the checkpoint LSN if it is a checkpoint record.
fn file_record(first: u8, payload: &[u8]) -> Option<Option<Lsn>> {
    // Padding: a checkpoint record of zeros.
    if first & 0xf0 == FILE_CHECKPOINT && crate::bytes::all_zero(payload) {
        return Some(None);
    }
    let id = PageId::parse(payload).filter(|id| id.page == 0)?;
    let rest = payload.get(id.bytes..)?;
    match first & 0xf0 {
        FILE_CHECKPOINT if id.space == 0 && rest.len() == 8 => Some(rest.be64(0).map(Lsn)),
        FILE_CREATE | FILE_DELETE | FILE_MODIFY if id.space != 0 => is_name(rest).then_some(None),
        FILE_RENAME if id.space != 0 => {
            let mut names = rest.split(|byte| *byte == 0);
            let both = names.next().is_some_and(is_name) && names.next().is_some_and(is_name);
            (both && names.next().is_none()).then_some(None)
        }
        _ => None,
    }
}

fn is_name(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|byte| !byte.is_ascii_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_width_are_parsed() {
        assert_eq!(varint(&[0x7f]), Some((0x7f, 1)));
        assert_eq!(varint(&[0x80, 0]), Some((0x80, 2)));
        assert_eq!(varint(&[0xbf, 0xff]), Some((0x407f, 2)));
        assert_eq!(varint(&[0xc0, 0, 0]), Some((0x4080, 3)));
        assert_eq!(varint(&[0xe0, 0, 0, 1]), Some((0x20_4081, 4)));
        assert_eq!(varint(&[0xf0, 0, 0, 0, 0]), Some((0x1020_4080, 5)));
        assert_eq!(varint(&[0xf0, 0xff, 0xff, 0xff, 0xff]), None);
        assert_eq!(varint(&[0xf1, 0, 0, 0, 0]), None);
        assert_eq!(varint(&[0xc0, 0]), None);
        assert_eq!(varint(&[]), None);
    }

    #[test]
    fn records_end_at_a_sequence_byte() {
        assert_eq!(frame(&[0x35, 1, 2, 3, 4, 5, 1]), Framing::Records(6));
        assert_eq!(frame(&[0x35, 1, 2, 3, 4, 5]), Framing::More);
        assert_eq!(frame(&[0x30, 1]), Framing::More);
        assert_eq!(frame(&[0, 1]), Framing::End);
        assert_eq!(frame(&[0x30, 0xf0, 0, 0, 0, 0]), Framing::TooLong);
    }

    #[test]
    fn records_that_recovery_accepts_are_valid() {
        let checkpoint = [0xfa, 0, 0, 0, 0, 0, 0, 0, 0, 0xb8, 0xf8];
        let found = contents(&checkpoint).unwrap();
        assert_eq!(found.checkpoint, Some(Lsn(0xb8f8)));
        assert_eq!(contents(&[0xf1, 0]).unwrap().checkpoint, None);
        assert!(contents(&[0x34, 1, 4, 38, 7]).is_some());
        assert!(contents(&[0x34, 1, 4, 3, 7]).is_none(), "before byte 8");
        assert!(contents(&[0x12, 1, 4, 0xb2, 10, 7]).is_some(), "the same page");
        assert!(contents(&[0x02, 1, 4, 0xb2, 40, 7]).is_none(), "a freed page");
        assert!(contents(b"\xb6\x01\x00./a\n").is_none());
    }
}
