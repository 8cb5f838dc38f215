//! The events of a clear binary log: their number, their times, and the key rotations that they record.

use files::ReadAt;
use serde::{Deserialize, Serialize};

use crate::{
    binlog::{
        BinlogEncryption, BinlogHead, EVENT_HEADER_BYTES, EventHeader, FORMAT_DESCRIPTION, MAGIC_CLEAR,
        MYSQL_HEADER_BYTES, START_ENCRYPTION, START_ENCRYPTION_PERCONA, known_type, recognise,
    },
    bytes::{Bytes, as_u64, as_usize, bump},
    error::ScanError,
    keys::NoKeys,
    read::fill,
    verify::{self, Verdict},
};

/// A statement the audit looks for. Other statements are never returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StatementKind {
    /// `ALTER INSTANCE ROTATE INNODB MASTER KEY`.
    RotateInnodbMasterKey,
    /// `ALTER INSTANCE ROTATE BINLOG MASTER KEY`.
    RotateBinlogMasterKey,
}

/// One occurrence of a statement that the audit looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// Seconds since 1970 UTC.
    pub timestamp: u32,
    /// Which statement it is.
    pub kind: StatementKind,
    /// Offset of its event in the file, in bytes.
    pub offset: u64,
}

/// Result of reading the events of a clear log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventScan {
    /// Events read.
    pub events: u64,
    /// Number of readable events without the format description. `None` if the log is intact and has no other event,
    /// and in facts saved by earlier versions.
    #[serde(default)]
    pub readable: Option<u64>,
    /// Time of the first event that has one, in seconds since 1970 UTC.
    pub first_timestamp: Option<u32>,
    /// Time of the newest event, in seconds since 1970 UTC.
    pub last_timestamp: Option<u32>,
    /// Statements of [`StatementKind`] in file order.
    pub statements: Vec<Statement>,
    /// Offset of the first unreadable event: the log is damaged or cut off there.
    pub damaged_at: Option<u64>,
    /// Offset from which events are encrypted.
    pub encrypted_from: Option<u64>,
    /// Whether the whole log was read.
    pub complete: bool,
}

const QUERY: u8 = 2;
/// Longest prefix of a query event that is read.
const QUERY_BYTES: usize = 65536;
const MAX_STATEMENTS: usize = 4096;

/// Walks the events of a clear log up to `max_events` and at most `max_bytes` into the
/// file, and finds the statements of [`StatementKind`].
///
/// # Errors
/// As [`recognise`].
pub fn events<R: ReadAt + ?Sized>(source: &R, max_events: u64, max_bytes: u64) -> Result<EventScan, ScanError> {
    let head = recognise(source)?;
    let mut found = EventScan { readable: Some(0), ..EventScan::default() };
    if matches!(head.encryption, BinlogEncryption::MySql { .. }) {
        found.encrypted_from = Some(as_u64(MYSQL_HEADER_BYTES));
        return Ok(found);
    }
    found.walk(source, &head, max_events, max_bytes)?;
    let doubtful = found.readable.is_none_or(|readable| readable.saturating_mul(2) < found.events);
    if head.encryption == BinlogEncryption::Clear && doubtful {
        found.readable = readable_after_damage(source)?;
    }
    Ok(found)
}

/// Counts the readable events of a log that may be damaged, without the format description. `None` if the log is intact
/// and consists of the format description alone.
fn readable_after_damage<R: ReadAt + ?Sized>(source: &R) -> Result<Option<u64>, ScanError> {
    match verify::binlog::verify(source, &NoKeys) {
        Ok(report) if report.verdict == Verdict::Clear && report.units.total == 1 => Ok(None),
        Ok(report) => Ok(Some(report.units.clear.saturating_sub(1))),
        Err(error @ ScanError::Io { .. }) => Err(error),
        Err(_) => Ok(Some(0)),
    }
}

impl EventScan {
    fn walk<R: ReadAt + ?Sized>(
        &mut self,
        source: &R,
        head: &BinlogHead,
        max_events: u64,
        max_bytes: u64,
    ) -> Result<(), ScanError> {
        let end = head.file_bytes.min(max_bytes);
        let mut offset = as_u64(MAGIC_CLEAR.len());
        let mut buf = vec![0; EVENT_HEADER_BYTES];
        while offset < end && self.events < max_events {
            let event = EventHeader::parse(fill(source, offset, &mut buf)?);
            let next = event.map(|event| offset.saturating_add(u64::from(event.bytes)));
            let (Some(event), Some(next)) = (event, next.filter(|next| *next <= head.file_bytes)) else {
                self.damaged_at = Some(offset);
                return Ok(());
            };
            self.event(event, offset, source)?;
            if matches!(event.kind, START_ENCRYPTION | START_ENCRYPTION_PERCONA) {
                self.encrypted_from = Some(next);
                return Ok(());
            }
            offset = next;
        }
        self.complete = offset == head.file_bytes;
        Ok(())
    }

    fn event<R: ReadAt + ?Sized>(&mut self, event: EventHeader, offset: u64, source: &R) -> Result<(), ScanError> {
        bump(&mut self.events);
        if event.kind != FORMAT_DESCRIPTION && known_type(event.kind) {
            self.readable = self.readable.map(|readable| readable.saturating_add(1));
        }
        if event.timestamp != 0 {
            self.first_timestamp.get_or_insert(event.timestamp);
            self.last_timestamp = self.last_timestamp.max(Some(event.timestamp));
        }
        if event.kind != QUERY || self.statements.len() >= MAX_STATEMENTS {
            return Ok(());
        }
        let mut buf = vec![0; as_usize(u64::from(event.bytes)).min(QUERY_BYTES)];
        let body = fill(source, offset, &mut buf)?;
        if let Some(kind) = query_text(body).and_then(statement_kind) {
            self.statements.push(Statement { timestamp: event.timestamp, kind, offset });
        }
        Ok(())
    }
}

/// SQL text of a query event; a 4-byte checksum may follow it.
fn query_text(event: &[u8]) -> Option<&[u8]> {
    const POST_HEADER: usize = EVENT_HEADER_BYTES + 13;
    let [database_bytes] = event.array_at(EVENT_HEADER_BYTES + 8)?;
    let status_bytes = event.le16(EVENT_HEADER_BYTES + 11)?;
    let at =
        POST_HEADER.checked_add(usize::from(status_bytes))?.checked_add(usize::from(database_bytes))?.checked_add(1)?;
    event.get(at..)
}

/// Recognises a statement of [`StatementKind`]. Case, comments and extra blanks do not matter; text
/// after the last word (a checksum, a semicolon) is ignored.
fn statement_kind(text: &[u8]) -> Option<StatementKind> {
    const PREFIX: [&str; 3] = ["ALTER", "INSTANCE", "ROTATE"];
    let mut rest = text;
    for expected in PREFIX {
        rest = word(rest, expected)?;
    }
    let (kind, rest) =
        [("INNODB", StatementKind::RotateInnodbMasterKey), ("BINLOG", StatementKind::RotateBinlogMasterKey)]
            .into_iter()
            .find_map(|(name, kind)| word(rest, name).map(|rest| (kind, rest)))?;
    word(word(rest, "MASTER")?, "KEY")?;
    Some(kind)
}

/// The text after `expected` if the text starts with that word.
fn word<'t>(text: &'t [u8], expected: &str) -> Option<&'t [u8]> {
    let text = skip_blank(text);
    let (found, rest) = text.split_at_checked(expected.len())?;
    found.eq_ignore_ascii_case(expected.as_bytes()).then_some(rest)
}

fn skip_blank(mut text: &[u8]) -> &[u8] {
    loop {
        text = text.trim_ascii_start();
        let Some(comment) = text.strip_prefix(b"/*") else {
            return text;
        };
        let end = comment.windows(2).position(|pair| pair == b"*/");
        let after = end.and_then(|end| comment.get(end.checked_add(2)?..));
        match after {
            Some(after) => text = after,
            None => return text,
        }
    }
}
