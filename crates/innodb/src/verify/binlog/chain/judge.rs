//! Judges one event of a log: its checksum, its position, and its place among the first events.

use files::ReadAt;

use super::{Chain, EVENT_HEADER_LENGTH, Fault, MAX_DESCRIPTION_BYTES, low};
use crate::{
    binlog::{EventHeader, FORMAT_DESCRIPTION, known_type},
    error::ScanError,
    verify::{
        Check,
        binlog::{
            format::Description,
            log::{CHECKSUM_BYTES, Cipher, Log, Sum},
        },
    },
};

const NO_DESCRIPTION: &str = "no valid format description event";

const NO_PREVIOUS_GTIDS: &str =
    "MySQL may not start again with this binary log: a GTID comes before the Previous_gtids event";

impl Chain {
    pub(super) fn judge<R: ReadAt + ?Sized>(
        &mut self,
        log: &Log<'_, R>,
        at: u64,
        event: EventHeader,
    ) -> Result<Option<Fault>, ScanError> {
        if event.kind == FORMAT_DESCRIPTION {
            return self.description(log, at, event);
        }
        if !self.described {
            self.described = true;
            self.rules.checksums = self.checksums_seen(log, at)?.unwrap_or(true);
        }
        if self.rules.checksums
            && let Some(fault) = self.checksum(log, at, event)?
        {
            return Ok(Some(fault));
        }
        if let Some(fault) = self.wrong_position(at, event) {
            return Ok(Some(fault));
        }
        let unknown = !self.rules.checksums && !known_type(event.kind);
        Ok(unknown.then(|| Fault::Found(Check::Unknown, format!("type {} is not known", event.kind))))
    }

    fn checksum<R: ReadAt + ?Sized>(
        &self,
        log: &Log<'_, R>,
        at: u64,
        event: EventHeader,
    ) -> Result<Option<Fault>, ScanError> {
        if event.bytes < EVENT_HEADER_LENGTH.saturating_add(CHECKSUM_BYTES) {
            let detail = format!("gives its length as {} bytes, too few for a checksum", event.bytes);
            return Ok(Some(Fault::Found(Check::Length, detail)));
        }
        let check = if matches!(log.cipher, Cipher::Clear) { Check::Checksum } else { Check::OpenedChecksum };
        Ok(match log.sum(at, event)? {
            Sum::Right => None,
            Sum::Wrong { stored, computed } => Some(Fault::Found(
                check,
                format!("type {}: checksum is {stored:08x}, expected {computed:08x}", event.kind),
            )),
            Sum::Gone => Some(Fault::Gone),
        })
    }

    fn description<R: ReadAt + ?Sized>(
        &mut self,
        log: &Log<'_, R>,
        at: u64,
        event: EventHeader,
    ) -> Result<Option<Fault>, ScanError> {
        let first = self.unit == 0;
        self.position = None;
        let bytes = log.event(at, event, MAX_DESCRIPTION_BYTES)?;
        let found = bytes.and_then(|bytes| Description::parse(&bytes, event));
        let rules = found.map(|found| found.rules((!first).then_some(self.rules)));
        let old = found.is_some_and(|found| !found.has_checksum);
        let fault = match rules {
            // Without checksums, only the format description event at the start of the server's own log has a valid
            // one.
            Some(rules) if !old && !first && !rules.checksums => None,
            // A damaged server version can look like one of a server without checksums.
            Some(_) if old && self.checksums_seen(log, at)? != Some(true) => None,
            Some(_) => self.checksum(log, at, event)?,
            None => Some(
                self.checksum(log, at, event)?
                    .unwrap_or_else(|| Fault::Found(Check::Header, NO_DESCRIPTION.to_owned())),
            ),
        };
        self.described = true;
        self.continues |= first && found.is_some_and(|found| found.continues);
        self.mysql = if first { found.is_some_and(|found| found.mysql) } else { self.mysql };
        self.rules = rules.unwrap_or(self.rules);
        if fault.is_some() {
            self.rules.positions = !self.rules.relay;
            self.rules.checksums = self.checksums_seen(log, at)?.unwrap_or(true);
        } else if let Some(algorithm) = found.and_then(Description::unknown_algorithm) {
            let detail = format!("checksums of algorithm {algorithm} are not known, only lengths were checked");
            self.builder.find(Some(self.unit), Some(log.file_offset(at)), Check::Unknown, detail);
        }
        Ok(fault.or_else(|| self.wrong_position(at, event)))
    }

    /// Whether one of the next few events ends with a valid checksum; used if the format
    /// description cannot be trusted. `None` if there are no events to check but the one in
    /// question.
    fn checksums_seen<R: ReadAt + ?Sized>(&mut self, log: &Log<'_, R>, mut at: u64) -> Result<Option<bool>, ScanError> {
        const EVENTS: usize = 8;
        let mut seen = 0_usize;
        for _ in 0..EVENTS {
            let Some(event) = log.header(at)? else { break };
            let Some(next) = self.end_of(log, at, event) else { break };
            if event.bytes >= EVENT_HEADER_LENGTH.saturating_add(CHECKSUM_BYTES) && self.budget.spend(event.bytes) {
                if log.sum(at, event)? == Sum::Right {
                    return Ok(Some(true));
                }
                seen = seen.saturating_add(1);
            }
            at = next;
        }
        Ok((seen > 1).then_some(false))
    }

    /// Compares the end position in the event with the actual end. In relay logs positions are
    /// those of the source and need only grow inside a transaction: the source may leave out
    /// events.
    fn wrong_position(&mut self, at: u64, event: EventHeader) -> Option<Fault> {
        let named_end = event.end_log_pos;
        if self.rules.relay {
            return self.backwards(event);
        }
        let end = low(at.saturating_add(u64::from(event.bytes)));
        let agrees = named_end == 0 || named_end == end || self.named(event) == Some(end);
        (self.rules.positions && !agrees).then(|| {
            let detail = format!("type {}: names {named_end} as its end, ends at {end}", event.kind);
            Fault::Found(Check::Position, detail)
        })
    }

    /// Finds a GTID before `Previous_gtids`. MySQL does not start if it finds this fault in the binary logs that it
    /// reads at its start: the newest and the oldest. It does not read relay logs in this way.
    pub(super) fn wrong_order(&mut self, event: EventHeader) -> Option<Fault> {
        let prevents_start = self.first_gtids.prevents_start(event.kind) && self.mysql && !self.rules.relay;
        prevents_start.then(|| Fault::Found(Check::EventOrder, NO_PREVIOUS_GTIDS.to_owned()))
    }

    /// Takes the position in this event as the reference for the events after it.
    pub(super) fn follow(&mut self, event: EventHeader, next: u64) {
        if self.rules.positions && event.end_log_pos != 0 {
            self.shift = low(next).wrapping_sub(event.end_log_pos);
        }
    }

    /// The low 32 bits of the end position in the event, corrected by the bytes known to be missing
    /// or extra before it; `None` if the event does not name a position in this log.
    pub(in crate::verify::binlog) const fn named(&self, event: EventHeader) -> Option<u32> {
        if self.rules.positions && event.end_log_pos != 0 {
            Some(event.end_log_pos.wrapping_add(self.shift))
        } else {
            None
        }
    }

    fn backwards(&mut self, event: EventHeader) -> Option<Fault> {
        if resets_positions(event.kind) {
            self.position = (event.end_log_pos != 0 && event.kind != FORMAT_DESCRIPTION).then_some(event.end_log_pos);
            return None;
        }
        if event.end_log_pos == 0 {
            return None;
        }
        let before = self.position.replace(event.end_log_pos)?;
        // Positions are modulo 2³²: a step of more than half of that goes backwards.
        let forward = (1..1 << 31).contains(&event.end_log_pos.wrapping_sub(before));
        (!forward).then(|| {
            let detail =
                format!("type {}: names {} as its end, the event before {before}", event.kind, event.end_log_pos);
            Fault::Found(Check::Position, detail)
        })
    }
}

/// Whether positions may restart after an event of this type: events that the replica writes
/// itself, and those with which a source starts to send or a transaction begins.
const fn resets_positions(kind: u8) -> bool {
    // Stop, rotate, format description, GTIDs of MySQL, previous GTIDs; start encryption, GTID and
    // GTID list of MariaDB.
    matches!(kind, 3 | 4 | FORMAT_DESCRIPTION | 33..=35 | 162..=164)
}
