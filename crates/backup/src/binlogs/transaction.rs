//! Finds transactions in archived binary logs: when each was committed and which tables it changed, without any values.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
};

use agefile::Identity;
use binlog::{
    Body, Decoder, Event, Limits,
    event::Change,
    replica::{Progress, Start},
};
use innodb::binlog::LogPosition;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use server::sql::{Syntax, summary};

use super::{
    chain::Archive,
    events::{LogEvent, Range, each_event},
};
use crate::{Error, Repository};

/// A transaction, or a statement outside of transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Transaction {
    /// Server whose log has it, as in the name of its archive.
    pub server: String,
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
    pub fn begin(&self) -> LogPosition {
        LogPosition { file: self.file.clone(), offset: self.start }
    }

    /// Position after its last event.
    #[must_use]
    pub fn end_position(&self) -> LogPosition {
        LogPosition { file: self.file.clone(), offset: self.end }
    }

    /// Whether it is a statement on the server itself, which must not be replayed: `ALTER INSTANCE ROTATE INNODB MASTER
    /// KEY` would create a key that only the replaying server has.
    pub(super) fn is_of_instance(&self) -> bool {
        self.changes.values().any(|what| what.contains("ALTER INSTANCE"))
    }

    /// The scheduled events that it defines, alters or removes.
    pub(super) fn events(&self) -> impl Iterator<Item = &String> {
        let is_of_event = |what: &String| what.ends_with(" EVENT");
        self.changes.iter().filter(move |(_, what)| what.iter().any(is_of_event)).map(|(name, _)| name)
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
                let syntax = Syntax::from_sql_mode(query.variables().sql_mode.unwrap_or(0));
                let (what, object) = summary(&String::from_utf8_lossy(&query.statement), syntax);
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

/// Finds transactions in events, in the order of the log.
pub(super) struct Scanner {
    server: String,
    decoder: Decoder,
    progress: Progress,
    open: Option<Transaction>,
}

impl Scanner {
    pub(super) fn new() -> Self {
        let start = Start::Position(LogPosition::default());
        let (decoder, progress) = (Decoder::new(Limits::default()), Progress::new(&start));
        Self { server: String::new(), decoder, progress, open: None }
    }

    /// Processes an event. Returns the transaction that it ends.
    pub(super) fn take(&mut self, event: &LogEvent<'_>) -> Result<Option<Transaction>, Error> {
        let LogEvent { server, file, start, bytes, .. } = *event;
        if self.server != server || self.progress.position.file != file {
            server.clone_into(&mut self.server);
            let position = LogPosition { file: file.to_owned(), offset: start };
            self.progress = Progress::new(&Start::Position(position));
            self.decoder = Decoder::new(Limits::default());
            self.open = None;
        }
        let damaged = |fault| Error::Binlog(binlog::Error::Stream { file: file.to_owned(), position: start, fault });
        let event = self.decoder.decode(bytes).map_err(damaged)?;
        if is_of_log(&event.body) {
            return Ok(None);
        }
        let before = self.progress.boundary.clone();
        self.progress.note(&event);
        self.progress.position.offset = start.saturating_add(bytes.len() as u64);
        let is_end = self.progress.boundary != before;
        let gtid = gtid(&event);
        if gtid.is_some() || self.open.is_none() {
            self.open = Some(Transaction {
                server: server.to_owned(),
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
        // The time of the commit on the original server: a replica commits later, at another time.
        Body::Gtid(found) => found.original_commit.and_then(|time| i64::try_from(time).ok()),
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
/// [`Error`] if the archive cannot be read.
pub(crate) fn around(
    repository: &Repository,
    archive: &Archive,
    identities: &[Identity],
    time: Timestamp,
    within: SignedDuration,
) -> Result<Vec<Transaction>, Error> {
    let (first, last) = (time.saturating_sub(within), time.saturating_add(within));
    let (first, last) = (first.unwrap_or(Timestamp::MIN), last.unwrap_or(Timestamp::MAX));
    let (mut scanner, mut found) = (Scanner::new(), Vec::new());
    let _is_ended = each_event(
        repository,
        archive,
        identities,
        Range::Between(first.as_second(), last.as_second()),
        &mut |event| {
            let Some(transaction) = scanner.take(event)? else {
                return Ok(ControlFlow::Continue(()));
            };
            if transaction.committed.is_some_and(|committed| committed > last) {
                return Ok(ControlFlow::Break(()));
            }
            if transaction.committed.is_none_or(|committed| committed >= first) {
                found.push(transaction);
            }
            Ok(ControlFlow::Continue(()))
        },
    )?;
    Ok(found)
}
