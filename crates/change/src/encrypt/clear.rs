//! Clear-text tables and tablespaces, according to the server.

use std::collections::{BTreeMap, HashMap};

use innodb::server_file::full_text_table_id;
use server::quote;

use crate::{Error, Session};

/// A table with at least one clear-text tablespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClearTable {
    pub(super) schema: String,
    pub(super) table: String,
    /// Bytes of all its tablespaces.
    pub(super) bytes: u64,
    /// Whether the table is in the system tablespace, from which it must be moved.
    pub(super) in_system: bool,
}

impl ClearTable {
    pub(super) fn quoted(&self) -> String {
        quote::table(&self.schema, &self.table)
    }
}

/// Clear-text tables and tablespaces.
#[derive(Debug, Default)]
pub(super) struct PlaintextTables {
    /// Smallest first.
    pub(super) tables: Vec<ClearTable>,
    /// General tablespaces, among them `mysql`, with their bytes.
    pub(super) general: Vec<(String, u64)>,
}

const TABLES: &str = "SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t FROM information_schema.TABLES \
     WHERE TABLE_TYPE = 'BASE TABLE' AND ENGINE = 'InnoDB'";

impl PlaintextTables {
    /// Queries the server.
    pub(super) fn query(session: &mut Session<'_>) -> Result<Self, Error> {
        let spaces = session.query(session.dictionary().clear)?;
        let known = tables(session)?;
        let mut clear = Self::default();
        let mut sizes: BTreeMap<(String, String), u64> = BTreeMap::new();
        let mut auxiliary = Vec::new();
        for row in 0..spaces.rows.len() {
            let (Some(name), Some(kind)) = (spaces.value(row, "name"), spaces.value(row, "kind")) else { continue };
            let bytes = spaces.value(row, "bytes").and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
            if kind == "General" {
                clear.general.push((name.to_owned(), bytes));
            } else if let Some(table) = table_of(&session.space_name(name), &known) {
                *sizes.entry(table.clone()).or_default() += bytes;
            } else if let Some(id) = full_text_parent(name) {
                auxiliary.push((id, bytes));
            }
        }
        if !auxiliary.is_empty() {
            add_parents(session, &known, &auxiliary, &mut sizes)?;
        }
        clear.tables = sizes
            .into_iter()
            .map(|((schema, table), bytes)| ClearTable { schema, table, bytes, in_system: false })
            .collect();
        clear.add_from_system(session, &known)?;
        clear.tables.sort_by(|a, b| (a.bytes, &a.schema, &a.table).cmp(&(b.bytes, &b.schema, &b.table)));
        Ok(clear)
    }

    fn add_from_system(
        &mut self,
        session: &mut Session<'_>,
        known: &HashMap<String, (String, String)>,
    ) -> Result<(), Error> {
        let names = session.query(session.dictionary().in_system)?;
        for name in names.rows.iter().filter_map(|row| row.first()?.as_deref()) {
            let Some((schema, table)) = table_of(&innodb::file_name::decoded(name), known) else { continue };
            let (schema, table) = (schema.clone(), table.clone());
            if !self.tables.iter().any(|clear| clear.schema == schema && clear.table == table) {
                self.tables.push(ClearTable { schema, table, bytes: 0, in_system: true });
            }
        }
        Ok(())
    }
}

/// InnoDB tables, by the names of their tablespaces.
pub(crate) fn tables(session: &mut Session<'_>) -> Result<HashMap<String, (String, String)>, Error> {
    let tables = session.query(TABLES)?;
    let names = (0..tables.rows.len())
        .filter_map(|row| Some((tables.value(row, "s")?.to_owned(), tables.value(row, "t")?.to_owned())));
    Ok(names.map(|(schema, table)| (format!("{schema}/{table}"), (schema, table))).collect())
}

/// Auxiliary tables of a full-text index are encrypted with their parent. Their names are
/// `SCHEMA/fts_TABLE-ID-IN-HEX_…`, in 5.7 `SCHEMA/FTS_…`.
fn add_parents(
    session: &mut Session<'_>,
    known: &HashMap<String, (String, String)>,
    auxiliary: &[(u64, u64)],
    sizes: &mut BTreeMap<(String, String), u64>,
) -> Result<(), Error> {
    let ids = session.query(session.dictionary().table_ids)?;
    for row in 0..ids.rows.len() {
        let Some(id) = ids.value(row, "id").and_then(|id| id.parse::<u64>().ok()) else { continue };
        let bytes: u64 = auxiliary.iter().filter(|(parent, _)| *parent == id).map(|(_, bytes)| bytes).sum();
        let table = ids.value(row, "name").and_then(|name| table_of(&session.space_name(name), known));
        if let (true, Some(table)) = (auxiliary.iter().any(|(parent, _)| *parent == id), table) {
            *sizes.entry(table.clone()).or_default() += bytes;
        }
    }
    Ok(())
}

/// The table that a tablespace, or a partition `schema/table#p#partition#sp#part`, belongs to. A table's name may
/// contain `#p#`, so the longest known name wins.
pub(crate) fn table_of<'k>(space: &str, known: &'k HashMap<String, (String, String)>) -> Option<&'k (String, String)> {
    let mut name = space;
    loop {
        if let Some(table) = known.get(name) {
            return Some(table);
        }
        let lower = name.to_ascii_lowercase();
        name = name.get(..lower.rfind("#p#")?)?;
    }
}

fn full_text_parent(space: &str) -> Option<u64> {
    let (_, table) = space.rsplit_once('/')?;
    full_text_table_id(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(tables: &[(&str, &str)]) -> HashMap<String, (String, String)> {
        let entry = |(s, t): &(&str, &str)| (format!("{s}/{t}"), ((*s).to_owned(), (*t).to_owned()));
        tables.iter().map(entry).collect()
    }

    #[test]
    fn partitions_belong_to_their_table() {
        let known = known(&[("a", "t"), ("a", "Q#p#q"), ("x/y", "z")]);
        let of = |space: &str| table_of(space, &known).map(|(schema, table)| format!("{schema}|{table}"));
        assert_eq!(of("a/t").as_deref(), Some("a|t"));
        assert_eq!(of("a/t#p#p0").as_deref(), Some("a|t"));
        assert_eq!(of("a/t#P#p0#SP#p0sp1").as_deref(), Some("a|t"));
        assert_eq!(of("a/Q#p#q").as_deref(), Some("a|Q#p#q"));
        assert_eq!(of("a/Q#p#q#p#p1").as_deref(), Some("a|Q#p#q"));
        assert_eq!(of("x/y/z").as_deref(), Some("x/y|z"));
        assert_eq!(of("a/other"), None);
    }

    #[test]
    fn full_text_tables_name_their_parent() {
        assert_eq!(full_text_parent("shop/fts_000000000000042c_00000000000000a6_index_1"), Some(0x42c));
        assert_eq!(full_text_parent("shop/fts_000000000000042c_deleted"), Some(0x42c));
        assert_eq!(full_text_parent("shop/fts_orders"), None);
    }
}
