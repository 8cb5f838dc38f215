//! A table that is moved, and the statements for it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use binlog::event::RowChange;
use server::{LOCAL_NAME, quote};

use crate::{
    Column, Error, Table,
    catalog::{Cascade, Catalog, Structure, TableName, cascades},
    copy_method::{CopyMethod, cascade_groups},
    fixed_binary,
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
    /// [`Self::quoted`], with a hint to read it by the index of [`Self::key`].
    pub(crate) by_key: String,
    /// Its definition.
    pub(crate) table: Table,
    /// Columns of its identity; none if this program cannot compare it.
    pub(crate) key: KeyColumns,
    /// Where the columns of the identity are in the fields of [`Self::select`].
    pub(crate) key_fields: Vec<usize>,
    /// Whether it has unique keys beside [`Self::key`].
    pub(crate) has_more_unique_keys: bool,
    /// Where its columns of the type ENUM are in these fields.
    enum_fields: Vec<usize>,
    /// Numbers of the tables that are copied from one snapshot, itself among them, in order; empty if it is copied in
    /// chunks.
    pub(crate) group: Vec<usize>,
    /// What its changes change in other tables, whether the source logs that or not.
    pub(crate) cascade: Option<RowCascade>,
    /// Whether the target keeps JSON of MySQL as a text, as MariaDB does.
    pub(crate) json_is_text: bool,
}

/// What changes of a table change in other tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowCascade {
    /// Positions of the columns that foreign keys reference.
    pub(crate) columns: Vec<usize>,
    /// Numbers of the tables whose rows can change.
    pub(crate) changed: Vec<usize>,
}

impl RowCascade {
    /// Whether a change of a row changes other tables: a deletion, or an update of a column that is referenced.
    pub(crate) fn is_caused_by(&self, change: &RowChange<'_>) -> bool {
        match (&change.before, &change.after) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(before), Some(after)) => self.columns.iter().any(|at| before.get(*at) != after.get(*at)),
        }
    }
}

/// The tables in the order of their names. The state numbers them in this order. `logs_cascades` says whether the source
/// logs the rows that foreign keys change.
///
/// # Errors
/// [`Error::NoTables`].
pub(crate) fn moved_tables(catalog: &Catalog, logs_cascades: bool) -> Result<Vec<MovedTable>, Error> {
    let mut sorted: Vec<_> = catalog.tables.iter().collect();
    sorted.sort_by_key(|table| (&table.schema, &table.name));
    if sorted.is_empty() {
        return Err(Error::NoTables);
    }
    let mut tables: Vec<_> =
        sorted.into_iter().enumerate().map(|(number, table)| MovedTable::new(number, table)).collect();
    let numbers: Numbers = tables.iter().map(|moved| (moved.table.full_name(), moved.number)).collect();
    set_cascades(&mut tables, &numbers, catalog);
    for moved in &mut tables {
        let structure = catalog.structure.get(&moved.table.full_name());
        moved.has_more_unique_keys = structure.is_some_and(|it| has_more_unique_keys(it, &moved.table));
    }
    let groups = cascade_groups(catalog, logs_cascades);
    for moved in tables.iter_mut().filter(|moved| CopyMethod::of(&moved.table, &groups) == CopyMethod::Whole) {
        let group = groups.iter().find(|group| group.contains(&moved.table.full_name()));
        moved.group = group.map_or_else(|| vec![moved.number], |group| numbers_of(group, &numbers));
    }
    Ok(tables)
}

/// Whether a table has a unique key that is not its identity.
fn has_more_unique_keys(structure: &Structure, table: &Table) -> bool {
    let identity = table.identity.as_ref().map(|identity| identity.index.as_str());
    let is_other = |attributes: &BTreeMap<String, String>| {
        attributes.get("non_unique").is_some_and(|value| value == "0")
            && attributes.get("index").map(String::as_str) != identity
    };
    structure.objects.values().any(is_other)
}

/// The numbers of tables, by their names.
type Numbers = HashMap<TableName, usize>;

fn numbers_of(names: &BTreeSet<TableName>, numbers: &Numbers) -> Vec<usize> {
    let mut found: Vec<_> = names.iter().filter_map(|name| numbers.get(name).copied()).collect();
    found.sort_unstable();
    found
}

/// Sets what changes of each table change in others.
fn set_cascades(tables: &mut [MovedTable], numbers: &Numbers, catalog: &Catalog) {
    for (name, Cascade { columns, changed }) in cascades(catalog) {
        let Some(table) = numbers.get(&name).and_then(|number| tables.get_mut(*number)) else { continue };
        let is_one = |column: &Column| columns.contains(&column.name.to_lowercase());
        let positions = table.table.columns.iter().enumerate().filter(|(_, column)| is_one(column));
        let columns = positions.map(|(position, _)| position).collect();
        table.cascade = Some(RowCascade { columns, changed: numbers_of(&changed, numbers) });
    }
}

impl MovedTable {
    pub(crate) fn new(number: usize, table: &Table) -> Self {
        let key = KeyColumns::from_table(table);
        let stored: Vec<_> = (0..table.columns.len())
            .filter(|at| table.columns.get(*at).is_some_and(|column| !column.generated))
            .collect();
        let field_of = |position| stored.iter().position(|at| *at == position);
        let is_enum = |at: &usize| table.columns.get(*at).is_some_and(|column| column.data_type == "enum");
        let enum_fields = (0..stored.len()).filter(|field| stored.get(*field).is_some_and(is_enum)).collect();
        let quoted = quote::table(&table.schema, &table.name);
        let by_key = match &table.identity {
            Some(identity) if !key.is_empty() => {
                format!("{quoted} FORCE INDEX ({})", quote::identifier(&identity.index))
            }
            _ => quoted.clone(),
        };
        Self {
            number,
            by_key,
            quoted,
            key_fields: key.iter().filter_map(|column| field_of(column.position)).collect(),
            key,
            has_more_unique_keys: false,
            enum_fields,
            table: table.clone(),
            shown: format!("{}.{}", table.schema, table.name),
            group: Vec::new(),
            cascade: None,
            json_is_text: false,
        }
    }

    /// Whether it is copied whole, from one snapshot, and each of its changes is applied exactly once.
    pub(crate) const fn is_copied_whole(&self) -> bool {
        !self.group.is_empty()
    }

    /// Whether readers get chunks of it. The first table of a group stands for all.
    pub(crate) fn is_offered(&self) -> bool {
        self.group.first().is_none_or(|first| *first == self.number)
    }

    /// Whether it has a key by which this program tells its rows apart.
    pub(crate) const fn has_key(&self) -> bool {
        !self.key.is_empty()
    }

    /// The columns that are copied, in order: the target computes the others.
    pub(crate) fn stored(&self) -> impl Iterator<Item = &Column> {
        self.table.columns.iter().filter(|column| !column.generated)
    }

    /// The columns that are compared, in order: all that both servers store, whoever has computed them.
    pub(crate) fn compared(&self) -> impl Iterator<Item = &Column> {
        self.table.columns.iter().filter(|column| column.persistent)
    }

    /// The statement that reads the rows of a range in the order of their identities.
    pub(crate) fn select(&self, after: Option<&Key>, upto: Option<&Key>) -> String {
        let columns: Vec<_> = self.stored().map(read_expression).collect();
        let range = self.key.range(after, upto);
        let order = if self.has_key() { format!(" ORDER BY {}", self.key.list()) } else { String::new() };
        format!("SELECT {} FROM {} WHERE {range}{order}", columns.join(", "), self.by_key)
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
            let value = match column.data_type.as_str() {
                "json" => format!("CONVERT(@v{number} USING utf8mb4)"),
                "enum" | "set" => format!("CAST(@v{number} AS UNSIGNED)"),
                // Bytes would not be taken for the text of a value.
                _ if fixed_binary::length(column).is_some() => format!("CONVERT(@v{number} USING latin1)"),
                _ => {
                    fields.push(name);
                    continue;
                }
            };
            fields.push(format!("@v{number}"));
            assignments.push(format!("{name} = {value}"));
        }
        let set = if assignments.is_empty() { String::new() } else { format!(" SET {}", assignments.join(", ")) };
        format!(
            "LOAD DATA LOCAL INFILE '{LOCAL_NAME}' {duplicates}INTO TABLE {} CHARACTER SET binary FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' ({}){set}",
            self.quoted,
            fields.join(", ")
        )
    }

    /// How many fields of a row of [`Self::select`] are ENUMs with the number 0, which sessions without strict mode leave
    /// in place of a label that does not exist. Such sessions can store it, and are warned of each.
    pub(crate) fn enum_zeros(&self, fields: &[Option<&[u8]>]) -> u64 {
        let is_zero = |at: &&usize| fields.get(**at).is_some_and(|field| *field == Some(&b"0"[..]));
        u64::try_from(self.enum_fields.iter().filter(is_zero).count()).unwrap_or(u64::MAX)
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

/// The expression that reads a column as it is stored.
fn read_expression(column: &Column) -> String {
    let name = quote::identifier(&column.name);
    match column.data_type.as_str() {
        // Its own text has only six digits.
        "float" => format!("{name} * 1E0"),
        // Two numbers can have the same text: that of an ENUM without a label is empty, and a label may be.
        "enum" | "set" => format!("CAST({name} AS UNSIGNED)"),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing;

    #[test]
    fn a_unique_key_beside_the_identity_is_seen() {
        let index = |name: &str, non_unique: &str| {
            let attributes = [("index", name), ("non_unique", non_unique)];
            let attributes = attributes.map(|(attribute, value)| (attribute.to_owned(), value.to_owned()));
            (format!("index {name}"), BTreeMap::from(attributes))
        };
        let column = ("column a".to_owned(), BTreeMap::from([("column_type".to_owned(), "int".to_owned())]));
        let table = testing::table("t");
        assert_eq!(table.identity.as_ref().unwrap().index, "PRIMARY");
        let has = |indexes: &[(&str, &str)]| {
            let indexes = indexes.iter().map(|(name, non_unique)| index(name, non_unique));
            let objects = indexes.chain([column.clone()]).collect();
            has_more_unique_keys(&Structure { objects }, &table)
        };
        assert!(has(&[("PRIMARY", "0"), ("u", "0")]));
        assert!(!has(&[("PRIMARY", "0"), ("k", "1")]));
    }

    #[test]
    fn enums_and_sets_are_copied_by_number() {
        let column = |name: &str, data_type: &str| Column { data_type: data_type.to_owned(), ..testing::column(name) };
        let generated = Column { generated: true, ..column("g", "enum") };
        let columns =
            vec![column("id", "int"), generated, column("e", "enum"), column("s", "set"), column("j", "json")];
        let table = MovedTable::new(0, &Table { columns, ..testing::table("t") });
        let read = table.select(None, None);
        assert!(read.starts_with("SELECT `id`, CAST(`e` AS UNSIGNED), CAST(`s` AS UNSIGNED), `j` FROM"), "{read}");
        let load = table.load("");
        let expected = "(`id`, @v1, @v2, @v3) SET `e` = CAST(@v1 AS UNSIGNED), `s` = CAST(@v2 AS UNSIGNED), \
                        `j` = CONVERT(@v3 USING utf8mb4)";
        assert!(load.ends_with(expected), "{load}");
        let zeros = |enumeration: Option<&[u8]>| table.enum_zeros(&[Some(b"0"), enumeration, Some(b"0"), Some(b"0")]);
        assert_eq!([Some(&b"0"[..]), Some(b"10"), Some(b""), None].map(zeros), [1, 0, 0, 0]);
    }
}
