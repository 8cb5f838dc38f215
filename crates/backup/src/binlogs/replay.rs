//! Replays archived binary logs on a restored directory, with the server's own applier.
//!
//! A private server gets the logs as relay logs. They are in clear text and contain rows, so they are kept in memory
//! instead of on a disk that may not be encrypted. To limit the memory, they are applied in portions of whole
//! transactions, each by a new server process.

mod applier;
mod clear_pages;
mod outcome;
mod portion;
mod position;

use std::{borrow::Cow, collections::BTreeSet, ops::ControlFlow, path::Path};

use agefile::Identity;
use innodb::binlog::LogPosition;
use jiff::Timestamp;
use verify::{Keys, Report};

pub(crate) use self::position::position_of;
use self::{
    applier::Applier,
    clear_pages::EncryptedTables,
    portion::{Portion, portion_bytes},
};
use super::{
    events::{LogEvent, Range},
    history::History,
    target::ResolvedTarget,
    transaction::{Scanner, Transaction},
};
use crate::{
    Error, Repository, judge,
    prove::{Prover, memory, options, program::version},
};

/// Replaces a statement that must not be replayed. MariaDB accepts exactly one statement under the GTID of a single
/// statement. This one changes nothing, but is written to the binary log.
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
    pub reach: &'r ResolvedTarget,
    /// The verification of the directory, if already done.
    pub report: Option<&'r Report>,
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
    /// MariaDB: scheduled events whose changes were not replayed, because the private server cannot execute them.
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
    let verified = || judge::verify(&datadir, replayer.keys, replayer.prover.streams, &|_| {});
    let report = replayer.report.map_or_else(|| Cow::Owned(verified()), Cow::Borrowed);
    let found = replayer.prover.options_for(&datadir, &report, version.flavor)?;
    let encrypts_tables = found.iter().any(|option| option == options::ENCRYPT_TABLES);
    let before = encrypts_tables.then(|| EncryptedTables::new(&report));
    let applier = Applier { replayer, datadir: &datadir, version: &version, found };
    let mut replay = Replay::new(history, replayer, applier, note)?;
    if replayer.reach.transactions > 0 {
        let range = Range::From(replayer.from, replayer.time.as_second());
        history.each_event(repository, identities, range, &mut |event| replay.take(event))?;
    }
    replay.apply_last()?;
    if let Some(reason) = outcome::difference(replayer.reach, &replay.executed) {
        return Err(Error::Replay { program: replayer.prover.mysqld.clone(), reason });
    }
    if let Some(before) = before {
        before.check(&datadir, replayer.keys, replayer.prover.streams)?;
    }
    Ok(replay.replayed)
}

/// A running replay.
struct Replay<'r> {
    history: &'r History,
    replayer: &'r Replayer<'r>,
    applier: Applier<'r>,
    note: &'r dyn Fn(u64),
    scanner: Scanner,
    portion: Portion,
    /// Size at which a portion is applied.
    portion_bytes: usize,
    replayed: Replayed,
    /// Whether a server was started.
    is_applied: bool,
    /// GTIDs that the server has executed, including those applied as a replica.
    executed: String,
}

impl<'r> Replay<'r> {
    fn new(
        history: &'r History,
        replayer: &'r Replayer<'r>,
        applier: Applier<'r>,
        note: &'r dyn Fn(u64),
    ) -> Result<Self, Error> {
        let replayed = Replayed {
            server: applier.version.to_string(),
            bytes: 0,
            gtid: String::new(),
            rotations: 0,
            disabled_events: BTreeSet::new(),
            skipped_events: BTreeSet::new(),
        };
        Ok(Self {
            history,
            replayer,
            applier,
            note,
            scanner: Scanner::new(),
            portion: Portion::default(),
            portion_bytes: portion_bytes(memory::free_bytes(Path::new(memory::DIRECTORY))?),
            replayed,
            is_applied: false,
            executed: String::new(),
        })
    }

    /// Adds an event, and applies the collected events when they fill a portion. Breaks after the last transaction of
    /// the target.
    fn take(&mut self, event: &LogEvent<'_>) -> Result<ControlFlow<()>, Error> {
        let (history, from) = (self.history, self.replayer.from);
        self.portion.add(event, history.is_before(event.server, event.file, event.start, from));
        let Some(transaction) = self.scanner.take(event)? else {
            return Ok(ControlFlow::Continue(()));
        };
        let is_before = history.is_before(&transaction.server, &transaction.file, transaction.start, from);
        // The applier skips repeated transactions by their GTIDs.
        let is_new = !is_before && !history.is_repeated(&transaction);
        self.portion.end_transaction(is_new);
        if is_new {
            self.replace(event, &transaction)?;
        }
        if self.replayer.reach.last.as_ref() == Some(&transaction) {
            return Ok(ControlFlow::Break(()));
        }
        if self.portion.bytes >= self.portion_bytes {
            let portion = self.portion.take();
            if portion.transactions > 0 {
                self.apply(&portion)?;
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Replaces a transaction that the private server must not execute.
    fn replace(&mut self, event: &LogEvent<'_>, transaction: &Transaction) -> Result<(), Error> {
        if transaction.is_of_instance() {
            self.portion.replace_last(event, &[b"BEGIN", b"COMMIT"])?;
            self.replayed.rotations = self.replayed.rotations.saturating_add(1);
        }
        if !self.applier.version.flavor.is_mysql_like() && transaction.events().next().is_some() {
            self.portion.replace_last(event, &[NOTHING])?;
            self.replayed.skipped_events.extend(transaction.events().cloned());
        }
        Ok(())
    }

    /// Applies the rest. If no portion was applied, a server starts anyway, to report the GTIDs of the directory.
    fn apply_last(&mut self) -> Result<(), Error> {
        let rest = self.portion.take();
        match rest.transactions {
            0 if self.is_applied => Ok(()),
            0 => self.apply(&Portion::default()),
            _ => self.apply(&rest),
        }
    }

    fn apply(&mut self, portion: &Portion) -> Result<(), Error> {
        let applied = self.applier.apply(portion)?;
        self.is_applied = true;
        (self.replayed.gtid, self.executed) = (applied.gtid, applied.executed);
        self.replayed.disabled_events.extend(applied.disabled_events);
        self.replayed.bytes = self.replayed.bytes.saturating_add(portion.bytes as u64);
        (self.note)(self.replayed.bytes);
        Ok(())
    }
}
