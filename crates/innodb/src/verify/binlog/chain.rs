//! Walks from event to event: each gives its own length and the position of the next.

use files::ReadAt;

use crate::{
    binlog::{
        EVENT_HEADER_BYTES, EventHeader, FORMAT_DESCRIPTION, FirstGtids, START_ENCRYPTION, START_ENCRYPTION_PERCONA,
        known_type,
    },
    bytes::{Bytes, as_u64, bump},
    error::ScanError,
    read::length,
    verify::{
        Check, ReportBuilder,
        binlog::{
            format::{Description, Rules},
            log::{CHECKSUM_BYTES, Cipher, Log, Sum},
            search_budget::SearchBudget,
        },
    },
};

/// Maximum length of a format description event: there are at most 256 types.
const MAX_DESCRIPTION_BYTES: u32 = 4096;
/// Bytes of a start-encryption event after its header: scheme, key version, nonce.
pub(super) const START_BODY_BYTES: u32 = 17;
pub(super) const EVENT_HEADER_LENGTH: u32 = 19;

const NO_DESCRIPTION: &str = "no valid format description event";

const NOTHING_FOLLOWS: &str =
    "nothing follows the format description: the log is cut, and whether it was encrypted is not known";

const NO_PREVIOUS_GTIDS: &str =
    "a GTID comes before the Previous_gtids event: the server does not start again with this binary log";

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

    fn judge<R: ReadAt + ?Sized>(
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

    /// A binary log of MySQL with which the server does not start again. Relay logs are not read for GTIDs like this.
    fn wrong_order(&mut self, event: EventHeader) -> Option<Fault> {
        let prevents_start = self.first_gtids.prevents_start(event.kind) && self.mysql && !self.rules.relay;
        prevents_start.then(|| Fault::Found(Check::EventOrder, NO_PREVIOUS_GTIDS.to_owned()))
    }

    /// Takes the position in this event as the reference for the events after it.
    fn follow(&mut self, event: EventHeader, next: u64) {
        if self.rules.positions && event.end_log_pos != 0 {
            self.shift = low(next).wrapping_sub(event.end_log_pos);
        }
    }

    /// The low 32 bits of the end position in the event, corrected by the bytes known to be missing
    /// or extra before it; `None` if the event does not name a position in this log.
    pub(super) const fn named(&self, event: EventHeader) -> Option<u32> {
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

/// Whether positions may restart after an event of this type: events that the replica writes
/// itself, and those with which a source starts to send or a transaction begins.
const fn resets_positions(kind: u8) -> bool {
    // Stop, rotate, format description, GTIDs of MySQL, previous GTIDs; start encryption, GTID and
    // GTID list of MariaDB.
    matches!(kind, 3 | 4 | FORMAT_DESCRIPTION | 33..=35 | 162..=164)
}

fn next_event_text<R: ReadAt + ?Sized>(log: &Log<'_, R>, resumed: Option<u64>) -> String {
    resumed.map_or_else(
        || "nothing after it could be read".to_owned(),
        |next| format!("the next event begins at offset {}", log.file_offset(next)),
    )
}
