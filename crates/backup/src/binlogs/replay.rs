//! Replays archived binary logs on a restored directory, with the server's own applier.
//!
//! A private server gets the logs as relay logs. They are in clear text and contain rows, so they are kept in memory
//! instead of on a disk that may not be encrypted. To limit the memory, they are applied in portions of whole
//! transactions, each by a new server process.

mod applier;
mod clear_pages;
mod outcome;
mod position;

use std::{collections::BTreeSet, ops::ControlFlow, path::Path};

use agefile::Identity;
use binlog::{EventType, event::Query};
use innodb::binlog::LogPosition;
use jiff::Timestamp;
use verify::Keys;

pub(crate) use self::position::position_of;
use self::{applier::Applier, clear_pages::Before};
use super::{
    events::{LogEvent, Range},
    history::History,
    target::Reach,
    transaction::Scanner,
};
use crate::{
    Error, Repository, judge,
    prove::{Prover, memory, options, program::version},
};

/// Bytes of events that are in memory at once, at least and at most, unless a single transaction is longer.
const PORTION_BYTES: (u64, u64) = (4 << 20, 128 << 20);

/// MariaDB takes a transaction of one statement as that only. This one does nothing, and gets into the binary log.
const NOTHING: &[u8] = b"DROP TABLE IF EXISTS mysql.sealant_left_out";

/// What to replay, and on which directory.
#[derive(Debug)]
pub struct Replayer<'r> {
    /// The restored directory.
    pub datadir: &'r Path,
    /// The position of the backup.
    pub from: &'r LogPosition,
    /// Time of the backup's copy.
    pub time: Timestamp,
    /// Transactions to replay.
    pub reach: &'r Reach,
    /// Keys of the directory's files.
    pub keys: &'r Keys,
    /// The server program and its settings.
    pub prover: &'r Prover,
    /// UUID of the server, which is part of the names of its keys.
    pub server_uuid: Option<&'r str>,
}

/// Result of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// The server, for example `MySQL 9.7.4`.
    pub server: String,
    /// Bytes of events replayed.
    pub bytes: u64,
    /// GTIDs that the server has executed afterwards; empty if there are none.
    pub gtid: String,
    /// Number of master key rotations that were skipped: the new key would be lost with the private server.
    pub rotations: u64,
    /// MySQL: scheduled events that were defined or altered, which its applier disables; quoted.
    pub disabled_events: BTreeSet<String>,
    /// MariaDB: scheduled events that were changed. That was left out: a server that nobody can reach cannot do it.
    pub skipped_events: BTreeSet<String>,
}

/// Replays the logs up to the target; the directory is recovered first.
///
/// # Errors
/// [`Error::Replay`] with the server's error.
pub(crate) fn replay(
    repository: &Repository,
    history: &History,
    identities: &[Identity],
    replayer: &Replayer<'_>,
    note: &dyn Fn(u64),
) -> Result<Replayed, Error> {
    let datadir = replayer.datadir.canonicalize().map_err(Error::io(replayer.datadir, "cannot be found"))?;
    let version = version(&replayer.prover.mysqld)?;
    let report = judge::verify(&datadir, replayer.keys, replayer.prover.streams, &|_| {});
    let found = replayer.prover.options_for(&datadir, &report, version.flavor)?;
    let encrypts_tables = found.iter().any(|option| option == options::ENCRYPT_TABLES);
    let before = encrypts_tables.then(|| Before::new(&report));
    let applier = Applier { replayer, datadir: &datadir, version: &version, found };
    let mut portions = Portions::default();
    let portion_bytes = portion_bytes(memory::free_bytes(Path::new(memory::DIRECTORY))?);
    let mut replayed = Replayed {
        server: version.to_string(),
        bytes: 0,
        gtid: String::new(),
        rotations: 0,
        disabled_events: BTreeSet::new(),
        skipped_events: BTreeSet::new(),
    };
    let mut executed = String::new();
    let mut is_applied = false;
    let mut apply = |portions: &mut Portions, is_last: bool| -> Result<(), Error> {
        let taken = portions.take();
        let portion = if taken.transactions > 0 { taken } else { Portions::default() };
        // At the end, a server says what the directory has, even if there was nothing to replay.
        if portion.transactions > 0 || is_last && !is_applied {
            let applied = applier.apply(&portion)?;
            is_applied = true;
            (replayed.gtid, executed) = (applied.gtid, applied.executed);
            replayed.disabled_events.extend(applied.disabled_events);
            replayed.bytes = replayed.bytes.saturating_add(portion.bytes as u64);
            note(replayed.bytes);
        }
        Ok(())
    };
    let (from, last) = (replayer.from, replayer.reach.last.as_ref());
    let range = Range::From(from, replayer.time.as_second());
    let (mut scanner, mut rotations, mut skipped_events) = (Scanner::new(), 0_u64, BTreeSet::new());
    if replayer.reach.transactions > 0 {
        history.each_event(repository, identities, range, &mut |event| {
            portions.add(event, history.is_before(event.server, event.file, event.start, from));
            let Some(transaction) = scanner.take(event)? else {
                return Ok(ControlFlow::Continue(()));
            };
            let is_before = history.is_before(&transaction.server, &transaction.file, transaction.start, from);
            // The applier leaves out repeated ones by their GTIDs.
            let is_new = !is_before && !history.is_repeated(&transaction);
            portions.end_transaction(is_new);
            if is_new && transaction.is_of_instance() {
                portions.replace_last(event, &[b"BEGIN", b"COMMIT"])?;
                rotations = rotations.saturating_add(1);
            }
            if is_new && !version.flavor.is_mysql_like() && transaction.events().next().is_some() {
                portions.replace_last(event, &[NOTHING])?;
                skipped_events.extend(transaction.events().cloned());
            }
            if last == Some(&transaction) {
                return Ok(ControlFlow::Break(()));
            }
            if portions.bytes >= portion_bytes {
                apply(&mut portions, false)?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
    }
    apply(&mut portions, true)?;
    if let Some(reason) = outcome::difference(replayer.reach, &executed) {
        return Err(Error::Replay { program: replayer.prover.mysqld.clone(), reason });
    }
    if let Some(before) = before {
        before.check(&datadir, replayer.keys, replayer.prover.streams)?;
    }
    replayed.rotations = rotations;
    replayed.skipped_events = skipped_events;
    Ok(replayed)
}

/// Temporary files of the server, and what it copies, have to find room besides.
fn portion_bytes(free: u64) -> usize {
    let (least, most) = PORTION_BYTES;
    usize::try_from((free / 4).clamp(least, most)).unwrap_or(usize::MAX)
}

/// Events of a log.
struct Log {
    file: String,
    bytes: Vec<u8>,
}

/// Events that are not applied yet, by log.
#[derive(Default)]
struct Portions {
    logs: Vec<Log>,
    /// The first events of the current log, which describe it.
    head: Vec<u8>,
    server: String,
    file: String,
    bytes: usize,
    transactions: u64,
    has_gtids: bool,
    has_anonymous: bool,
}

impl Portions {
    /// Adds an event; `is_before`: the backup has its transaction.
    fn add(&mut self, event: &LogEvent<'_>, is_before: bool) {
        if (self.server.as_str(), self.file.as_str()) != (event.server, event.file) {
            event.server.clone_into(&mut self.server);
            event.file.clone_into(&mut self.file);
            self.head.clear();
            self.logs.push(Log { file: self.file.clone(), bytes: Vec::new() });
        }
        match event.kind {
            EventType::FORMAT_DESCRIPTION | EventType::PREVIOUS_GTIDS => {
                self.head.extend_from_slice(event.bytes);
                self.push(event.bytes);
            }
            // These belong to the log, not to a transaction.
            EventType::ROTATE | EventType::STOP | EventType::GTID_LIST | EventType::BINLOG_CHECKPOINT => {}
            _ if is_before => {}
            kind => {
                self.has_gtids |= matches!(kind, EventType::GTID | EventType::GTID_TAGGED);
                self.has_anonymous |= kind == EventType::ANONYMOUS_GTID;
                self.push(event.bytes);
            }
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        if let Some(log) = self.logs.last_mut() {
            log.bytes.extend_from_slice(bytes);
            self.bytes = self.bytes.saturating_add(bytes.len());
        }
    }

    /// Replaces the last event, a statement, by others, which keep its GTID.
    fn replace_last(&mut self, event: &LogEvent<'_>, statements: &[&[u8]]) -> Result<(), Error> {
        let fault =
            |fault| Error::Binlog(binlog::Error::Stream { file: event.file.to_owned(), position: event.start, fault });
        if let Some(log) = self.logs.last_mut() {
            log.bytes.truncate(log.bytes.len().saturating_sub(event.bytes.len()));
            for statement in statements {
                log.bytes.extend(Query::with_statement(event.bytes, statement).map_err(fault)?);
            }
        }
        Ok(())
    }

    fn end_transaction(&mut self, is_new: bool) {
        self.transactions = self.transactions.saturating_add(u64::from(is_new));
    }

    /// Takes all events. The next portion begins in the same log.
    fn take(&mut self) -> Self {
        let log = Log { file: self.file.clone(), bytes: self.head.clone() };
        let (server, file) = (self.server.clone(), self.file.clone());
        let next = Self { logs: vec![log], head: self.head.clone(), server, file, ..Self::default() };
        std::mem::replace(self, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portions_leave_room_in_memory() {
        const MIB: usize = 1 << 20;
        assert_eq!(portion_bytes(64 << 20), 16 * MIB);
        assert_eq!(portion_bytes(8 << 20), 4 * MIB);
        assert_eq!(portion_bytes(u64::MAX), 128 * MIB);
    }
}
