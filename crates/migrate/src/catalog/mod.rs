//! The tables of a server, with everything that a migration needs to know about them.
//!
//! - [`read()`] asks a server for everything;
//! - [`create()`] creates the same tables on another server, and compares both catalogues.

mod cascades;
mod compare;
mod counterparts;
mod create;
mod filter;
mod identity;
mod options;
mod order;
mod read;
mod structure;
mod tablespaces;

pub use self::{
    compare::differences,
    create::{Encrypt, create},
    filter::Filter,
    options::placement,
    read::read,
    structure::Structure,
};
pub(crate) use {
    cascades::{Cascade, cascades, groups, reaching},
    counterparts::{collation_at, inexact, is_exact},
    create::{RESTRICTED, less_encrypted},
    order::{Order, is_ordered_by_servers},
    read::{base_table_names, collations},
    structure::{EMPTY_DEFAULT, current_name},
};

/// Schema and name of a table.
pub type TableName = (String, String);

/// The structure of those user schemas that a filter selects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalog {
    /// Whether the server is a MariaDB.
    pub is_mariadb: bool,
    /// Collation of `utf8mb4` columns whose definitions name no collation.
    pub utf8mb4_collation: String,
    /// Schemas, by name.
    pub schemas: Vec<Schema>,
    /// Base tables, by schema and name.
    pub tables: Vec<Table>,
    /// Foreign keys of these tables.
    pub foreign_keys: Vec<ForeignKey>,
    /// Views, triggers, routines and events of these schemas.
    pub code: Vec<Code>,
    /// Objects that are neither base tables nor views, such as sequences: type and name.
    pub others: Vec<(String, TableName)>,
    /// Every attribute of each table, to compare it with another server's.
    pub structure: std::collections::BTreeMap<TableName, Structure>,
}

/// A schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// Name of the schema.
    pub name: String,
    /// Default character set of new tables.
    pub charset: String,
    /// Default collation of new tables.
    pub collation: String,
    /// Whether new tables are encrypted by default; `None` if schemas of this server have no such default.
    pub encrypted: Option<bool>,
}

/// A foreign key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// Name of the constraint.
    pub name: String,
    /// The referencing table.
    pub table: TableName,
    /// The referencing columns, in the order of the key.
    pub columns: Vec<String>,
    /// The referenced table.
    pub parent: TableName,
    /// The referenced columns, in the same order.
    pub parent_columns: Vec<String>,
    /// What an update of the parent does: `NO ACTION`, `RESTRICT`, `CASCADE`, `SET NULL`, `SET DEFAULT`.
    pub on_update: String,
    /// What a deletion of the parent does; the same words.
    pub on_delete: String,
}

impl ForeignKey {
    /// Whether a change of the parent changes rows of this table.
    #[must_use]
    pub fn cascades(&self) -> bool {
        self.cascades_updates() || is_cascade(&self.on_delete)
    }

    /// Whether a change of the parent updates rows of this table.
    #[must_use]
    pub fn updates_rows(&self) -> bool {
        self.cascades_updates() || self.on_delete.starts_with("SET ")
    }

    /// Whether an update of the parent changes rows of this table.
    #[must_use]
    pub fn cascades_updates(&self) -> bool {
        is_cascade(&self.on_update)
    }
}

fn is_cascade(rule: &str) -> bool {
    !matches!(rule, "NO ACTION" | "RESTRICT")
}

/// A view, trigger, procedure, function or event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// `view`, `trigger`, `procedure`, `function` or `event`.
    pub kind: String,
    /// Schema that contains it.
    pub schema: String,
    /// Name within the schema.
    pub name: String,
    /// The table that a trigger belongs to; `None` for other code.
    pub table: Option<String>,
    /// The account with whose privileges it runs: `user@host`.
    pub definer: String,
}

/// A base table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Schema that contains the table.
    pub schema: String,
    /// Name within the schema.
    pub name: String,
    /// Storage engine, as the server spells it.
    pub engine: String,
    /// Columns in the order of the table, invisible and generated ones included.
    pub columns: Vec<Column>,
    /// The key that distinguishes its rows; `None` if no unique key is NOT NULL.
    pub identity: Option<Identity>,
    /// Whether it is encrypted, according to the server's list of tablespaces.
    pub encrypted: bool,
    /// Number of rows, as the server estimates it.
    pub rows: u64,
    /// Estimated size of data and indexes in bytes.
    pub bytes: u64,
    /// The server's `SHOW CREATE TABLE`.
    pub create: String,
}

impl Table {
    /// Schema and name.
    #[must_use]
    pub fn full_name(&self) -> TableName {
        (self.schema.clone(), self.name.clone())
    }

    /// `schema.table`, as messages show it.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }

    /// Whether InnoDB stores it.
    #[must_use]
    pub fn is_innodb(&self) -> bool {
        self.engine.eq_ignore_ascii_case("InnoDB")
    }
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name of the column.
    pub name: String,
    /// Type with its attributes, as `COLUMN_TYPE` of `information_schema`: `int unsigned`.
    pub column_type: String,
    /// Type without attributes, as `DATA_TYPE`: `int`.
    pub data_type: String,
    /// Character set of a text column; `None` for other types.
    pub charset: Option<String>,
    /// Collation of a text column; `None` for other types.
    pub collation: Option<String>,
    /// Whether it can be NULL.
    pub nullable: bool,
    /// Whether the server computes it, so that it cannot be written.
    pub generated: bool,
    /// Whether its values are stored. Those of a generated column can be computed whenever they are read.
    pub persistent: bool,
    /// Whether `SELECT *` omits it.
    pub invisible: bool,
}

/// The primary key, or else the first unique key whose columns cannot be NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Name of the index.
    pub index: String,
    /// Positions in [`Table::columns`], in the order of the index.
    pub columns: Vec<usize>,
    /// Whether this program can sort keys exactly as the server's index does.
    pub comparable: bool,
}
