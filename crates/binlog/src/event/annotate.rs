//! The statement that changed rows.

use crate::{Fault, bytes::Bytes};

/// Text of the statement whose rows follow, for people: `binlog_rows_query_log_events`, `binlog_annotate_row_events`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnnotateRows<'e> {
    /// The text, in the character set of the client.
    pub statement: &'e [u8],
}

impl<'e> AnnotateRows<'e> {
    /// MySQL writes a length of one byte first, which is wrong for long statements and not read.
    pub(crate) fn parse_rows_query(mut bytes: Bytes<'e>) -> Result<Self, Fault> {
        bytes.take(1)?;
        Ok(Self { statement: bytes.rest() })
    }
}
