//! How the values of a column are ordered.

use super::{Column, Table};

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
    /// CHAR and VARCHAR with a collation that compares bytes.
    Text {
        /// Whether trailing spaces do not count (PAD SPACE).
        pads: bool,
    },
    /// CHAR and VARCHAR with a collation of which only servers know the order: by the sort keys that a server computes.
    SortKey {
        /// Whether trailing spaces do not count (PAD SPACE).
        pads: bool,
    },
}

/// Suffix of collations that compare code points.
const BINARY: &str = "_bin";
/// Suffix of collations with one level of comparison, if they do not have the other suffix: sort keys of several levels
/// cannot be padded.
const ONE_LEVEL: (&str, &str) = ("_ci", "_as_ci");
/// Part of the names of MySQL's collations that count trailing spaces; their sort keys have all levels.
const UCA_9: &str = "_0900_";
/// Part of the names of MariaDB's collations that count trailing spaces. Source of both: `PAD_ATTRIBUTE` in
/// `information_schema.COLLATIONS`, and MariaDB's documentation of collations.
const NO_PAD: &str = "_nopad_";
/// Character sets whose code points have the order of their bytes: those with one byte a character, and UTF-8.
const ORDERED_AS_BYTES: [&str; 27] = [
    "armscii8", "ascii", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866", "dec8", "geostd8", "greek",
    "hebrew", "hp8", "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7", "macce", "macroman", "swe7",
    "utf8", "utf8mb3", "utf8mb4",
];

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
            "char" | "varchar" => Self::of_text(column)?,
            _ => return None,
        })
    }

    fn of_text(column: &Column) -> Option<Self> {
        let collation = column.collation.as_deref()?;
        if !ORDERED_AS_BYTES.contains(&column.charset.as_deref()?) {
            return None;
        }
        // MariaDB pads a CHAR in comparisons all the same.
        if column.data_type == "char" && collation.contains(NO_PAD) {
            return None;
        }
        let pads = !collation.contains(UCA_9) && !collation.contains(NO_PAD);
        let (one_level, several) = ONE_LEVEL;
        let is_one_level = collation.ends_with(one_level) && !collation.ends_with(several);
        if collation.ends_with(BINARY) {
            Some(Self::Text { pads })
        } else {
            (collation.contains(UCA_9) || is_one_level).then_some(Self::SortKey { pads })
        }
    }
}

/// Whether servers of the two forks can order the identity of a table otherwise: texts that only servers can compare, and a
/// CHAR whose trailing spaces count, which MariaDB pads in its indexes all the same (seen on 10.11.19).
#[must_use]
pub(crate) fn is_ordered_by_servers(table: &Table) -> bool {
    let identity = table.identity.as_ref().filter(|identity| identity.comparable);
    let positions = identity.into_iter().flat_map(|identity| &identity.columns);
    let mut columns = positions.filter_map(|at| table.columns.get(*at));
    columns.any(|column| match Order::from_column(column) {
        Some(Order::SortKey { .. }) => true,
        Some(Order::Text { pads }) => !pads && column.data_type == "char",
        _ => false,
    })
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
