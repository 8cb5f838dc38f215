//! If the source is itself a replica, it logs the changes that it applies.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "log.replica-updates",
    area: Area::Log,
    title: "a source that is a replica logs what it applies",
    judge: Judge::Tables(judge),
};

/// Whether a server logs what it applies of other servers: the name since MySQL 8.0.26, and the older one.
pub(crate) const LOGS_REPLICATED: [&str; 2] = ["log_replica_updates", "log_slave_updates"];

fn judge(facts: &Facts, tables: &Tables) -> Vec<Finding> {
    let source = &facts.source;
    if !tables.source_replicates || LOGS_REPLICATED.iter().any(|name| source.is_on(name)) {
        return Vec::new();
    }
    let evidence = "is a replica, and log_replica_updates is OFF: changes of its own source are not in its log";
    vec![
        Finding::block(Side::Source, evidence)
            .advice("set log_replica_updates in its option file and restart it, or migrate from its source"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, found, with};

    #[test]
    fn a_replica_has_to_log() {
        let mut facts = with(Side::Source, "log_replica_updates", "OFF");
        assert_eq!(found(&CHECK, &facts), []);
        facts.tables.as_mut().unwrap().source_replicates = true;
        finds(&CHECK, &facts, Effect::Block, "log_replica_updates is OFF");
    }
}
