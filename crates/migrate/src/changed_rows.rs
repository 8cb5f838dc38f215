//! Rows that have changed since their chunk was found equal: to compare these again is enough, because all other rows are
//! as they were then.
//!
//! That is known of chunks whose changes this process has seen, unless there are too many. All others are compared whole.

use std::collections::{BTreeMap, HashMap};

use crate::key::Key;

/// Most rows of a chunk: more of them are read faster with the whole chunk.
pub(crate) const OF_CHUNK: usize = 1000;
/// Most rows of all chunks, whose keys are in memory.
const OF_ALL: usize = 200_000;

/// The number of a table, and that of a chunk of it.
pub(crate) type ChunkId = (usize, u64);

/// The changed rows of each chunk of which they are known.
#[derive(Debug, Default)]
pub(crate) struct ChangedRows {
    /// The rows by their keys, each with the number of its last change.
    chunks: HashMap<ChunkId, BTreeMap<Key, u64>>,
    /// Number of all these rows.
    rows: usize,
    /// Number of the newest change.
    newest: u64,
}

impl ChangedRows {
    /// Begins to note the changes of a chunk.
    pub(crate) fn begin(&mut self, chunk: ChunkId) {
        self.forget(chunk);
        self.chunks.insert(chunk, BTreeMap::new());
    }

    /// Notes the change of a row, if the changes of its chunk are noted.
    pub(crate) fn note(&mut self, chunk: ChunkId, key: &Key) {
        let Some(rows) = self.chunks.get_mut(&chunk) else { return };
        self.newest = self.newest.saturating_add(1);
        if rows.insert(key.clone(), self.newest).is_none() {
            self.rows = self.rows.saturating_add(1);
        }
        if rows.len() > OF_CHUNK || self.rows > OF_ALL {
            self.forget(chunk);
        }
    }

    /// Number of the newest change.
    pub(crate) const fn newest(&self) -> u64 {
        self.newest
    }

    /// Number of the changed rows of a chunk, if they are known.
    pub(crate) fn count(&self, chunk: ChunkId) -> Option<usize> {
        self.chunks.get(&chunk).map(BTreeMap::len)
    }

    /// The chunks with changed rows that are known, in order.
    pub(crate) fn known(&self) -> Vec<(ChunkId, Vec<Key>)> {
        let changed = self.chunks.iter().filter(|(_, rows)| !rows.is_empty());
        let mut known: Vec<_> = changed.map(|(chunk, rows)| (*chunk, rows.keys().cloned().collect())).collect();
        known.sort_unstable_by_key(|(chunk, _)| *chunk);
        known
    }

    /// Whether a row of a chunk has changed after this change, or that is not known.
    pub(crate) fn has_changed(&self, chunk: ChunkId, key: &Key, since: u64) -> bool {
        self.chunks.get(&chunk).is_none_or(|rows| rows.get(key).is_some_and(|change| *change > since))
    }

    /// Notes that rows were found equal, except those that have changed after `since`. Returns whether that was the last of
    /// the chunk; its changes are not noted any more then.
    pub(crate) fn settle(&mut self, chunk: ChunkId, keys: &[Key], since: u64) -> bool {
        let Some(rows) = self.chunks.get_mut(&chunk) else { return false };
        for key in keys {
            if rows.get(key).is_some_and(|change| *change <= since) {
                rows.remove(key);
                self.rows = self.rows.saturating_sub(1);
            }
        }
        let is_settled = rows.is_empty();
        if is_settled {
            self.chunks.remove(&chunk);
        }
        is_settled
    }

    /// Lets a chunk be compared whole.
    pub(crate) fn forget(&mut self, chunk: ChunkId) {
        if let Some(rows) = self.chunks.remove(&chunk) {
            self.rows = self.rows.saturating_sub(rows.len());
        }
    }

    /// Lets every chunk of a table be compared whole.
    pub(crate) fn forget_table(&mut self, table: usize) {
        let chunks: Vec<_> = self.chunks.keys().copied().filter(|(number, _)| *number == table).collect();
        chunks.into_iter().for_each(|chunk| self.forget(chunk));
    }

    /// Lets every chunk be compared whole.
    pub(crate) fn forget_all(&mut self) {
        self.chunks.clear();
        self.rows = 0;
    }
}

#[cfg(test)]
mod model;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{key::KeyColumns, preflight::testing};

    fn key(number: usize) -> Key {
        KeyColumns::from_table(&testing::table("t")).parse([number.to_string().as_bytes()]).unwrap()
    }

    #[test]
    fn a_chunk_is_settled_with_its_last_changed_row() {
        let mut changed = ChangedRows::default();
        changed.note((0, 1), &key(1));
        assert_eq!(changed.count((0, 1)), None, "nothing is noted of a chunk before `begin`");
        assert!(changed.has_changed((0, 1), &key(1), u64::MAX) && !changed.settle((0, 1), &[key(1)], u64::MAX));
        changed.begin((0, 1));
        for number in [1, 2, 1] {
            changed.note((0, 1), &key(number));
        }
        assert_eq!(changed.known(), [((0, 1), vec![key(1), key(2)])]);
        let since = changed.newest();
        // The first changes again while both are compared.
        changed.note((0, 1), &key(1));
        assert!(changed.has_changed((0, 1), &key(1), since) && !changed.has_changed((0, 1), &key(2), since));
        assert!(!changed.settle((0, 1), &[key(1), key(2)], since));
        assert_eq!(changed.known(), [((0, 1), vec![key(1)])]);
        let since = changed.newest();
        assert!(changed.settle((0, 1), &[key(1)], since) && changed.known().is_empty());
        assert_eq!(changed.rows, 0);
    }

    #[test]
    fn a_chunk_that_begins_anew_is_not_settled_by_an_older_comparison() {
        let mut changed = ChangedRows::default();
        changed.begin((0, 1));
        changed.note((0, 1), &key(1));
        let since = changed.newest();
        changed.begin((0, 1));
        changed.note((0, 1), &key(1));
        assert!(!changed.settle((0, 1), &[key(1)], since));
        assert_eq!(changed.count((0, 1)), Some(1));
    }

    #[test]
    fn what_is_too_much_is_compared_whole() {
        let mut changed = ChangedRows::default();
        for chunk in [(0, 1), (0, 2), (1, 1)] {
            changed.begin(chunk);
        }
        (0..=OF_CHUNK).for_each(|number| changed.note((0, 1), &key(number)));
        assert_eq!([(0, 1), (0, 2)].map(|chunk| changed.count(chunk)), [None, Some(0)]);
        changed.note((0, 2), &key(7));
        changed.note((1, 1), &key(7));
        assert_eq!(changed.rows, 2);
        changed.forget_table(0);
        assert_eq!((changed.rows, changed.known().len()), (1, 1));
        changed.forget_all();
        assert!(changed.known().is_empty() && changed.rows == 0);
    }

    #[test]
    fn the_memory_for_keys_is_limited() {
        let mut changed = ChangedRows::default();
        for chunk in 0..400 {
            changed.begin((0, chunk));
            (0..OF_CHUNK).for_each(|number| changed.note((0, chunk), &key(number)));
        }
        assert_eq!(changed.rows, OF_ALL);
        assert_eq!(changed.known().len(), OF_ALL / OF_CHUNK);
    }
}
