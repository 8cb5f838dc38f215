//! Tables and tablespaces in clear text, as the server lists them.

use std::collections::{BTreeMap, HashMap};

use crate::{Error, Session, quote};

/// A table with at least one tablespace in clear text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClearTable {
    pub(super) schema: String,
    pub(super) table: String,
    /// Bytes of all its tablespaces.
    pub(super) bytes: u64,
    /// Whether it lies in the system tablespace, which it has to leave.
    pub(super) in_system: bool,
}

impl ClearTable {
    pub(super) fn quoted(&self) -> String {
        format!("{}.{}", quote::name(&self.schema), quote::name(&self.table))
    }
}

/// Tablespaces by kind, and tables.
#[derive(Debug, Default)]
pub(super) struct Clear {
    /// Smallest first.
    pub(super) tables: Vec<ClearTable>,
    /// General tablespaces, with their bytes; `mysql` is one.
    pub(super) general: Vec<(String, u64)>,
}

const TABLES: &str = "SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t FROM information_schema.TABLES \
     WHERE TABLE_TYPE = 'BASE TABLE' AND ENGINE = 'InnoDB'";

impl Clear {
    /// Asks the server.
    pub(super) fn of(session: &mut Session<'_>) -> Result<Self, Error> {
        let spaces = session.ask(session.dictionary().clear)?;
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
        let names = session.ask(session.dictionary().in_system)?;
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

/// InnoDB's tables, by the names of their tablespaces.
pub(crate) fn tables(session: &mut Session<'_>) -> Result<HashMap<String, (String, String)>, Error> {
    let tables = session.ask(TABLES)?;
    let names = (0..tables.rows.len())
        .filter_map(|row| Some((tables.value(row, "s")?.to_owned(), tables.value(row, "t")?.to_owned())));
    Ok(names.map(|(schema, table)| (format!("{schema}/{table}"), (schema, table))).collect())
}

/// A full-text index's own tables are encrypted with the table that it is of, and are called
/// `SCHEMA/fts_TABLE-ID-IN-HEX_…`, in 5.7 `SCHEMA/FTS_…`.
fn add_parents(
    session: &mut Session<'_>,
    known: &HashMap<String, (String, String)>,
    auxiliary: &[(u64, u64)],
    sizes: &mut BTreeMap<(String, String), u64>,
) -> Result<(), Error> {
    let ids = session.ask(session.dictionary().table_ids)?;
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

/// The table that a tablespace is of, or is a partition of: `schema/table#p#partition#sp#part`.
/// A table's own name may hold `#p#`, so the longest name that there is wins.
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
    let id = table.strip_prefix("fts_").or_else(|| table.strip_prefix("FTS_"))?.get(..16)?;
    u64::from_str_radix(id, 16).ok()
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
