//! Metadata that `binlog_row_metadata` adds to a table: signedness always in MySQL 8, the rest with FULL.
//!
//! Source: `Table_map_event::Optional_metadata_field_type` in `rows_event.h` of MySQL; adopted by MariaDB 10.5.

use crate::{
    Column, ColumnType, Fault,
    bytes::Bytes,
    event::{KeyPart, TableMap},
};

const SIGNEDNESS: u8 = 1;
const DEFAULT_COLLATION: u8 = 2;
const COLUMN_COLLATION: u8 = 3;
const COLUMN_NAME: u8 = 4;
const SET_LABELS: u8 = 5;
const ENUM_LABELS: u8 = 6;
const GEOMETRY_TYPE: u8 = 7;
const PRIMARY_KEY: u8 = 8;
const PRIMARY_KEY_WITH_PREFIX: u8 = 9;
const LABEL_DEFAULT_COLLATION: u8 = 10;
const LABEL_COLLATION: u8 = 11;
const VISIBILITY: u8 = 12;
const VECTOR_DIMENSIONS: u8 = 13;

/// Reads all fields: type, length, value. Unknown types are skipped.
pub(super) fn read(table: &mut TableMap, mut bytes: Bytes<'_>, mariadb: bool) -> Result<(), Fault> {
    while !bytes.is_empty() {
        let field = bytes.u8()?;
        let value = Bytes::new(bytes.counted()?, "metadata of a table");
        read_field(table, field, value, mariadb)?;
    }
    Ok(())
}

fn read_field(table: &mut TableMap, field: u8, mut value: Bytes<'_>, mariadb: bool) -> Result<(), Fault> {
    let columns = &mut table.columns;
    let is_text = |kind: &ColumnType| kind.has_collation(mariadb);
    match field {
        SIGNEDNESS => {
            let numbers = columns.iter_mut().filter(|column| column.kind.is_number());
            for (index, column) in numbers.enumerate() {
                column.unsigned = Some(is_set_from_top(value.rest(), index));
            }
        }
        DEFAULT_COLLATION => default_collation(columns, is_text, value)?,
        LABEL_DEFAULT_COLLATION => default_collation(columns, ColumnType::has_labels, value)?,
        COLUMN_COLLATION => each(columns, is_text, &mut value, collation)?,
        LABEL_COLLATION => each(columns, ColumnType::has_labels, &mut value, collation)?,
        COLUMN_NAME => each(
            columns,
            |_| true,
            &mut value,
            |column, value| {
                column.name = Some(String::from_utf8_lossy(value.counted()?).into_owned());
                Ok(())
            },
        )?,
        SET_LABELS => each(columns, |kind| matches!(kind, ColumnType::Set { .. }), &mut value, labels)?,
        ENUM_LABELS => each(columns, |kind| matches!(kind, ColumnType::Enum { .. }), &mut value, labels)?,
        GEOMETRY_TYPE => each(
            columns,
            |kind| matches!(kind, ColumnType::Geometry { .. }),
            &mut value,
            |column, value| {
                column.geometry = Some(value.length_encoded()?);
                Ok(())
            },
        )?,
        VECTOR_DIMENSIONS => each(
            columns,
            |kind| matches!(kind, ColumnType::Vector { .. }),
            &mut value,
            |column, value| {
                column.dimensions = Some(value.length_encoded()?);
                Ok(())
            },
        )?,
        PRIMARY_KEY | PRIMARY_KEY_WITH_PREFIX => {
            table.primary_key = primary_key(columns.len(), field == PRIMARY_KEY_WITH_PREFIX, value)?;
        }
        VISIBILITY => {
            for (index, column) in columns.iter_mut().enumerate() {
                column.visible = Some(is_set_from_top(value.rest(), index));
            }
        }
        _ => {}
    }
    Ok(())
}

/// Reads a value for each column of some types.
fn each(
    columns: &mut [Column],
    has: impl Fn(&ColumnType) -> bool,
    value: &mut Bytes<'_>,
    mut read: impl FnMut(&mut Column, &mut Bytes<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    columns.iter_mut().filter(|column| has(&column.kind)).try_for_each(|column| read(column, value))
}

fn collation(column: &mut Column, value: &mut Bytes<'_>) -> Result<(), Fault> {
    column.collation = Some(value.length_encoded()?);
    Ok(())
}

/// The collation of most columns, then pairs of a column's index among those with collations and its collation.
fn default_collation(
    columns: &mut [Column],
    has: impl Fn(&ColumnType) -> bool,
    mut value: Bytes<'_>,
) -> Result<(), Fault> {
    let default = value.length_encoded()?;
    let mut with_collation: Vec<&mut Column> = columns.iter_mut().filter(|column| has(&column.kind)).collect();
    with_collation.iter_mut().for_each(|column| column.collation = Some(default));
    while !value.is_empty() {
        let (index, collation) = (value.count()?, value.length_encoded()?);
        let column = with_collation.get_mut(index).ok_or_else(|| value.malformed())?;
        column.collation = Some(collation);
    }
    Ok(())
}

fn labels(column: &mut Column, value: &mut Bytes<'_>) -> Result<(), Fault> {
    let count = value.count()?;
    let mut labels = Vec::new();
    for _ in 0..count {
        labels.push(value.counted()?.to_vec());
    }
    column.labels = labels;
    Ok(())
}

fn primary_key(columns: usize, with_prefix: bool, mut value: Bytes<'_>) -> Result<Vec<KeyPart>, Fault> {
    let mut key = Vec::new();
    while !value.is_empty() {
        let column = value.count()?;
        let prefix = if with_prefix { value.length_encoded()? } else { 0 };
        if column >= columns {
            return Err(value.malformed());
        }
        key.push(KeyPart { column, prefix });
    }
    Ok(key)
}

/// Bit `index` of a bitmap, counted from the highest bit of the first byte.
fn is_set_from_top(bitmap: &[u8], index: usize) -> bool {
    let bit = u32::try_from(index % 8).unwrap_or(0);
    bitmap.get(index / 8).is_some_and(|byte| byte.checked_shl(bit).unwrap_or(0) & 0x80 != 0)
}
