//! Source and target are two servers.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "pair.two-servers",
    area: Area::Pair,
    title: "source and target are two servers",
    judge: Judge::Servers(judge),
};

fn judge(facts: &Facts) -> Vec<Finding> {
    if facts.one_server {
        let evidence = format!("this is the same server as {}", facts.source.endpoint);
        return vec![Finding::block(&facts.target.endpoint, evidence)];
    }
    let [source, target] = facts.servers().map(|server| server.identity.server_uuid.as_ref());
    if source.is_none() || source != target {
        return Vec::new();
    }
    let evidence = "has the source's server_uuid, from a copied auto.cnf: neither can replicate from the other";
    let advice = "stop the target, remove auto.cnf from its data directory, and start it again";
    vec![Finding::tell(Side::Target, evidence).advice(advice)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{facts, finds, found};

    #[test]
    fn a_server_is_not_migrated_into_itself() {
        let mut facts = facts();
        facts.one_server = true;
        finds(&CHECK, &facts, Effect::Block, "same server as source.example:3306");
    }

    #[test]
    fn two_servers_with_copied_names_are_two() {
        let mut facts = facts();
        facts.target.identity.server_uuid.clone_from(&facts.source.identity.server_uuid);
        finds(&CHECK, &facts, Effect::Tell, "copied auto.cnf");
        for server in [&mut facts.source, &mut facts.target] {
            server.identity.server_uuid = None;
            server.identity.hostname = "db".to_owned();
        }
        assert_eq!(found(&CHECK, &facts), []);
    }
}
