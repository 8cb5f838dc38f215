//! The tables of a server, as both ends of a migration need them.

/// A base table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Schema.
    pub schema: String,
    /// Name.
    pub name: String,
    /// Storage engine, as the server spells it.
    pub engine: String,
    /// Columns in the order of the table, invisible and generated ones included.
    pub columns: Vec<Column>,
    /// What distinguishes its rows; `None` without a key that is unique and not NULL.
    pub identity: Option<Identity>,
    /// Whether it is encrypted, by what the server says of its tablespace.
    pub encrypted: bool,
    /// Estimated number of rows.
    pub rows: u64,
    /// Estimated size of data and indexes in bytes.
    pub bytes: u64,
    /// The server's `SHOW CREATE TABLE`.
    pub create: String,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Type with its attributes, as `COLUMN_TYPE` of `information_schema`: `int unsigned`.
    pub column_type: String,
    /// Type without attributes, as `DATA_TYPE`: `int`.
    pub data_type: String,
    /// Character set of text.
    pub charset: Option<String>,
    /// Collation of text.
    pub collation: Option<String>,
    /// Whether it can be NULL.
    pub nullable: bool,
    /// Whether the server computes it; it cannot be written then.
    pub generated: bool,
    /// Whether `SELECT *` leaves it out.
    pub invisible: bool,
}

/// The primary key, or else the first unique key whose columns cannot be NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Name of the index.
    pub index: String,
    /// Positions in [`Table::columns`], in the order of the index.
    pub columns: Vec<usize>,
    /// Whether rows can be compared by it outside of a server: in the order that the server's index has.
    pub comparable: bool,
}
