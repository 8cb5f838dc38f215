//! Looks for JSON values that cannot be sent as text: a DECIMAL, a date, a time and bytes, which only MySQL's binary
//! form has. Their text is read as a DOUBLE or a string.

use server::{Connection, Error, ServerVersion, dialect::capability::Capability, error_code, quote};

use crate::catalog::{Column, Table};

/// Names of the types that text has, by `JSON_TYPE`. That a number has no sign is lost too, but not its value.
const TEXT_TYPES: &str = "'NULL', 'OBJECT', 'ARRAY', 'BOOLEAN', 'INTEGER', 'UNSIGNED INTEGER', 'DOUBLE', 'STRING'";

/// What a JSON column has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonScalars {
    /// A value of this type: `DECIMAL`.
    Found(String),
    /// Not known: the server did not read all rows in time.
    Unknown,
    /// Not known: the server cannot list the values within a document.
    NotListed,
}

/// A column with JSON values that cannot be sent as text, or perhaps with some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonColumn {
    /// `schema.table`.
    pub table: String,
    /// Name of the column.
    pub column: String,
    /// Its values that text cannot hold.
    pub scalars: JsonScalars,
}

/// Reads the JSON columns of the tables until the first such value of each.
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

/// Whether a column has JSON that is sent as text.
pub(super) fn is_stored_json(column: &Column) -> bool {
    column.data_type == "json" && !column.generated
}

/// Whether a server reads some fractions in text as the next larger or smaller number: MySQL 8.0 does (seen on 8.0.33),
/// 9.7 does not. A server without JSON has nothing to round.
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

/// The parts of a document, or the whole, whose types JSON text does not have.
fn parts(column: &str) -> String {
    format!(
        "JSON_TABLE(JSON_EXTRACT({column}, '$', '$**.*', '$**[*]'), '$[*]' COLUMNS (value JSON PATH '$')) AS part \
         WHERE JSON_TYPE(part.value) NOT IN ({TEXT_TYPES})"
    )
}
