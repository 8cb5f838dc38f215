//! `tls-cipher-weak`.

use findings::{Remedy, Severity};
use server::Capability;
use server::dialect::setting::reload_tls;
use server::dialect::variable;
use server::probe::VersionProbe;
use server::tls::TlsVersion;
use server::tls::suites::is_weak_openssl;
use server::tls::suites::{Strength, strength};

use super::{every_port, listed_versions, without_tls};
use crate::channel::client::seen_at;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::sql::SqlFacts;
use crate::facts::wire::{MAIN_PORT, Port};
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "tls-cipher-weak",
    title: "Weak cipher suites are accepted",
    severity: Severity::High,
    explanation: "Suites without authenticated encryption (CBC), without forward secrecy (static RSA, static DH), or \
        with 3DES, RC4, NULL, EXPORT or no authentication let an attacker change a connection, or read a recorded one \
        later. The probe offers every suite until the server refuses; without a probe ssl_cipher decides, if it names \
        suites. An empty ssl_cipher means the library's default, which is not known.",
    applies: "every server with TLS",
    fix: "ssl_cipher with ECDHE or DHE and GCM, CCM or ChaCha20-Poly1305 only",
    cost: "no lock; clients that support only the weak suites are refused",
    standards: &["CIS MySQL 2.17", "CIS MariaDB 2.12", "NIST SP 800-52r2", "PCI DSS 4.0.1 12.3.3"],
    exposes: Exposes::Help(Attacker::Sniffer, "Recorded sessions, once the key leaks or the cipher is broken"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

/// Suites of TLS 1.2 that are good, by OpenSSL's names.
const GOOD_LIST: &str = "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256:\
    ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

/// Smaller groups can be broken by precomputation (Logjam); NIST SP 800-52r2 requires 2048 bits.
const MIN_DH_BITS: u32 = 2048;

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    if let Some(none) = without_tls(cx) {
        return Ok(none);
    }
    every_port(cx, port_result, declared)
}

fn port_result(cx: &Context<'_>, port: &Port<'_>) -> CheckResult {
    let versions = port.tls.map_or(&[][..], |tls| &tls.versions);
    let weak: Vec<(TlsVersion, Vec<String>)> =
        versions.iter().map(|probe| (probe.version, weak_suites(probe))).filter(|(_, weak)| !weak.is_empty()).collect();
    if !weak.is_empty() {
        let count: usize = weak.iter().map(|(_, names)| names.len()).sum();
        let result =
            CheckResult::fail(port.name, EvidenceGrade::Wire, format!("{} accepts {count} weak suites", port.name));
        let shown = |(version, names): (TlsVersion, Vec<String>)| {
            seen_at(port, format!("{version} accepted: {}", names.join(", ")))
        };
        return weak.into_iter().map(shown).fold(result, CheckResult::evidence).fix(fix(cx.facts.sql.as_ref()));
    }
    let seen = |probe: &VersionProbe| seen_at(port, format!("{} accepted: {}", probe.version, suite_names(probe)));
    let accepted = || versions.iter().filter(|probe| !probe.suites.is_empty()).map(seen);
    if versions.iter().all(|probe| probe.complete) && accepted().next().is_some() {
        let message = format!("{} accepts only suites with forward secrecy and authenticated encryption", port.name);
        return accepted().fold(CheckResult::pass(port.name, EvidenceGrade::Wire, message), CheckResult::evidence);
    }
    let unseen = Unavailable {
        what: format!("the suites of the {}", port.name),
        why: "not every suite could be tried within the probe's limits; none of those found is weak".to_owned(),
        remedy: "run again when the server answers the probe's connections".to_owned(),
    };
    accepted().fold(CheckResult::unknown(port.name, unseen), CheckResult::evidence)
}

fn weak_suites(probe: &VersionProbe) -> Vec<String> {
    let why = |suite: &server::probe::SuiteSeen| match (strength(suite.id), suite.dh_bits) {
        (Strength::Broken, _) => Some("broken".to_owned()),
        (Strength::NoForwardSecrecy, _) => Some("no forward secrecy".to_owned()),
        (Strength::NotAead, _) => Some("not AEAD".to_owned()),
        (Strength::Good, Some(bits)) if bits < MIN_DH_BITS => Some(format!("{bits} bit group")),
        (Strength::Good, _) => None,
    };
    probe.suites.iter().filter_map(|suite| Some(format!("{} ({})", suite.name, why(suite)?))).collect()
}

fn suite_names(probe: &VersionProbe) -> String {
    probe.suites.iter().map(|suite| suite.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Without a probe: the suites that the server lists for our own session, or the variable.
fn declared(sql: &SqlFacts) -> Observed<CheckResult> {
    if sql.variable(variable::TLS_VERSION).is_ok_and(|value| listed_versions(value) == [TlsVersion::Tls13]) {
        let result = CheckResult::pass(MAIN_PORT, EvidenceGrade::Declared, "only TLS 1.3, which has no weak suites");
        return Ok(result.evidence(sql.variable_evidence(variable::TLS_VERSION)));
    }
    let listed = sql.status("Ssl_cipher_list").ok().filter(|list| !list.is_empty());
    let (list, grade, evidence) = match listed {
        Some(list) => (list, EvidenceGrade::Reported, sql.evidence("status", format!("Ssl_cipher_list = {list}"))),
        None => (
            sql.variable("ssl_cipher").unwrap_or_default(),
            EvidenceGrade::Declared,
            sql.variable_evidence("ssl_cipher"),
        ),
    };
    by_list(list, grade, evidence, sql).ok_or_else(|| Unavailable {
        what: "the suites of the main port".to_owned(),
        why: "ssl_cipher does not name suites, so the library's default or its keywords decide".to_owned(),
        remedy: "give a TCP address that reaches the server".to_owned(),
    })
}

fn by_list(list: &str, grade: EvidenceGrade, evidence: Evidence, sql: &SqlFacts) -> Option<CheckResult> {
    let tokens: Vec<&str> =
        list.split([':', ',', ' ']).filter(|token| !token.is_empty() && !token.starts_with(['!', '-', '@'])).collect();
    let is_suite = |token: &&str| !token.contains('+') && (token.contains('-') || token.starts_with("TLS_"));
    let weak: Vec<&str> = tokens.iter().copied().filter(|token| is_suite(token) && is_weak_openssl(token)).collect();
    let result = if !weak.is_empty() {
        CheckResult::fail(MAIN_PORT, grade, format!("weak suites are allowed: {}", weak.join(", "))).fix(fix(Some(sql)))
    } else if !tokens.is_empty() && tokens.iter().all(is_suite) {
        CheckResult::pass(MAIN_PORT, grade, "every suite listed has forward secrecy and authenticated encryption")
    } else {
        return None;
    };
    Some(result.evidence(evidence))
}

fn fix(sql: Option<&SqlFacts>) -> Remedy {
    match sql {
        Some(sql) if sql.mysql_can(Capability::ReloadTls) => {
            advice::set_variable(sql, "ssl_cipher", GOOD_LIST).and(Remedy::statement(reload_tls(sql.flavor())))
        }
        Some(sql) if sql.can(Capability::Tls12) => advice::set_at_start(sql, "ssl_cipher", GOOD_LIST),
        Some(sql) => format!("{} has no better suites: upgrade", sql.identity.version).into(),
        None => CHECK.fix.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::made::{good_tls, probed, tls};
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{mariadb, mysql};

    #[test]
    fn every_weak_suite_is_named() {
        let weak = tls(&[(TlsVersion::Tls12, &[0xc02f, 0xc013, 0x002f, 0x0005]), (TlsVersion::Tls13, &[0x1301])]);
        let found = probed(mysql(), Some(weak)).judge(&CHECK);
        assert_eq!((found[0].status, found[0].grade), (Fail, Some(EvidenceGrade::Wire)));
        let shown = format!("{:?}", found[0].evidence);
        for (name, why) in [
            ("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "not AEAD"),
            ("TLS_RSA_WITH_AES_128_CBC_SHA", "no forward secrecy"),
            ("TLS_RSA_WITH_RC4_128_SHA", "broken"),
        ] {
            assert!(shown.contains(&format!("{name} ({why})")), "{shown}");
        }
        assert!(!shown.contains("GCM"));
    }

    #[test]
    fn good_suites_pass_only_if_all_were_tried() {
        assert_eq!(probed(mysql(), Some(good_tls())).statuses(&CHECK), [Pass]);
        let mut cut = good_tls();
        cut.versions[3].complete = false;
        assert_eq!(probed(mysql(), Some(cut)).statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn small_groups_are_weak() {
        let mut small = tls(&[(TlsVersion::Tls12, &[0x009e])]);
        small.versions[3].suites[0].dh_bits = Some(1024);
        assert_eq!(probed(mysql(), Some(small)).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn without_a_probe_a_list_of_suites_tells_and_keywords_do_not() {
        let listed = |list: &str| mariadb().variable("ssl_cipher", list).statuses(&CHECK);
        assert_eq!(listed("ECDHE-RSA-AES128-GCM-SHA256:AES128-SHA"), [Fail]);
        assert_eq!(listed("ECDHE-RSA-AES128-GCM-SHA256:!aNULL"), [Pass]);
        assert_eq!(listed("HIGH:!aNULL"), [Unknown]);
        assert_eq!(listed(""), [Unknown]);
        assert_eq!(mysql().variable("tls_version", "TLSv1.3").variable("ssl_cipher", "").statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_server_without_tls_has_no_suites() {
        assert_eq!(probed(mysql(), None).statuses(&CHECK), [NotApplicable]);
    }
}
