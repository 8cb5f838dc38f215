//! Batches of changes: of each row, only the newest image is applied.
//!
//! Images are whole rows in the order of the log. A batch that is applied twice, or that begins earlier, therefore
//! leaves the same rows.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use binlog::{Value, value::WholeDoubles};

use crate::{NotWritable, key::Key, moved_table::MovedTable, settings::BatchLimits, value};

/// The newest image of each changed row of a table; `None` for a row that is gone.
pub(crate) type Images = HashMap<Key, Option<Vec<u8>>>;

/// Changes that are not applied yet.
#[derive(Debug, Default)]
pub(crate) struct ChangeBatch {
    /// By the number of the table.
    pub(crate) tables: HashMap<usize, Images>,
    /// Chunks that were compared, and have changed since then.
    pub(crate) touched: Vec<(usize, u64)>,
    /// Number of changes, superseded ones included.
    pub(crate) changes: u64,
    rows: usize,
    bytes: usize,
    oldest: Option<Instant>,
}

impl ChangeBatch {
    /// Notes that a row is gone.
    pub(crate) fn delete(&mut self, table: usize, key: Key) {
        self.put(table, key, None);
    }

    /// Notes a row's image, as literals of a statement.
    pub(crate) fn store(&mut self, table: usize, key: Key, image: Vec<u8>) {
        self.put(table, key, Some(image));
    }

    fn put(&mut self, table: usize, key: Key, image: Option<Vec<u8>>) {
        let bytes = |image: &Option<Vec<u8>>| image.as_ref().map_or(0, Vec::len).saturating_add(OVERHEAD_BYTES);
        self.changes = self.changes.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes(&image));
        self.oldest.get_or_insert_with(Instant::now);
        match self.tables.entry(table).or_default().insert(key, image) {
            Some(before) => self.bytes = self.bytes.saturating_sub(bytes(&before)),
            None => self.rows = self.rows.saturating_add(1),
        }
    }

    /// Forgets the changes: the stream delivers them again. Keeps the touched chunks: they are no longer watched, so
    /// the second delivery would not note them.
    pub(crate) fn forget_changes(&mut self) {
        let touched = std::mem::take(&mut self.touched);
        let oldest = self.oldest.filter(|_| !touched.is_empty());
        *self = Self { touched, oldest, ..Self::default() };
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0 && self.touched.is_empty()
    }

    /// Whether the batch has reached a limit and must be applied now.
    pub(crate) fn is_full(&self, limits: &BatchLimits) -> bool {
        self.rows >= limits.rows || self.bytes >= limits.bytes || self.age() >= limits.age
    }

    fn age(&self) -> Duration {
        self.oldest.map_or(Duration::ZERO, |oldest| oldest.elapsed())
    }
}

/// Memory for a row besides its image: the key, twice, and the entry in the hash table.
const OVERHEAD_BYTES: usize = 160;

/// A row as literals in brackets, for the columns of [`MovedTable::column_list`]. Numbers in JSON are written as the
/// source prints them, because copied rows contain them in that form.
///
/// # Errors
/// The column, and why it cannot be written.
pub(crate) fn image(
    table: &MovedTable,
    row: &[Option<Value<'_>>],
    doubles: WholeDoubles,
) -> Result<Vec<u8>, (String, NotWritable)> {
    let mut image = vec![b'('];
    let columns = table.table.columns.iter().zip(row).filter(|(column, _)| !column.generated);
    for (number, (column, value)) in columns.enumerate() {
        if number > 0 {
            image.push(b',');
        }
        let written = value::write(&mut image, value.as_ref(), column, doubles);
        written.map_err(|why| (column.name.clone(), why))?;
    }
    image.push(b')');
    Ok(image)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_stay_touched_when_changes_come_again() {
        let mut batch = ChangeBatch::default();
        batch.touched.push((0, 7));
        batch.tables.insert(0, Images::new());
        (batch.changes, batch.rows, batch.oldest) = (1, 1, Some(Instant::now()));
        batch.forget_changes();
        assert_eq!((batch.touched.as_slice(), batch.changes, batch.tables.len()), (&[(0, 7)][..], 0, 0));
        // The batch is not empty and older than the limit, so it is applied.
        let limits = BatchLimits { rows: 100, bytes: 100, age: Duration::ZERO };
        assert!(!batch.is_empty() && batch.is_full(&limits) && batch.oldest.is_some());
        batch.touched.clear();
        batch.forget_changes();
        assert!(batch.is_empty() && batch.oldest.is_none());
    }
}
