//! Images of rows: bitmaps of the columns that are present and of those that are NULL, then the values.

use crate::{Column, ColumnType, Fault, Value, bytes::Bytes, event::table_map::is_set, value::JsonChanges};

/// The values of a row, one for each column of the table; `None` if the image does not have the column
/// (`binlog_row_image`).
pub type Row<'r> = Vec<Option<Value<'r>>>;

/// The columns of all images of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Columns<'e> {
    /// A bit for each column of the table.
    bitmap: &'e [u8],
    /// Number of columns of the table.
    count: usize,
    /// Number of columns in the images.
    present: usize,
}

impl<'e> Columns<'e> {
    pub(super) fn parse(bytes: &mut Bytes<'e>, count: usize) -> Result<Self, Fault> {
        let bitmap = bytes.take(count.div_ceil(8))?;
        let present = (0..count).filter(|index| is_set(bitmap, *index)).count();
        Ok(Self { bitmap, count, present })
    }

    pub(super) const fn count(&self) -> usize {
        self.count
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.present == 0
    }
}

/// Marks the JSON columns of an image that have changes instead of values: a bit for each JSON column of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Partial<'r>(&'r [u8]);

/// Reads the options of an image, which may have changes of JSON values.
pub(super) fn partial_columns<'r>(bytes: &mut Bytes<'r>, table: &[Column]) -> Result<Option<Partial<'r>>, Fault> {
    const PARTIAL_JSON: u64 = 1;
    if bytes.length_encoded()? & PARTIAL_JSON == 0 {
        return Ok(None);
    }
    let json = table.iter().filter(|column| matches!(column.kind, ColumnType::Json { .. })).count();
    Ok(Some(Partial(bytes.take(json.div_ceil(8))?)))
}

pub(super) fn read<'r>(
    bytes: &mut Bytes<'r>,
    table: &[Column],
    columns: &Columns<'_>,
    partial: Option<Partial<'_>>,
) -> Result<Row<'r>, Fault> {
    let nulls = bytes.take(columns.present.div_ceil(8))?;
    let mut row = Vec::with_capacity(table.len());
    let mut present = 0_usize;
    let mut json = 0_usize;
    for (index, column) in table.iter().enumerate() {
        let is_json = matches!(column.kind, ColumnType::Json { .. });
        let is_partial = is_json && partial.is_some_and(|partial| is_set(partial.0, json));
        json = json.saturating_add(usize::from(is_json));
        if !is_set(columns.bitmap, index) {
            row.push(None);
            continue;
        }
        let is_null = is_set(nulls, present);
        present = present.saturating_add(1);
        row.push(Some(match is_null {
            true => Value::Null,
            false if is_partial => Value::JsonChanges(JsonChanges::read(bytes)?),
            false => Value::read(bytes, column)?,
        }));
    }
    Ok(row)
}
