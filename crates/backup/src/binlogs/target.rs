//! Where a replay ends.

use std::ops::ControlFlow;

use agefile::Identity;
use archive::binlog::BinlogPosition;
use jiff::Timestamp;

use super::{
    chain::Archive,
    events::{Range, each_event},
    transaction::{Scanner, Transaction},
};
use crate::{BackupError, Repository};

/// Where a replay ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// Behind everything that was committed at or before that time.
    Time(Timestamp),
    /// Behind the transaction with this GTID.
    Gtid(String),
    /// Before the transaction with this GTID.
    BeforeGtid(String),
    /// Behind the last transaction that ends at or before this position.
    Position(BinlogPosition),
    /// At the end of the archive.
    End,
}

/// From where to where logs are replayed.
#[derive(Clone, Debug)]
pub struct Target {
    /// The position of the backup.
    pub from: BinlogPosition,
    /// When its copy was taken.
    pub time: Timestamp,
    /// Where it ends.
    pub until: Until,
}

/// What a target means in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The last transaction that is replayed; `None` if there is none.
    pub last: Option<Transaction>,
    /// The first one that is left out; `None` at the end of the archive.
    pub next: Option<Transaction>,
    /// Number of transactions.
    pub transactions: u64,
    /// Where it ends.
    pub end: BinlogPosition,
}

impl Target {
    /// Finds the last transaction to replay.
    ///
    /// # Errors
    /// [`BackupError::Unreachable`] if logs are missing, or the target is not in the archive.
    pub fn find(
        &self,
        repository: &Repository,
        archive: &Archive,
        identities: &[Identity],
    ) -> Result<Reach, BackupError> {
        self.check_order()?;
        let mut scanner = Scanner::new();
        let mut reach = Reach { last: None, next: None, transactions: 0, end: self.from.clone() };
        let mut is_found = false;
        each_event(repository, archive, identities, Range::From(&self.from, self.time.as_second()), &mut |event| {
            let Some(transaction) = scanner.take(event.file, event.start, event.bytes)? else {
                return Ok(ControlFlow::Continue(()));
            };
            if transaction.file == self.from.file && transaction.start < self.from.offset {
                if transaction.end > self.from.offset {
                    let reason =
                        format!("the backup ends inside a transaction, at {}:{}", self.from.file, self.from.offset);
                    return Err(BackupError::unreachable(reason));
                }
                return self.passed(&transaction);
            }
            let is_behind = matches!(&self.until, Until::Gtid(_)) && is_found;
            if is_behind || !self.has(&transaction) {
                reach.next = Some(transaction);
                is_found = true;
                return Ok(ControlFlow::Break(()));
            }
            is_found |= matches!(&self.until, Until::Gtid(gtid) if *gtid == transaction.gtid);
            reach.transactions = reach.transactions.saturating_add(1);
            reach.end = transaction.behind();
            reach.last = Some(transaction);
            // The first transaction that is left out is shown, too.
            Ok(ControlFlow::Continue(()))
        })?;
        match &self.until {
            Until::End => Ok(reach),
            Until::Gtid(gtid) | Until::BeforeGtid(gtid) if !is_found => {
                Err(BackupError::unreachable(format!("{gtid} is not in the archived binary logs")))
            }
            Until::Time(time) if !is_found => Err(BackupError::unreachable(format!(
                "the archived binary logs end before {time}{}; --to-end replays all of them",
                ends(&reach)
            ))),
            Until::Position(position) if !is_found && reach.end != *position => Err(BackupError::unreachable(format!(
                "the archived binary logs end before {}:{}{}",
                position.file,
                position.offset,
                ends(&reach)
            ))),
            _ => Ok(reach),
        }
    }

    /// Refuses a target that the backup is behind already.
    fn check_order(&self) -> Result<(), BackupError> {
        let is_behind = match &self.until {
            Until::Time(time) => self.time > *time,
            Until::Position(position) => order(&self.from) > order(position),
            Until::Gtid(_) | Until::BeforeGtid(_) | Until::End => false,
        };
        if is_behind {
            let reason = format!("the backup was taken at {:.0}, after it: restore an older one", self.time);
            return Err(BackupError::unreachable(reason));
        }
        Ok(())
    }

    /// A transaction of the backup that the target excludes.
    fn passed(&self, transaction: &Transaction) -> Result<ControlFlow<()>, BackupError> {
        let is_named = |gtid: &String| !gtid.is_empty() && *gtid == transaction.gtid;
        if matches!(&self.until, Until::Gtid(gtid) | Until::BeforeGtid(gtid) if is_named(gtid)) {
            return Err(BackupError::unreachable(format!(
                "the backup has {} already: restore an older one",
                transaction.gtid
            )));
        }
        Ok(ControlFlow::Continue(()))
    }

    fn has(&self, transaction: &Transaction) -> bool {
        match &self.until {
            Until::Time(time) => transaction.committed.is_none_or(|committed| committed <= *time),
            Until::BeforeGtid(gtid) => *gtid != transaction.gtid,
            Until::Position(position) => order(&transaction.behind()) <= order(position),
            Until::Gtid(_) | Until::End => true,
        }
    }
}

/// Positions of a server in their order: numbers of logs grow by a digit at a time.
fn order(position: &BinlogPosition) -> (usize, String, u64) {
    (position.file.len(), position.file.clone(), position.offset)
}

fn ends(reach: &Reach) -> String {
    let last = reach.last.as_ref().and_then(|last| last.committed);
    last.map_or_else(String::new, |last| format!(", with a transaction of {last}"))
}
