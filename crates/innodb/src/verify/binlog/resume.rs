//! Finds the next event after one whose length cannot be trusted.

use files::ReadAt;

use crate::{
    binlog::{EVENT_HEADER_BYTES, EventHeader, known_type},
    bytes::{Bytes, as_u64, as_usize},
    error::ScanError,
    read::fill,
    verify::binlog::{
        chain::{Chain, EVENT_HEADER_LENGTH},
        log::{CHECKSUM_BYTES, Cipher, Log, Sum},
    },
};

/// Distance after an event within which the next is searched byte by byte.
const SEARCH_BYTES: u64 = 16 << 20;
const WINDOW_BYTES: usize = 65536;
/// Decrypting the header of one event costs about as much as reading this many bytes.
const HEADER_COST: u32 = 64;
const POSITION_BITS: u32 = 32;

impl Chain {
    /// Offset of the next event after the bad one at `at`: the end that the event itself names, if
    /// it is plausible, or else the next event whose checksum matches.
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

    /// End position in the event: the low 32 bits of an offset after its header.
    fn named_end(&self, at: u64, event: EventHeader) -> Option<u64> {
        let named = self.named(event)?;
        let min_end = at.checked_add(as_u64(EVENT_HEADER_BYTES))?;
        let end = (min_end >> POSITION_BITS << POSITION_BITS) | u64::from(named);
        if end < min_end { end.checked_add(1 << POSITION_BITS) } else { Some(end) }
    }

    /// Whether an event certainly starts at `at`.
    fn proves<R: ReadAt + ?Sized>(&mut self, log: &Log<'_, R>, at: u64) -> Result<bool, ScanError> {
        let Some(event) = log.header(at)?.filter(|event| known_type(event.kind) && fits(log, at, *event)) else {
            return Ok(false);
        };
        if self.rules.checksums {
            let has_checksum =
                event.bytes >= EVENT_HEADER_LENGTH.saturating_add(CHECKSUM_BYTES) && self.budget.spend(event.bytes);
            return Ok(has_checksum && log.sum(at, event)? == Sum::Right);
        }
        Ok(self.named_end(at, event) == Some(at.saturating_add(u64::from(event.bytes))))
    }

    /// The first event from `from` on whose checksum (or position) matches.
    pub(in crate::verify::binlog) fn search<R: ReadAt + ?Sized>(
        &mut self,
        log: &Log<'_, R>,
        from: u64,
    ) -> Result<Option<u64>, ScanError> {
        let last = log.end.min(from.saturating_add(SEARCH_BYTES)).saturating_sub(as_u64(EVENT_HEADER_BYTES));
        let mut at = from;
        let mut buf = vec![0; WINDOW_BYTES];
        while at <= last {
            let encrypted = matches!(log.cipher, Cipher::MariaDb(_));
            let window =
                if encrypted { fill(log.source, log.file_offset(at), &mut buf)? } else { log.bytes(at, &mut buf)? };
            let offsets = window.len().saturating_sub(EVENT_HEADER_BYTES - 1);
            if offsets == 0 || !self.budget.spend(u32::try_from(offsets).unwrap_or(u32::MAX)) {
                break;
            }
            for (offset, bytes) in window.windows(EVENT_HEADER_BYTES).enumerate() {
                let next = at.saturating_add(as_u64(offset));
                if self.may_begin(log, next, bytes)? && self.proves(log, next)? {
                    return Ok(Some(next));
                }
            }
            at = at.saturating_add(as_u64(offsets));
        }
        Ok(None)
    }

    /// Whether the 19 bytes at `at`, decrypted if necessary, can be an event header. A cheap test
    /// that leaves few candidates for the checksum.
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
