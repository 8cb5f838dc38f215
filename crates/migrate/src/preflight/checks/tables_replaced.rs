//! No column has a type or a collation in place of which MariaDB has another one.

use std::collections::BTreeSet;

use super::prelude::*;
use crate::catalog::{Structure, collation_at, current_name, inexact, is_exact};

pub(super) const CHECK: Check = Check {
    id: "tables.replaced",
    area: Area::Tables,
    title: "no type or collation becomes another one",
    judge: Judge::Tables(judge),
};

fn judge(facts: &Facts, tables: &Tables) -> Vec<Finding> {
    let [source, target] = facts.servers().map(|server| server.identity.version.flavor.is_mysql_like());
    if !source || target {
        return Vec::new();
    }
    tables.source.tables.iter().filter_map(json).chain(collations(tables)).collect()
}

/// The columns in which MySQL has JSON in a form of its own.
fn json(table: &Table) -> Option<Finding> {
    let columns = table.columns.iter().filter(|column| column.data_type == "json");
    let names: Vec<_> = columns.map(|column| column.name.as_str()).collect();
    let evidence = format!(
        "JSON of {} becomes what it is in MariaDB: LONGTEXT with a CHECK, with the text that the source prints",
        names.join(", ")
    );
    (!names.is_empty()).then(|| Finding::ask(table.label(), evidence).option("--exclude"))
}

fn collations(tables: &Tables) -> Vec<Finding> {
    let of_schemas = tables.source.schemas.iter().map(|schema| schema.collation.as_str());
    let of_tables = tables.source.structure.values().filter_map(Structure::collation);
    let columns = tables.source.tables.iter().flat_map(|table| &table.columns);
    let of_columns = columns.filter_map(|column| column.collation.as_deref());
    let used: BTreeSet<&str> = of_schemas.chain(of_tables).chain(of_columns).collect();
    let known = used.into_iter().filter_map(|name| Some((name, collation_at(name, &tables.target_collations)?)));
    let compared = known.filter_map(|(name, there)| match current_name(name) == there {
        true => Some((name, inexact(name)?)),
        false => Some((name, there)),
    });
    compared.map(|(name, there)| replaced(name, there)).collect()
}

fn replaced(name: &str, there: &str) -> Finding {
    if is_exact(name) {
        return Finding::tell(name, format!("becomes {there}, which compares all texts alike"));
    }
    let evidence = format!(
        "becomes {there}, which follows a newer version of Unicode: some letters are ordered otherwise, and texts that \
         are equal there alone cannot be in one unique key"
    );
    Finding::ask(name, evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        catalog::Column,
        preflight::testing::{column, finds, found, with_tables},
    };

    const NINE: &str = "utf8mb4_0900_ai_ci";

    fn to_mariadb(known: &[&str], change: impl FnOnce(&mut Table)) -> Facts {
        let mut facts = with_tables(|tables| {
            tables.target_collations = known.iter().map(|name| (*name).to_owned()).collect();
            change(tables.source.tables.first_mut().unwrap());
        });
        facts.target.identity.version.flavor = server::Flavor::MariaDb;
        facts
    }

    #[test]
    fn a_collation_that_becomes_another_one_is_named() {
        const FOURTEEN: &str = "utf8mb4_uca1400_nopad_ai_ci";
        let renamed = to_mariadb(&[NINE, FOURTEEN], |_| {});
        finds(&CHECK, &renamed, Effect::Ask, "utf8mb4_0900_ai_ci: becomes utf8mb4_uca1400_nopad_ai_ci");
        let mut facts = to_mariadb(&[FOURTEEN], |_| {});
        finds(&CHECK, &facts, Effect::Ask, "utf8mb4_0900_ai_ci: becomes utf8mb4_uca1400_nopad_ai_ci");
        facts.target.identity.version.flavor = server::Flavor::MySql;
        assert_eq!(found(&CHECK, &facts), []);
        let collation = Some("utf8mb4_0900_bin".to_owned());
        let bin = to_mariadb(&["utf8mb4_nopad_bin"], |table| {
            table.columns.push(Column { collation, ..column("c") });
        });
        finds(&CHECK, &bin, Effect::Tell, "compares all texts alike");
        let older = Some("utf8_bin".to_owned());
        let same = to_mariadb(&["utf8mb3_bin"], |table| table.columns.push(Column { collation: older, ..column("c") }));
        assert_eq!(found(&CHECK, &same), []);
        // That it is missing is the finding of another check.
        assert_eq!(found(&CHECK, &to_mariadb(&[], |_| {})), []);
    }

    #[test]
    fn json_that_becomes_a_text_is_asked_about() {
        let json = Column { data_type: "json".to_owned(), ..column("doc") };
        let facts = to_mariadb(&[], |table| table.columns.push(json));
        finds(&CHECK, &facts, Effect::Ask, "shop.orders: JSON of doc becomes what it is in MariaDB");
    }
}
