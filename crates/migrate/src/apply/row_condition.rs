//! The condition by which the target finds a row of a table that was copied whole: every column has the value of the log. Zeros
//! of both signs are one value. Of long values the lengths and the hashes are compared: the length of a statement is limited.

use aws_lc_rs::digest::{SHA256, digest};
use binlog::{Value, value::WholeDoubles};
use data_encoding::HEXLOWER;
use server::quote;

use crate::{Column, NotWritable, fixed_binary, literal, moved_table::MovedTable, value};

/// Length in bytes above which a text or binary value is compared by its hash.
const LONG: usize = 4096;

/// A condition for the rows with these values. Columns of the table's key come first, in a form by which the server finds
/// the key in its index.
///
/// # Errors
/// The column, and why it cannot be written.
pub(crate) fn row_condition(
    table: &MovedTable,
    row: &[Option<Value<'_>>],
    doubles: WholeDoubles,
) -> Result<Vec<u8>, (String, NotWritable)> {
    let mut condition = Vec::new();
    let mut add = |part: &[u8]| {
        if !condition.is_empty() {
            condition.extend_from_slice(b" AND ");
        }
        condition.extend_from_slice(part);
    };
    let identity = table.table.identity.iter().flat_map(|identity| &identity.columns);
    for position in identity {
        if let (Some(column), Some(Some(value))) = (table.table.columns.get(*position), row.get(*position))
            && let Some(part) = by_index(column, value)
        {
            add(part.as_bytes());
        }
    }
    let columns = table.table.columns.iter().zip(row).filter(|(column, _)| !column.generated);
    for (column, value) in columns {
        let part = equals(table, column, value.as_ref(), doubles).map_err(|why| (column.name.clone(), why))?;
        add(&part);
    }
    Ok(condition)
}

/// A condition that the rows fulfil among others, but that the server can look up.
fn by_index(column: &Column, value: &Value<'_>) -> Option<String> {
    let name = quote::identifier(&column.name);
    match value {
        Value::Enum(number) => Some(format!("{name} = {number}")),
        Value::Bit { value, .. } => Some(format!("{name} = {value}")),
        // For types of fixed length, the condition for the value is such a one.
        Value::String(bytes) if column.data_type != "binary" && fixed_binary::length(column).is_none() => {
            // A literal of another character set would be compared without the index.
            let charset = column.charset.as_ref().map_or_else(String::new, |charset| format!("_{charset} "));
            Some(format!("{name} = {charset}{}", literal::hexadecimal(bytes)))
        }
        _ => None,
    }
}

fn equals(
    table: &MovedTable,
    column: &Column,
    value: Option<&Value<'_>>,
    doubles: WholeDoubles,
) -> Result<Vec<u8>, NotWritable> {
    let name = quote::identifier(&column.name);
    if matches!(value, Some(Value::Null)) {
        return Ok(format!("{name} IS NULL").into_bytes());
    }
    if let Some(Value::String(bytes) | Value::Blob(bytes) | Value::Geometry(bytes) | Value::Vector(bytes)) = value
        && bytes.len() > LONG
    {
        return Ok(has_hash(&name, bytes).into_bytes());
    }
    let mut literal = Vec::new();
    value::write(&mut literal, value, column, doubles)?;
    let around = |before: &str, after: &str| [before.as_bytes(), &literal, after.as_bytes()].concat();
    Ok(match (column.data_type.as_str(), value) {
        // Compared as numbers, because the text of an ENUM need not name one value.
        ("bit" | "enum" | "set" | "year", _) => around(&format!("CAST({name} AS UNSIGNED) = "), ""),
        ("json", Some(Value::Json(_))) if table.json_is_text => {
            around(&format!("CAST({name} AS BINARY) = CAST("), " AS BINARY)")
        }
        ("json", Some(Value::Json(_))) => around(
            &format!("CAST(CONVERT({name} USING utf8mb4) AS BINARY) = CAST(CONVERT(CAST("),
            " AS JSON) USING utf8mb4) AS BINARY)",
        ),
        // The log omits trailing zero bytes.
        ("binary", _) => around(&format!("{name} = CAST("), &format!(" AS {})", column.column_type)),
        ("uuid" | "inet4" | "inet6", _) => around(&format!("{name} = "), ""),
        (_, Some(Value::String(_) | Value::Blob(_) | Value::Geometry(_) | Value::Vector(_))) => {
            around(&format!("CAST({name} AS BINARY) = "), "")
        }
        _ => around(&format!("{name} = "), ""),
    })
}

/// A condition for a value with these bytes, of which most others are told by their length.
fn has_hash(name: &str, bytes: &[u8]) -> String {
    let (value, hash) = (format!("CAST({name} AS BINARY)"), HEXLOWER.encode(digest(&SHA256, bytes).as_ref()));
    format!("LENGTH({value}) = {} AND SHA2({value}, 256) = '{hash}'", bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Table, preflight::testing};

    #[test]
    fn a_long_value_is_compared_by_its_hash() {
        let column = |name| Column { data_type: "longblob".to_owned(), ..testing::column(name) };
        let mut table = Table { columns: vec![column("short"), column("long")], ..testing::table("t") };
        table.identity = None;
        let long = vec![b'\''; LONG + 1];
        let row = [Some(Value::Blob(b"a")), Some(Value::Blob(&long))];
        let condition = row_condition(&MovedTable::new(0, &table), &row, WholeDoubles::AsIntegers).unwrap();
        let condition = String::from_utf8(condition).unwrap();
        let expected = "CAST(`short` AS BINARY) = 'a' AND LENGTH(CAST(`long` AS BINARY)) = 4097 AND SHA2(CAST(`long` AS BINARY), 256) = '";
        assert!(condition.starts_with(expected) && condition.len() == expected.len() + 65, "{condition}");
    }

    #[test]
    fn every_column_is_compared_by_its_bits() {
        let column = |name: &str, data_type: &str, column_type: &str, charset: Option<&str>| Column {
            data_type: data_type.to_owned(),
            column_type: column_type.to_owned(),
            charset: charset.map(str::to_owned),
            ..testing::column(name)
        };
        let columns = vec![
            column("n", "int", "int", None),
            column("e", "enum", "enum('a','b')", Some("latin1")),
            column("b", "binary", "binary(4)", None),
            column("t", "varchar", "varchar(9)", Some("sjis")),
        ];
        let mut table = Table { columns, ..testing::table("t") };
        let identity = table.identity.as_mut().unwrap();
        (identity.columns, identity.comparable) = (vec![1], false);
        let table = MovedTable::new(0, &table);
        assert!(!table.has_key());
        let row = [Some(Value::Null), Some(Value::Enum(2)), Some(Value::String(b"a")), Some(Value::String(b"x'"))];
        let condition = row_condition(&table, &row, WholeDoubles::AsIntegers).unwrap();
        assert_eq!(
            String::from_utf8(condition).unwrap(),
            "`e` = 2 AND `n` IS NULL AND CAST(`e` AS UNSIGNED) = 2 AND `b` = CAST('a' AS binary(4)) \
             AND CAST(`t` AS BINARY) = 'x\\''"
        );
        let uuid = Table { columns: vec![column("u", "uuid", "uuid", None)], ..testing::table("t") };
        let condition =
            row_condition(&MovedTable::new(0, &uuid), &[Some(Value::String(&[1]))], WholeDoubles::AsIntegers);
        assert_eq!(condition.unwrap(), format!("`u` = x'01{}'", "0".repeat(30)).into_bytes());
        let missing = row_condition(&table, &[None, None, None, None], WholeDoubles::AsIntegers);
        assert_eq!(missing.unwrap_err(), ("n".to_owned(), NotWritable::Missing));
    }
}
