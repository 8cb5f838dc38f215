//! Changes of a JSON value relative to an older one.

use super::document::Json;
use crate::{Fault, bytes::Bytes};

/// An operation at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonOperation {
    /// The value at the path is replaced.
    Replace,
    /// A value is inserted: a member of an object, or an element of an array before the one at the path.
    Insert,
    /// The value at the path is removed.
    Remove,
}

/// A change at one path of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonChange<'r> {
    /// What is done at the path.
    pub operation: JsonOperation,
    /// The path, such as `$.a[3]`.
    pub path: &'r [u8],
    /// The new value; `None` for a removal.
    pub value: Option<Json<'r>>,
}

/// Changes of a JSON value (`binlog_row_value_options=PARTIAL_JSON`), applied one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonChanges<'r> {
    stored: &'r [u8],
}

impl<'r> JsonChanges<'r> {
    /// Reads a length of four bytes, then the changes.
    pub(crate) fn read(bytes: &mut Bytes<'r>) -> Result<Self, Fault> {
        Ok(Self { stored: bytes.prefixed(4)? })
    }

    /// The changes in their order.
    pub fn iter(&self) -> impl Iterator<Item = Result<JsonChange<'r>, Fault>> {
        let mut bytes = Bytes::new(self.stored, "change of JSON");
        let mut failed = false;
        std::iter::from_fn(move || {
            if bytes.is_empty() || failed {
                return None;
            }
            let change = read(&mut bytes);
            failed = change.is_err();
            Some(change)
        })
    }
}

fn read<'r>(bytes: &mut Bytes<'r>) -> Result<JsonChange<'r>, Fault> {
    let operation = match bytes.u8()? {
        0 => JsonOperation::Replace,
        1 => JsonOperation::Insert,
        2 => JsonOperation::Remove,
        _ => return Err(bytes.malformed()),
    };
    let path = bytes.counted()?;
    let value = match operation {
        JsonOperation::Remove => None,
        _ => Some(Json::new(bytes.counted()?)),
    };
    Ok(JsonChange { operation, path, value })
}

impl JsonChange<'_> {
    /// Text of the new value.
    ///
    /// # Errors
    /// [`Fault`] if it is damaged.
    pub fn text(&self) -> Result<Option<Vec<u8>>, Fault> {
        self.value.map(|value| value.text()).transpose()
    }
}
