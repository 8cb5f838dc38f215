//! `galera-sst-plaintext`.

use findings::{Remedy, Severity};
use server::dialect::variable;
use sniff::Service;

use super::{no_node, node, quote, verify_transfers};
use crate::channel::galera::Galera;
use crate::channel::transfer::{Security, transfer};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::sql::SqlFacts;
use crate::facts::{Facts, Observed};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "galera-sst-plaintext",
    title: "A node that joins receives all data in clear",
    severity: Severity::High,
    explanation: "A state transfer sends every file or row of the database. The scripts' default is clear text, even \
        when the server and Galera's own channel use TLS: they read their own options from the group [sst] at transfer \
        time. Judged by wsrep_sst_method and these options, as the scripts read them.",
    applies: "Galera, Percona XtraDB Cluster",
    fix: "encrypt=4 with tkey, tcert and tca, or ssl-mode=VERIFY_CA with ssl-key, ssl-cert and ssl-ca, \
        under [sst] on every node",
    cost: "none until the next transfer; no restart",
    standards: &["PCI DSS 4.0.1 4.2.1", "PCI DSS 4.0.1 3.5.1"],
    exposes: Exposes::Data(Attacker::Sniffer, "All data, whenever a node joins the cluster"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let Some((sql, node)) = node(cx)? else { return Ok(no_node()) };
    if node.sst_method == "skip" {
        return Ok(CheckResults::not_applicable("wsrep_sst_method = skip: no state is transferred"));
    }
    let transfer = transfer(cx.facts, &node)?;
    let artefact = format!("state transfer ({})", node.sst_method);
    let result = if transfer.security == Security::Clear {
        CheckResult::fail(&artefact, EvidenceGrade::Declared, format!("the {artefact} is in clear: {}", transfer.why))
            .fix(fix(cx.facts, sql, &node))
    } else {
        CheckResult::pass(&artefact, EvidenceGrade::Declared, format!("the {artefact} is encrypted: {}", transfer.why))
    };
    Ok(CheckResults::one(quote(sql, &transfer, result.with_packets(cx, &[Service::StateTransfer]))))
}

pub(super) fn fix(facts: &Facts, sql: &SqlFacts, node: &Galera<'_>) -> Remedy {
    if node.pxc_encrypt.is_some() {
        return advice::set_at_start(sql, variable::PXC_ENCRYPT_CLUSTER_TRAFFIC, "ON")
            .note("on every node of the cluster");
    }
    match node.sst_method {
        "mysqldump" => advice::set_variable(sql, variable::WSREP_SST_METHOD, "mariabackup")
            .and(verify_transfers(facts, sql, "mariabackup"))
            .note("wsrep_sst_auth names an account that mariadb-backup may use"),
        method => verify_transfers(facts, sql, method),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{node, transferring};
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::mariadb;

    #[test]
    fn backup_scripts_are_clear_by_default() {
        type Lines = &'static [(&'static str, &'static str, &'static str)];
        let cases: &[(Lines, _)] = &[
            (&[], Fail),
            // Certificates of the server alone change nothing.
            (&[("mysqld", "ssl_cert", "/c.pem"), ("mysqld", "ssl_key", "/k.pem")], Fail),
            (&[("sst", "encrypt", "0")], Fail),
            (&[("sst", "tkey", "/k.pem"), ("sst", "tcert", "/c.pem")], Fail),
            (&[("sst", "encrypt", "3"), ("sst", "tkey", "/k.pem"), ("sst", "tcert", "/c.pem")], Pass),
            (&[("sst", "encrypt", "4")], Pass),
            (&[("sst", "encrypt", "1")], Pass),
            (&[("sst", "encrypt", "4"), ("sst", "encrypt", "0")], Fail),
            (
                &[("sst", "ssl_mode", "REQUIRED"), ("mariadb", "ssl_cert", "/c.pem"), ("mariadb", "ssl_key", "/k.pem")],
                Pass,
            ),
            (&[("sst", "ssl_mode", "REQUIRED")], Fail),
            (&[("client", "encrypt", "4")], Fail),
        ];
        for (lines, expected) in cases {
            assert_eq!(transferring("mariabackup", lines).statuses(&CHECK), [*expected], "{lines:?}");
        }
    }

    #[test]
    fn rsync_takes_the_servers_certificates_if_stunnel_is_there() {
        let lines: &[(&str, &str, &str)] = &[("mysqld", "ssl_cert", "/c.pem"), ("mysqld", "ssl_key", "/k.pem")];
        assert_eq!(transferring("rsync", &[]).statuses(&CHECK), [Fail]);
        assert_eq!(transferring("rsync", lines).statuses(&CHECK), [Pass]);
        assert_eq!(transferring("rsync", lines).host(|host| host.stunnel = Some(false)).statuses(&CHECK), [Fail]);
        assert_eq!(
            transferring("rsync", &[("sst", "ssl_mode", "disabled"), lines[0], lines[1]]).statuses(&CHECK),
            [Fail]
        );
    }

    #[test]
    fn methods_decide_where_options_do_not() {
        assert_eq!(node("").variable("wsrep_sst_method", "mysqldump").statuses(&CHECK), [Fail]);
        assert_eq!(node("").variable("wsrep_sst_method", "skip").statuses(&CHECK), [NotApplicable]);
        assert_eq!(node("").variable("wsrep_sst_method", "sealant").statuses(&CHECK), [Pass]);
        let pxc = |on: &str| node("").variable("wsrep_sst_method", "clone").variable("pxc_encrypt_cluster_traffic", on);
        assert_eq!(pxc("ON").statuses(&CHECK), [Pass]);
        assert_eq!(pxc("OFF").statuses(&CHECK), [Fail]);
    }

    #[test]
    fn unread_options_are_unknown() {
        assert_eq!(node("").variable("wsrep_sst_method", "mariabackup").statuses(&CHECK), [Unknown]);
        let unread = transferring("mariabackup", &[]);
        let unread = unread.host(|host| {
            host.unreadable_options.push(("/etc/mysql/sst.cnf".to_owned(), "permission denied".to_owned()))
        });
        assert_eq!(unread.statuses(&CHECK), [Unknown]);
        assert_eq!(mariadb().variable("wsrep_provider", "none").statuses(&CHECK), [NotApplicable]);
    }
}
