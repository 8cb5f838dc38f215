//! Compares rows that have changed since their chunks were found equal, and chunks of which some rows change all the time.
//!
//! The changes of a chunk are noted from the moment at which the comparison of its other rows begins. So all of its rows are
//! equal once the noted ones are, each compared after its last change. However many chunks are changed while clients
//! write, only the rows that are changed in the last moment are left for the time when they cannot.

use std::collections::{BTreeMap, HashSet};

use super::{Hashes, OnChange, Outcome, ROWS, Range, Verifier, as_u64, differing, expression, hashes, in_parallel};
use crate::{
    DivergenceKind, Error,
    changed_rows::{ChunkId, OF_CHUNK},
    journal::{self, ComparedAgain, Read},
    key::Key,
    moved_table::MovedTable,
    settings::Settings,
    shared::{RunState, Shared},
    state,
};

/// Rows in a statement; all of a chunk fit. Servers limit the memory for a condition with many alternatives.
const BATCH_ROWS: usize = OF_CHUNK;

/// Changed rows of a table that are compared together: the keys of all changed rows of some chunks, by the chunks' numbers.
struct Batch<'m> {
    table: &'m MovedTable,
    chunks: Vec<(u64, Vec<Key>)>,
}

/// Compares the changed rows of the chunks of which they are known. [`Outcome::open`] is the number of chunks in which rows
/// have changed again meanwhile.
///
/// # Errors
/// As [`compare`](super::compare).
pub(crate) fn compare_changed_rows<'m>(
    settings: &'m Settings,
    shared: &'m Shared,
    tables: &'m [MovedTable],
    watch: &mut dyn FnMut() -> Result<(), Error>,
) -> Result<Outcome, Error> {
    let known = shared.lock().changed_rows.known();
    let batches = batches(known, tables);
    if batches.is_empty() {
        return Ok(Outcome::default());
    }
    let open = || Verifier::open(settings, shared, tables, OnChange::Defer);
    let each = |verifier: &mut Verifier<'m>, batch: Batch<'m>| match verifier.batch(&batch) {
        Err(Error::TableInUse { .. }) => {
            verifier.leave_open(as_u64(batch.chunks.len()));
            Ok(())
        }
        ended => ended,
    };
    in_parallel((settings, shared), batches, open, each, watch)
}

/// Divides changed rows into statements, each for one table.
fn batches(known: Vec<(ChunkId, Vec<Key>)>, tables: &[MovedTable]) -> Vec<Batch<'_>> {
    let mut batches: Vec<Batch<'_>> = Vec::new();
    let mut rows = 0_usize;
    for ((number, chunk), keys) in known {
        let Some(table) = tables.get(number) else { continue };
        rows = rows.saturating_add(keys.len());
        match batches.last_mut() {
            Some(batch) if batch.table.number == number && rows <= BATCH_ROWS => batch.chunks.push((chunk, keys)),
            _ => {
                rows = keys.len();
                batches.push(Batch { table, chunks: vec![(chunk, keys)] });
            }
        }
    }
    batches
}

/// What was found equal of a chunk whose rows are compared in parts.
#[derive(Default)]
struct EqualRows {
    rows: u64,
    /// Sum of their hashes.
    sum: u128,
    /// End of the source's log when the last part was read.
    source_end: String,
}

impl EqualRows {
    fn add(&mut self, source: &Hashes, target: &Hashes, source_end: String) {
        for (key, hash) in source {
            if let (Some(Some(other)), Some(hash)) = (target.get(key), hash)
                && other == hash
            {
                self.rows = self.rows.saturating_add(1);
                let hash = str::from_utf8(hash).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
                self.sum = self.sum.saturating_add(hash);
            }
        }
        self.source_end = source_end;
    }
}

/// The changed rows of a batch, as both servers have them.
struct BatchRows {
    source: Hashes,
    target: Hashes,
    /// End of the source's log when they were read.
    source_end: String,
    /// Number of the newest change before that: a later one may or may not be in what was read.
    since: u64,
    /// How often each chunk had changed before that, by its number.
    touches: BTreeMap<u64, u64>,
}

/// A row that differs, with the number of its chunk.
type DifferingRow = (u64, Key, DivergenceKind);

impl<'m> Verifier<'m> {
    /// Compares changed rows.
    fn batch(&mut self, batch: &Batch<'m>) -> Result<(), Error> {
        let rows = self.read_batch(batch)?;
        let differing = self.unchanged_since(batch, differing(&rows.source, &rows.target), rows.since)?;
        let different: HashSet<u64> = differing.iter().map(|(number, ..)| *number).collect();
        let settled = self.settle(batch, &different, &rows);
        self.count_batch(batch, &settled, different.len());
        self.store_settled(batch.table, &settled, &rows.source_end)?;
        for number in different {
            self.differs_whole(batch.table, number)?;
        }
        self.name(batch.table, differing.into_iter().map(|(_, key, kind)| (key, kind)).collect());
        Ok(())
    }

    /// Reads the rows from both servers.
    fn read_batch(&mut self, Batch { table, chunks }: &Batch<'m>) -> Result<BatchRows, Error> {
        // Changes up to this one are read, by the barrier.
        let since = self.shared.lock().changed_rows.newest();
        let barrier = self.shared.wait_begun_applied()?;
        // A chunk with changed rows is not marked as changed again, so this counts all changes until the chunk is settled.
        let numbers: Vec<_> = chunks.iter().map(|(number, _)| *number).collect();
        let touches = self.touches(table, &numbers)?;
        let sql = expression::of_keys(table, chunks.iter().flat_map(|(_, keys)| keys));
        let (source, target, source_end) = self.read_after(&barrier, table, &sql, hashes)?;
        Ok(BatchRows { source, target, source_end, since, touches })
    }

    /// Settles the chunks whose rows are equal and have not changed again. Returns them.
    fn settle(
        &self,
        Batch { table, chunks }: &Batch<'m>,
        different: &HashSet<u64>,
        rows: &BatchRows,
    ) -> Vec<ComparedAgain> {
        let settles = |state: &mut RunState, number: u64, keys: &[Key]| {
            !different.contains(&number) && state.settle((table.number, number), keys, rows.since)
        };
        let settled: Vec<_> =
            self.shared.update(|state| chunks.iter().filter(|(number, keys)| settles(state, *number, keys)).collect());
        let again = |(number, keys): &(u64, Vec<Key>)| {
            let touches = rows.touches.get(number).copied().unwrap_or_default();
            ComparedAgain { chunk: *number, rows: keys.len(), touches }
        };
        settled.into_iter().map(again).collect()
    }

    /// Counts the chunks of a batch, the rows of those that are settled, and those that are left for later.
    fn count_batch(&mut self, batch: &Batch<'m>, settled: &[ComparedAgain], different: usize) {
        let chunks = batch.chunks.len();
        self.outcome.chunks = self.outcome.chunks.saturating_add(as_u64(chunks));
        self.leave_open(as_u64(chunks.saturating_sub(settled.len()).saturating_sub(different)));
        self.count_equal(as_u64(settled.iter().map(|chunk| chunk.rows).sum()));
    }

    /// Those of the rows that have not changed since then, each with the number of its chunk.
    fn unchanged_since(
        &mut self,
        Batch { table, chunks }: &Batch<'m>,
        mut differing: Vec<(Key, DivergenceKind)>,
        since: u64,
    ) -> Result<Vec<DifferingRow>, Error> {
        self.weights.limit();
        self.weights.set(&table.key, differing.iter_mut().map(|(key, _)| key))?;
        let chunk_of = |key: &Key| chunks.iter().find(|(_, keys)| keys.contains(key)).map(|(number, _)| *number);
        let found: Option<Vec<_>> =
            differing.into_iter().map(|(key, kind)| Some((chunk_of(&key)?, key, kind))).collect();
        Ok(self.shared.update(|state| match found {
            Some(mut found) => {
                found.retain(|(number, key, _)| !state.changed_rows.has_changed((table.number, *number), key, since));
                found
            }
            // A server has found a row by a key that is none of these. Its chunk is not known, so each is compared whole.
            None => {
                state.changed_rows.forget_table(table.number);
                Vec::new()
            }
        }))
    }

    /// Stores that chunks are equal, unless they have changed since then.
    fn store_settled(&mut self, table: &MovedTable, settled: &[ComparedAgain], source_end: &str) -> Result<(), Error> {
        if settled.is_empty() {
            return Ok(());
        }
        journal::compared_again(&mut self.target, table.number, settled, source_end)?;
        let touches: BTreeMap<_, _> = settled.iter().map(|chunk| (chunk.chunk, chunk.touches)).collect();
        state::mark_verified(&mut self.target, table.number, &touches)
    }

    /// Lets a chunk with rows that differ be compared whole.
    fn differs_whole(&mut self, table: &MovedTable, number: u64) -> Result<(), Error> {
        self.shared.update(|state| state.changed_rows.forget((table.number, number)));
        self.mark_differing(table, number)
    }

    /// Compares a chunk that changes all the time row by row. The rows that change meanwhile are left to
    /// [`compare_changed_rows`].
    pub(super) fn leave_rows(&mut self, range: &Range<'m>, number: u64) -> Result<(), Error> {
        let chunk = (range.table.number, number);
        self.shared.update(|state| state.changed_rows.begin(chunk));
        // If the rest of the chunk was not compared, its changed rows alone would settle it.
        self.compare_rows(range, chunk).inspect_err(|_| self.shared.update(|state| state.changed_rows.forget(chunk)))
    }

    fn compare_rows(&mut self, range: &Range<'m>, chunk: ChunkId) -> Result<(), Error> {
        let (table, (_, number)) = (range.table, chunk);
        self.shared.wait_begun_applied()?;
        let touches = self.touches(table, &[number])?.into_values().next().unwrap_or_default();
        let mut equal = EqualRows::default();
        if !self.parts(range.clone(), chunk, &mut equal)? {
            self.shared.update(|state| state.changed_rows.forget(chunk));
            self.leave_open(1);
            return Ok(());
        }
        self.count_equal(equal.rows);
        let (rows, checksum) = (equal.rows.to_string(), equal.sum.to_string());
        let read = Read { touches, source_end: equal.source_end };
        let compared =
            journal::Compared { table: table.number, chunk: number, rows: &rows, checksum: &checksum, read: &read };
        journal::compared(&mut self.target, &compared)?;
        if self.shared.update(|state| state.settle(chunk, &[], 0)) {
            state::mark_verified(&mut self.target, table.number, &BTreeMap::from([(number, touches)]))?;
        }
        Ok(())
    }

    /// Compares a range in parts that are small enough for memory. Returns false if rows differ, or if too many have changed.
    fn parts(&mut self, range: Range<'m>, chunk: ChunkId, equal: &mut EqualRows) -> Result<bool, Error> {
        let rows = self.count(&range)?;
        if rows > ROWS
            && let Some(middle) = self.middle(&range, rows / 2)?
        {
            let upper = Range { after: Some(middle.clone()), ..range.clone() };
            return Ok(
                self.parts(Range { upto: Some(middle), ..range }, chunk, equal)? && self.parts(upper, chunk, equal)?
            );
        }
        let sql = expression::of_rows(range.table, range.after.as_ref(), range.upto.as_ref());
        let barrier = self.shared.wait_begun_applied()?;
        let (source, target, source_end) = self.read_after(&barrier, range.table, &sql, hashes)?;
        let mut differing = differing(&source, &target);
        equal.add(&source, &target, source_end);
        self.weights.limit();
        self.weights.set(&range.table.key, differing.iter_mut().map(|(key, _)| key))?;
        let is_known = self.shared.update(|state| {
            differing.retain(|(key, _)| !state.changed_rows.has_changed(chunk, key, 0));
            state.changed_rows.count(chunk).is_some()
        });
        if differing.is_empty() {
            return Ok(is_known);
        }
        let (_, number) = chunk;
        self.differs_whole(range.table, number)?;
        self.name(range.table, differing);
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing;

    #[test]
    fn the_changed_rows_of_a_chunk_are_in_one_statement() {
        let tables = ["a", "b"].map(testing::table);
        let tables: Vec<_> = tables.iter().enumerate().map(|(number, table)| MovedTable::new(number, table)).collect();
        let keys = |table: usize, count: usize| -> Vec<Key> {
            let key = |number: usize| tables[table].key.parse([number.to_string().as_bytes()]).unwrap();
            (0..count).map(key).collect()
        };
        let known = [(0, 1, 600), (0, 2, 400), (0, 3, 1), (1, 1, 1), (1, 5, BATCH_ROWS)];
        let known = known.map(|(table, chunk, count)| ((table, chunk), keys(table, count)));
        let batches = batches(known.into(), &tables);
        let numbers = |batch: &Batch<'_>| (batch.table.number, batch.chunks.iter().map(|(it, _)| *it).collect());
        let found: Vec<(usize, Vec<u64>)> = batches.iter().map(numbers).collect();
        assert_eq!(found, [(0, vec![1, 2]), (0, vec![3]), (1, vec![1]), (1, vec![5])]);
    }

    #[test]
    fn only_equal_rows_are_added_up() {
        let table = MovedTable::new(0, &testing::table("t"));
        let rows = |rows: &[(&str, Option<&str>)]| -> Hashes {
            let row = |(key, hash): &(&str, Option<&str>)| {
                (table.key.parse([key.as_bytes()]).unwrap(), hash.map(|hash| hash.as_bytes().to_vec()))
            };
            rows.iter().map(row).collect()
        };
        let source = rows(&[("1", Some("70")), ("2", Some("5")), ("3", None), ("4", Some("7"))]);
        let target = rows(&[("1", Some("70")), ("2", Some("6")), ("3", None), ("5", Some("7"))]);
        let mut equal = EqualRows::default();
        equal.add(&source, &target, "binlog.000002:900".to_owned());
        assert_eq!((equal.rows, equal.sum, equal.source_end.as_str()), (1, 70, "binlog.000002:900"));
        let mut found: Vec<_> =
            differing(&source, &target).into_iter().map(|(key, kind)| (table.key.literals(&key), kind)).collect();
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        use DivergenceKind::{Different, Extra, Missing};
        let expected = [("2", Different), ("3", Different), ("4", Missing), ("5", Extra)];
        assert_eq!(found, expected.map(|(key, kind)| (key.to_owned(), kind)));
    }
}
