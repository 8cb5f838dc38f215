//! Looks for JSON values that cannot be sent as text: a DECIMAL, a date, a time and bytes, which only MySQL's binary form
//! has. Their text is read as a DOUBLE or a string.

use server::{Connection, Error, error_code, quote};

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
}

/// A column with JSON values that cannot be sent as text, or perhaps with some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonColumn {
    /// `schema.table`.
    pub table: String,
    /// Name of the column.
    pub column: String,
    /// What it has.
    pub scalars: JsonScalars,
}

/// Reads the JSON columns of the tables until the first such value of each.
///
/// # Errors
/// Those of [`Connection::query`], but that the time is over is none.
pub(super) fn read(connection: &mut Connection, tables: &[Table]) -> Result<Vec<JsonColumn>, Error> {
    let stored = |column: &&Column| column.data_type == "json" && !column.generated;
    let mut found = Vec::new();
    for table in tables {
        for column in table.columns.iter().filter(stored) {
            if let Some(scalars) = scalars(connection, table, &column.name)? {
                let (label, name) = (table.label(), column.name.clone());
                found.push(JsonColumn { table: label, column: name, scalars });
            }
        }
    }
    Ok(found)
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

/// The parts of a document, itself among them, that are of other types than text has.
fn parts(column: &str) -> String {
    format!(
        "JSON_TABLE(JSON_EXTRACT({column}, '$', '$**.*', '$**[*]'), '$[*]' COLUMNS (value JSON PATH '$')) AS part \
         WHERE JSON_TYPE(part.value) NOT IN ({TEXT_TYPES})"
    )
}
