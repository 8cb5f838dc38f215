//! The epoch of a process: what an earlier process has begun cannot be committed after a later one has begun.

use server::Connection;

use super::failed;
use crate::{Error, Side, collision};

/// Begins the epoch of a process. Transactions of earlier processes, which the server may still be executing, are
/// committed before this returns, or fail.
pub(crate) fn begin_epoch(target: &mut Connection) -> Result<u64, Error> {
    // Waits for transactions that have read and locked the old epoch.
    // One that was loading a whole table may take long to be rolled back.
    collision::repeat(
        target,
        |target| target,
        |target| target.query("UPDATE `_sealant`.`epoch` SET epoch = epoch + 1 WHERE id = 1").map(drop).map_err(failed),
    )?;
    // Keeps an earlier process from marking a chunk as compared.
    target.query("UPDATE `_sealant`.`chunk` SET touches = touches + 1 WHERE verified = 0").map_err(failed)?;
    epoch(target, "")
}

/// Keeps a later process from beginning its epoch until the current transaction ends.
///
/// # Errors
/// [`Error::Locked`] if a later process has begun its epoch.
pub(crate) fn require_epoch(target: &mut Connection, expected: u64) -> Result<(), Error> {
    let found = epoch(target, " LOCK IN SHARE MODE")?;
    if found == expected { Ok(()) } else { Err(Error::Locked { side: Side::Target }) }
}

fn epoch(target: &mut Connection, lock: &str) -> Result<u64, Error> {
    let rows = target.query(&format!("SELECT epoch FROM `_sealant`.`epoch` WHERE id = 1{lock}")).map_err(failed)?;
    rows.scalar().and_then(|text| text.parse().ok()).ok_or(Error::State { what: "epoch" })
}
