//! Both servers are the ones that were meant.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "link.verified",
    area: Area::Link,
    title: "both certificates are verified",
    judge: Judge::Servers(judge),
};

fn judge(facts: &Facts) -> Vec<Finding> {
    let permitted = [facts.request.unverified_source, facts.request.unverified_target];
    facts.servers().into_iter().zip(permitted).filter_map(|(server, permitted)| of_link(server, permitted)).collect()
}

fn of_link(server: &ServerFacts, permitted: bool) -> Option<Finding> {
    let Transport::Tls { verified: Verification::No, .. } = server.link.transport else { return None };
    let evidence = "its certificate is not verified: anyone on the network can read and change all rows";
    Some(match permitted {
        true => Finding::ask(server.side, evidence),
        false => Finding::block(server.side, evidence).option(format!("--{}-tls-ca FILE", server.side)),
    })
}

#[cfg(test)]
mod tests {
    use server::tls::TlsVersion;

    use super::*;
    use crate::preflight::testing::{facts, finds};

    #[test]
    fn an_unverified_server_is_refused_unless_permitted() {
        let mut facts = facts();
        let suite = String::new();
        facts.source.link.transport = Transport::Tls { version: TlsVersion::Tls13, suite, verified: Verification::No };
        finds(&CHECK, &facts, Effect::Block, "source: its certificate is not verified");
        facts.request.unverified_source = true;
        finds(&CHECK, &facts, Effect::Ask, "source: its certificate is not verified");
    }
}
