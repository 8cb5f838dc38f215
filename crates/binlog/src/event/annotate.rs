//! The statement that changed rows.

use crate::{Fault, bytes::Bytes};

/// Human-readable text of the statement whose rows follow: `binlog_rows_query_log_events`,
/// `binlog_annotate_row_events`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnnotateRows<'e> {
    /// The text, in the character set of the client.
    pub statement: &'e [u8],
}

impl<'e> AnnotateRows<'e> {
    /// Skips the length in the first byte, which is wrong for long statements.
    pub(crate) fn parse_rows_query(mut bytes: Bytes<'e>) -> Result<Self, Fault> {
        bytes.take(1)?;
        Ok(Self { statement: bytes.rest() })
    }
}
