//! The chain of mini-transactions from the newest checkpoint to the end of the log, and what its
//! end means.
//!
//! A mini-transaction does not say where it belongs: the log ends where the next one does not
//! hold. Servers write whole blocks. Behind the newest mini-transaction they put a zero byte, unless
//! it ends with a block, and behind that what the buffer held before: older mini-transactions,
//! checksum and all. While they write a block they may already fill it with the next
//! mini-transaction, so that in place of the zero its beginning is written. So:
//!
//! - before the place where the checkpoint was completed (its end LSN) every break is damage;
//! - a break with sound mini-transactions behind it is damage, and the proof goes on with them,
//!   unless these are of the rest of the buffer: none of them leads out of the block, and the
//!   nonce, which grows, is older than that of the newest mini-transaction, or there is none;
//! - a break at the start of a sector is the end of the log: what is there is of an earlier lap;
//! - a mini-transaction within one sector that has the right sequence byte, a wrong checksum and
//!   the zero byte behind it is damage;
//! - anything else is a mini-transaction that a crash left half written ([`Check::LogEnd`]). A
//!   damaged newest mini-transaction can look the same.
//!
//! Source: formats, "Redo (`ib_logfile0`)"; the zero byte and the rest of the buffer from
//! `log0log.cc` (`log_t::write_buf`), confirmed on logs of killed MariaDB 10.11 and 11.8.
//!
//! [`Check::LogEnd`]: crate::verify::Check::LogEnd

use std::{thread, time::Duration};

use super::ring::{Geometry, Ring};
use crate::{
    bytes::{Bytes, as_u64},
    crypt::redo::records::{self, Framing, MAX_BYTES, frame},
    error::ScanError,
    ids::Lsn,
    read::ReadAt,
};

/// Bytes of a nonce.
pub(super) const NONCE_BYTES: usize = 8;
const CHECKSUM_BYTES: usize = 4;
/// What is wanted in memory first: most mini-transactions are shorter.
const FIRST_BYTES: usize = 4096;
/// The longest mini-transaction with all that is behind its records.
const LONGEST: usize = MAX_BYTES + 64;
const SECTOR_BYTES: u64 = 512;
/// The longest block that a server writes at once.
const BLOCK_BYTES: u64 = 4096;

/// One sound mini-transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct MiniTransaction<'b> {
    /// Position of its first byte.
    pub(super) lsn: Lsn,
    pub(super) records: &'b [u8],
    /// Zeros if it is not encrypted.
    pub(super) nonce: [u8; NONCE_BYTES],
}

/// Why there is no mini-transaction at some place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A zero where the first record should begin.
    Nothing,
    /// A one there, which no server writes.
    NoRecord,
    /// No end of the records in the longest possible distance, or in the file.
    Endless,
    /// Sequence byte of another lap.
    Sequence,
    /// Wrong checksum.
    Checksum { expected: u32, found: u32, bytes: u64 },
}

/// How the log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// As servers end it.
    Sound,
    /// With a mini-transaction that a crash may have left half written.
    Torn,
    /// With a damaged mini-transaction.
    Damaged(Fault),
    /// Behind the end of the file.
    BeyondFile,
}

/// A walk along the log.
pub(super) struct Chain<'a, R: ?Sized> {
    ring: Ring<'a, R>,
    encrypted: bool,
    /// Position of the next mini-transaction.
    pub(super) at: u64,
    limit: u64,
    /// How often a place is read again; a running server may be writing there.
    rereads: u32,
    /// Bytes that may still be looked at to find a mini-transaction behind a break.
    budget: u64,
}

impl<'a, R: ReadAt + ?Sized> Chain<'a, R> {
    pub(super) fn new(source: &'a R, geometry: Geometry, start: Lsn, encrypted: bool) -> Self {
        let limit = start.0.saturating_add(geometry.capacity);
        Self {
            ring: Ring::new(source, geometry, start),
            encrypted,
            at: start.0,
            limit,
            rereads: REREADS,
            budget: RESUME_BYTES,
        }
    }

    pub(super) const fn geometry(&self) -> Geometry {
        self.ring.geometry
    }

    /// Whether the whole ring was walked along.
    pub(super) const fn is_over(&self) -> bool {
        self.at >= self.limit
    }

    /// The mini-transaction at the current position; the position moves behind it.
    pub(super) fn next(&mut self) -> Result<Result<MiniTransaction<'_>, Fault>, ScanError> {
        let bytes = match self.judge(self.at)? {
            Ok(bytes) => bytes,
            Err(fault) => return Ok(Err(fault)),
        };
        let (at, tail) = (self.at, self.tail());
        self.at = at.saturating_add(as_u64(bytes));
        let all = self.ring.from(at, bytes)?.range(0, bytes);
        let records_end = bytes.saturating_sub(tail);
        let nonce = match self.encrypted {
            true => all.array_at(records_end.saturating_add(1)).unwrap_or_default(),
            false => Default::default(),
        };
        let records = all.range(0, records_end);
        Ok(Ok(MiniTransaction { lsn: Lsn(at), records, nonce }))
    }

    /// Reads what is at the current position anew a few times; whether it is sound by now.
    pub(super) fn settle(&mut self) -> Result<bool, ScanError> {
        let Some(left) = self.rereads.checked_sub(1) else { return Ok(false) };
        self.rereads = left;
        for pause in [1, 4, 16] {
            thread::sleep(Duration::from_millis(pause));
            self.ring.forget();
            if self.judge(self.at)?.is_ok() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Bytes behind the records.
    const fn tail(&self) -> usize {
        let nonce = if self.encrypted { NONCE_BYTES } else { 0 };
        nonce.saturating_add(1).saturating_add(CHECKSUM_BYTES)
    }

    /// Bytes of the mini-transaction at a position, if it is sound.
    fn judge(&mut self, lsn: u64) -> Result<Result<usize, Fault>, ScanError> {
        let (geometry, tail) = (self.ring.geometry, self.tail());
        let mut wanted = FIRST_BYTES;
        loop {
            let bytes = self.ring.from(lsn, wanted)?;
            match judge(bytes, lsn, geometry, tail) {
                None if wanted < LONGEST && bytes.len() >= wanted => wanted = LONGEST,
                None => return Ok(Err(Fault::Endless)),
                Some(judgement) => return Ok(judgement),
            }
        }
    }

    /// Looks for a sound mini-transaction behind the current position, where there is none;
    /// if there is one, the position moves there.
    ///
    /// A false one is found in one of 2³² places at most.
    pub(super) fn resume(&mut self) -> Result<bool, ScanError> {
        let (geometry, tail) = (self.ring.geometry, self.tail());
        let broken = self.at;
        let end = self.limit.min(broken.saturating_add(as_u64(LONGEST)));
        let bytes = self.ring.from(broken, LONGEST)?;
        for ahead in 1..bytes.len() {
            let lsn = broken.saturating_add(as_u64(ahead));
            if lsn >= end || self.budget == 0 {
                break;
            }
            let rest = bytes.range(ahead, ahead.saturating_add(SHORT_BYTES));
            self.budget = self.budget.saturating_sub(cost(rest));
            if matches!(judge(rest, lsn, geometry, tail), Some(Ok(_))) {
                self.at = lsn;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the mini-transactions from the current position on are what the log buffer held
    /// before, behind the end of the log at `end`. `newest` is the nonce of the last one there.
    pub(super) fn is_rest_of_buffer(&mut self, end: u64, newest: [u8; NONCE_BYTES]) -> Result<bool, ScanError> {
        let behind = self.ring.geometry.offset(end).checked_rem(BLOCK_BYTES).unwrap_or(0);
        let block_end = end.saturating_add(BLOCK_BYTES.saturating_sub(behind));
        let mut at = self.at;
        if self.encrypted && self.nonce(at)?.is_some_and(|nonce| nonce >= newest) {
            return Ok(false);
        }
        while at <= block_end {
            match self.judge(at)? {
                Ok(bytes) => at = at.saturating_add(as_u64(bytes)),
                Err(_) => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Nonce of the sound mini-transaction at a position.
    fn nonce(&mut self, lsn: u64) -> Result<Option<[u8; NONCE_BYTES]>, ScanError> {
        let Ok(bytes) = self.judge(lsn)? else { return Ok(None) };
        let at = bytes.saturating_sub(CHECKSUM_BYTES).saturating_sub(NONCE_BYTES);
        Ok(self.ring.from(lsn, bytes)?.array_at(at))
    }

    /// What it means that there is no mini-transaction at the current position, behind which
    /// there are no others either.
    pub(super) fn ending(&mut self, fault: Fault) -> Result<Ending, ScanError> {
        let geometry = self.ring.geometry;
        let offset = geometry.offset(self.at);
        let last = match fault {
            Fault::Checksum { bytes, .. } => self.at.saturating_add(bytes).saturating_sub(1),
            _ => self.at,
        };
        let sector = |offset: u64| offset.checked_div(SECTOR_BYTES);
        let same_sector = sector(geometry.offset(last)) == sector(offset);
        Ok(match fault {
            Fault::Nothing => Ending::Sound,
            _ if offset.is_multiple_of(SECTOR_BYTES) => Ending::Sound,
            Fault::Checksum { .. } if geometry.lap(last) != geometry.lap(self.at) => Ending::BeyondFile,
            Fault::Checksum { .. } if same_sector && self.ends_behind(last)? => Ending::Damaged(fault),
            _ => Ending::Torn,
        })
    }

    /// Whether the log ends behind the byte at a position.
    fn ends_behind(&mut self, last: u64) -> Result<bool, ScanError> {
        let next = last.saturating_add(1);
        let sector_ends = self.ring.geometry.offset(next).is_multiple_of(SECTOR_BYTES);
        Ok(sector_ends || self.ring.from(next, 1)?.first() == Some(&0))
    }
}

/// Work that looking for a mini-transaction may take: bytes looked at.
const RESUME_BYTES: u64 = 1 << 28;
const REREADS: u32 = 16;
/// Longer ones are not looked for.
const SHORT_BYTES: usize = 65536;

/// Bytes that judging takes.
fn cost(bytes: &[u8]) -> u64 {
    match frame(bytes) {
        Framing::Records(records) => as_u64(records).saturating_add(1),
        Framing::End => 1,
        // About a record in 16 bytes.
        Framing::More | Framing::TooLong => as_u64(bytes.len() / 16),
    }
}

/// Bytes of the mini-transaction at the start of `bytes`; `None` if they are too few to tell.
fn judge(bytes: &[u8], lsn: u64, geometry: Geometry, tail: usize) -> Option<Result<usize, Fault>> {
    let records = match frame(bytes) {
        Framing::Records(records) => records,
        Framing::More => return None,
        Framing::End if bytes.first() == Some(&0) => return Some(Err(Fault::Nothing)),
        Framing::End => return Some(Err(Fault::NoRecord)),
        Framing::TooLong => return Some(Err(Fault::Endless)),
    };
    let sequence = *bytes.get(records)?;
    if sequence != geometry.sequence_byte(lsn.saturating_add(as_u64(records))) {
        return Some(Err(Fault::Sequence));
    }
    let total = records.checked_add(tail)?;
    let checksum = total.checked_sub(CHECKSUM_BYTES)?;
    let found = bytes.be32(checksum)?;
    let nonce = bytes.range(records.checked_add(1)?, checksum);
    let expected = records::checksum(bytes.range(0, records), nonce);
    if found != expected {
        return Some(Err(Fault::Checksum { expected, found, bytes: as_u64(total) }));
    }
    Some(Ok(total))
}
