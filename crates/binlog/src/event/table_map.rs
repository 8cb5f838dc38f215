//! The table that rows refer to.

use crate::{Column, ColumnType, Fault, bytes::Bytes, event::table_metadata};

/// Maximum number of columns of a table in any server.
const MAX_COLUMNS: usize = 4096;
/// Length of the fixed part in MySQL 5.1.4 and older, where numbers of tables have four bytes.
const OLD_POST_HEADER_BYTES: u8 = 6;

/// A table: its number, name and columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableMap {
    /// Number that the server gave the table; rows refer to it until the end of the statement.
    pub id: u64,
    /// Flags of the table, such as 1 for a transactional engine; nothing here depends on them.
    pub flags: u16,
    /// Name of the database.
    pub database: String,
    /// Name of the table, without its database.
    pub name: String,
    /// The columns in order.
    pub columns: Vec<Column>,
    /// The primary key, if the server writes it (`binlog_row_metadata=FULL`); empty if not, or if there is none.
    pub primary_key: Vec<KeyPart>,
}

/// A column of the primary key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPart {
    /// Index of the column, from 0.
    pub column: usize,
    /// Characters of the prefix; 0 for the whole column.
    pub prefix: u64,
}

impl TableMap {
    pub(crate) fn parse(mut bytes: Bytes<'_>, post_header: Option<u8>, mariadb: bool) -> Result<Self, Fault> {
        let id = table_id(&mut bytes, post_header)?;
        let flags = bytes.u16()?;
        let [database, name] = [name(&mut bytes)?, name(&mut bytes)?];
        let count = bytes.count()?;
        if count > MAX_COLUMNS {
            return Err(bytes.malformed());
        }
        let types = bytes.take(count)?;
        let mut metadata = Bytes::new(bytes.counted()?, "metadata of columns");
        let kinds: Result<Vec<_>, _> = types.iter().map(|code| ColumnType::parse(*code, &mut metadata)).collect();
        let nullable = bytes.take(count.div_ceil(8))?;
        let mut columns: Vec<Column> = kinds?.into_iter().map(Column::new).collect();
        for (index, column) in columns.iter_mut().enumerate() {
            column.nullable = is_set(nullable, index);
        }
        let mut table = Self { id, flags, database, name, columns, primary_key: Vec::new() };
        table_metadata::read(&mut table, bytes, mariadb)?;
        Ok(table)
    }
}

/// Reads the number of a table: six bytes, four in MySQL 5.1.4 and older.
pub(crate) fn table_id(bytes: &mut Bytes<'_>, post_header: Option<u8>) -> Result<u64, Fault> {
    bytes.little(if post_header == Some(OLD_POST_HEADER_BYTES) { 4 } else { 6 })
}

fn name(bytes: &mut Bytes<'_>) -> Result<String, Fault> {
    let text = bytes.prefixed(1)?;
    if bytes.u8()? != 0 {
        return Err(bytes.malformed());
    }
    Ok(String::from_utf8_lossy(text).into_owned())
}

/// Bit `index` of a bitmap, counted from the lowest bit of the first byte.
pub(crate) fn is_set(bitmap: &[u8], index: usize) -> bool {
    let bit = u32::try_from(index % 8).unwrap_or(0);
    bitmap.get(index / 8).is_some_and(|byte| byte.checked_shr(bit).unwrap_or(0) & 1 == 1)
}
