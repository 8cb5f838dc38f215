//! InnoDB stores each table.

use super::prelude::*;

pub(super) const CHECK: Check =
    Check { id: "tables.engine", area: Area::Tables, title: "InnoDB stores each table", judge: Judge::Tables(judge) };

fn judge(_: &Facts, tables: &Tables) -> Vec<Finding> {
    let others = tables.source.tables.iter().filter(|table| !table.is_innodb());
    others
        .map(|table| {
            let evidence = format!("its engine is {}, which has no transactions and no encryption", table.engine);
            let name = quote::table(&table.schema, &table.name);
            Finding::block(table.label(), evidence).run(Side::Source, format!("ALTER TABLE {name} ENGINE = InnoDB"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, with_tables};

    #[test]
    fn other_engines_are_refused() {
        let facts = with_tables(|tables| {
            tables.source.tables.iter_mut().for_each(|table| table.engine = "MyISAM".to_owned());
        });
        finds(&CHECK, &facts, Effect::Block, "shop.orders: its engine is MyISAM");
    }
}
