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
    events::{LogEvent, Range, each_event},
};
use crate::{BackupError, Repository};

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
    const WORDS: usize = 32;
    let words: Vec<String> = Words(text).take(WORDS).collect();
    let upper = |at: usize| words.get(at).map(|word| word.to_ascii_uppercase()).unwrap_or_default();
    let verb = upper(0);
    if !matches!(verb.as_str(), "CREATE" | "DROP" | "ALTER" | "TRUNCATE" | "RENAME") {
        return (verb.chars().filter(char::is_ascii_alphabetic).take(16).collect(), None);
    }
    let kind = kind_at(&upper);
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
    let name = words.get(at).filter(|_| is_named).map(|word| word.replace(['`', '"'], ""));
    (what, name.filter(|name| !name.is_empty()))
}

/// Number of the word that says what is defined, behind those that say how.
fn kind_at(upper: &dyn Fn(usize) -> String) -> usize {
    let mut at = 1_usize;
    loop {
        let more = match upper(at).as_str() {
            "OR" | "REPLACE" | "TEMPORARY" | "UNIQUE" | "FULLTEXT" | "SPATIAL" | "ONLINE" | "OFFLINE" | "UNDO"
            | "AGGREGATE" | "(" | ")" => 1,
            "DEFINER" | "ALGORITHM" if upper(at.saturating_add(1)) == "=" => 3,
            // SQL SECURITY INVOKER
            "SQL" => 3,
            _ => return at,
        };
        at = at.saturating_add(more);
    }
}

/// The words of a statement, without comments but with what servers execute in `/*! … */`. A name in quotes is a part of
/// a word; brackets, commas and the like are words.
struct Words<'t>(&'t [u8]);

impl Words<'_> {
    /// Whether a comment begins here.
    fn is_comment(text: &[u8]) -> bool {
        let is_line = || text.strip_prefix(b"--").is_some_and(|rest| rest.first().is_none_or(|byte| *byte <= b' '));
        text.starts_with(b"#") || text.starts_with(b"/*") || is_line()
    }

    fn skip_blanks(&mut self) {
        loop {
            let text = self.0.trim_ascii_start();
            self.0 = if let Some(code) = text.strip_prefix(b"/*!").or_else(|| text.strip_prefix(b"/*M!")) {
                let digits = code.iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
                code.get(digits..).unwrap_or_default()
            } else if let Some(comment) = text.strip_prefix(b"/*") {
                let end = comment.windows(2).position(|ending| ending == b"*/");
                end.and_then(|end| comment.get(end.saturating_add(2)..)).unwrap_or_default()
            } else if Self::is_comment(text) {
                let end = text.iter().position(|byte| *byte == b'\n');
                end.and_then(|end| text.get(end..)).unwrap_or_default()
            } else if let Some(code) = text.strip_prefix(b"*/") {
                code
            } else {
                self.0 = text;
                return;
            };
        }
    }

    /// Length of the quoted name or value at the start of `text`.
    fn quoted_bytes(text: &[u8], quote: u8) -> usize {
        let mut at = 1_usize;
        while let Some(byte) = text.get(at) {
            match *byte {
                byte if byte == quote => return at.saturating_add(1),
                b'\\' if quote != b'`' => at = at.saturating_add(2),
                _ => at = at.saturating_add(1),
            }
        }
        text.len()
    }
}

impl Iterator for Words<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        /// No word that is shown is as long.
        const MAX_BYTES: usize = 300;
        self.skip_blanks();
        let mut length = 0_usize;
        while let Some(rest) = self.0.get(length..).filter(|rest| !rest.is_empty()) {
            let more = match *rest.first()? {
                quote @ (b'`' | b'"' | b'\'') => Self::quoted_bytes(rest, quote),
                byte if byte.is_ascii_whitespace() || Self::is_comment(rest) || rest.starts_with(b"*/") => break,
                b'(' | b')' | b',' | b';' | b'=' if length > 0 => break,
                b'(' | b')' | b',' | b';' | b'=' => {
                    length = 1;
                    break;
                }
                _ => 1,
            };
            length = length.saturating_add(more);
        }
        let (word, rest) = self.0.split_at_checked(length.min(self.0.len()))?;
        self.0 = rest;
        let word = word.get(..word.len().min(MAX_BYTES)).unwrap_or_default();
        (!word.is_empty()).then(|| String::from_utf8_lossy(word).into_owned())
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
    pub(super) fn take(&mut self, event: &LogEvent<'_>) -> Result<Option<Transaction>, BackupError> {
        let LogEvent { server, file, start, bytes, .. } = *event;
        if self.server != server || self.progress.position.file != file {
            server.clone_into(&mut self.server);
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
        // On the server where it was committed first: a replica commits it later, and gives it another time.
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
/// [`BackupError`] if the archive cannot be read.
pub(crate) fn around(
    repository: &Repository,
    archive: &Archive,
    identities: &[Identity],
    time: Timestamp,
    within: SignedDuration,
) -> Result<Vec<Transaction>, BackupError> {
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
        let event =
            "CREATE DEFINER=`root b`@`localhost` EVENT IF NOT EXISTS nightly ON SCHEDULE EVERY 1 DAY DO SELECT 1";
        assert_eq!(of(event), named("CREATE EVENT", "nightly"));
        let view = "CREATE ALGORITHM=MERGE DEFINER = CURRENT_USER() SQL SECURITY INVOKER VIEW `a`.`b` AS SELECT 1";
        assert_eq!(of(view), named("CREATE VIEW", "a.b"));
    }

    #[test]
    fn a_comment_hides_no_statement() {
        let long = format!("/* {} */ ALTER INSTANCE ROTATE INNODB MASTER KEY", "x".repeat(4096));
        for text in [
            "ALTER INSTANCE ROTATE INNODB MASTER KEY",
            "-- job 7\nALTER INSTANCE ROTATE INNODB MASTER KEY",
            "--\n# other\n alter/* */instance rotate innodb master key",
            "/*!50711 ALTER INSTANCE ROTATE INNODB MASTER KEY */",
            "/*!ALTER*/ /*M!100100 INSTANCE */ ROTATE INNODB MASTER KEY",
            "ALTER -- 'quoted\n INSTANCE ROTATE INNODB MASTER KEY",
            &long,
        ] {
            assert_eq!(statement(text.as_bytes()).0, "ALTER INSTANCE", "{text}");
        }
        for text in ["-- ALTER INSTANCE", "/* ALTER INSTANCE */", "/* open ALTER INSTANCE", "SELECT 'ALTER INSTANCE'"] {
            assert_ne!(statement(text.as_bytes()).0, "ALTER INSTANCE", "{text}");
        }
    }
}
