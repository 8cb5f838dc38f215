//! The target accepts tables without primary key, if there are any.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "tables.primary-key",
    area: Area::Tables,
    title: "the target accepts the tables without primary key",
    judge: Judge::Tables(judge),
};

/// The variables by which servers require primary keys: of MySQL, and of MariaDB.
const VARIABLES: [&str; 2] = ["sql_require_primary_key", "innodb_force_primary_key"];

fn judge(facts: &Facts, tables: &Tables) -> Vec<Finding> {
    let required = VARIABLES.into_iter().find(|name| facts.target.is_on(name));
    let Some(variable) = required else { return Vec::new() };
    let primary = |table: &&Table| table.identity.as_ref().is_some_and(|identity| identity.index == "PRIMARY");
    let without = tables.source.tables.iter().filter(|table| !primary(table));
    without
        .map(|table| {
            Finding::block(table.label(), format!("it has no primary key, and the target has {variable}")).set_now(
                &facts.target,
                variable,
                "OFF",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, found, with};

    #[test]
    fn only_tables_without_it_are_refused() {
        let mut facts = with(Side::Target, "sql_require_primary_key", "ON");
        assert_eq!(found(&CHECK, &facts), []);
        for table in &mut facts.tables.as_mut().unwrap().source.tables {
            table.identity.as_mut().unwrap().index = "whole".to_owned();
        }
        finds(&CHECK, &facts, Effect::Block, "shop.orders: it has no primary key");
    }
}
