//! The target accepts the keys that foreign keys reference.

use std::collections::BTreeMap;

use super::prelude::*;
use crate::catalog::{ForeignKey, Structure, TableName};

pub(super) const CHECK: Check = Check {
    id: "tables.parent-keys",
    area: Area::Tables,
    title: "the target accepts the keys that foreign keys reference",
    judge: Judge::Tables(judge),
};

/// The variable by which MySQL refuses foreign keys on other than whole unique keys. It is on by default, since 8.4.
const VARIABLE: &str = "restrict_fk_on_non_standard_key";

fn judge(facts: &Facts, tables: &Tables) -> Vec<Finding> {
    if !facts.target.is_on(VARIABLE) {
        return Vec::new();
    }
    let keys = tables.source.foreign_keys.iter().filter(|key| !references_unique_key(tables, key));
    keys.map(|key| finding(&facts.target, key)).collect()
}

fn finding(target: &ServerFacts, key: &ForeignKey) -> Finding {
    let label = |(schema, table): &TableName| format!("{schema}.{table}");
    let (name, columns, parent) = (&key.name, key.parent_columns.join(", "), label(&key.parent));
    let evidence = format!(
        "its foreign key {name} references {columns} of {parent}, which is no unique key, and the target has {VARIABLE}"
    );
    Finding::block(label(&key.table), evidence).set_now(target, VARIABLE, "OFF")
}

/// Whether the key references the whole of a unique key. Another check refuses a parent that is not migrated.
fn references_unique_key(tables: &Tables, key: &ForeignKey) -> bool {
    let Some(parent) = tables.source.structure.get(&key.parent) else { return true };
    let mut wanted: Vec<String> = key.parent_columns.iter().map(|name| name.to_lowercase()).collect();
    wanted.sort();
    unique_keys(parent).into_values().any(|columns| columns == wanted)
}

/// The columns of each unique key, sorted. A part of a column, or an expression, has an empty name.
fn unique_keys(table: &Structure) -> BTreeMap<&str, Vec<String>> {
    let mut keys = BTreeMap::<&str, Vec<String>>::new();
    for (_, attributes) in table.objects.iter().filter(|(object, _)| object.starts_with("index ")) {
        let text = |name: &str| attributes.get(name).map_or("", String::as_str);
        if text("non_unique") == "0" {
            let column = if text("prefix").is_empty() { text("column") } else { "" };
            keys.entry(text("index")).or_default().push(column.to_lowercase());
        }
    }
    keys.values_mut().for_each(|columns| columns.sort());
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{cascade, finds, found, table, with};

    /// The attributes of the columns of an index.
    type Parts = Vec<(String, BTreeMap<String, String>)>;

    /// An index over columns, each with the length of its part that counts.
    fn index(name: &str, unique: bool, columns: &[(&str, &str)]) -> Parts {
        let row = |(number, (column, prefix)): (usize, &(&str, &str))| {
            let non_unique = if unique { "0" } else { "1" };
            let texts = [("index", name), ("non_unique", non_unique), ("column", *column), ("prefix", *prefix)];
            let attributes = texts.map(|(name, value)| (name.to_owned(), value.to_owned()));
            (format!("index {name} part {number}"), BTreeMap::from(attributes))
        };
        columns.iter().enumerate().map(row).collect()
    }

    fn referencing(restricts: &str, indexes: Vec<Parts>) -> Facts {
        let mut facts = with(Side::Target, VARIABLE, restricts);
        let tables = facts.tables.as_mut().unwrap();
        tables.source.tables.push(table("customers"));
        tables.source.foreign_keys = vec![cascade("orders", "customers")];
        let structure = Structure { objects: indexes.into_iter().flatten().collect() };
        tables.source.structure.insert(("shop".to_owned(), "customers".to_owned()), structure);
        facts
    }

    #[test]
    fn only_whole_unique_keys_are_accepted() {
        assert_eq!(found(&CHECK, &referencing("ON", vec![index("PRIMARY", true, &[("ID", "")])])), []);
        assert_eq!(found(&CHECK, &referencing("OFF", vec![index("k", false, &[("id", "")])])), []);
        for other in [
            index("k", false, &[("id", "")]),
            index("whole", true, &[("id", ""), ("part", "")]),
            index("start", true, &[("id", "4")]),
        ] {
            let facts = referencing("ON", vec![index("PRIMARY", true, &[("n", "")]), other]);
            finds(&CHECK, &facts, Effect::Block, "shop.orders: its foreign key fk references id of shop.customers");
        }
    }
}
