//! `tls-version-old`.

use findings::{Remedy, Severity};
use server::Capability;
use server::tls::{TLS_1_2_AND_1_3, TlsVersion};

use super::{accepts, every_port, listed_versions, set_and_reload, version_variable, versions_seen, without_tls};
use crate::channel::client::seen_at;
use crate::channel::group::group;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::sql::SqlFacts;
use crate::facts::wire::{MAIN_PORT, Port};
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "tls-version-old",
    title: "SSL 3.0, TLS 1.0 or TLS 1.1 is accepted",
    severity: Severity::High,
    explanation: "These versions rely on MD5 and SHA-1 and are deprecated (RFC 7568, RFC 8996). The probe offers each \
        version alone; without a probe tls_version and admin_tls_version show what is allowed, which the library's \
        security level may restrict further.",
    applies: "MySQL before 8.0.28 and MariaDB by their settings; every port",
    fix: "tls_version = TLSv1.2,TLSv1.3",
    cost: "no lock; clients that support only the old versions are refused",
    standards: &[
        "CIS MySQL 2.15",
        "CIS MariaDB 2.10",
        "NIST SP 800-52r2",
        "PCI DSS 4.0.1 4.2.1",
        "PCI DSS 4.0.1 12.3.3",
    ],
    exposes: Exposes::Help(Attacker::Sniffer, "Sessions of clients that can be downgraded to an old version of TLS"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

const OLD: [TlsVersion; 3] = [TlsVersion::Ssl3, TlsVersion::Tls10, TlsVersion::Tls11];

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    if let Some(none) = without_tls(cx) {
        return Ok(none);
    }
    let mut results = every_port(cx, port_result, |sql| by_variable(sql, MAIN_PORT))?;
    recovery(cx, &mut results);
    Ok(results)
}

fn port_result(cx: &Context<'_>, port: &Port<'_>) -> CheckResult {
    let taken: Vec<&str> = OLD.iter().filter(|v| accepts(port, **v) == Some(true)).map(|v| v.name()).collect();
    let evidence = seen_at(port, port.tls.map_or_else(String::new, |tls| versions_seen(&tls.versions)));
    if !taken.is_empty() {
        let text = format!("{} accepts {}", port.name, taken.join(", "));
        return CheckResult::fail(port.name, EvidenceGrade::Wire, text).evidence(evidence).fix(fix(cx, port.name));
    }
    // SSL 3.0 was removed from every library long ago, so its refusal need not be observed.
    if OLD.iter().skip(1).all(|version| accepts(port, *version) == Some(false)) {
        let text = format!("{} refuses everything before TLS 1.2", port.name);
        return CheckResult::pass(port.name, EvidenceGrade::Wire, text).evidence(evidence);
    }
    let declared = cx.facts.sql().and_then(|sql| by_variable(sql, port.name));
    declared.unwrap_or_else(|unseen| CheckResult::unknown(port.name, unseen)).evidence(evidence)
}

fn by_variable(sql: &SqlFacts, port: &str) -> Observed<CheckResult> {
    let name = version_variable(port);
    let value = sql.variable(name).map_err(|unseen| Unavailable {
        what: format!("the TLS versions of the {port}"),
        why: unseen.why,
        remedy: "give a TCP address that reaches the server".to_owned(),
    })?;
    // Empty means the server's default, which depends on the version.
    if value.is_empty() {
        return Err(Unavailable {
            what: format!("the TLS versions of the {port}"),
            why: format!("{name} is empty"),
            remedy: "give a TCP address that reaches the server".to_owned(),
        });
    }
    let old: Vec<&str> = listed_versions(value).into_iter().filter(|v| OLD.contains(v)).map(TlsVersion::name).collect();
    let result = if old.is_empty() {
        CheckResult::pass(port, EvidenceGrade::Declared, format!("{name} lists nothing before TLS 1.2"))
    } else {
        CheckResult::fail(port, EvidenceGrade::Declared, format!("{name} allows {}", old.join(", ")))
            .fix(fix_variable(sql, port))
    };
    Ok(result.evidence(sql.variable_evidence(name)))
}

/// Recovery of a group member has its own versions.
fn recovery(cx: &Context<'_>, results: &mut CheckResults) {
    const NAME: &str = "group_replication_recovery_tls_version";
    let Some(sql) = cx.facts.sql.as_ref().filter(|sql| group(sql).is_some()) else { return };
    let Some(value) = sql.variable_or_none(NAME) else { return };
    let old: Vec<&str> = listed_versions(value).into_iter().filter(|v| OLD.contains(v)).map(TlsVersion::name).collect();
    if !old.is_empty() {
        let result = CheckResult::fail(
            NAME,
            EvidenceGrade::Declared,
            format!("recovery of the group may use {}", old.join(", ")),
        );
        let fix = advice::set_variable(sql, NAME, TLS_1_2_AND_1_3);
        results.push(result.evidence(sql.variable_evidence(NAME)).fix(fix));
    }
}

fn fix(cx: &Context<'_>, port: &str) -> Remedy {
    cx.facts.sql.as_ref().map_or_else(|| CHECK.fix.into(), |sql| fix_variable(sql, port))
}

fn fix_variable(sql: &SqlFacts, port: &str) -> Remedy {
    let name = version_variable(port);
    if sql.mysql_can(Capability::ReloadTls) {
        set_and_reload(sql, port, name, TLS_1_2_AND_1_3)
    } else if sql.mysql_can(Capability::SetTlsVersions) {
        advice::set_at_start(sql, name, "TLSv1.2")
    } else if sql.can(Capability::SetTlsVersions) {
        advice::set_at_start(sql, name, TLS_1_2_AND_1_3)
    } else {
        format!("{} cannot restrict versions: upgrade", sql.identity.version).into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::made::{good_tls, probed, tls};
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    #[test]
    fn handshakes_outrank_the_variable() {
        let old = tls(&[(TlsVersion::Tls10, &[0x002f]), (TlsVersion::Tls12, &[0xc02f])]);
        let found = probed(mysql().variable("tls_version", "TLSv1.2"), Some(old)).judge(&CHECK);
        assert_eq!((found[0].status, found[0].grade), (Fail, Some(EvidenceGrade::Wire)));
        assert!(found[0].message.ends_with("TLSv1"), "{}", found[0].message);
        // The system's security level refuses what the variable allows.
        let narrowed = probed(mysql().variable("tls_version", "TLSv1,TLSv1.1,TLSv1.2"), Some(good_tls()));
        assert_eq!(narrowed.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn without_a_probe_the_variable_tells() {
        let old = FactsBuilder::server("5.7.44", "MySQL Community Server (GPL)")
            .variable("tls_version", "TLSv1,TLSv1.1,TLSv1.2");
        let found = old.judge(&CHECK);
        assert_eq!((found[0].status, found[0].grade), (Fail, Some(EvidenceGrade::Declared)));
        assert!(found[0].remediation.as_deref().unwrap().starts_with("tls_version = TLSv1.2 under [mysqld]"));
        assert_eq!(mysql().variable("tls_version", "TLSv1.2,TLSv1.3").statuses(&CHECK), [Pass]);
        assert_eq!(mariadb().variable("tls_version", "").statuses(&CHECK), [Unknown]);
        // MariaDB's name of TLS 1.0.
        assert_eq!(mariadb().variable("tls_version", "TLSv1.0,TLSv1.2").statuses(&CHECK), [Fail]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn a_server_without_tls_has_no_versions() {
        assert_eq!(probed(mysql(), None).statuses(&CHECK), [NotApplicable]);
    }

    #[test]
    fn a_handshake_that_broke_leaves_the_word_to_the_variable() {
        let mut broken = good_tls();
        broken.versions[1].acceptance = server::probe::Acceptance::Unknown("no connection left".to_owned());
        let declared = probed(mysql().variable("tls_version", "TLSv1.2"), Some(broken.clone()));
        assert_eq!(declared.judge(&CHECK)[0].grade, Some(EvidenceGrade::Declared));
        assert_eq!(probed(mysql(), Some(broken)).statuses(&CHECK), [Unknown]);
    }
}
