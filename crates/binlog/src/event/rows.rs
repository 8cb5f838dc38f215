//! Changed rows.
//!
//! Source: `Rows_event` in `rows_event.h` of MySQL; the compressed events of MariaDB in its `log_event.cc`.

use std::{borrow::Cow, sync::Arc};

use crate::{
    EventType, Fault,
    bytes::Bytes,
    event::{
        TableMap,
        compressed::decompress,
        image::{self, Columns, Row},
        table_map::table_id,
    },
};

/// Flag: this event ends the statement.
const STATEMENT_END: u16 = 1;
/// Flag: the session had foreign_key_checks=0. Source: `NO_FOREIGN_KEY_CHECKS_F` of MySQL and MariaDB.
const NO_FOREIGN_KEY_CHECKS: u16 = 2;
/// Flag: the SQL layer of MySQL 9.6 or newer handles foreign keys, and logs the rows that they change. Seen in logs of
/// 9.7.4, with `innodb_native_foreign_keys` on and off.
const LOGS_CASCADES: u16 = 16;

/// Kinds of changes of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// Inserted: after images.
    Insert,
    /// Updated: before and after images.
    Update,
    /// Updated, with changes relative to the before image for JSON values where that is shorter (`PARTIAL_JSON`).
    PartialUpdate,
    /// Deleted: before images.
    Delete,
}

/// Rows of a table that changed in the same way.
#[derive(Clone, Debug)]
pub struct Rows<'e> {
    /// Kind of the changes.
    pub change: Change,
    /// Number of the table.
    pub table_id: u64,
    /// The table; `None` without a Table_map event. A server writes such an event without rows to end a statement.
    pub table: Option<Arc<TableMap>>,
    /// 1 end of the statement, 2 foreign keys are not checked, 4 unique keys are not checked, 8 all columns are
    /// present, 16 MySQL 9.6: foreign keys are handled by the SQL layer.
    pub flags: u16,
    /// Additional data of the server: partition ids, or NDB's information.
    pub extra: &'e [u8],
    /// Columns of the before images; for inserted rows, of the after images.
    first: Columns<'e>,
    /// Columns of the after images of updated rows.
    second: Option<Columns<'e>>,
    images: Cow<'e, [u8]>,
}

impl<'e> Rows<'e> {
    /// Kind of changes of this type of event; `None` if it has no rows.
    pub(crate) const fn change_of(kind: EventType) -> Option<Change> {
        Some(match kind {
            EventType::WRITE_ROWS_V1
            | EventType::WRITE_ROWS
            | EventType::WRITE_ROWS_COMPRESSED_V1
            | EventType::WRITE_ROWS_COMPRESSED => Change::Insert,
            EventType::UPDATE_ROWS_V1
            | EventType::UPDATE_ROWS
            | EventType::UPDATE_ROWS_COMPRESSED_V1
            | EventType::UPDATE_ROWS_COMPRESSED => Change::Update,
            EventType::DELETE_ROWS_V1
            | EventType::DELETE_ROWS
            | EventType::DELETE_ROWS_COMPRESSED_V1
            | EventType::DELETE_ROWS_COMPRESSED => Change::Delete,
            EventType::PARTIAL_UPDATE_ROWS => Change::PartialUpdate,
            _ => return None,
        })
    }

    const fn has_extra(kind: EventType) -> bool {
        matches!(
            kind,
            EventType::WRITE_ROWS
                | EventType::UPDATE_ROWS
                | EventType::DELETE_ROWS
                | EventType::PARTIAL_UPDATE_ROWS
                | EventType::WRITE_ROWS_COMPRESSED
                | EventType::UPDATE_ROWS_COMPRESSED
                | EventType::DELETE_ROWS_COMPRESSED
        )
    }

    const fn is_compressed(kind: EventType) -> bool {
        matches!(kind.0, 166..=171)
    }

    pub(crate) fn parse(
        kind: EventType,
        content: &'e [u8],
        post_header: Option<u8>,
        limit: u64,
    ) -> Result<Self, Fault> {
        let mut bytes = Bytes::new(content, "rows");
        let change = Self::change_of(kind).ok_or_else(|| bytes.malformed())?;
        let table_id = table_id(&mut bytes, post_header)?;
        let flags = bytes.u16()?;
        let extra = if Self::has_extra(kind) { extra(&mut bytes)? } else { &[] };
        let count = bytes.count()?;
        let first = Columns::parse(&mut bytes, count)?;
        let has_second = matches!(change, Change::Update | Change::PartialUpdate);
        let second = if has_second { Some(Columns::parse(&mut bytes, count)?) } else { None };
        let images = if Self::is_compressed(kind) {
            Cow::Owned(decompress(bytes.rest(), "rows", limit)?)
        } else {
            Cow::Borrowed(bytes.rest())
        };
        Ok(Self { change, table_id, table: None, flags, extra, first, second, images })
    }

    /// Whether this event ends the statement.
    #[must_use]
    pub const fn ends_statement(&self) -> bool {
        self.flags & STATEMENT_END != 0
    }

    /// Whether the session checked foreign keys, which may then have changed rows of other tables.
    #[must_use]
    pub const fn checks_foreign_keys(&self) -> bool {
        self.flags & NO_FOREIGN_KEY_CHECKS == 0
    }

    /// Whether foreign keys may have changed rows of other tables without an event of their own.
    #[must_use]
    pub const fn may_omit_cascades(&self) -> bool {
        self.checks_foreign_keys() && self.flags & LOGS_CASCADES == 0
    }

    /// The changes, one for each row, in the order of the log.
    ///
    /// # Errors
    /// [`Fault::UnknownTable`] without its Table_map event, [`Fault::Malformed`] if that has another number of columns.
    pub fn changes(&self) -> Result<RowChanges<'_>, Fault> {
        let table = self.table.as_deref();
        if self.images.is_empty() && table.is_none() {
            return Ok(RowChanges { rows: self, table: &[], rest: &[], ended: true });
        }
        let table = table.ok_or(Fault::UnknownTable(self.table_id))?;
        if table.columns.len() != self.first.count() {
            return Err(Fault::Malformed { what: "number of columns" });
        }
        // A row inserted with default values only, in an image without columns, has no bytes.
        let ended = self.images.is_empty() && !(self.change == Change::Insert && self.first.is_empty());
        Ok(RowChanges { rows: self, table: &table.columns, rest: &self.images, ended })
    }
}

/// Reads additional data of MySQL 5.6 and newer, after a length of two bytes that includes itself.
fn extra<'e>(bytes: &mut Bytes<'e>) -> Result<&'e [u8], Fault> {
    let length = usize::from(bytes.u16()?).checked_sub(2).ok_or_else(|| bytes.malformed())?;
    bytes.take(length)
}

/// A row before and after the change.
#[derive(Clone, Debug, PartialEq)]
pub struct RowChange<'r> {
    /// Before; `None` for inserted rows.
    pub before: Option<Row<'r>>,
    /// After; `None` for deleted rows.
    pub after: Option<Row<'r>>,
}

/// Iterates over the changes of [`Rows`]; ends after the first fault.
#[derive(Clone, Debug)]
pub struct RowChanges<'r> {
    rows: &'r Rows<'r>,
    table: &'r [crate::Column],
    rest: &'r [u8],
    ended: bool,
}

impl<'r> RowChanges<'r> {
    fn read(&mut self) -> Result<RowChange<'r>, Fault> {
        let mut bytes = Bytes::new(self.rest, "row");
        let rows = self.rows;
        let first = image::read(&mut bytes, self.table, &rows.first, None)?;
        let change = match (rows.change, &rows.second) {
            (Change::Insert, _) => RowChange { before: None, after: Some(first) },
            (Change::Update, Some(second)) => {
                let after = image::read(&mut bytes, self.table, second, None)?;
                RowChange { before: Some(first), after: Some(after) }
            }
            (Change::PartialUpdate, Some(second)) => {
                let partial = image::partial_columns(&mut bytes, self.table)?;
                let after = image::read(&mut bytes, self.table, second, partial)?;
                RowChange { before: Some(first), after: Some(after) }
            }
            _ => RowChange { before: Some(first), after: None },
        };
        // Images without columns have no bytes, so their number is unknown.
        self.ended = bytes.is_empty() || bytes.left() == self.rest.len();
        if self.ended && !bytes.is_empty() {
            return Err(bytes.malformed());
        }
        self.rest = bytes.rest();
        Ok(change)
    }
}

impl<'r> Iterator for RowChanges<'r> {
    type Item = Result<RowChange<'r>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let change = self.read();
        self.ended |= change.is_err();
        Some(change)
    }
}
