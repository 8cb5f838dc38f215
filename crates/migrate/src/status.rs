//! State of a migration, as the target has it. Nothing of the source is needed.

use std::{collections::HashMap, time::Duration};

use server::{Connection, Rows};

use crate::{Error, Phase, Server, Side, active::LOCK, link, state};

/// State of a migration, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Phase.
    pub phase: Phase,
    /// The last step of the cut-over, if it was begun.
    pub step: String,
    /// Whether the source is fenced, or may be.
    pub fenced: bool,
    /// Whether a process works on it now.
    pub running: bool,
    /// Time since a process has last stored that it works.
    pub seen: Duration,
    /// Transactions that were applied: GTIDs, or the file and position behind the last one.
    pub position: String,
    /// Tables, by name.
    pub tables: Vec<TableStatus>,
}

/// State of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableStatus {
    /// `schema.table`.
    pub name: String,
    /// Chunks that were copied.
    pub chunks: u64,
    /// Rows that were copied.
    pub rows: u64,
    /// Bytes of these rows, as texts.
    pub bytes: u64,
    /// Chunks that were equal and have not changed since then.
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
    Ok(Status { phase: run.phase, step: run.step.clone(), fenced, running, seen, position, tables })
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

/// A table, and the keys between which its chunks are.
type Chunks<'r> = (TableStatus, Ends<'r>);
/// The last key of each chunk by the key before its first one, as texts; `None` for the ends of the table.
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

/// Whether ranges, by the keys after which they begin, follow each other from the first row to the last one.
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
