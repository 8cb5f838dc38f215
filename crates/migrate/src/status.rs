//! State of a migration, as the target stores it. The source is not contacted.

use std::{collections::HashMap, time::Duration};

use server::{Connection, Rows, dialect::variable::READ_ONLY};

use crate::{Error, Phase, Server, Side, link, server_lock::LOCK, state, way_back::now};

/// Stored state of a migration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Phase of the migration.
    pub phase: Phase,
    /// The last completed step of the cut-over; empty before the first.
    pub step: String,
    /// Whether the source is fenced, or may be fenced.
    pub fenced: bool,
    /// Whether no process may work on it.
    pub paused: bool,
    /// Whether a process is working on it now.
    pub running: bool,
    /// Time since a process last stored a heartbeat.
    pub seen: Duration,
    /// Whether clients can return to the source after the cut-over.
    pub fallback: FallbackStatus,
    /// Transactions that were applied: their GTIDs, or the file and position after the last one.
    pub position: String,
    /// Tables, by name.
    pub tables: Vec<TableStatus>,
}

/// Whether clients can return to the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FallbackStatus {
    /// The cut-over was not done, or was done without a fallback, or the time is over.
    Impossible,
    /// A fallback is possible for this long.
    Possible(Duration),
    /// The target is read-only: a fallback is being done or was done, of which only the source has the state.
    TargetReadOnly,
}

/// State of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableStatus {
    /// `schema.table`.
    pub name: String,
    /// Number of chunks that were copied.
    pub chunks: u64,
    /// Number of rows that were copied.
    pub rows: u64,
    /// Bytes of these rows, as texts.
    pub bytes: u64,
    /// Number of chunks that were equal and have not changed since then.
    pub verified: u64,
    /// Whether every row was copied.
    pub complete: bool,
}

/// Reads the state, also while another process runs the migration.
///
/// # Errors
/// [`Error::NotBegun`] and others.
pub fn status(target: &Server) -> Result<Status, Error> {
    let mut target = link::target(target)?;
    let run = state::run(&mut target)?.ok_or(Error::NotBegun)?;
    of_connection(&mut target, &run)
}

pub(crate) fn of_connection(target: &mut Connection, run: &state::Run) -> Result<Status, Error> {
    let (running, seen) = sign_of_life(target)?;
    let position = state::position_text(target, run.tracking)?;
    let rows = state::copied(target)?;
    let mut stored = tables(&rows);
    let named = state::table_names(target)?.into_iter().map(|(number, name)| {
        let (table, ends) = stored.remove(number.as_str()).unwrap_or_default();
        TableStatus { name, complete: is_whole(ends), ..table }
    });
    let tables = named.collect();
    let fenced = !run.fence.is_empty() && run.phase != Phase::Switched;
    let fallback = fallback(target, run)?;
    let (phase, step, paused) = (run.phase, run.step.clone(), run.paused);
    Ok(Status { phase, step, fenced, paused, running, seen, fallback, position, tables })
}

fn fallback(target: &mut Connection, run: &state::Run) -> Result<FallbackStatus, Error> {
    if run.fallback == 0 {
        return Ok(FallbackStatus::Impossible);
    }
    let read_only = link::variable(target, Side::Target, READ_ONLY)? == "1";
    let left = Duration::from_secs(run.fallback.saturating_sub(now()));
    Ok(if read_only { FallbackStatus::TargetReadOnly } else { FallbackStatus::Possible(left) })
}

fn sign_of_life(target: &mut Connection) -> Result<(bool, Duration), Error> {
    let sql = format!(
        "SELECT IS_USED_LOCK('{LOCK}') IS NOT NULL AS running, \
         GREATEST(TIMESTAMPDIFF(SECOND, heartbeat, NOW()), 0) AS seen FROM `_sealant`.`run` WHERE id = 1"
    );
    let rows = target.query(&sql).map_err(Error::at(Side::Target))?;
    let seen = rows.value(0, "seen").and_then(|text| text.parse().ok()).unwrap_or(0);
    Ok((rows.value(0, "running") == Some("1"), Duration::from_secs(seen)))
}

/// A table, and the keys at which its chunks begin and end.
type Chunks<'r> = (TableStatus, Ends<'r>);
/// The last key of each chunk, by the key before its first row, as texts. `None` stands for the start or end of the
/// table.
type Ends<'r> = HashMap<Option<&'r str>, Option<&'r str>>;

/// Tables by their numbers.
fn tables(rows: &Rows) -> HashMap<&str, Chunks<'_>> {
    let mut tables: HashMap<&str, Chunks<'_>> = HashMap::new();
    for row in 0..rows.rows.len() {
        let count = |name| rows.value(row, name).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        let (table, ends) = tables.entry(rows.value(row, "tbl").unwrap_or_default()).or_default();
        table.chunks = table.chunks.saturating_add(1);
        table.rows = table.rows.saturating_add(count("row_count"));
        table.bytes = table.bytes.saturating_add(count("bytes"));
        table.verified = table.verified.saturating_add(count("verified"));
        ends.insert(rows.value(row, "after_key"), rows.value(row, "upto_key"));
    }
    tables
}

/// Whether the ranges adjoin each other from the first row to the last. Keys of the map are the keys after which ranges
/// begin.
fn is_whole(mut ends: Ends<'_>) -> bool {
    let mut after = None;
    while let Some(upto) = ends.remove(&after) {
        if upto.is_none() {
            return true;
        }
        after = upto;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_with_a_gap_is_not_whole() {
        let whole = [(None, Some("05")), (Some("05"), Some("09")), (Some("09"), None)];
        assert!(is_whole(whole.into()));
        assert!(is_whole([(None, None)].into()));
        assert!(!is_whole([whole[0], whole[2]].into()) && !is_whole(whole[..2].iter().copied().collect()));
        assert!(!is_whole(HashMap::new()));
    }
}
