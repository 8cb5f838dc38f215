//! No table of MariaDB has a type or a feature whose changes cannot be followed yet.

use std::collections::BTreeMap;

use server::{
    Flavor,
    sql::{Syntax, Token, tokens},
};

use super::prelude::*;
use crate::catalog::Column;

pub(super) const CHECK: Check = Check {
    id: "tables.features",
    area: Area::Tables,
    title: "every type and feature of the tables can be followed",
    judge: Judge::Tables(judge),
};

fn judge(facts: &Facts, tables: &Tables) -> Vec<Finding> {
    if facts.source.identity.version.flavor != Flavor::MariaDb {
        return Vec::new();
    }
    let of_table = |table: &Table| {
        let columns = table.columns.iter().filter_map(of_column);
        let features = [versioning(&table.create), index(tables, table)];
        columns.chain(features.into_iter().flatten()).map(|what| finding(table, &what)).collect::<Vec<_>>()
    };
    tables.source.tables.iter().flat_map(of_table).collect()
}

fn finding(table: &Table, what: &str) -> Finding {
    Finding::block(table.label(), format!("{what}: not yet supported")).option("--exclude")
}

fn of_column(column: &Column) -> Option<String> {
    let name = &column.name;
    // MariaDB shows these as comments: `varchar(9) /*M!100301 COMPRESSED*/`.
    let marked = |mark: &str| column.column_type.contains(mark);
    match column.data_type.as_str() {
        "xmltype" => Some(format!("column {name} has the type XMLTYPE")),
        _ if marked("COMPRESSED*/") => Some(format!("column {name} is COMPRESSED")),
        _ if marked("mariadb-5.3") => Some(format!("column {name} has the format of times before MariaDB 10.1")),
        _ => None,
    }
}

/// Rows with a time of validity. A table with such rows changes others than a change names.
fn versioning(create: &str) -> Option<String> {
    let tokens: Vec<Token<'_>> = tokens(create, Syntax::default()).collect::<Result<_, _>>().ok()?;
    let has = |first: &str, second: &str| {
        tokens.windows(2).any(|pair| matches!(pair, [one, next] if one.is_word(first) && next.is_word(second)))
    };
    if has("SYSTEM", "VERSIONING") {
        return Some("it is system-versioned".to_owned());
    }
    has("PERIOD", "FOR").then(|| "it has a period of time".to_owned())
}

/// An index that is more than an index. For a unique key over long values, MariaDB adds a column to the table that only
/// the log shows; one over vectors has a tablespace of its own, whose encryption nothing here looks at.
fn index(tables: &Tables, table: &Table) -> Option<String> {
    const KINDS: [(&str, &str); 2] = [
        ("HASH", "is unique over long values, by a hidden column"),
        ("VECTOR", "is over vectors, and has a tablespace of its own"),
    ];
    let objects = &tables.source.structure.get(&table.full_name())?.objects;
    let what = |attributes: &BTreeMap<String, String>| {
        let kind = attributes.get("type")?;
        KINDS.iter().find(|(name, _)| name == kind).map(|(_, what)| *what)
    };
    let mut indexes = objects.iter().filter(|(name, _)| name.starts_with("index "));
    indexes.find_map(|(name, attributes)| Some(format!("{name} {}", what(attributes)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        catalog::Structure,
        preflight::testing::{column, facts, finds, found},
    };

    fn mariadb(change: impl FnOnce(&mut Table)) -> Facts {
        let mut facts = facts();
        facts.source.identity.version.flavor = Flavor::MariaDb;
        change(facts.tables.as_mut().unwrap().source.tables.first_mut().unwrap());
        facts
    }

    #[test]
    fn what_cannot_be_followed_is_named() {
        assert_eq!(found(&CHECK, &mariadb(|_| {})), []);
        let typed = |data_type: &str, column_type: &str| {
            let (data_type, column_type) = (data_type.to_owned(), column_type.to_owned());
            mariadb(|table| table.columns.push(Column { data_type, column_type, ..column("c") }))
        };
        for followed in ["uuid", "inet4", "inet6", "vector"] {
            assert_eq!(found(&CHECK, &typed(followed, followed)), []);
        }
        finds(&CHECK, &typed("xmltype", "xmltype"), Effect::Block, "shop.orders: column c has the type XMLTYPE");
        let compressed = typed("varchar", "varchar(9) /*M!100301 COMPRESSED*/");
        finds(&CHECK, &compressed, Effect::Block, "c is COMPRESSED");
        finds(&CHECK, &typed("time", "time(3) /* mariadb-5.3 */"), Effect::Block, "before MariaDB 10.1");
        let created = |create: &str| mariadb(|table| table.create = create.to_owned());
        let versioned = "CREATE TABLE `t` (`a` int COMMENT 'PERIOD FOR') ENGINE=InnoDB WITH SYSTEM VERSIONING";
        finds(&CHECK, &created(versioned), Effect::Block, "system-versioned");
        let period = "CREATE TABLE `t` (`a` date, `b` date, PERIOD FOR `p` (`a`, `b`)) ENGINE=InnoDB";
        finds(&CHECK, &created(period), Effect::Block, "period of time");
        for (kind, what) in [("HASH", "index k is unique over long values"), ("VECTOR", "index k is over vectors")] {
            let mut facts = mariadb(|_| {});
            let attributes = BTreeMap::from([("type".to_owned(), kind.to_owned())]);
            let structure = Structure { objects: BTreeMap::from([("index k".to_owned(), attributes)]) };
            facts.tables.as_mut().unwrap().source.structure.insert(("shop".into(), "orders".into()), structure);
            finds(&CHECK, &facts, Effect::Block, what);
        }
    }
}
