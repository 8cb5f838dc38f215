//! Positions in the source's log.

use innodb::binlog::{FIRST_EVENT, LogPosition};
use replication::gtid::mysql::GtidSet;
use server::{
    Connection,
    dialect::{gtid, statement},
};

use crate::{Error, Side, key::Key};

/// A row that a transaction has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChangedRow {
    /// Number of its table.
    pub(crate) table: usize,
    /// Its identity, before or after the change.
    pub(crate) key: Key,
}

/// How the source's transactions are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tracking {
    /// By GTID: on any server that has the same transactions.
    Gtids,
    /// By the positions in the log files of one server.
    Positions,
}

impl Tracking {
    /// As the state stores it.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Gtids => "gtids",
            Self::Positions => "positions",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Gtids, Self::Positions].into_iter().find(|tracking| tracking.text() == text)
    }
}

/// Transactions and the position behind them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// The transactions; empty if they are told apart by positions.
    pub(crate) gtids: GtidSet,
    /// The position behind the last one. Without a file if nothing has come yet.
    pub(crate) log: LogPosition,
    /// A row that one of the newest of them, or a later one, has changed; for sources without GTIDs.
    pub(crate) row: Option<ChangedRow>,
}

impl Position {
    /// Whether it is at or behind another one.
    pub(crate) fn covers(&self, other: &Self, tracking: Tracking) -> bool {
        match tracking {
            Tracking::Gtids => other.gtids.is_subset_of(&self.gtids),
            Tracking::Positions => self.log >= other.log,
        }
    }
}

/// Where a migration begins to follow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Start {
    /// Every transaction before it is visible to snapshots that begin later.
    pub(crate) position: Position,
    /// The end of the log when the migration begins. Changes before it are in every chunk. Without a file if the
    /// position is the end.
    pub(crate) old_until: LogPosition,
}

/// Where a migration begins that is begun now.
pub(crate) fn start(source: &mut Connection, tracking: Tracking) -> Result<Start, Error> {
    let end = end(source, tracking)?;
    Ok(match tracking {
        Tracking::Gtids => Start { position: end, ..Start::default() },
        // The start of the newest file. A server begins a file when all transactions of those before it are committed
        // (`MYSQL_BIN_LOG::new_file_impl` waits for them); at the end of the log some may not be visible yet.
        Tracking::Positions => {
            let log = LogPosition { offset: FIRST_EVENT, ..end.log.clone() };
            Start { position: Position { log, ..Position::default() }, old_until: end.log }
        }
    })
}

/// Everything that the source has executed, or that is in its log. No later transaction is visible to snapshots that
/// began before.
pub(crate) fn end(source: &mut Connection, tracking: Tracking) -> Result<Position, Error> {
    match tracking {
        Tracking::Gtids => Ok(Position { gtids: executed(source)?, ..Position::default() }),
        Tracking::Positions => Ok(Position { log: log_end(source)?, ..Position::default() }),
    }
}

/// The transactions that the source has executed. All of them are visible to snapshots that begin later.
fn executed(source: &mut Connection) -> Result<GtidSet, Error> {
    let rows = source.query(gtid::MYSQL_EXECUTED).map_err(Error::at(Side::Source))?;
    let set = rows.scalar().unwrap_or_default().parse();
    set.map_err(|_| Error::LogGap { what: "GTIDs that cannot be read", position: "gtid_executed".to_owned() })
}

/// The end of the source's log. No transaction behind it is visible to snapshots that began earlier.
pub(crate) fn log_end(source: &mut Connection) -> Result<LogPosition, Error> {
    let version = source.greeting().server_version();
    let statement = version.as_ref().map_or(statement::SHOW_BINARY_LOG_STATUS, statement::binary_log_status);
    let rows = source.query(statement).map_err(Error::at(Side::Source))?;
    let offset = rows.value(0, "Position").and_then(|offset| offset.parse().ok());
    match (rows.value(0, "File"), offset) {
        (Some(file), Some(offset)) => Ok(LogPosition { file: file.to_owned(), offset }),
        _ => Err(Error::SourceSetting { variable: "log_bin", found: "OFF".to_owned(), wanted: "ON" }),
    }
}
