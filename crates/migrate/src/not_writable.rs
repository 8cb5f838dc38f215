//! Values of the binary log that cannot be written as a literal.

/// Why a value cannot be written into a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotWritable {
    /// The row image lacks the column: `binlog_row_image` is not FULL.
    #[error("the log does not have the whole row (binlog_row_image)")]
    Missing,
    /// The log has only the changed part of a JSON value.
    #[error("the log has only changes of a JSON value (binlog_row_value_options)")]
    PartialJson,
    /// A JSON value that text cannot express: a DECIMAL, a date, a time, or bytes.
    #[error("the JSON has a DECIMAL, a date, a time or bytes, which its text cannot hold")]
    JsonScalar,
    /// The column's type cannot be read from the log.
    #[error("values of this type cannot be read from the log")]
    Type,
}
