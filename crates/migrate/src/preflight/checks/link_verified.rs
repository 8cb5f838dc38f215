//! Both servers are the ones that were meant.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "link.verified",
    area: Area::Link,
    title: "both certificates are verified",
    judge: Judge::Servers(judge),
};

fn judge(facts: &Facts) -> Vec<Finding> {
    facts.servers().into_iter().filter_map(of_link).collect()
}

fn of_link(server: &ServerFacts) -> Option<Finding> {
    let Transport::Tls { verified: Verification::No, .. } = server.link.transport else { return None };
    let evidence = "its certificate is not verified: anyone on the network can read and change all rows";
    Some(match server.accept.unverified {
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
        facts.source.accept.unverified = true;
        finds(&CHECK, &facts, Effect::Ask, "source: its certificate is not verified");
    }
}
