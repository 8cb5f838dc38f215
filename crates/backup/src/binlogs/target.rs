//! The transaction at which a replay ends.

use std::ops::ControlFlow;

use agefile::Identity;
use archive::names::Number;
use innodb::binlog::LogPosition;
use jiff::Timestamp;
use replication::gtid::Executed;

use super::{
    events::Range,
    history::History,
    transaction::{Scanner, Transaction},
};
use crate::{Error, Repository};

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
    Position(LogPosition),
    /// At the end of the archive.
    End,
}

/// Range of a replay.
#[derive(Clone, Debug)]
pub struct ReplayRange {
    /// Number of the backup.
    pub backup: Number,
    /// The position of the backup.
    pub from: LogPosition,
    /// GTIDs of this position; empty if they are not known.
    pub gtid: String,
    /// Time of the backup's copy.
    pub time: Timestamp,
    /// End of the replay.
    pub until: Until,
}

/// A target, resolved in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedTarget {
    /// The last transaction to replay; `None` if there is none.
    pub last: Option<Transaction>,
    /// The first transaction not to replay; `None` at the end of the archive.
    pub next: Option<Transaction>,
    /// Number of transactions to replay.
    pub transactions: u64,
    /// Position at which the replay ends.
    pub end: LogPosition,
}

impl ReplayRange {
    /// Finds the last transaction to replay.
    ///
    /// # Errors
    /// [`Error::Unreachable`] if logs are missing, or the target is not in the archive; [`Error::NewerBackup`].
    pub fn find(
        &self,
        repository: &Repository,
        history: &History,
        identities: &[Identity],
    ) -> Result<ResolvedTarget, Error> {
        self.check_order()?;
        let mut scanner = Scanner::new();
        let mut search = Search::new(self);
        let range = Range::From(&self.from, self.time.as_second());
        history.each_event(repository, identities, range, &mut |event| match scanner.take(event)? {
            Some(transaction) if history.is_unidentified(&transaction) => Err(Error::unreachable(format!(
                "the transaction at {}:{} of {} has no GTID",
                transaction.file, transaction.start, transaction.server
            ))),
            Some(transaction) if history.is_repeated(&transaction) => Ok(ControlFlow::Continue(())),
            Some(transaction) => {
                let is_before =
                    history.is_before(&transaction.server, &transaction.file, transaction.start, &self.from);
                search.take(transaction, is_before)
            }
            None => Ok(ControlFlow::Continue(())),
        })?;
        if let (Until::End, Some(fork)) = (&self.until, history.fork()) {
            return Err(Error::unreachable(format!("{fork}, so the end is not known")));
        }
        search.end(history.last().receipts.last().map(|receipt| &receipt.end))
    }

    /// Rejects a target from before the backup.
    ///
    /// # Errors
    /// [`Error::NewerBackup`].
    pub(crate) fn check_order(&self) -> Result<(), Error> {
        match &self.until {
            Until::Time(time) if self.time > *time => Err(self.newer(format!("it was taken at {:.0}", self.time))),
            Until::Position(position) if self.from > *position => Err(self.newer(format!("it ends at {}", self.from))),
            Until::Gtid(gtid) | Until::BeforeGtid(gtid) if has_gtid(&self.gtid, gtid) => {
                Err(self.newer(format!("it has {gtid}")))
            }
            _ => Ok(()),
        }
    }

    const fn newer(&self, reason: String) -> Error {
        Error::NewerBackup { number: self.backup, reason }
    }

    /// Handles a transaction that the backup already contains.
    fn passed(&self, transaction: &Transaction) -> Result<ControlFlow<()>, Error> {
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
            Until::Position(position) => transaction.end_position() <= *position,
            Until::Gtid(_) | Until::End => true,
        }
    }
}

/// Number of transactions that are read after the first one later than the target, to detect a wrong clock.
const LOOKAHEAD: u64 = 100;

/// The search for the last transaction to replay.
struct Search<'t> {
    target: &'t ReplayRange,
    reach: ResolvedTarget,
    is_found: bool,
    /// Transactions after the first one that is left out, and how many of them are not later than the target.
    ahead: u64,
    earlier: u64,
}

impl<'t> Search<'t> {
    fn new(target: &'t ReplayRange) -> Self {
        let reach = ResolvedTarget { last: None, next: None, transactions: 0, end: target.from.clone() };
        Self { target, reach, is_found: false, ahead: 0, earlier: 0 }
    }

    /// Takes the next transaction; `is_before`: it begins before the position of the backup.
    fn take(&mut self, transaction: Transaction, is_before: bool) -> Result<ControlFlow<()>, Error> {
        let ReplayRange { from, until, .. } = self.target;
        if is_before {
            if transaction.end > from.offset {
                let reason = format!("the backup ends inside a transaction, at {from}");
                return Err(Error::unreachable(reason));
            }
            return self.target.passed(&transaction);
        }
        if self.reach.next.is_some() {
            self.ahead = self.ahead.saturating_add(1);
            self.earlier = self.earlier.saturating_add(u64::from(self.target.has(&transaction)));
            let is_enough = self.ahead >= LOOKAHEAD;
            return Ok(if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) });
        }
        let is_after = matches!(until, Until::Gtid(_)) && self.is_found;
        if is_after || !self.target.has(&transaction) {
            self.reach.next = Some(transaction);
            self.is_found = true;
            let is_sure = !matches!(until, Until::Time(_));
            return Ok(if is_sure { ControlFlow::Break(()) } else { ControlFlow::Continue(()) });
        }
        self.is_found |= matches!(until, Until::Gtid(gtid) if is_same(gtid, &transaction.gtid));
        self.reach.transactions = self.reach.transactions.saturating_add(1);
        self.reach.end = transaction.end_position();
        self.reach.last = Some(transaction);
        // Continue, to find the first transaction that is left out.
        Ok(ControlFlow::Continue(()))
    }

    /// The result; `archived`: where the archive ends.
    fn end(self, archived: Option<&LogPosition>) -> Result<ResolvedTarget, Error> {
        self.check_clock()?;
        let reach = self.reach;
        match &self.target.until {
            Until::Gtid(gtid) | Until::BeforeGtid(gtid) if !self.is_found => {
                Err(Error::unreachable(format!("{gtid} is not in the archived binary logs")))
            }
            Until::Time(time) if !self.is_found => Err(Error::unreachable(format!(
                "the archived binary logs end before {time}{}; --to-end replays all of them",
                ends(&reach)
            ))),
            Until::Position(position) if !self.is_found && archived.is_none_or(|end| end < position) => {
                Err(Error::unreachable(format!("the archived binary logs end before {position}{}", ends(&reach))))
            }
            _ => Ok(reach),
        }
    }

    /// Refuses a time if most transactions after the first later one are at or before the time. Then a client has set
    /// its time to the future (`SET timestamp`), or the clock was set back.
    fn check_clock(&self) -> Result<(), Error> {
        let Some(next) = self.reach.next.as_ref().filter(|_| self.earlier.saturating_mul(2) > self.ahead) else {
            return Ok(());
        };
        let time = next.committed.map_or_else(String::new, |time| format!(", of {time},"));
        Err(Error::unreachable(format!(
            "the transaction {} at {}:{}{time} is followed by earlier ones, so a time does not say where to end; choose \
             a transaction or a position (`sealant backup binlogs show --around`)",
            next.gtid, next.file, next.start
        )))
    }
}

/// Whether two texts are the same GTID: the digits of a UUID are written in both cases.
fn is_same(one: &str, other: &str) -> bool {
    !one.is_empty() && one.eq_ignore_ascii_case(other)
}

/// Whether a position of MySQL or MariaDB includes a transaction; `false` if either cannot be parsed.
fn has_gtid(position: &str, gtid: &str) -> bool {
    let (Ok(executed), Ok(gtid)) = (position.parse::<Executed>(), gtid.parse::<Executed>()) else { return false };
    !gtid.is_empty() && executed.includes(&gtid)
}

fn ends(reach: &ResolvedTarget) -> String {
    let last = reach.last.as_ref().and_then(|last| last.committed);
    last.map_or_else(String::new, |last| format!(", with a transaction of {last}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// A target by time, and transactions of these times after the backup.
    fn searched(until: i64, times: &[i64]) -> Result<ResolvedTarget, Error> {
        let from = LogPosition { file: "b.000001".to_owned(), offset: 100 };
        let target = ReplayRange { backup: 1, from, gtid: String::new(), time: at(0), until: Until::Time(at(until)) };
        let mut search = Search::new(&target);
        for (number, time) in (0_u64..).zip(times) {
            let (start, end) = (100 + number * 10, 110 + number * 10);
            let transaction = Transaction {
                server: "7".to_owned(),
                file: "b.000001".to_owned(),
                start,
                end,
                gtid: format!("0-1-{number}"),
                committed: Some(at(*time)),
                changes: BTreeMap::new(),
            };
            if search.take(transaction, false)?.is_break() {
                break;
            }
        }
        search.end(None)
    }

    #[test]
    fn a_time_ends_before_the_first_later_transaction() {
        let reach = searched(20, &[10, 20, 20, 21, 30]).unwrap();
        assert_eq!((reach.transactions, reach.next.unwrap().gtid.as_str()), (3, "0-1-3"));
        // A long statement has the time at which it began.
        assert_eq!(searched(20, &[10, 21, 15, 22, 23]).unwrap().transactions, 1);
        assert!(searched(20, &[10, 15]).is_err(), "nothing shows that all of it was archived");
    }

    #[test]
    fn a_transaction_of_the_future_does_not_end_the_search_unseen() {
        let error = searched(20, &[10, 4_000_000_000, 11, 12, 13, 30]).unwrap_err().to_string();
        assert!(error.contains("0-1-1") && error.contains("followed by earlier ones"), "{error}");
    }

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
}
