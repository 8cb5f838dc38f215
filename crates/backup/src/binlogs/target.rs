//! The transaction at which a replay ends.

use std::ops::ControlFlow;

use agefile::Identity;
use archive::{binlog::BinlogPosition, names::Number};
use jiff::Timestamp;
use replication::gtid::{mariadb, mysql};

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
    /// Number of the backup.
    pub backup: Number,
    /// The position of the backup.
    pub from: BinlogPosition,
    /// The same in GTIDs; empty if it is not known.
    pub gtid: String,
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
    /// [`BackupError::Unreachable`] if logs are missing, or the target is not in the archive; [`BackupError::NewerBackup`].
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
            is_found |= matches!(&self.until, Until::Gtid(gtid) if is_same(gtid, &transaction.gtid));
            reach.transactions = reach.transactions.saturating_add(1);
            reach.end = transaction.end_position();
            reach.last = Some(transaction);
            // Continue, to find the first transaction that is left out.
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

    /// Rejects a target from before the backup.
    fn check_order(&self) -> Result<(), BackupError> {
        match &self.until {
            Until::Time(time) if self.time > *time => Err(self.newer(format!("it was taken at {:.0}", self.time))),
            Until::Position(position) if order(&self.from) > order(position) => {
                Err(self.newer(format!("it ends at {}:{}", self.from.file, self.from.offset)))
            }
            Until::Gtid(gtid) | Until::BeforeGtid(gtid) if has_gtid(&self.gtid, gtid) => {
                Err(self.newer(format!("it has {gtid}")))
            }
            _ => Ok(()),
        }
    }

    const fn newer(&self, reason: String) -> BackupError {
        BackupError::NewerBackup { number: self.backup, reason }
    }

    /// Rejects a GTID target that the backup already contains.
    fn passed(&self, transaction: &Transaction) -> Result<ControlFlow<()>, BackupError> {
        match &self.until {
            Until::Gtid(gtid) | Until::BeforeGtid(gtid) if is_same(gtid, &transaction.gtid) => {
                Err(self.newer(format!("it has {gtid}")))
            }
            _ => Ok(ControlFlow::Continue(())),
        }
    }

    fn has(&self, transaction: &Transaction) -> bool {
        match &self.until {
            Until::Time(time) => transaction.committed.is_none_or(|committed| committed <= *time),
            Until::BeforeGtid(gtid) => !is_same(gtid, &transaction.gtid),
            Until::Position(position) => order(&transaction.end_position()) <= order(position),
            Until::Gtid(_) | Until::End => true,
        }
    }
}

/// Whether two texts are the same GTID: the digits of a UUID are written in both cases.
fn is_same(one: &str, other: &str) -> bool {
    !one.is_empty() && one.eq_ignore_ascii_case(other)
}

/// Whether a transaction is among those of a position of MySQL or MariaDB. What cannot be parsed is not.
fn has_gtid(position: &str, gtid: &str) -> bool {
    let in_set =
        |set: mysql::GtidSet| gtid.parse::<mysql::GtidSet>().is_ok_and(|one| !one.is_empty() && one.is_subset_of(&set));
    let in_domain = |last: mariadb::GtidPosition| gtid.parse().is_ok_and(|one| last.includes(one));
    position.parse().is_ok_and(in_set) || position.parse().is_ok_and(in_domain)
}

/// Sort key of positions: the number of a log gets another digit when it overflows, so a longer name is later.
fn order(position: &BinlogPosition) -> (usize, String, u64) {
    (position.file.len(), position.file.clone(), position.offset)
}

fn ends(reach: &Reach) -> String {
    let last = reach.last.as_ref().and_then(|last| last.committed);
    last.map_or_else(String::new, |last| format!(", with a transaction of {last}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gtids_of_a_backup_are_those_of_its_position() {
        const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
        let mysql = format!("{UUID}:1-5:8,{UUID}:red:1-3");
        let has = |gtid: &str| has_gtid(&mysql, gtid);
        assert!(
            has(&format!("{UUID}:5")) && has(&format!("{}:8", UUID.to_uppercase())) && has(&format!("{UUID}:red:3"))
        );
        assert!(!has(&format!("{UUID}:6")) && !has(&format!("{UUID}:blue:1")) && !has("") && !has("x"));
        assert!(has_gtid("0-1-9,3-2-4", "0-7-9") && has_gtid("0-1-9,3-2-4", "3-2-1"));
        assert!(!has_gtid("0-1-9", "0-1-10") && !has_gtid("0-1-9", "1-1-1") && !has_gtid("", "0-1-1"));
    }

    #[test]
    fn logs_are_in_the_order_of_their_numbers() {
        let at = |file: &str, offset| order(&BinlogPosition { file: file.to_owned(), offset });
        assert!(at("binlog.000009", 900) < at("binlog.000010", 4));
        assert!(at("binlog.999999", 4) < at("binlog.1000000", 4));
    }
}
