//! Reads the catalogue of a server: a few queries for all tables, and one statement for each.

use std::collections::{BTreeMap, BTreeSet};

use server::{
    Connection, Error, Flavor, Rows, ServerVersion, describe,
    dialect::catalog::{self, TABLE_NAMES, UTF8MB4_COLLATION, show_create_table},
    error_code, quote,
};

use super::{
    Catalog, Code, Column, Filter, ForeignKey, Schema, Table, TableName,
    identity::{IndexPart, identity},
    options::{option, options, tokens},
    structure::Collector,
    tablespaces::TablespaceEncryption,
};

/// Values of `type` that are base tables.
const BASE_TABLES: [&str; 2] = ["BASE TABLE", "SYSTEM VERSIONED"];

/// Reads the catalogue of the schemas and tables that the filter selects. Needs SELECT on the tables, PROCESS for the
/// tablespaces, and SHOW VIEW, TRIGGER and EVENT for the code. The result omits what the account may not see.
///
/// # Errors
/// Those of [`Connection::query`].
pub fn read(connection: &mut Connection, filter: &Filter) -> Result<Catalog, Error> {
    let version = describe(connection)?.version;
    let queries = catalog::catalog(&version);
    for statement in queries.session {
        match connection.query(statement) {
            // Older servers do not have these variables.
            Ok(_) | Err(Error::Server { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let mut rows = |sql: &str| connection.query(sql);
    let (schemas, tables, columns) = (rows(queries.schemas)?, rows(queries.tables)?, rows(queries.columns)?);
    let (indexes, key_columns) = (rows(queries.indexes)?, rows(queries.foreign_key_columns)?);
    let (key_rules, code) = (rows(queries.foreign_key_rules)?, rows(queries.code)?);
    let utf8mb4_collation = rows(UTF8MB4_COLLATION)?.scalar().unwrap_or_default().to_owned();

    let mut structure = Collector::new(version.flavor);
    structure.add("table", None, &tables);
    structure.add("column", Some("column"), &columns);
    structure.add("index", Some("index"), &indexes);
    structure.add("foreign key", Some("constraint"), &key_columns);
    structure.add("rules of foreign key", Some("constraint"), &key_rules);
    let mut found = Catalog {
        is_mariadb: version.flavor == Flavor::MariaDb,
        utf8mb4_collation,
        schemas: schemas_of(&schemas, filter),
        foreign_keys: foreign_keys(&key_columns, &key_rules, filter),
        code: code_of(&code, filter),
        others: others(&tables, filter),
        ..Catalog::default()
    };
    found.tables = base_tables(connection, &version, &tables, &columns, &indexes, filter)?;
    let names: BTreeSet<_> = found.tables.iter().map(Table::full_name).collect();
    // Another table can be made or dropped between the queries.
    found.foreign_keys.retain(|key| names.contains(&key.table));
    found.structure = names.iter().filter_map(|name| structure.tables.remove_entry(name)).collect();
    Ok(found)
}

/// The names of the base tables that the filter selects.
///
/// # Errors
/// Those of [`Connection::query`].
pub(crate) fn base_table_names(connection: &mut Connection, filter: &Filter) -> Result<BTreeSet<TableName>, Error> {
    let rows = connection.query(&table_names(filter))?;
    let selected = Record::all(&rows).filter(|record| is_selected(record, filter));
    Ok(selected.map(|record| record.table()).collect())
}

/// The names of the collations that a server has.
///
/// # Errors
/// Those of [`Connection::query`].
pub(crate) fn collations(connection: &mut Connection, flavor: Flavor) -> Result<BTreeSet<String>, Error> {
    let rows = connection.query(catalog::collations(flavor))?;
    Ok(rows.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
}

/// Selects the names of at least the tables that the filter selects.
fn table_names(filter: &Filter) -> String {
    let Some(schemas) = filter.named_schemas() else { return TABLE_NAMES.to_owned() };
    let schemas: Vec<_> = schemas.into_iter().map(quote::text_in_any_mode).collect();
    format!("{TABLE_NAMES} AND TABLE_SCHEMA IN ({})", schemas.join(", "))
}

/// The statement that creates a table; `None` if the table was dropped since it was listed.
fn create_statement(connection: &mut Connection, name: &TableName, filter: &Filter) -> Result<Option<String>, Error> {
    let (schema, table) = name;
    match connection.query(&show_create_table(schema, table)) {
        Ok(rows) => Ok(Some(rows.rows.first().and_then(|row| row.get(1).cloned().flatten()).unwrap_or_default())),
        Err(error @ Error::Server { code: error_code::NO_SUCH_TABLE | error_code::UNKNOWN_DATABASE, .. }) => {
            if base_table_names(connection, filter)?.contains(name) {
                Err(error)
            } else {
                Ok(None)
            }
        }
        Err(error) => Err(error),
    }
}

/// Whether a row of a list of tables is a base table that the filter selects.
fn is_selected(record: &Record<'_>, filter: &Filter) -> bool {
    BASE_TABLES.contains(&record.text("type").as_str()) && filter.table(&record.text("schema"), &record.text("table"))
}

/// The rows of a result as texts by column; NULL is the empty text.
struct Record<'r> {
    rows: &'r Rows,
    row: usize,
}

impl<'r> Record<'r> {
    fn all(rows: &'r Rows) -> impl Iterator<Item = Self> {
        (0..rows.rows.len()).map(move |row| Self { rows, row })
    }

    fn optional(&self, column: &str) -> Option<String> {
        self.rows.value(self.row, column).map(str::to_owned)
    }

    fn text(&self, column: &str) -> String {
        self.optional(column).unwrap_or_default()
    }

    fn number(&self, column: &str) -> u64 {
        self.rows.value(self.row, column).and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    fn table(&self) -> TableName {
        (self.text("schema"), self.text("table"))
    }
}

fn base_tables(
    connection: &mut Connection,
    version: &ServerVersion,
    tables: &Rows,
    columns: &Rows,
    indexes: &Rows,
    filter: &Filter,
) -> Result<Vec<Table>, Error> {
    let spaces = TablespaceEncryption::read(connection, version)?;
    let mut columns = by_table(columns, column);
    let mut parts = by_table(indexes, index_part);
    let mut found = Vec::new();
    for record in Record::all(tables).filter(|record| is_selected(record, filter)) {
        let name = record.table();
        let Some(create) = create_statement(connection, &name, filter)? else { continue };
        let columns = columns.remove(&name).unwrap_or_default();
        let identity = identity(&columns, &parts.remove(&name).unwrap_or_default());
        found.push(Table {
            encrypted: spaces.is_encrypted(&name.0, &name.1, tablespace(&create).as_deref()),
            schema: name.0,
            name: name.1,
            engine: record.text("engine"),
            columns,
            identity,
            rows: record.number("rows"),
            bytes: record.number("bytes"),
            create,
        });
    }
    found.sort_by_key(Table::full_name);
    Ok(found)
}

/// The tablespace that the table's options name.
fn tablespace(create: &str) -> Option<String> {
    Some(option(options(&tokens(create)?), "TABLESPACE")?.unquoted())
}

fn by_table<T>(rows: &Rows, item: impl Fn(&Record<'_>) -> T) -> BTreeMap<TableName, Vec<T>> {
    let mut found = BTreeMap::<TableName, Vec<T>>::new();
    for record in Record::all(rows) {
        found.entry(record.table()).or_default().push(item(&record));
    }
    found
}

fn column(record: &Record<'_>) -> Column {
    let extra = record.text("extra").to_ascii_uppercase();
    let generated = !record.text("expression").is_empty();
    Column {
        name: record.text("column"),
        column_type: record.text("column_type"),
        data_type: record.text("data_type"),
        charset: record.optional("charset"),
        collation: record.optional("collation"),
        nullable: record.text("nullable") == "YES",
        generated,
        persistent: !(generated && extra.contains("VIRTUAL")),
        invisible: extra.contains("INVISIBLE"),
    }
}

fn index_part(record: &Record<'_>) -> IndexPart {
    IndexPart {
        index: record.text("index"),
        unique: record.text("non_unique") == "0",
        column: record.optional("column"),
        prefix: record.optional("prefix").is_some(),
        ordered: record.text("type") == "BTREE",
    }
}

fn schemas_of(rows: &Rows, filter: &Filter) -> Vec<Schema> {
    let schema = |record: Record<'_>| Schema {
        name: record.text("schema"),
        charset: record.text("charset"),
        collation: record.text("collation"),
        encrypted: record.optional("encryption").map(|value| value == "YES"),
    };
    let mut found: Vec<Schema> = Record::all(rows).map(schema).filter(|schema| filter.schema(&schema.name)).collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

fn foreign_keys(columns: &Rows, rules: &Rows, filter: &Filter) -> Vec<ForeignKey> {
    let mut found = BTreeMap::<(TableName, String), ForeignKey>::new();
    for record in Record::all(rules).filter(|record| filter.table(&record.text("schema"), &record.text("table"))) {
        let (table, name) = (record.table(), record.text("constraint"));
        let key = ForeignKey {
            name: name.clone(),
            table: table.clone(),
            columns: Vec::new(),
            parent: TableName::default(),
            parent_columns: Vec::new(),
            on_update: record.text("on_update"),
            on_delete: record.text("on_delete"),
        };
        found.insert((table, name), key);
    }
    for record in Record::all(columns) {
        let Some(key) = found.get_mut(&(record.table(), record.text("constraint"))) else { continue };
        key.columns.push(record.text("column"));
        key.parent = (record.text("parent_schema"), record.text("parent_table"));
        key.parent_columns.push(record.text("parent_column"));
    }
    found.into_values().collect()
}

fn code_of(rows: &Rows, filter: &Filter) -> Vec<Code> {
    let code = |record: Record<'_>| Code {
        kind: record.text("kind"),
        schema: record.text("schema"),
        name: record.text("name"),
        table: record.optional("table"),
        definer: record.text("definer"),
    };
    let mut found: Vec<Code> = Record::all(rows).map(code).filter(|code| filter.schema(&code.schema)).collect();
    found.sort_by(|one, other| (&one.schema, &one.kind, &one.name).cmp(&(&other.schema, &other.kind, &other.name)));
    found
}

fn others(rows: &Rows, filter: &Filter) -> Vec<(String, TableName)> {
    let known = |kind: &str| BASE_TABLES.contains(&kind) || kind.ends_with("VIEW");
    Record::all(rows)
        .map(|record| (record.text("type"), record.table()))
        .filter(|(kind, (schema, table))| !known(kind) && filter.table(schema, table))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_schemas_that_are_named_are_listed() {
        let schemas = vec!["shop".to_owned(), "it's".to_owned()];
        let sql = table_names(&Filter { schemas, ..Filter::default() });
        assert!(sql.ends_with(" AND TABLE_SCHEMA IN (CONVERT(0x69742773 USING utf8mb4), 'shop')"), "{sql}");
        assert_eq!(table_names(&Filter::default()), TABLE_NAMES);
    }
}
