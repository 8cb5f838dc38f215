//! A table that is moved, and the statements for it.

use server::{LOCAL_NAME, quote};

use crate::{
    Column, Error, Table,
    key::{Key, KeyColumns},
};

/// A table that is moved, with the texts that every part of a migration needs.
#[derive(Clone, Debug)]
pub(crate) struct MovedTable {
    /// Number of the table in the state, in the order of names.
    pub(crate) number: usize,
    /// `schema.table`, for messages.
    pub(crate) shown: String,
    /// The same name, quoted for statements.
    pub(crate) quoted: String,
    /// [`Self::quoted`], with a hint to read it by the index of the identity.
    pub(crate) by_key: String,
    /// Its definition.
    pub(crate) table: Table,
    /// Columns of its identity.
    pub(crate) key: KeyColumns,
    /// Where the columns of the identity are in the fields of [`Self::select`].
    pub(crate) key_fields: Vec<usize>,
}

impl MovedTable {
    /// # Errors
    /// [`Error::NoIdentity`], [`Error::OpaqueIdentity`].
    pub(crate) fn new(number: usize, table: &Table) -> Result<Self, Error> {
        let shown = format!("{}.{}", table.schema, table.name);
        let key = KeyColumns::from_table(table, &shown)?;
        let stored: Vec<_> = (0..table.columns.len())
            .filter(|at| table.columns.get(*at).is_some_and(|column| !column.generated))
            .collect();
        let field_of = |position| stored.iter().position(|at| *at == position);
        let key_fields = key.iter().map(|column| field_of(column.position)).collect::<Option<_>>();
        let index = || table.identity.as_ref().map_or_else(String::new, |identity| identity.index.clone());
        let opaque = || Error::OpaqueIdentity { table: shown.clone(), index: index() };
        let quoted = quote::table(&table.schema, &table.name);
        Ok(Self {
            number,
            by_key: format!("{quoted} FORCE INDEX ({})", quote::identifier(&index())),
            quoted,
            key_fields: key_fields.ok_or_else(opaque)?,
            key,
            table: table.clone(),
            shown,
        })
    }

    /// The columns that are stored, in order.
    pub(crate) fn stored(&self) -> impl Iterator<Item = &Column> {
        self.table.columns.iter().filter(|column| !column.generated)
    }

    /// The statement that reads the rows of a range in the order of their identities.
    pub(crate) fn select(&self, after: Option<&Key>, upto: Option<&Key>) -> String {
        let columns: Vec<_> = self.stored().map(read_expression).collect();
        let (range, key) = (self.key.range(after, upto), self.key.list());
        format!("SELECT {} FROM {} WHERE {range} ORDER BY {key}", columns.join(", "), self.by_key)
    }

    /// The statement that waits until no open transaction has changed the row with this identity. If the identity is
    /// not the primary key, the statement reads every column: a change of other columns has locked the row, but not its
    /// entry in that index.
    pub(crate) fn lock(&self, key: &Key) -> String {
        let is_primary = self.table.identity.as_ref().is_some_and(|identity| identity.index == "PRIMARY");
        let all = || self.stored().map(|column| quote::identifier(&column.name)).collect::<Vec<_>>().join(", ");
        let columns = if is_primary { "1".to_owned() } else { all() };
        format!("SELECT {columns} FROM {} WHERE {} LOCK IN SHARE MODE", self.by_key, self.key.equals(key))
    }

    /// The statement that finds the identity `rows` rows after `after`.
    pub(crate) fn boundary(&self, after: Option<&Key>, rows: u64) -> String {
        let (range, key) = (self.key.range(after, None), self.key.list());
        let skipped = rows.saturating_sub(1);
        format!("SELECT {key} FROM {} WHERE {range} ORDER BY {key} LIMIT {skipped}, 1", self.by_key)
    }

    /// The statement that loads rows with the fields of [`Self::select`]. `duplicates` is empty or `REPLACE `.
    pub(crate) fn load(&self, duplicates: &str) -> String {
        let mut fields = Vec::new();
        let mut assignments = Vec::new();
        for (number, column) in self.stored().enumerate() {
            let name = quote::identifier(&column.name);
            if column.data_type == "json" {
                fields.push(format!("@v{number}"));
                assignments.push(format!("{name} = CONVERT(@v{number} USING utf8mb4)"));
            } else {
                fields.push(name);
            }
        }
        let set = if assignments.is_empty() { String::new() } else { format!(" SET {}", assignments.join(", ")) };
        format!(
            "LOAD DATA LOCAL INFILE '{LOCAL_NAME}' {duplicates}INTO TABLE {} CHARACTER SET binary FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' ({}){set}",
            self.quoted,
            fields.join(", ")
        )
    }

    /// The statement that sets AUTO_INCREMENT.
    pub(crate) fn set_counter(&self, counter: impl std::fmt::Display) -> String {
        format!("ALTER TABLE {} AUTO_INCREMENT = {counter}", self.quoted)
    }

    /// The stored columns as a list for a statement.
    pub(crate) fn column_list(&self) -> String {
        self.stored().map(|column| quote::identifier(&column.name)).collect::<Vec<_>>().join(", ")
    }

    /// A text of what must not change during a migration: the columns with their types, and the identity.
    pub(crate) fn shape(&self) -> String {
        let columns = self.table.columns.iter().map(|column| {
            let charset = column.charset.as_deref().unwrap_or("");
            format!("{} {} {charset} {}", quote::identifier(&column.name), column.column_type, column.generated)
        });
        format!("{}; {}", columns.collect::<Vec<_>>().join(", "), self.key.list())
    }
}

/// The expression that reads a column as it is stored. Widens FLOAT to all its digits, because its own text has only
/// six.
fn read_expression(column: &Column) -> String {
    let name = quote::identifier(&column.name);
    if column.data_type == "float" { format!("{name} * 1E0") } else { name }
}
