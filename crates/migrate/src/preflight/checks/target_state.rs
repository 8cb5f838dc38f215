//! The target has no state of another migration.

use super::prelude::*;
use crate::STATE_SCHEMA;

pub(super) const CHECK: Check = Check {
    id: "target.state",
    area: Area::Target,
    title: "the target has no state of another migration",
    judge: Judge::Tables(judge),
};

fn judge(_: &Facts, tables: &Tables) -> Vec<Finding> {
    let finding = || {
        let evidence = "this schema keeps the state of a migration: one is running there, or was not finished";
        Finding::block(STATE_SCHEMA, evidence).advice("let it finish, or drop the schema if nothing of it is needed")
    };
    tables.state_exists.then(finding).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, with_tables};

    #[test]
    fn a_second_migration_is_refused() {
        finds(&CHECK, &with_tables(|tables| tables.state_exists = true), Effect::Block, "_sealant");
    }
}
