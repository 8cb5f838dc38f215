//! Both links use TLS of a sufficient version, or a socket of this host.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "link.tls",
    area: Area::Link,
    title: "TLS 1.3 on both links, or sockets",
    judge: Judge::Servers(judge),
};

fn judge(facts: &Facts) -> Vec<Finding> {
    facts.servers().into_iter().filter(|server| !server.has_sufficient_link()).map(of_link).collect()
}

fn of_link(server: &ServerFacts) -> Finding {
    match &server.link.transport {
        Transport::Tls { version, .. } => {
            let evidence = format!("the link uses {}", version.name());
            Finding::block(server.side, evidence).option("--min-tls 1.2")
        }
        Transport::Clear | Transport::Socket => Finding::block(server.side, "the link is not encrypted"),
    }
}

#[cfg(test)]
mod tests {
    use server::tls::TlsVersion;

    use super::*;
    use crate::preflight::testing::{facts, finds, found};

    #[test]
    fn older_versions_are_refused_unless_permitted() {
        let mut facts = facts();
        let suite = String::new();
        facts.target.link.transport =
            Transport::Tls { version: TlsVersion::Tls12, suite, verified: Verification::Identity };
        finds(&CHECK, &facts, Effect::Block, "target: the link uses TLSv1.2");
        facts.target.accept.min_tls = TlsVersion::Tls12;
        assert_eq!(found(&CHECK, &facts), []);
        facts.source.link.transport = Transport::Clear;
        finds(&CHECK, &facts, Effect::Block, "source: the link is not encrypted");
        facts.source.link.transport = Transport::Socket;
        assert_eq!(found(&CHECK, &facts), []);
    }
}
