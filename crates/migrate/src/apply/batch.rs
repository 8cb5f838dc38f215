//! Batches of changes: of each row, only the newest image is applied.
//!
//! Images are whole rows in the order of the log. A batch that is applied twice, or that begins earlier, therefore
//! leaves the same rows. That does not hold for tables that were copied whole: each of their changes is applied once, in
//! the order of the log.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use binlog::{Value, value::WholeDoubles};
use server::quote;

use crate::{
    Column, NotWritable, key::Key, load_file::append_field, moved_table::MovedTable, settings::BatchLimits, value,
};

/// Values of a row as a text.
#[derive(Debug, Default)]
pub(crate) struct ValueText {
    pub(crate) text: Vec<u8>,
    /// How many of them are ENUMs with the number 0, which servers refuse in strict mode.
    pub(crate) enum_zeros: u64,
}

impl ValueText {
    pub(crate) const fn len(&self) -> usize {
        self.text.len()
    }

    fn note_enum_zero(&mut self, value: &Option<Value<'_>>) {
        let is_zero = matches!(value, Some(Value::Enum(0)));
        self.enum_zeros = self.enum_zeros.saturating_add(u64::from(is_zero));
    }
}

/// A row to store.
#[derive(Debug)]
pub(crate) enum Image {
    /// As literals in brackets, which fit into a statement.
    Literals(ValueText),
    /// As a line of a file for `LOAD DATA`: the length of a statement is limited, that of a line is not.
    Line(ValueText),
}

impl Image {
    const fn len(&self) -> usize {
        match self {
            Self::Literals(values) | Self::Line(values) => values.len(),
        }
    }
}

/// The newest image of each changed row of a table; `None` for a row that is gone.
pub(crate) type Images = HashMap<Key, Option<Image>>;

/// A change of a row of a table that was copied whole.
#[derive(Debug)]
pub(crate) struct ExactChange {
    /// Number of the table.
    pub(crate) table: usize,
    /// What is done.
    pub(crate) operation: Operation,
    /// Whether foreign keys change other tables with it.
    pub(crate) cascades: bool,
}

/// What is done with one row, as texts for a statement.
#[derive(Debug)]
pub(crate) enum Operation {
    /// Inserts a row.
    Insert(Image),
    /// Assigns values to a row that fulfils a condition.
    Update {
        /// The assignments.
        assignments: ValueText,
        /// The condition.
        condition: Vec<u8>,
    },
    /// Deletes a row that fulfils a condition.
    Delete {
        /// The condition.
        condition: Vec<u8>,
        /// Whether it is a part of an update, and the row follows with its new values.
        updates: bool,
    },
}

/// Changes that are not applied yet.
#[derive(Debug, Default)]
pub(crate) struct ChangeBatch {
    /// By the number of the table.
    pub(crate) tables: HashMap<usize, Images>,
    /// Changes of tables that were copied whole, in the order of the log.
    pub(crate) in_order: Vec<ExactChange>,
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

    /// Notes a row's image.
    pub(crate) fn store(&mut self, table: usize, key: Key, image: Image) {
        self.put(table, key, Some(image));
    }

    /// Notes a change of a row of a table that was copied whole.
    pub(crate) fn push(&mut self, change: ExactChange) {
        let bytes = match &change.operation {
            Operation::Insert(image) => image.len(),
            Operation::Delete { condition, .. } => condition.len(),
            Operation::Update { assignments, condition } => assignments.len().saturating_add(condition.len()),
        };
        self.count(bytes.saturating_add(OVERHEAD_BYTES));
        self.rows = self.rows.saturating_add(1);
        self.in_order.push(change);
    }

    fn put(&mut self, table: usize, key: Key, image: Option<Image>) {
        let bytes = |image: &Option<Image>| image.as_ref().map_or(0, Image::len).saturating_add(OVERHEAD_BYTES);
        self.count(bytes(&image));
        match self.tables.entry(table).or_default().insert(key, image) {
            Some(before) => self.bytes = self.bytes.saturating_sub(bytes(&before)),
            None => self.rows = self.rows.saturating_add(1),
        }
    }

    fn count(&mut self, bytes: usize) {
        self.changes = self.changes.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
        self.oldest.get_or_insert_with(Instant::now);
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

/// A row for the columns of [`MovedTable::column_list`]: as a line if its literals are longer than `longest` bytes. Numbers in
/// JSON are written as the source prints them, because copied rows contain them in that form.
///
/// # Errors
/// The column, and why it cannot be written.
pub(crate) fn image(
    table: &MovedTable,
    row: &[Option<Value<'_>>],
    doubles: WholeDoubles,
    longest: usize,
) -> Result<Image, (String, NotWritable)> {
    let mut literals = ValueText { text: vec![b'('], enum_zeros: 0 };
    append_values(&mut literals, table, row, doubles, |_| String::new())?;
    literals.text.push(b')');
    Ok(if literals.len() > longest { Image::Line(line(table, row, doubles)?) } else { Image::Literals(literals) })
}

/// A row as a line for [`MovedTable::load`].
fn line(
    table: &MovedTable,
    row: &[Option<Value<'_>>],
    doubles: WholeDoubles,
) -> Result<ValueText, (String, NotWritable)> {
    let mut line = ValueText::default();
    for (number, (column, value)) in stored(table, row).enumerate() {
        if number > 0 {
            line.text.push(b'\t');
        }
        let field = value::field(value.as_ref(), column, doubles).map_err(|why| (column.name.clone(), why))?;
        append_field(&mut line.text, field.as_deref());
        line.note_enum_zero(value);
    }
    line.text.push(b'\n');
    Ok(line)
}

/// The columns that are written, with their values.
fn stored<'r, 'v>(
    table: &'r MovedTable,
    row: &'r [Option<Value<'v>>],
) -> impl Iterator<Item = (&'r Column, &'r Option<Value<'v>>)> {
    table.table.columns.iter().zip(row).filter(|(column, _)| !column.generated)
}

/// A row as assignments to the columns of [`MovedTable::column_list`].
///
/// # Errors
/// The column, and why it cannot be written.
pub(crate) fn assignments(
    table: &MovedTable,
    row: &[Option<Value<'_>>],
    doubles: WholeDoubles,
) -> Result<ValueText, (String, NotWritable)> {
    let mut assignments = ValueText::default();
    let name = |column: &Column| format!("{} = ", quote::identifier(&column.name));
    append_values(&mut assignments, table, row, doubles, name)?;
    Ok(assignments)
}

/// Appends the stored values with commas between them, each after a text for its column.
fn append_values(
    values: &mut ValueText,
    table: &MovedTable,
    row: &[Option<Value<'_>>],
    doubles: WholeDoubles,
    before: impl Fn(&Column) -> String,
) -> Result<(), (String, NotWritable)> {
    for (number, (column, value)) in stored(table, row).enumerate() {
        if number > 0 {
            values.text.push(b',');
        }
        values.text.extend_from_slice(before(column).as_bytes());
        let written = value::write(&mut values.text, value.as_ref(), column, doubles);
        written.map_err(|why| (column.name.clone(), why))?;
        values.note_enum_zero(value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Table, preflight::testing};

    #[test]
    fn enums_with_the_number_zero_are_counted() {
        let of_type = |data_type: &str| Column { data_type: data_type.to_owned(), ..testing::column(data_type) };
        let columns = ["enum", "set", "enum"].map(of_type).into();
        let table = MovedTable::new(0, &Table { columns, ..testing::table("t") });
        let row = [Some(Value::Enum(0)), Some(Value::Null), Some(Value::Enum(2))];
        let image = |longest| image(&table, &row, WholeDoubles::AsIntegers, longest).unwrap();
        let Image::Literals(literals) = image(10) else { panic!("they fit") };
        assert_eq!((literals.text.as_slice(), literals.enum_zeros), (&b"(0,NULL,2)"[..], 1));
        let Image::Line(line) = image(9) else { panic!("they are longer") };
        assert_eq!((line.text.as_slice(), line.enum_zeros), (&b"0\t\\N\t2\n"[..], 1));
        let assignments = assignments(&table, &row, WholeDoubles::AsIntegers).unwrap();
        assert_eq!(assignments.text, b"`enum` = 0,`set` = NULL,`enum` = 2");
        assert_eq!(assignments.enum_zeros, 1);
    }

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
