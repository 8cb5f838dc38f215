//! Nothing else writes to the target: it is not a replica.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "target.not-replica",
    area: Area::Target,
    title: "the target is no replica",
    judge: Judge::Tables(judge),
};

fn judge(_: &Facts, tables: &Tables) -> Vec<Finding> {
    let finding = || {
        Finding::block(Side::Target, "applies changes of another server, which would write the same tables")
            .run(Side::Target, "STOP REPLICA")
    };
    tables.target_replicates.then(finding).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, with_tables};

    #[test]
    fn a_replica_is_refused() {
        finds(&CHECK, &with_tables(|tables| tables.target_replicates = true), Effect::Block, "another server");
    }
}
