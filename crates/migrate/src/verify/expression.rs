//! The expressions by which both servers compare rows: 60 bits of SHA-256 of each row, and their sum.
//!
//! A sum of hashes is used instead of XOR of CRC-32: CRC is affine, so if two rows exchanged a value, the checksum
//! would stay the same.
//!
//! MySQL returns NULL for a text longer than `max_allowed_packet`, and the empty text for such a JSON value, with at
//! most a warning. Long values are therefore hashed one by one, and a row with a value that could not be hashed has no
//! hash.

use server::quote;

use crate::{Column, fixed_binary, key::Key, moved_table::MovedTable};

/// Counts the rows of a range and adds up their hashes. A row without a hash adds a fraction, which marks the sum: to
/// count such rows in a second sum, the server would hash everything twice.
pub(super) fn of_range(table: &MovedTable, after: Option<&Key>, upto: Option<&Key>) -> String {
    let (hash, range) = (hash(table), table.key.range(after, upto));
    format!("SELECT COUNT(*), COALESCE(SUM(IFNULL({hash}, 0.000000001)), 0) FROM {} WHERE {range}", table.by_key)
}

/// Whether every row of the range had a hash, by a sum of [`of_range`].
#[must_use]
pub(super) fn is_of_all_rows(sum: &str) -> bool {
    sum.split_once('.').is_none_or(|(_, fraction)| fraction.bytes().all(|digit| digit == b'0'))
}

/// Lists the keys of a range, if the table has one, with the hashes of their rows; NULL for a row without a hash.
pub(super) fn of_rows(table: &MovedTable, after: Option<&Key>, upto: Option<&Key>) -> String {
    let (hash, range) = (hash(table), table.key.range(after, upto));
    let key = if table.has_key() { format!("{}, ", table.key.list()) } else { String::new() };
    format!("SELECT {key}{hash} FROM {} WHERE {range}", table.by_key)
}

/// As [`of_rows`], for the rows with these keys.
pub(super) fn of_keys<'k>(table: &MovedTable, keys: impl Iterator<Item = &'k Key>) -> String {
    let each: Vec<_> = keys.map(|key| format!("({})", table.key.equals(key))).collect();
    let (hash, list) = (hash(table), table.key.list());
    format!("SELECT {list}, {hash} FROM {} WHERE {}", table.by_key, each.join(" OR "))
}

/// The hash of a row. The lengths at the end make NULL, empty texts and separators within values unambiguous.
fn hash(table: &MovedTable) -> String {
    let values: Vec<_> = table.compared().map(present).collect();
    let lengths: Vec<_> = table.compared().map(length).collect();
    // CONCAT_WS would leave out a NULL.
    let row = format!("CONCAT(_binary'', {}, '#', {})", values.join(", '#', "), lengths.join(", ',', "));
    format!("CAST(CONV(LEFT(SHA2({row}, 256), 15), 16, 10) AS UNSIGNED)")
}

/// The value, or the empty text if the column is NULL. The expression is NULL only for a value that could not be
/// computed.
fn present(column: &Column) -> String {
    let value = value(column);
    if column.nullable { format!("IF(ISNULL({}), '', {value})", quote::identifier(&column.name)) } else { value }
}

/// An expression with the same bytes for the same value on every server.
fn value(column: &Column) -> String {
    let name = quote::identifier(&column.name);
    match column.data_type.as_str() {
        // Some servers shorten the text of such a number; a point contains its bits. Adding zero turns -0 into zero.
        "float" | "double" => format!("CAST(POINT({name} + 0, 0) AS BINARY)"),
        // A cast, because adding zero would turn a SET into a DOUBLE, which has only 53 bits.
        "bit" | "enum" | "set" => format!("CAST({name} AS UNSIGNED)"),
        // The text of a JSON value is never empty, so an empty text means that it was too long.
        "json" => format!("SHA2(NULLIF(CAST(CONVERT({name} USING utf8mb4) AS BINARY), ''), 256)"),
        kind if is_number_or_time(kind) => name,
        _ if fixed_binary::length(column).is_some() => format!("HEX({name})"),
        kind if is_short(kind) => format!("CAST({name} AS BINARY)"),
        _ => format!("SHA2({name}, 256)"),
    }
}

/// The length of a short text, which marks where it ends; for other types, whether the value is NULL. Other values are
/// numbers, times or hashes, whose end is clear without it.
fn length(column: &Column) -> String {
    let name = quote::identifier(&column.name);
    if is_short(&column.data_type) { format!("IFNULL(LENGTH({name}), 'N')") } else { format!("ISNULL({name})") }
}

/// Types whose values are short: they fit into a row of at most 65,535 bytes.
fn is_short(kind: &str) -> bool {
    matches!(kind, "char" | "varchar" | "binary" | "varbinary")
}

fn is_number_or_time(kind: &str) -> bool {
    matches!(
        kind,
        "tinyint"
            | "smallint"
            | "mediumint"
            | "int"
            | "bigint"
            | "decimal"
            | "year"
            | "date"
            | "time"
            | "datetime"
            | "timestamp"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Table, preflight::testing};

    #[test]
    fn generated_columns_are_compared_if_they_are_stored() {
        let generated = |name, persistent| Column { generated: true, persistent, ..testing::column(name) };
        let columns = vec![testing::column("id"), generated("kept", true), generated("shown", false)];
        let table = MovedTable::new(0, &Table { columns, ..testing::table("t") });
        let hash = hash(&table);
        assert!(hash.contains("`id`") && hash.contains("`kept`") && !hash.contains("`shown`"), "{hash}");
    }

    #[test]
    fn a_fraction_is_a_row_without_a_hash() {
        for (sum, whole) in [("0", true), ("12.000000000", true), ("12.000000001", false), ("0.000000010", false)] {
            assert_eq!(is_of_all_rows(sum), whole, "{sum}");
        }
    }
}
