//! The target has no objects with the names of those that are migrated.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "target.empty",
    area: Area::Target,
    title: "the target has no table of the same name",
    judge: Judge::Tables(judge),
};

fn judge(_: &Facts, tables: &Tables) -> Vec<Finding> {
    let target = &tables.target;
    let existing = target.tables.iter().map(|table| ("table", table.full_name()));
    let views = target.code.iter().filter(|code| code.kind == "view");
    let existing = existing.chain(views.map(|view| ("view", (view.schema.clone(), view.name.clone()))));
    existing
        .filter(|(_, name)| tables.source.tables.iter().any(|table| table.full_name() == *name))
        .filter(|(_, name)| !tables.created.contains(name))
        .map(|(kind, (schema, name))| {
            Finding::block(format!("{schema}.{name}"), format!("the target has a {kind} of this name"))
                .advice("drop it there, or leave the table out with --exclude")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, found, table, with_tables};

    #[test]
    fn tables_of_the_same_name_are_refused() {
        let facts = with_tables(|tables| tables.target.tables = vec![table("orders"), table("other")]);
        finds(&CHECK, &facts, Effect::Block, "shop.orders: the target has a table");
        assert_eq!(found(&CHECK, &with_tables(|tables| tables.target.tables = vec![table("other")])), []);
    }

    #[test]
    fn tables_that_an_interrupted_run_has_created_are_its_own() {
        let facts = with_tables(|tables| {
            tables.target.tables = vec![table("orders")];
            tables.created = [table("orders").full_name()].into();
        });
        assert_eq!(found(&CHECK, &facts), []);
    }
}
