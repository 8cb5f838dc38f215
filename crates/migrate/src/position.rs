//! Positions in the source's log.

use binlog::replica::LogPosition;
use replication::gtid::mysql::GtidSet;
use server::Connection;

use crate::{Error, Side};

/// Transactions and the position behind them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// The transactions.
    pub(crate) gtids: GtidSet,
    /// The position behind the last one. Without a file if nothing has come yet.
    pub(crate) log: LogPosition,
}

/// `file:position`.
pub(crate) fn shown(position: &LogPosition) -> String {
    format!("{}:{}", position.file, position.position)
}

/// The transactions that the source has executed. All of them are visible to snapshots that begin later.
pub(crate) fn executed(source: &mut Connection) -> Result<GtidSet, Error> {
    let rows = source.query("SELECT @@GLOBAL.gtid_executed").map_err(Error::of(Side::Source))?;
    let set = rows.scalar().unwrap_or_default().parse();
    set.map_err(|_| Error::LogGap { what: "GTIDs that cannot be read", position: "gtid_executed".to_owned() })
}

/// The end of the source's log. No transaction behind it is visible to snapshots that began earlier.
pub(crate) fn log_end(source: &mut Connection) -> Result<LogPosition, Error> {
    let version = source.greeting().server_version();
    let statement = version.as_ref().map_or("SHOW BINARY LOG STATUS", server::dialect::statement::binary_log_status);
    let rows = source.query(statement).map_err(Error::of(Side::Source))?;
    let position = rows.value(0, "Position").and_then(|position| position.parse().ok());
    match (rows.value(0, "File"), position) {
        (Some(file), Some(position)) => Ok(LogPosition { file: file.to_owned(), position }),
        _ => Err(Error::SourceSetting { variable: "log_bin", found: "OFF".to_owned(), wanted: "ON" }),
    }
}
