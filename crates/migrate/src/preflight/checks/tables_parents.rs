//! The tables that foreign keys reference are migrated too.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "tables.parents",
    area: Area::Tables,
    title: "the tables that foreign keys reference are migrated too",
    judge: Judge::Tables(judge),
};

fn judge(_: &Facts, tables: &Tables) -> Vec<Finding> {
    let migrated = |name: &(String, String)| tables.source.tables.iter().any(|table| table.full_name() == *name);
    let open = tables.source.foreign_keys.iter().filter(|key| !migrated(&key.parent));
    open.map(|key| {
        let (object, parent) =
            (format!("{}.{}", key.table.0, key.table.1), format!("{}.{}", key.parent.0, key.parent.1));
        Finding::block(object, format!("its foreign key {} references {parent}, which is left out", key.name))
            .advice("migrate both, or leave both out")
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{cascade, finds, with_tables};

    #[test]
    fn a_parent_that_is_left_out_is_named() {
        let facts = with_tables(|tables| tables.source.foreign_keys = vec![cascade("orders", "customers")]);
        finds(&CHECK, &facts, Effect::Block, "references shop.customers");
    }
}
