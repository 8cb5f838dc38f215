//! How the values of a column are ordered.

use super::Column;

/// How values of a column are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Integers, BIT among them.
    Integer,
    /// DECIMAL.
    Decimal,
    /// TIME, which can be negative.
    Time,
    /// DATE, DATETIME, TIMESTAMP: text of a fixed length.
    Moment,
    /// VARBINARY, and BINARY filled up with zero bytes to this length.
    Bytes {
        /// Length in bytes; 0 for VARBINARY.
        length: usize,
    },
    /// BIT, which servers send as bytes.
    Bits,
}

impl Order {
    /// The order of a column; `None` if only the server can compare its values, as for FLOAT and DOUBLE, whose texts
    /// are not exact. This alone decides whether a key is comparable.
    #[must_use]
    pub(crate) fn from_column(column: &Column) -> Option<Self> {
        Some(match column.data_type.as_str() {
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "year" => Self::Integer,
            "decimal" => Self::Decimal,
            "time" => Self::Time,
            "date" | "datetime" | "timestamp" => Self::Moment,
            "varbinary" => Self::Bytes { length: 0 },
            "binary" => Self::Bytes { length: length(&column.column_type).unwrap_or(1) },
            "bit" => Self::Bits,
            _ => return None,
        })
    }
}

/// The number in `binary(16)`.
fn length(column_type: &str) -> Option<usize> {
    column_type.split_once('(')?.1.split_once(')')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_the_number_in_brackets() {
        assert_eq!(length("binary(16)"), Some(16));
        assert_eq!(length("binary"), None);
    }
}
