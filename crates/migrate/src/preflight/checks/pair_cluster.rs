//! Neither server is a node of a Galera cluster.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "pair.cluster",
    area: Area::Pair,
    title: "neither server is a node of a Galera cluster",
    judge: Judge::Servers(judge),
};

/// A node applies writes of all nodes, in spite of `read_only`; another node need not have the same log.
fn judge(facts: &Facts) -> Vec<Finding> {
    let nodes = facts.servers().into_iter().filter(|server| server.is_on("wsrep_on"));
    let evidence = "wsrep_on is ON: other nodes of its cluster write in spite of read_only: not yet supported";
    nodes.map(|server| Finding::block(server.side, evidence)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{facts, finds, found, with};

    #[test]
    fn a_node_of_a_cluster_is_refused() {
        assert_eq!(found(&CHECK, &facts()), []);
        assert_eq!(found(&CHECK, &with(Side::Source, "wsrep_on", "OFF")), []);
        finds(&CHECK, &with(Side::Source, "wsrep_on", "ON"), Effect::Block, "source: wsrep_on is ON");
        finds(&CHECK, &with(Side::Target, "wsrep_on", "ON"), Effect::Block, "target: wsrep_on is ON");
    }
}
