//! Tables whose rows are changed by foreign keys (`CASCADE`, `SET NULL`), which only MySQL 9.6 and newer logs.
//!
//! Without these changes, such a table cannot be copied in parts: a change of a parent tells nothing of the children that
//! it has changed. The tables that foreign keys connect in this way are copied together, and the target's own foreign keys
//! change the rows again.

use std::collections::{BTreeMap, BTreeSet};

use super::{Catalog, ForeignKey, TableName};

/// What a change of a table's row changes in other tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cascade {
    /// Columns whose change changes rows of other tables, in lower case. A deletion of a row always can.
    pub(crate) columns: BTreeSet<String>,
    /// The tables whose rows can change, also by further foreign keys.
    pub(crate) changed: BTreeSet<TableName>,
}

/// The groups of tables that have to be copied together: tables that cascading foreign keys connect, and those that
/// reference one of them, because a cascade depends on their rows. Where a cascade updates rows, the parents of these
/// tables, too: the target checks all foreign keys of a row that is stored again in an index.
pub(crate) fn groups(catalog: &Catalog) -> Vec<BTreeSet<TableName>> {
    let cascading: Vec<&ForeignKey> = catalog.foreign_keys.iter().filter(|key| key.cascades()).collect();
    let concerned: BTreeSet<&TableName> = cascading.iter().flat_map(|key| [&key.table, &key.parent]).collect();
    let mut groups = Vec::new();
    for key in catalog.foreign_keys.iter().filter(|key| concerned.contains(&key.parent)) {
        join(&mut groups, key);
    }
    let updated: Vec<_> = cascading.iter().filter(|key| key.updates_rows()).map(|key| &key.table).collect();
    let is_updated = |group: &BTreeSet<TableName>| updated.iter().any(|table| group.contains(*table));
    let updated: BTreeSet<TableName> = groups.iter().filter(|group| is_updated(group)).flatten().cloned().collect();
    for key in catalog.foreign_keys.iter().filter(|key| concerned.contains(&key.table) && updated.contains(&key.table))
    {
        join(&mut groups, key);
    }
    groups
}

/// Joins the groups of both tables of a foreign key.
fn join(groups: &mut Vec<BTreeSet<TableName>>, key: &ForeignKey) {
    let both = [&key.table, &key.parent];
    let joined = groups.extract_if(.., |group| both.iter().any(|name| group.contains(*name))).flatten();
    let merged = both.into_iter().cloned().chain(joined.collect::<Vec<_>>()).collect();
    groups.push(merged);
}

/// What changes of each table change in others.
pub(crate) fn cascades(catalog: &Catalog) -> BTreeMap<TableName, Cascade> {
    let mut found: BTreeMap<TableName, Cascade> = BTreeMap::new();
    for key in catalog.foreign_keys.iter().filter(|key| key.cascades()) {
        let cascade = found.entry(key.parent.clone()).or_default();
        if key.cascades_updates() {
            cascade.columns.extend(key.parent_columns.iter().map(|name| name.to_lowercase()));
        }
        cascade.changed.insert(key.table.clone());
    }
    let direct = found.clone();
    for cascade in found.values_mut() {
        let mut rest: Vec<TableName> = cascade.changed.iter().cloned().collect();
        while let Some(next) = rest.pop() {
            let further = direct.get(&next).into_iter().flat_map(|cascade| &cascade.changed);
            for name in further {
                if cascade.changed.insert(name.clone()) {
                    rest.push(name.clone());
                }
            }
        }
    }
    found
}

/// The tables from which cascades reach this many tables below each other, also a table again.
pub(crate) fn reaching(catalog: &Catalog, levels: u32) -> BTreeSet<TableName> {
    let cascading: Vec<&ForeignKey> = catalog.foreign_keys.iter().filter(|key| key.cascades()).collect();
    let mut reaching: BTreeSet<&TableName> = cascading.iter().map(|key| &key.parent).collect();
    for _ in 1..levels {
        reaching = cascading.iter().filter(|key| reaching.contains(&key.table)).map(|key| &key.parent).collect();
    }
    reaching.into_iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::cascade;

    fn name(table: &str) -> TableName {
        ("shop".to_owned(), table.to_owned())
    }

    fn restrict(from: &str, to: &str) -> ForeignKey {
        ForeignKey { on_delete: "RESTRICT".to_owned(), ..cascade(from, to) }
    }

    fn catalog(foreign_keys: Vec<ForeignKey>) -> Catalog {
        Catalog { foreign_keys, ..Catalog::default() }
    }

    #[test]
    fn tables_are_together_if_a_cascade_depends_on_them() {
        let mut catalog = catalog(vec![
            cascade("lines", "orders"),
            restrict("lines", "products"),
            restrict("orders", "customers"),
            restrict("shipments", "lines"),
            cascade("tree", "tree"),
            restrict("a", "b"),
        ]);
        let group = |names: &[&str]| names.iter().map(|table| name(table)).collect::<BTreeSet<_>>();
        let mut found = groups(&catalog);
        found.sort();
        assert_eq!(found, [group(&["lines", "orders", "shipments"]), group(&["tree"])]);
        // A new key of an order is checked against its customer.
        for key in catalog.foreign_keys.iter_mut().filter(|key| key.table == name("lines")) {
            key.on_update = "CASCADE".to_owned();
        }
        let mut found = groups(&catalog);
        found.sort();
        let all = group(&["customers", "lines", "orders", "products", "shipments"]);
        assert_eq!(found, [all, group(&["tree"])]);
    }

    #[test]
    fn levels_are_counted() {
        let chain = catalog(vec![cascade("d", "c"), cascade("c", "b"), cascade("b", "a"), restrict("a", "z")]);
        assert_eq!(reaching(&chain, 1), ["a", "b", "c"].map(name).into());
        assert_eq!(reaching(&chain, 3), [name("a")].into());
        assert_eq!(reaching(&catalog(vec![cascade("tree", "tree")]), 3), [name("tree")].into());
    }

    #[test]
    fn a_cascade_reaches_the_children_of_children() {
        let catalog = catalog(vec![cascade("b", "a"), cascade("c", "b"), cascade("a", "c"), restrict("d", "a")]);
        let found = cascades(&catalog);
        let all: BTreeSet<TableName> = ["a", "b", "c"].map(name).into();
        assert!(found.values().all(|cascade| cascade.changed == all), "{found:?}");
        assert_eq!(found[&name("a")].columns, BTreeSet::new(), "only deletions cascade");
        assert!(!found.contains_key(&name("d")));
    }
}
