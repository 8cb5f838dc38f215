//! Open transactions, as InnoDB lists them.

use std::{thread::sleep, time::Duration};

use server::Connection;

/// InnoDB makes a new list only if nobody has read the last one for 0.1 s. Source: `CACHE_MIN_IDLE_TIME` in InnoDB's
/// `trx0i_s.cc`.
const UNREAD: Duration = Duration::from_millis(120);

/// Runs a statement that counts rows of `information_schema.INNODB_TRX`, as they are now: unless others read that table
/// all the time.
///
/// # Errors
/// [`server::Error`].
pub(crate) fn count(connection: &mut Connection, statement: &str) -> Result<u64, server::Error> {
    sleep(UNREAD);
    let rows = connection.query(statement)?;
    Ok(rows.scalar().and_then(|text| text.parse().ok()).unwrap_or(u64::MAX))
}
