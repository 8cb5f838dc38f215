//! Looks for JSON values that text cannot express: DECIMAL, dates, times and bytes, which exist only in MySQL's binary
//! form. A server would read their text as a DOUBLE or a string.

use server::{Connection, Error, ServerVersion, dialect::capability::Capability, error_code, quote};

use crate::catalog::{Column, Table};

/// The types that JSON text can express, as `JSON_TYPE` names them. Text also loses whether an integer is unsigned, but
/// not its value.
const TEXT_TYPES: &str = "'NULL', 'OBJECT', 'ARRAY', 'BOOLEAN', 'INTEGER', 'UNSIGNED INTEGER', 'DOUBLE', 'STRING'";

/// What was found in a JSON column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonScalars {
    /// A value of this type, such as `DECIMAL`.
    Found(String),
    /// Unknown: the server did not read all rows in time.
    Unknown,
    /// Unknown: the server cannot list the values within a document.
    NotListed,
}

/// A column that has, or may have, JSON values that text cannot express.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonColumn {
    /// `schema.table`.
    pub table: String,
    /// Name of the column.
    pub column: String,
    /// What was found.
    pub scalars: JsonScalars,
}

/// Reads each JSON column of the tables until the first value that text cannot express.
///
/// # Errors
/// Those of [`Connection::query`], except that a timeout is not an error.
pub(super) fn read(
    connection: &mut Connection,
    version: &ServerVersion,
    tables: &[Table],
) -> Result<Vec<JsonColumn>, Error> {
    let lists = version.mysql_can(Capability::JsonTable);
    let mut found = Vec::new();
    for table in tables {
        for column in table.columns.iter().filter(|column| is_stored_json(column)) {
            let scalars = match lists {
                true => scalars(connection, table, &column.name)?,
                false => Some(JsonScalars::NotListed),
            };
            if let Some(scalars) = scalars {
                let (label, name) = (table.label(), column.name.clone());
                found.push(JsonColumn { table: label, column: name, scalars });
            }
        }
    }
    Ok(found)
}

/// Whether a column is a stored JSON column, whose values are sent as text.
pub(super) fn is_stored_json(column: &Column) -> bool {
    column.data_type == "json" && !column.generated
}

/// Whether a server reads some fractions in JSON text as the next larger or smaller number. MySQL 8.0 does (seen on
/// 8.0.33), 9.7 does not. Returns false for a server without JSON.
///
/// # Errors
/// Those of [`Connection::query`].
pub(super) fn rounds(connection: &mut Connection) -> Result<bool, Error> {
    const NUMBERS: &str = "[90.33333333333333, 90.66666666666667, 92.33333333333333, 93.33333333333333]";
    match connection.query(&format!("SELECT CAST(CAST(_utf8mb4'{NUMBERS}' AS JSON) AS CHAR)")) {
        Ok(rows) => Ok(rows.scalar() != Some(NUMBERS)),
        Err(Error::Server { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

fn scalars(connection: &mut Connection, table: &Table, column: &str) -> Result<Option<JsonScalars>, Error> {
    let sql = format!(
        "SELECT JSON_TYPE(part.value) FROM {} AS base, {} LIMIT 1",
        quote::table(&table.schema, &table.name),
        parts(&format!("base.{}", quote::identifier(column)))
    );
    match connection.query(&sql) {
        Ok(rows) => Ok(rows.scalar().map(|kind| JsonScalars::Found(kind.to_owned()))),
        Err(Error::Server { code, .. }) if error_code::STATEMENT_TIMED_OUT.contains(&code) => {
            Ok(Some(JsonScalars::Unknown))
        }
        Err(error) => Err(error),
    }
}

/// A `FROM` item and a condition for the parts of a document, itself included, whose types JSON text cannot express.
fn parts(column: &str) -> String {
    format!(
        "JSON_TABLE(JSON_EXTRACT({column}, '$', '$**.*', '$**[*]'), '$[*]' COLUMNS (value JSON PATH '$')) AS part \
         WHERE JSON_TYPE(part.value) NOT IN ({TEXT_TYPES})"
    )
}
