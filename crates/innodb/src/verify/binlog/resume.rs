//! Where to go on behind an event whose length cannot be trusted.

use crate::{
    binlog::{EVENT_HEADER_BYTES, EventHeader},
    bytes::{Bytes, as_u64, as_usize},
    error::ScanError,
    read::{ReadAt, fill},
    verify::binlog::{
        chain::{Chain, EVENT_HEADER_LENGTH},
        format::known_type,
        log::{CHECKSUM_BYTES, Cipher, Log, Sum},
    },
};

/// How much reading the search for lost events may cost: a hostile log must not cost more than a
/// few times its length.
pub(super) struct Budget(u64);

impl Budget {
    pub(super) const fn new(log_bytes: u64) -> Self {
        const LEAST: u64 = 64 << 20;
        Self(log_bytes.saturating_mul(2).saturating_add(LEAST))
    }

    /// Whether so many bytes may still be read.
    pub(super) fn spend(&mut self, bytes: u32) -> bool {
        let left = self.0.checked_sub(u64::from(bytes));
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

/// How far behind an event the next is searched for byte by byte.
const SEARCH_BYTES: u64 = 16 << 20;
const WINDOW_BYTES: usize = 65536;
/// Opening the header of one sealed event is about as much work as reading so many bytes.
const HEADER_COST: u32 = 64;
const POSITION_BITS: u32 = 32;

impl Chain {
    /// The offset of the next event after the bad one at `at`, by what the event itself says as far
    /// as it is believable, or else the next one whose checksum holds.
    pub(super) fn resume<R: ReadAt + ?Sized>(
        &mut self,
        log: &Log<'_, R>,
        at: u64,
        event: Option<EventHeader>,
    ) -> Result<Option<u64>, ScanError> {
        let inside = |next: &u64| *next <= log.end;
        let by_length = event.map(|event| at.saturating_add(u64::from(event.bytes))).filter(inside);
        let by_position = event.and_then(|event| self.named_end(at, event)).filter(inside);
        if by_length.is_some() && by_length == by_position {
            return Ok(by_length);
        }
        for next in [by_length, by_position].into_iter().flatten() {
            if next == log.end || self.proves(log, next)? {
                return Ok(Some(next));
            }
        }
        if let Some(next) = self.search(log, at.saturating_add(1))? {
            return Ok(Some(next));
        }
        match by_length {
            Some(next) if log.header(next)?.is_some_and(|event| fits(log, next, event)) => Ok(Some(next)),
            _ => Ok(None),
        }
    }

    /// Where the event says it ends: the low 32 bits of an offset behind its header.
    fn named_end(&self, at: u64, event: EventHeader) -> Option<u64> {
        let named = self.named(event)?;
        let least = at.checked_add(as_u64(EVENT_HEADER_BYTES))?;
        let end = (least >> POSITION_BITS << POSITION_BITS) | u64::from(named);
        if end < least { end.checked_add(1 << POSITION_BITS) } else { Some(end) }
    }

    /// Whether an event begins at `at` beyond doubt.
    fn proves<R: ReadAt + ?Sized>(&mut self, log: &Log<'_, R>, at: u64) -> Result<bool, ScanError> {
        let Some(event) = log.header(at)?.filter(|event| known_type(event.kind) && fits(log, at, *event)) else {
            return Ok(false);
        };
        if self.rules.checksums {
            let summed =
                event.bytes >= EVENT_HEADER_LENGTH.saturating_add(CHECKSUM_BYTES) && self.budget.spend(event.bytes);
            return Ok(summed && log.sum(at, event)? == Sum::Right);
        }
        Ok(self.named_end(at, event) == Some(at.saturating_add(u64::from(event.bytes))))
    }

    /// The first event from `from` on whose checksum (or position) holds.
    pub(in crate::verify::binlog) fn search<R: ReadAt + ?Sized>(
        &mut self,
        log: &Log<'_, R>,
        from: u64,
    ) -> Result<Option<u64>, ScanError> {
        let last = log.end.min(from.saturating_add(SEARCH_BYTES)).saturating_sub(as_u64(EVENT_HEADER_BYTES));
        let mut at = from;
        let mut buf = vec![0; WINDOW_BYTES];
        while at <= last {
            let sealed = matches!(log.cipher, Cipher::MariaDb(_));
            let window =
                if sealed { fill(log.source, log.file_offset(at), &mut buf)? } else { log.bytes(at, &mut buf)? };
            let places = window.len().saturating_sub(EVENT_HEADER_BYTES - 1);
            if places == 0 || !self.budget.spend(u32::try_from(places).unwrap_or(u32::MAX)) {
                break;
            }
            for (place, bytes) in window.windows(EVENT_HEADER_BYTES).enumerate() {
                let next = at.saturating_add(as_u64(place));
                if self.may_begin(log, next, bytes)? && self.proves(log, next)? {
                    return Ok(Some(next));
                }
            }
            at = at.saturating_add(as_u64(places));
        }
        Ok(None)
    }

    /// Whether the 19 bytes at `at`, as they lie in a sealed log and else opened, can be those of an
    /// event: a cheap test that leaves few places to prove.
    fn may_begin<R: ReadAt + ?Sized>(&mut self, log: &Log<'_, R>, at: u64, bytes: &[u8]) -> Result<bool, ScanError> {
        let length = bytes.le32(9).unwrap_or(0);
        if as_usize(u64::from(length)) < EVENT_HEADER_BYTES || at.saturating_add(u64::from(length)) > log.end {
            return Ok(false);
        }
        let event = match log.cipher {
            Cipher::MariaDb(_) if self.budget.spend(HEADER_COST) => log.header(at)?,
            Cipher::MariaDb(_) => None,
            Cipher::Clear | Cipher::MySql(_) => EventHeader::parse(bytes),
        };
        let end = Some(at.saturating_add(u64::from(length)));
        Ok(event.is_some_and(|event| {
            known_type(event.kind) && (self.named(event).is_none() || self.named_end(at, event) == end)
        }))
    }
}

fn fits<R: ?Sized>(log: &Log<'_, R>, at: u64, event: EventHeader) -> bool {
    at.saturating_add(u64::from(event.bytes)) <= log.end
}
