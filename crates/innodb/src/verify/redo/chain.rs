//! The chain of mini-transactions from the newest checkpoint to the end of the log, and how the log
//! ends.
//!
//! A mini-transaction does not record its position: the log ends at the first one that is invalid.
//! Servers write whole blocks. After the newest mini-transaction they put a zero byte, unless it
//! ends with a block, and after that the previous content of the buffer: older, valid
//! mini-transactions. While a block is being written, its buffer may already get the next
//! mini-transaction, so its start can be on disk in place of the zero byte. Therefore:
//!
//! - before the position where the checkpoint was completed (its end LSN) every break is damage;
//! - a break followed by valid mini-transactions is damage, and verification continues with them,
//!   unless they are old buffer content: they do not reach the end of the block, and their nonce,
//!   which grows, is older than that of the newest mini-transaction, or they have none;
//! - a break at the start of a sector is the end of the log: older content follows;
//! - a mini-transaction within one sector that has the right sequence byte, a wrong checksum and is
//!   followed by the zero byte is damage;
//! - anything else is a mini-transaction that was half written at a crash ([`Check::LogEnd`]). A
//!   damaged newest mini-transaction can look the same.
//!
//! Source: docs/formats, "Redo (`ib_logfile0`)"; the zero byte and old buffer content from `log0log.cc`
//! (`log_t::write_buf`), confirmed on logs of killed MariaDB 10.11 and 11.8.
//!
//! [`Check::LogEnd`]: crate::verify::Check::LogEnd

use std::time::Duration;

use files::ReadAt;

use super::ring::Ring;
use crate::{
    bytes::{Bytes, as_u64},
    error::ScanError,
    ids::Lsn,
    redo::{
        phys::{CHECKSUM_BYTES, Fault, Geometry, NONCE_BYTES, judge, tail_bytes},
        records::{Framing, MAX_BYTES, frame},
    },
};

/// Bytes to read first: most mini-transactions are shorter.
const FIRST_BYTES: usize = 4096;
/// The longest mini-transaction, including what follows its records.
const LONGEST: usize = MAX_BYTES + 64;
const SECTOR_BYTES: u64 = 512;
/// The longest block that a server writes at once.
const BLOCK_BYTES: u64 = 4096;

/// One valid mini-transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct MiniTransaction<'b> {
    /// LSN of its first byte.
    pub(super) lsn: Lsn,
    pub(super) records: &'b [u8],
    /// Zeros if it is not encrypted.
    pub(super) nonce: [u8; NONCE_BYTES],
}

/// How a log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// As servers end it.
    Sound,
    /// With a mini-transaction that may have been half written at a crash.
    Torn,
    /// With a damaged mini-transaction.
    Damaged(Fault),
    /// Beyond the end of the file.
    BeyondFile,
}

/// State of reading along the log.
pub(super) struct Chain<'a, R: ?Sized> {
    ring: Ring<'a, R>,
    encrypted: bool,
    /// LSN of the next mini-transaction.
    pub(super) at: u64,
    limit: u64,
    /// How often a position is read again; a running server may be writing it.
    rereads: u32,
    /// Bytes that the search for mini-transactions after breaks may still read.
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

    /// Whether the whole ring was read.
    pub(super) const fn is_over(&self) -> bool {
        self.at >= self.limit
    }

    /// The mini-transaction at the current position; moves the position to its end.
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

    /// Reads the current position again a few times; returns whether it became valid.
    pub(super) fn conclude(&mut self) -> Result<bool, ScanError> {
        let Some(left) = self.rereads.checked_sub(1) else { return Ok(false) };
        self.rereads = left;
        for pause in [1, 4, 16] {
            self.ring.forget(Duration::from_millis(pause));
            if self.judge(self.at)?.is_ok() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Bytes after the records.
    const fn tail(&self) -> usize {
        tail_bytes(self.encrypted)
    }

    /// Length of the mini-transaction at a position, if it is valid.
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

    /// Searches for a valid mini-transaction after the current position, which has none. If there
    /// is one, moves the position there.
    ///
    /// A false match has a probability of at most 2⁻³² per position.
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

    /// Whether the mini-transactions from the current position on are old buffer content after the
    /// end of the log at `end`. `newest` is the nonce of the last mini-transaction of the log.
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

    /// Nonce of the valid mini-transaction at a position.
    fn nonce(&mut self, lsn: u64) -> Result<Option<[u8; NONCE_BYTES]>, ScanError> {
        let Ok(bytes) = self.judge(lsn)? else { return Ok(None) };
        let at = bytes.saturating_sub(CHECKSUM_BYTES).saturating_sub(NONCE_BYTES);
        Ok(self.ring.from(lsn, bytes)?.array_at(at))
    }

    /// Decides how the log ends, if there is no mini-transaction at the current position and none
    /// after it.
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
            Fault::Checksum { .. } if geometry.pass(last) != geometry.pass(self.at) => Ending::BeyondFile,
            Fault::Checksum { .. } if same_sector && self.ends_after(last)? => Ending::Damaged(fault),
            _ => Ending::Torn,
        })
    }

    /// Whether the log ends after the byte at a position.
    fn ends_after(&mut self, last: u64) -> Result<bool, ScanError> {
        let next = last.saturating_add(1);
        let sector_ends = self.ring.geometry.offset(next).is_multiple_of(SECTOR_BYTES);
        Ok(sector_ends || self.ring.from(next, 1)?.first() == Some(&0))
    }
}

/// Bytes that the search for a mini-transaction may read.
const RESUME_BYTES: u64 = 1 << 28;
const REREADS: u32 = 16;
/// Longer mini-transactions are not searched for.
const SHORT_BYTES: usize = 65536;

/// Cost of judging a mini-transaction, in records.
fn cost(bytes: &[u8]) -> u64 {
    match frame(bytes) {
        Framing::Records(records) => as_u64(records).saturating_add(1),
        Framing::End => 1,
        // One record has about 16 bytes.
        Framing::More | Framing::TooLong => as_u64(bytes.len() / 16),
    }
}
