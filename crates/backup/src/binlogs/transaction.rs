//! Finds transactions in archived binary logs: when each was committed and which tables it changed, without any values.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
};

use agefile::Identity;
use archive::binlog::BinlogPosition;
use binlog::{
    Body, Decoder, Event, Limits,
    event::Change,
    replica::{LogPosition, Progress, Start},
};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::{
    chain::Archive,
    events::{Range, each_event},
};
use crate::{BackupError, Repository};

/// A transaction, or a statement outside of transactions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Transaction {
    /// Name of the log.
    pub file: String,
    /// Offset of its first event.
    pub start: u64,
    /// Offset after its last event.
    pub end: u64,
    /// Its GTID; empty if it has none.
    pub gtid: String,
    /// Time of the commit, in microseconds for MySQL and seconds for MariaDB.
    pub committed: Option<Timestamp>,
    /// Changes by table: `INSERT`, `UPDATE`, `DELETE`, or the first words of a statement.
    pub changes: BTreeMap<String, BTreeSet<String>>,
}

impl Transaction {
    /// Position of its first event.
    #[must_use]
    pub fn begin(&self) -> BinlogPosition {
        BinlogPosition { file: self.file.clone(), offset: self.start }
    }

    /// Position after its last event.
    #[must_use]
    pub fn end_position(&self) -> BinlogPosition {
        BinlogPosition { file: self.file.clone(), offset: self.end }
    }

    /// Whether it is a statement on the server itself, which must not be replayed: `ALTER INSTANCE ROTATE INNODB MASTER
    /// KEY` would create a key that only the replaying server has.
    pub(super) fn is_of_instance(&self) -> bool {
        self.changes.values().any(|what| what.contains("ALTER INSTANCE"))
    }

    fn note(&mut self, body: &Body<'_>) {
        let mut add = |table: String, what: String| {
            self.changes.entry(table).or_default().insert(what);
        };
        match body {
            Body::Rows(rows) => {
                let table = rows.table.as_ref().map(|table| format!("{}.{}", table.database, table.name));
                let what = match rows.change {
                    Change::Insert => "INSERT",
                    Change::Update | Change::PartialUpdate => "UPDATE",
                    Change::Delete => "DELETE",
                };
                table.into_iter().for_each(|table| add(table, what.to_owned()));
            }
            Body::Query(query) => {
                let (what, object) = statement(&query.statement);
                if !matches!(what.as_str(), "BEGIN" | "COMMIT" | "ROLLBACK") {
                    let database = String::from_utf8_lossy(query.database);
                    let is_database = what.ends_with(" DATABASE") || what.ends_with(" SCHEMA");
                    let object = match object {
                        Some(name) if is_database || name.contains('.') || database.is_empty() => name,
                        Some(name) => format!("{database}.{name}"),
                        None => database.into_owned(),
                    };
                    add(object, what);
                }
            }
            _ => {}
        }
    }
}

/// The first words of a statement and, for DDL, the object that it names. Nothing else is shown, since it may contain
/// values.
fn statement(text: &[u8]) -> (String, Option<String>) {
    const WORDS: usize = 12;
    let head = String::from_utf8_lossy(text.get(..text.len().min(400)).unwrap_or_default()).into_owned();
    let head = without_comments(&head);
    let words: Vec<&str> = head.split_whitespace().take(WORDS).collect();
    let upper = |at: usize| words.get(at).map(|word| word.to_ascii_uppercase()).unwrap_or_default();
    let verb = upper(0);
    if !matches!(verb.as_str(), "CREATE" | "DROP" | "ALTER" | "TRUNCATE" | "RENAME") {
        return (verb.chars().filter(char::is_ascii_alphabetic).take(16).collect(), None);
    }
    const SKIPPED: [&str; 9] =
        ["OR", "REPLACE", "TEMPORARY", "UNIQUE", "FULLTEXT", "SPATIAL", "ONLINE", "OFFLINE", "UNDO"];
    let kind = (1..words.len()).find(|at| !SKIPPED.contains(&upper(*at).as_str())).unwrap_or(1);
    // The word TABLE is optional in TRUNCATE.
    let (what, mut at) = match (verb.as_str(), upper(kind).as_str()) {
        ("TRUNCATE", "TABLE") => ("TRUNCATE TABLE".to_owned(), kind.saturating_add(1)),
        ("TRUNCATE", _) => ("TRUNCATE TABLE".to_owned(), kind),
        (verb, noun) => (format!("{verb} {noun}"), kind.saturating_add(1)),
    };
    while matches!(upper(at).as_str(), "IF" | "NOT" | "EXISTS") {
        at = at.saturating_add(1);
    }
    let is_named = ["TABLE", "VIEW", "DATABASE", "SCHEMA", "INDEX", "PROCEDURE", "FUNCTION", "TRIGGER", "EVENT"]
        .iter()
        .any(|noun| what.ends_with(noun));
    let name = words.get(at).filter(|_| is_named).map(|word| {
        let word = word.split(['(', ',', ';']).next().unwrap_or_default();
        word.replace(['`', '"'], "")
    });
    (what, name.filter(|name| !name.is_empty()))
}

fn without_comments(text: &str) -> String {
    let mut rest = text.trim_start();
    while let Some(comment) = rest.strip_prefix("/*") {
        let Some((_, behind)) = comment.split_once("*/") else { break };
        rest = behind.trim_start();
    }
    rest.to_owned()
}

/// Finds transactions in events, in the order of the log.
pub(super) struct Scanner {
    decoder: Decoder,
    progress: Progress,
    open: Option<Transaction>,
}

impl Scanner {
    pub(super) fn new() -> Self {
        let start = Start::Position(LogPosition::default());
        Self { decoder: Decoder::new(Limits::default()), progress: Progress::new(&start), open: None }
    }

    /// Processes an event of `file` at offset `start`. Returns the transaction that it ends.
    pub(super) fn take(&mut self, file: &str, start: u64, bytes: &[u8]) -> Result<Option<Transaction>, BackupError> {
        if self.progress.position.file != file {
            let position = LogPosition { file: file.to_owned(), position: start };
            self.progress = Progress::new(&Start::Position(position));
            self.decoder = Decoder::new(Limits::default());
            self.open = None;
        }
        let damaged =
            |fault| BackupError::Binlog(binlog::Error::Stream { file: file.to_owned(), position: start, fault });
        let event = self.decoder.decode(bytes).map_err(damaged)?;
        if is_of_log(&event.body) {
            return Ok(None);
        }
        let before = self.progress.boundary.clone();
        self.progress.note(&event);
        self.progress.position.position = start.saturating_add(bytes.len() as u64);
        let is_end = self.progress.boundary != before;
        let gtid = gtid(&event);
        if gtid.is_some() || self.open.is_none() {
            self.open = Some(Transaction {
                file: file.to_owned(),
                start,
                end: start,
                gtid: gtid.unwrap_or_default(),
                committed: committed(&event),
                changes: BTreeMap::new(),
            });
        }
        let Some(open) = &mut self.open else { return Ok(None) };
        match &event.body {
            Body::Payload(payload) => {
                let limits = Limits::default();
                let mut inside = payload.events(&limits).map_err(damaged)?;
                while let Some(bytes) = inside.next_event().map_err(damaged)? {
                    let event = self.decoder.decode_inside(bytes).map_err(damaged)?;
                    open.note(&event.body);
                }
            }
            body => open.note(body),
        }
        open.end = start.saturating_add(bytes.len() as u64);
        if !is_end {
            return Ok(None);
        }
        self.progress.boundary = self.progress.position.clone();
        Ok(self.open.take())
    }
}

/// Whether an event belongs to the log and not to a transaction.
pub(super) fn is_of_log(body: &Body<'_>) -> bool {
    matches!(
        body,
        Body::FormatDescription(_)
            | Body::Rotate(_)
            | Body::Stop
            | Body::PreviousGtids(_)
            | Body::GtidList(_)
            | Body::BinlogCheckpoint(_)
            | Body::StartEncryption(_)
            | Body::Heartbeat(_)
    )
}

/// The GTID if an event begins a transaction; empty for an anonymous transaction.
fn gtid(event: &Event<'_>) -> Option<String> {
    match &event.body {
        Body::Gtid(found) => Some(found.gtid.as_ref().map_or_else(String::new, ToString::to_string)),
        Body::MariaDbGtid(found) => Some(found.gtid.to_string()),
        _ => None,
    }
}

fn committed(event: &Event<'_>) -> Option<Timestamp> {
    let exact = match &event.body {
        Body::Gtid(found) => found.immediate_commit.and_then(|time| i64::try_from(time).ok()),
        _ => None,
    };
    match exact.filter(|time| *time > 0) {
        Some(microseconds) => Timestamp::from_microsecond(microseconds).ok(),
        None => Timestamp::from_second(i64::from(event.header.timestamp)).ok(),
    }
}

/// The transactions that were committed near a time, in order.
///
/// # Errors
/// [`BackupError`] if the archive cannot be read.
pub fn around(
    repository: &Repository,
    archive: &Archive,
    identities: &[Identity],
    time: Timestamp,
    within: SignedDuration,
) -> Result<Vec<Transaction>, BackupError> {
    let (first, last) = (time.saturating_sub(within), time.saturating_add(within));
    let (first, last) = (first.unwrap_or(Timestamp::MIN), last.unwrap_or(Timestamp::MAX));
    let (mut scanner, mut found) = (Scanner::new(), Vec::new());
    each_event(repository, archive, identities, Range::Between(first.as_second(), last.as_second()), &mut |event| {
        let Some(transaction) = scanner.take(event.file, event.start, event.bytes)? else {
            return Ok(ControlFlow::Continue(()));
        };
        if transaction.committed.is_some_and(|committed| committed > last) {
            return Ok(ControlFlow::Break(()));
        }
        if transaction.committed.is_none_or(|committed| committed >= first) {
            found.push(transaction);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_shows_what_it_defines_and_no_value() {
        let of = |text: &str| statement(text.as_bytes());
        let named = |what: &str, name: &str| (what.to_owned(), Some(name.to_owned()));
        assert_eq!(
            of("DROP TABLE IF EXISTS `shop`.`orders` /* generated by server */"),
            named("DROP TABLE", "shop.orders")
        );
        assert_eq!(of("/* app */ create table t(a int default 5)"), named("CREATE TABLE", "t"));
        assert_eq!(of("truncate orders"), named("TRUNCATE TABLE", "orders"));
        assert_eq!(of("CREATE OR REPLACE VIEW v AS SELECT 'secret'"), named("CREATE VIEW", "v"));
        assert_eq!(of("CREATE USER 'u'@'%' IDENTIFIED BY 'secret'"), ("CREATE USER".to_owned(), None));
        assert_eq!(of("INSERT INTO t VALUES ('secret')"), ("INSERT".to_owned(), None));
        assert_eq!(of(""), (String::new(), None));
    }
}
