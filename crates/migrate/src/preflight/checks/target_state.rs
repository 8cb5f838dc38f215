//! The target has no state of another migration.

use super::prelude::*;
use crate::STATE_SCHEMA;

pub(super) const CHECK: Check = Check {
    id: "target.state",
    area: Area::Target,
    title: "the target has no state of another migration",
    judge: Judge::Tables(judge),
};

fn judge(facts: &Facts, tables: &Tables) -> Vec<Finding> {
    let state = || {
        let evidence = "this schema keeps the state of a migration: one is running there, or was not finished";
        Finding::block(STATE_SCHEMA, evidence).advice("let it finish, or drop the schema if nothing of it is needed")
    };
    let selected = facts.moved_tables();
    let others = tables.created.difference(&selected).map(|(schema, table)| {
        let evidence = "an interrupted run has created it, and it is not selected now";
        Finding::block(format!("{schema}.{table}"), evidence)
            .advice("give the same --schema and --exclude as at first, or sealant migrate abort --drop-tables")
    });
    tables.state_exists.then(state).into_iter().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, found, table, with_tables};

    #[test]
    fn a_second_migration_is_refused() {
        finds(&CHECK, &with_tables(|tables| tables.state_exists = true), Effect::Block, "_sealant");
    }

    #[test]
    fn an_interrupted_run_is_repeated_for_the_same_tables() {
        let created = |name| with_tables(|tables| tables.created = [table(name).full_name()].into());
        assert_eq!(found(&CHECK, &created("orders")), []);
        finds(&CHECK, &created("old"), Effect::Block, "shop.old: an interrupted run has created it");
    }
}
