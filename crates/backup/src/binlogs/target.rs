//! The transaction at which a replay ends.

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

/// End of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// After everything that was committed at or before this time.
    Time(Timestamp),
    /// After the transaction with this GTID.
    Gtid(String),
    /// Before the transaction with this GTID.
    BeforeGtid(String),
    /// After the last transaction that ends at or before this position.
    Position(BinlogPosition),
    /// At the end of the archive.
    End,
}

/// Range of a replay.
#[derive(Clone, Debug)]
pub struct Target {
    /// The position of the backup.
    pub from: BinlogPosition,
    /// Time of the backup's copy.
    pub time: Timestamp,
    /// End of the replay.
    pub until: Until,
}

/// A target, resolved in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The last transaction to replay; `None` if there is none.
    pub last: Option<Transaction>,
    /// The first transaction not to replay; `None` at the end of the archive.
    pub next: Option<Transaction>,
    /// Number of transactions to replay.
    pub transactions: u64,
    /// Position at which the replay ends.
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
            reach.end = transaction.end_position();
            reach.last = Some(transaction);
            // Continue, to find the first transaction that is left out.
            Ok(ControlFlow::Continue(()))
        })?;
        match &self.until {
            Until::End => Ok(reach),
            Until::Gtid(gtid) | Until::BeforeGtid(gtid) if !is_found => {
                Err(BackupError::unreachable(format!("{gtid} is not in it")))
            }
            Until::Time(time) if !is_found => Err(BackupError::unreachable(format!(
                "it ends before {time}{}; --to-end takes all of it",
                ends(&reach)
            ))),
            Until::Position(position) if !is_found && reach.end != *position => Err(BackupError::unreachable(format!(
                "it ends before {}:{}{}",
                position.file,
                position.offset,
                ends(&reach)
            ))),
            _ => Ok(reach),
        }
    }

    /// Rejects a target from before the backup.
    fn check_order(&self) -> Result<(), BackupError> {
        let is_behind = match &self.until {
            Until::Time(time) => self.time > *time,
            Until::Position(position) => order(&self.from) > order(position),
            Until::Gtid(_) | Until::BeforeGtid(_) | Until::End => false,
        };
        if is_behind {
            let reason = format!("the backup was taken at {}, after that: restore an older one", self.time);
            return Err(BackupError::unreachable(reason));
        }
        Ok(())
    }

    /// Rejects a GTID target that the backup already contains.
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
            Until::Position(position) => order(&transaction.end_position()) <= order(position),
            Until::Gtid(_) | Until::End => true,
        }
    }
}

/// Sort key of positions: the number of a log gets another digit when it overflows, so a longer name is later.
fn order(position: &BinlogPosition) -> (usize, String, u64) {
    (position.file.len(), position.file.clone(), position.offset)
}

fn ends(reach: &Reach) -> String {
    let last = reach.last.as_ref().and_then(|last| last.committed);
    last.map_or_else(String::new, |last| format!(", with a transaction of {last}"))
}
