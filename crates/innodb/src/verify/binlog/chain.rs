//! Walks from event to event: each gives its own length and the position of the next.

mod judge;

use files::ReadAt;

use crate::{
    binlog::{EVENT_HEADER_BYTES, EventHeader, FirstGtids, START_ENCRYPTION, START_ENCRYPTION_PERCONA},
    bytes::{Bytes, as_u64, bump},
    error::ScanError,
    read::length,
    verify::{
        Check, ReportBuilder,
        binlog::{
            format::Rules,
            log::{CHECKSUM_BYTES, Cipher, Log},
            search_budget::SearchBudget,
        },
    },
};

/// Maximum length of a format description event: there are at most 256 types.
const MAX_DESCRIPTION_BYTES: u32 = 4096;
/// Bytes of a start-encryption event after its header: scheme, key version, nonce.
pub(super) const START_BODY_BYTES: u32 = 17;
pub(super) const EVENT_HEADER_LENGTH: u32 = 19;

const NOTHING_FOLLOWS: &str =
    "nothing follows the format description: the log is cut, and whether it was encrypted is not known";

const NO_EVENT: &str = "no event follows the magic: the log is cut, or was begun a moment ago";

/// Why a walk ended.
pub(super) enum Stop {
    /// Every event was judged; a fault of the last one is reported.
    End,
    /// Events from `next` on are encrypted one by one.
    Encrypted(StartEncryption),
}

/// A start-encryption event.
#[derive(Clone, Copy)]
pub(super) struct StartEncryption {
    pub(super) at: u64,
    pub(super) next: u64,
    /// Whether its checksum matches (or it has none).
    pub(super) sound: bool,
}

/// The state of a walk over a log.
pub(super) struct Chain {
    pub(super) builder: ReportBuilder,
    pub(super) rules: Rules,
    pub(super) budget: SearchBudget,
    unit: u64,
    described: bool,
    /// The server that started the log always writes more than the format description.
    continues: bool,
    /// A server of the MySQL family started the log.
    pub(super) mysql: bool,
    first_gtids: FirstGtids,
    /// In relay logs: the end position of the previous event of the transaction.
    position: Option<u32>,
    /// Difference between the positions in events and in the file, since the last event that named
    /// one: missing or extra bytes are the fault of one event, not of all that follow.
    shift: u32,
}

/// A fault of an event.
enum Fault {
    Found(Check, String),
    Gone,
}

impl Chain {
    pub(super) fn new(end: u64) -> Self {
        Self {
            builder: ReportBuilder::default(),
            rules: Rules::assumed(),
            budget: SearchBudget::new(end),
            unit: 0,
            described: false,
            continues: false,
            mysql: false,
            first_gtids: FirstGtids::default(),
            position: None,
            shift: 0,
        }
    }

    /// Judges every event from `at` on.
    pub(super) fn walk<R: ReadAt + ?Sized>(&mut self, log: &Log<'_, R>, mut at: u64) -> Result<Stop, ScanError> {
        while at < log.end {
            let event = log.header(at)?;
            let Some(event) = event.filter(|event| self.end_of(log, at, *event).is_some()) else {
                self.first_gtids.give_up();
                match self.truncated_or_damaged(log, at, event)? {
                    Some(next) => at = next,
                    None => return Ok(Stop::End),
                }
                continue;
            };
            let fault = self.judge(log, at, event)?;
            let sound = fault.is_none();
            if let Some(start) = self.start_encryption(log, at, event, sound)? {
                self.note(log, at, fault, None);
                return Ok(Stop::Encrypted(start));
            }
            let fault = fault.or_else(|| self.wrong_order(event));
            if fault.is_some() {
                self.first_gtids.give_up();
            }
            match self.conclude(log, at, event, fault)? {
                Some(next) => at = next,
                None => return Ok(Stop::End),
            }
        }
        Ok(Stop::End)
    }

    /// Judges a log that ends where its encryption may have begun: whether events were cut off is unknown.
    pub(super) fn expect_more<R: ReadAt + ?Sized>(&mut self, log: &Log<'_, R>) -> Result<(), ScanError> {
        self.expect_event(log);
        let units = self.builder.units;
        let alone = (units.total, units.clear) == (1, 1) && !self.builder.has_findings();
        if self.continues && alone && length(log.source)? <= log.file_offset(log.end) {
            self.builder.unproven();
            self.builder.find(None, Some(log.file_offset(log.end)), Check::LogEnd, NOTHING_FOLLOWS);
        }
        Ok(())
    }

    /// Judges a log without any event. A server that starts a log writes the magic and then the format description.
    pub(super) fn expect_event<R: ReadAt + ?Sized>(&mut self, log: &Log<'_, R>) {
        if self.builder.units.total == 0 && !self.builder.has_findings() {
            self.builder.unproven();
            self.builder.find(None, Some(log.file_offset(log.end)), Check::LogEnd, NO_EVENT);
        }
    }

    /// End of the event at `at`, if it lies inside the log.
    fn end_of<R: ?Sized>(&self, log: &Log<'_, R>, at: u64, event: EventHeader) -> Option<u64> {
        Some(at.saturating_add(u64::from(event.bytes))).filter(|next| *next <= log.end)
    }

    /// Counts the event, reports its fault, and returns the position of the next event.
    fn conclude<R: ReadAt + ?Sized>(
        &mut self,
        log: &Log<'_, R>,
        at: u64,
        event: EventHeader,
        fault: Option<Fault>,
    ) -> Result<Option<u64>, ScanError> {
        let next = at.saturating_add(u64::from(event.bytes));
        // If only the position is wrong, the length is still trusted.
        let trusted = match &fault {
            None => {
                self.follow(event, next);
                true
            }
            Some(Fault::Found(Check::Position, _)) => self.rules.checksums,
            Some(Fault::Found(Check::EventOrder, _)) => {
                self.follow(event, next);
                true
            }
            Some(Fault::Found(Check::Unknown, _)) => true,
            Some(Fault::Gone) => {
                self.note(log, at, fault, None);
                return Ok(None);
            }
            Some(Fault::Found(..)) => false,
        };
        let misplaced = matches!(fault, Some(Fault::Found(Check::Position, _)));
        let resumed = if trusted { Some(next) } else { self.resume(log, at, Some(event))? };
        if misplaced && resumed == Some(next) {
            self.follow(event, next);
        }
        let resync = if resumed == Some(next) { None } else { Some((event.bytes, resumed)) };
        self.note(log, at, fault, resync);
        Ok(resumed)
    }

    /// Handles an event whose length is shorter than its header or reaches beyond the end of the
    /// log.
    fn truncated_or_damaged<R: ReadAt + ?Sized>(
        &mut self,
        log: &Log<'_, R>,
        at: u64,
        event: Option<EventHeader>,
    ) -> Result<Option<u64>, ScanError> {
        let left = log.end.saturating_sub(at);
        let consistent =
            event.is_some_and(|event| self.named(event) == Some(low(at.saturating_add(u64::from(event.bytes)))));
        if left < as_u64(EVENT_HEADER_BYTES) || consistent {
            return self.truncated(log, at, event);
        }
        if log.zero_from(at)? {
            self.bad(log, at, Check::AllocatedZero, "all zero from here to the end of the log".to_owned());
            return Ok(None);
        }
        let resumed = self.resume(log, at, event)?;
        let unsaid = event.is_none_or(|event| !self.rules.positions || event.end_log_pos == 0);
        if resumed.is_none() && event.is_some() && unsaid {
            return self.truncated(log, at, event);
        }
        let given = event.map_or_else(|| "less than its header".to_owned(), |event| format!("{} bytes", event.bytes));
        let detail = format!("gives its length as {given}, {left} bytes are left; {}", next_event_text(log, resumed));
        self.bad(log, at, Check::Length, detail);
        Ok(resumed)
    }

    /// Handles a last event that is incomplete. If the log grew since its length was read, it is
    /// being written: no finding.
    fn truncated<R: ReadAt + ?Sized>(
        &mut self,
        log: &Log<'_, R>,
        at: u64,
        event: Option<EventHeader>,
    ) -> Result<Option<u64>, ScanError> {
        if length(log.source)? > log.file_offset(log.end) {
            return Ok(None);
        }
        let left = log.end.saturating_sub(at);
        let needed = event.map_or(EVENT_HEADER_LENGTH, |event| event.bytes);
        let detail = format!("the last event has {needed} bytes or more, {left} are there");
        self.builder.find(Some(self.unit), Some(log.file_offset(at)), Check::PartialUnit, detail);
        Ok(None)
    }

    /// The second event of a log of MariaDB or Percona Server 5.7, if it says that all following
    /// events are encrypted. An event with a damaged type still has the right length and scheme.
    fn start_encryption<R: ReadAt + ?Sized>(
        &self,
        log: &Log<'_, R>,
        at: u64,
        event: EventHeader,
        sound: bool,
    ) -> Result<Option<StartEncryption>, ScanError> {
        const SECOND: u64 = 1;
        if self.unit != SECOND || !matches!(log.cipher, Cipher::Clear) {
            return Ok(None);
        }
        let body = event.bytes.saturating_sub(EVENT_HEADER_LENGTH);
        let long_enough = body == START_BODY_BYTES || body == START_BODY_BYTES.saturating_add(CHECKSUM_BYTES);
        let bytes = log.event(at, event, MAX_DESCRIPTION_BYTES)?.unwrap_or_default();
        let scheme: Option<[u8; 1]> = bytes.array_at(EVENT_HEADER_BYTES);
        let named = event.kind == if self.mysql { START_ENCRYPTION_PERCONA } else { START_ENCRYPTION };
        let is_one = if sound { named } else { long_enough && (named || scheme == Some([1])) };
        Ok(is_one.then(|| StartEncryption { at, next: at.saturating_add(u64::from(event.bytes)), sound }))
    }

    /// Counts one event by its state in the file, or as bad with its fault. `resync` is the length that the event
    /// gives, and the position where the walk continues instead.
    fn note<R: ReadAt + ?Sized>(
        &mut self,
        log: &Log<'_, R>,
        at: u64,
        fault: Option<Fault>,
        resync: Option<(u32, Option<u64>)>,
    ) {
        match (fault, resync) {
            (None, _) => self.good(log),
            (Some(Fault::Gone), _) => {
                let detail = "the file became shorter while it was read";
                self.builder.find(Some(self.unit), Some(log.file_offset(at)), Check::Changing, detail);
            }
            (Some(Fault::Found(Check::Unknown, detail)), _) => {
                self.builder.find(Some(self.unit), Some(log.file_offset(at)), Check::Unknown, detail);
                self.good(log);
            }
            (Some(Fault::Found(check, detail)), None) => self.bad(log, at, check, detail),
            (Some(Fault::Found(_, detail)), Some((bytes, resumed))) => {
                let detail = format!("gives its length as {bytes} bytes; {}; {detail}", next_event_text(log, resumed));
                self.bad(log, at, Check::Length, detail);
            }
        }
    }

    fn good<R: ?Sized>(&mut self, log: &Log<'_, R>) {
        bump(&mut self.unit);
        bump(&mut self.builder.units.total);
        match log.cipher {
            Cipher::Clear => bump(&mut self.builder.units.clear),
            Cipher::MySql(_) | Cipher::MariaDb(_) => bump(&mut self.builder.units.encrypted),
        }
    }

    /// Counts an encrypted event that is not decrypted.
    pub(super) fn count_encrypted(&mut self) {
        bump(&mut self.unit);
        bump(&mut self.builder.units.total);
        bump(&mut self.builder.units.encrypted);
    }

    pub(super) fn bad<R: ReadAt + ?Sized>(&mut self, log: &Log<'_, R>, at: u64, check: Check, detail: String) {
        self.builder.find(Some(self.unit), Some(log.file_offset(at)), check, detail);
        bump(&mut self.unit);
        bump(&mut self.builder.units.total);
        bump(&mut self.builder.units.bad);
    }

    pub(super) const fn unit(&self) -> u64 {
        self.unit
    }
}

/// The low 32 bits of a position: events store no more.
pub(super) fn low(position: u64) -> u32 {
    u32::try_from(position & 0xffff_ffff).unwrap_or(0)
}

fn next_event_text<R: ReadAt + ?Sized>(log: &Log<'_, R>, resumed: Option<u64>) -> String {
    resumed.map_or_else(
        || "nothing after it could be read".to_owned(),
        |next| format!("the next event begins at offset {}", log.file_offset(next)),
    )
}
