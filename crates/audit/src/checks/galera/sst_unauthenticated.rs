//! `galera-sst-unauthenticated`.

use findings::Severity;

use super::{no_node, node, quote, sst_plaintext, verify_transfers};
use crate::channel::transfer::{Security, transfer};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "galera-sst-unauthenticated",
    title: "A node accepts all data from anybody, or sends it to anybody",
    severity: Severity::High,
    explanation: "Without a common authority the joiner accepts a database from whoever connects first, and a donor \
        sends one to a man in the middle. encrypt=3 without CA and ssl-mode=REQUIRED only encrypt. The key of \
        encrypt=1 is visible on a command line and in the error log. Judged by the options, as the scripts read them.",
    applies: "Galera, Percona XtraDB Cluster",
    fix: "ssl-mode=VERIFY_CA or VERIFY_IDENTITY with ssl-key, ssl-cert and ssl-ca under [sst] on every node",
    cost: "none until the next transfer; no restart",
    standards: &["PCI DSS 4.0.1 4.2.1"],
    exposes: Exposes::Help(Attacker::Impostor, "All data, to whoever poses as a joining node"),
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
    let fail = |message: &str| {
        let result = CheckResult::fail(&artefact, EvidenceGrade::Declared, format!("{message}: {}", transfer.why));
        match (transfer.security, node.sst_method) {
            // The remedy of that finding also fixes this one.
            (Security::Clear, _) => result.fix(sst_plaintext::fix(cx.facts, sql, &node)),
            (_, method) => result.fix(verify_transfers(cx.facts, sql, method)),
        }
    };
    let pass =
        |message: &str| CheckResult::pass(&artefact, EvidenceGrade::Declared, format!("{message}: {}", transfer.why));
    let result = match transfer.security {
        Security::Clear => fail("nothing distinguishes a node from anybody else"),
        Security::SharedKey => fail("whoever reads the error log or the process list has the key"),
        Security::Unverified => fail("any certificate is taken"),
        Security::Chain => pass("certificates of the cluster's authority are required; the peer's name is not checked"),
        Security::Identity => pass("certificate and peer are verified"),
    };
    Ok(CheckResults::one(quote(sql, &transfer, result)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::transferring;
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass};
    use crate::testing::mysql;

    #[test]
    fn only_a_common_authority_tells_nodes_from_others() {
        let key = [("sst", "tkey", "/k.pem"), ("sst", "tcert", "/c.pem")];
        let with = |more: &[(&'static str, &'static str, &'static str)]| {
            let lines: Vec<(&str, &str, &str)> = key.iter().chain(more).copied().collect();
            transferring("mariabackup", &lines).statuses(&CHECK)
        };
        assert_eq!(with(&[]), [Fail]);
        assert_eq!(with(&[("sst", "encrypt", "1")]), [Fail]);
        assert_eq!(with(&[("sst", "encrypt", "3")]), [Fail]);
        assert_eq!(with(&[("sst", "encrypt", "3"), ("sst", "tca", "/ca.pem")]), [Pass]);
        assert_eq!(with(&[("sst", "encrypt", "4"), ("sst", "tca", "/ca.pem")]), [Pass]);
        assert_eq!(with(&[("sst", "ssl_mode", "REQUIRED"), ("sst", "tca", "/ca.pem")]), [Fail]);
        assert_eq!(with(&[("sst", "ssl_mode", "VERIFY_IDENTITY"), ("sst", "tca", "/ca.pem")]), [Pass]);
        assert_eq!(mysql().statuses(&CHECK), [NotApplicable]);
    }
}
