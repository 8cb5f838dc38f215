//! `galera-traffic-plaintext`.

use findings::{Remedy, Severity};
use server::dialect::statement::show_variable;
use server::dialect::variable;
use sniff::Service;

use super::{certificates, no_node, node, set_provider_options};
use crate::channel::galera::Galera;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::sql::SqlFacts;
use crate::facts::{Facts, Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "galera-traffic-plaintext",
    title: "Galera replicates in clear",
    severity: Severity::High,
    explanation: "Every write-set crosses the network between the nodes, and an incremental transfer repeats them. \
        socket.ssl among the provider's options switches TLS on for both; no status variable shows it. With \
        socket.dynamic a node also accepts peers without TLS, which is meant for the time of the change only.",
    applies: "Galera, Percona XtraDB Cluster",
    fix: "socket.ssl=yes with socket.ssl_ca, socket.ssl_cert and socket.ssl_key on every node",
    cost: "all nodes at once, or one by one with socket.dynamic=yes for the time of the change",
    standards: &["PCI DSS 4.0.1 4.2.1"],
    exposes: Exposes::Data(Attacker::Sniffer, "Every change, as the cluster agrees on it"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

const ARTEFACT: &str = "Galera replication and IST";

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let Some((sql, node)) = node(cx)? else { return Ok(no_node()) };
    let encrypted = node.encrypted().ok_or_else(|| Unavailable {
        what: "socket.ssl".to_owned(),
        why: "wsrep_provider_options is empty although a provider is set".to_owned(),
        remedy: "run again when the node has joined its cluster".to_owned(),
    })?;
    let result = if !encrypted {
        CheckResult::fail(ARTEFACT, EvidenceGrade::Declared, "write-sets cross the network in clear")
            .fix(fix(cx.facts, &node, sql))
    } else if node.takes_clear_peers() {
        CheckResult::fail(
            ARTEFACT,
            EvidenceGrade::Declared,
            "socket.dynamic is on: peers without TLS are accepted, too",
        )
        .fix(
            set_provider_options(cx.facts, sql, &[("socket.dynamic", None)])
                .once("every node has socket.ssl=yes")
                .note("node by node"),
        )
    } else {
        CheckResult::pass(ARTEFACT, EvidenceGrade::Declared, "write-sets cross the network over TLS")
    };
    let result = result.with_packets(cx, &[Service::Galera, Service::IncrementalTransfer]).evidence(quote(&node));
    Ok(CheckResults::one(match node.pxc_encrypt {
        Some(_) => result.evidence(sql.variable_evidence(variable::PXC_ENCRYPT_CLUSTER_TRAFFIC)),
        None => result,
    }))
}

fn quote(node: &Galera<'_>) -> Evidence {
    let shown: Vec<String> = node
        .options
        .iter()
        .filter(|(key, _)| key.starts_with("socket.") && !key.contains("password"))
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    let answer = if shown.is_empty() { "no socket. option".to_owned() } else { shown.join("; ") };
    Evidence::Query { sql: show_variable(variable::WSREP_PROVIDER_OPTIONS), answer }
}

fn fix(facts: &Facts, node: &Galera<'_>, sql: &SqlFacts) -> Remedy {
    let set = if node.pxc_encrypt.is_some() {
        advice::set_at_start(sql, variable::PXC_ENCRYPT_CLUSTER_TRAFFIC, "ON")
    } else {
        let [ca, cert, key] = certificates(sql).map(Some);
        let renewed = [
            ("socket.ssl", Some("yes")),
            ("socket.ssl_ca", ca),
            ("socket.ssl_cert", cert),
            ("socket.ssl_key", key),
            ("socket.dynamic", None),
        ];
        set_provider_options(facts, sql, &renewed)
    };
    set.note("on every node, with certificates of one authority; the cluster is stopped, then started again")
}

#[cfg(test)]
mod tests {
    use super::super::tests::node;
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    #[test]
    fn the_value_of_socket_ssl_decides_not_its_presence() {
        let cases = [
            ("gcache.size = 128M; socket.ssl=no", Fail),
            ("socket.ssl = NO; socket.ssl_cert = /c.pem; socket.ssl_key = /k.pem", Fail),
            ("gcache.size = 128M", Fail),
            ("socket.ssl=yes;socket.ssl_cert=/c.pem", Pass),
            ("socket.ssl = YES", Pass),
            ("socket.ssl = YES; socket.dynamic = true", Fail),
            ("", Unknown),
        ];
        for (options, expected) in cases {
            assert_eq!(node(options).statuses(&CHECK), [expected], "{options}");
        }
    }

    #[test]
    fn the_fix_keeps_what_is_set() {
        let line = |value: &str, read_by_server| crate::facts::host::OptionEntry {
            group: "galera".to_owned(),
            key: "wsrep_provider_options".to_owned(),
            value: Some(value.to_owned()),
            read_by_server,
            ..Default::default()
        };
        let fix = |made: FactsBuilder| made.judge(&CHECK)[0].remediation.clone().unwrap();
        let lines = vec![line("gcache.size=1G", true), line("gcache.size=4G; socket.ssl=no", true), line("a=b", false)];
        let with_file = node("gcache.size = 4G").variable("ssl_ca", "/ca.pem").host(|host| host.options = lines);
        assert!(fix(with_file).starts_with(
            "wsrep_provider_options = \"gcache.size=4G;socket.ssl=yes;socket.ssl_ca=/ca.pem;\
                 socket.ssl_cert=/etc/mysql/cert.pem;socket.ssl_key=/etc/mysql/key.pem\" under [mariadb]"
        ));
        // Without the host's files, the configured options are unknown, and the effective ones include all defaults.
        let from_afar = fix(node("gcache.size = 4G"));
        assert!(from_afar.contains("keep its other options"), "{from_afar}");
        let lines = vec![line("socket.ssl=yes;socket.dynamic=true;pc.weight=2", true)];
        let dynamic = node("socket.ssl = YES; socket.dynamic = true").host(|host| host.options = lines);
        assert!(fix(dynamic).starts_with(
            "once every node has socket.ssl=yes: wsrep_provider_options = \"socket.ssl=yes;pc.weight=2\" under"
        ));
    }

    #[test]
    fn perconas_switch_is_as_good_as_the_option() {
        assert_eq!(node("").variable("pxc_encrypt_cluster_traffic", "ON").statuses(&CHECK), [Pass]);
        assert_eq!(node("socket.ssl = NO").variable("pxc_encrypt_cluster_traffic", "OFF").statuses(&CHECK), [Fail]);
    }

    #[test]
    fn servers_outside_a_cluster_are_not_concerned() {
        assert_eq!(mariadb().variable("wsrep_provider", "none").statuses(&CHECK), [NotApplicable]);
        let off = mariadb().variable("wsrep_provider", "/usr/lib/galera/libgalera_smm.so").variable("wsrep_on", "OFF");
        assert_eq!(off.statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().statuses(&CHECK), [NotApplicable]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
