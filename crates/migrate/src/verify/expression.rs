//! What both servers compute to compare rows: 60 bits of SHA-256 of each row, and their sum.
//!
//! A sum of a hash, not XOR of CRC-32: CRC is affine, so two rows that exchanged a value would have the same checksum.

use crate::{Column, copy::table::MovedTable, key::Key, literal};

/// Counts the rows of a range and adds up their hashes.
pub(crate) fn of_range(table: &MovedTable, after: Option<&Key>, upto: Option<&Key>) -> String {
    let (hash, range) = (hash(table), table.key.range(after, upto));
    format!("SELECT COUNT(*), COALESCE(SUM({hash}), 0) FROM {} WHERE {range}", table.by_key)
}

/// Lists the identities of a range with the hashes of their rows.
pub(crate) fn of_rows(table: &MovedTable, after: Option<&Key>, upto: Option<&Key>) -> String {
    let (hash, range, key) = (hash(table), table.key.range(after, upto), table.key.list());
    format!("SELECT {key}, {hash} FROM {} WHERE {range}", table.by_key)
}

/// The hash of a row. The lengths at the end make NULL, empty texts and separators within values unambiguous.
fn hash(table: &MovedTable) -> String {
    let values: Vec<_> = table.stored().map(value).collect();
    let lengths: Vec<_> = table.stored().map(length).collect();
    let row = format!("CONCAT_WS('#', _binary'', {}, CONCAT_WS(',', {}))", values.join(", "), lengths.join(", "));
    format!("CAST(CONV(LEFT(SHA2({row}, 256), 15), 16, 10) AS UNSIGNED)")
}

/// The same bytes for the same value on every server.
fn value(column: &Column) -> String {
    let name = literal::name(&column.name);
    match column.data_type.as_str() {
        // The text of a number is cut by some servers; a point has its bits. Adding zero makes -0 zero.
        "float" | "double" => format!("CAST(POINT({name} + 0, 0) AS BINARY)"),
        "bit" | "enum" | "set" => format!("{name} + 0"),
        "json" => format!("CAST(CONVERT({name} USING utf8mb4) AS BINARY)"),
        kind if is_number_or_time(kind) => name,
        _ => format!("CAST({name} AS BINARY)"),
    }
}

fn length(column: &Column) -> String {
    let name = literal::name(&column.name);
    match column.data_type.as_str() {
        kind if is_number_or_time(kind) => format!("ISNULL({name})"),
        "float" | "double" | "bit" | "enum" | "set" => format!("ISNULL({name})"),
        _ => format!("IFNULL(LENGTH({}), 'N')", value(column)),
    }
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
