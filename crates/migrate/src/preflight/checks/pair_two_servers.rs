//! Source and target are two servers.

use server::Identity;

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "pair.two-servers",
    area: Area::Pair,
    title: "source and target are two servers",
    judge: Judge::Servers(judge),
};

fn judge(facts: &Facts) -> Vec<Finding> {
    let [source, target] = facts.servers().map(|server| &server.identity);
    let place = |identity: &Identity| (identity.hostname.clone(), identity.datadir.clone(), identity.port);
    // MariaDB has no UUID.
    let same = match (&source.server_uuid, &target.server_uuid) {
        (Some(source), Some(target)) => source == target,
        (None, None) => place(source) == place(target),
        _ => false,
    };
    let evidence = format!("this is the same server as {}", facts.source.endpoint);
    same.then(|| Finding::block(&facts.target.endpoint, evidence)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{facts, finds};

    #[test]
    fn a_server_is_not_migrated_into_itself() {
        let mut facts = facts();
        facts.target.identity.server_uuid.clone_from(&facts.source.identity.server_uuid);
        finds(&CHECK, &facts, Effect::Block, "same server as source.example:3306");
    }
}
