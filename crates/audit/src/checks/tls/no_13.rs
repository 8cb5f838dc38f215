//! `tls-no-13`.

use findings::{Remedy, Severity};
use server::Capability;
use server::tls::{TLS_1_2_AND_1_3, TlsVersion};

use super::{accepts, every_port, listed_versions, set_and_reload, version_variable, versions_seen, without_tls};
use crate::channel::client::seen_at;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::sql::SqlFacts;
use crate::facts::wire::{MAIN_PORT, Port};
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "tls-no-13",
    title: "TLS 1.3 is not offered",
    severity: Severity::Low,
    explanation: "TLS 1.3 has no weak suites, encrypts the certificate and saves a round trip. A handshake shows \
        whether it is offered; without a probe tls_version does.",
    applies: "every server with TLS",
    fix: "tls_version = TLSv1.2,TLSv1.3 on a version that supports it",
    cost: "no lock; a restart where the variable is read at start",
    standards: &["NIST SP 800-52r2"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    if let Some(none) = without_tls(cx) {
        return Ok(none);
    }
    every_port(cx, port_result, |sql| by_variable(sql, MAIN_PORT))
}

fn port_result(cx: &Context<'_>, port: &Port<'_>) -> CheckResult {
    let evidence = seen_at(port, port.tls.map_or_else(String::new, |tls| versions_seen(&tls.versions)));
    let result = match accepts(port, TlsVersion::Tls13) {
        Some(true) => CheckResult::pass(port.name, EvidenceGrade::Wire, format!("{} speaks TLS 1.3", port.name)),
        Some(false) => {
            CheckResult::fail(port.name, EvidenceGrade::Wire, format!("{} does not speak TLS 1.3", port.name))
                .fix(fix(cx.facts.sql.as_ref(), port.name))
        }
        None => {
            let declared = cx.facts.sql().and_then(|sql| by_variable(sql, port.name));
            declared.unwrap_or_else(|unseen| CheckResult::unknown(port.name, unseen))
        }
    };
    result.evidence(evidence)
}

fn by_variable(sql: &SqlFacts, port: &str) -> Observed<CheckResult> {
    let name = version_variable(port);
    let value = sql.variable(name).ok().filter(|value| !value.is_empty()).ok_or_else(|| Unavailable {
        what: format!("whether the {port} speaks TLS 1.3"),
        why: format!("{name} does not tell"),
        remedy: "give a TCP address that reaches the server".to_owned(),
    })?;
    let result = if listed_versions(value).contains(&TlsVersion::Tls13) {
        CheckResult::pass(port, EvidenceGrade::Declared, format!("{name} lists TLS 1.3"))
    } else {
        CheckResult::fail(port, EvidenceGrade::Declared, format!("{name} does not list TLS 1.3"))
            .fix(fix(Some(sql), port))
    };
    Ok(result.evidence(sql.variable_evidence(name)))
}

fn fix(sql: Option<&SqlFacts>, port: &str) -> Remedy {
    let name = version_variable(port);
    match sql {
        Some(sql) if sql.mysql_can(Capability::ReloadTls) => set_and_reload(sql, port, name, TLS_1_2_AND_1_3),
        Some(sql) if sql.is_mariadb() && sql.can(Capability::SetTlsVersions) => {
            crate::checks::advice::set_at_start(sql, name, TLS_1_2_AND_1_3)
        }
        Some(sql) if sql.is_mariadb() => {
            format!("{} has no tls_version: upgrade to 10.4.6 or later", sql.identity.version).into()
        }
        Some(sql) => format!("{} does not support TLS 1.3: upgrade to 8.0.16 or later", sql.identity.version).into(),
        None => CHECK.fix.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::made::{good_tls, probed, tls};
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql};

    #[test]
    fn the_handshake_tells() {
        assert_eq!(probed(mysql(), Some(good_tls())).statuses(&CHECK), [Pass]);
        let only_12 =
            probed(mysql().variable("tls_version", "TLSv1.2,TLSv1.3"), Some(tls(&[(TlsVersion::Tls12, &[0xc02f])])));
        assert_eq!(
            (only_12.judge(&CHECK)[0].status, only_12.judge(&CHECK)[0].grade),
            (Fail, Some(EvidenceGrade::Wire))
        );
        assert_eq!(probed(mysql(), None).statuses(&CHECK), [NotApplicable]);
    }

    #[test]
    fn without_a_probe_the_variable_tells() {
        let old = FactsBuilder::server("5.7.44", "").variable("tls_version", "TLSv1.2").judge(&CHECK);
        assert_eq!(old[0].status, Fail);
        assert!(old[0].remediation.as_deref().unwrap().contains("upgrade"));
        assert_eq!(mysql().variable("tls_version", "TLSv1.3").statuses(&CHECK), [Pass]);
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
    }
}
