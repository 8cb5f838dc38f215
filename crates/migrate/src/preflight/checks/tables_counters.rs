//! The target accepts the types of columns with AUTO_INCREMENT.

use super::prelude::*;
use crate::catalog::Column;

pub(super) const CHECK: Check = Check {
    id: "tables.counters",
    area: Area::Tables,
    title: "the target accepts the types of columns with AUTO_INCREMENT",
    judge: Judge::Tables(judge),
};

fn judge(facts: &Facts, tables: &Tables) -> Vec<Finding> {
    let target = &facts.target.identity.version;
    // Source: MySQL manual, "What Is New in MySQL 8.4". Older series and MariaDB count in these types, too.
    if !target.flavor.is_mysql_like() || !target.at_least(8, 4, 0) {
        return Vec::new();
    }
    let of_table = |table: &Table| {
        let column = table.columns.iter().find(|column| counts_in_fractions(tables, table, column))?;
        let (name, kind) = (&column.name, column.data_type.to_ascii_uppercase());
        let evidence = format!("column {name} has AUTO_INCREMENT and is {kind}, which {target} does not accept");
        let advice = "make it BIGINT at the source, or leave the table out with --exclude";
        Some(Finding::block(table.label(), evidence).advice(advice))
    };
    tables.source.tables.iter().filter_map(of_table).collect()
}

fn counts_in_fractions(tables: &Tables, table: &Table, column: &Column) -> bool {
    let objects = tables.source.structure.get(&table.full_name()).map(|structure| &structure.objects);
    let extra = objects.and_then(|objects| objects.get(&format!("column {}", column.name))?.get("extra"));
    matches!(column.data_type.as_str(), "float" | "double")
        && extra.is_some_and(|extra| extra.to_ascii_lowercase().contains("auto_increment"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use server::{ServerVersion, VersionHints};

    use super::*;
    use crate::{
        catalog::Structure,
        preflight::testing::{column, finds, found, with_tables},
    };

    fn counting(data_type: &str, extra: &str, target: &str) -> Facts {
        let mut facts = with_tables(|tables| {
            let column = Column { data_type: data_type.to_owned(), ..column("n") };
            tables.source.tables[0].columns.push(column);
            let attributes = BTreeMap::from([("extra".to_owned(), extra.to_owned())]);
            let structure = Structure { objects: BTreeMap::from([("column n".to_owned(), attributes)]) };
            tables.source.structure.insert(("shop".to_owned(), "orders".to_owned()), structure);
        });
        facts.target.identity.version = ServerVersion::parse(target, VersionHints::default()).unwrap();
        facts
    }

    #[test]
    fn counters_with_fractions_are_refused_where_the_target_does() {
        for (data_type, extra, target) in [
            ("double", "auto_increment", "8.0.36"),
            ("double", "auto_increment", "11.8.9-MariaDB"),
            ("bigint", "auto_increment", "9.7.4"),
            ("double", "", "9.7.4"),
        ] {
            assert_eq!(found(&CHECK, &counting(data_type, extra, target)), [], "{data_type} {extra} {target}");
        }
        let refused = counting("float", "auto_increment", "8.4.0");
        finds(&CHECK, &refused, Effect::Block, "column n has AUTO_INCREMENT and is FLOAT, which MySQL 8.4.0");
    }
}
