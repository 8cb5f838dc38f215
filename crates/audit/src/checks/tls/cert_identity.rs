//! `tls-cert-identity`.

use findings::{Remedy, Severity};
use server::Endpoint;

use super::certificates::{Found, server_certificates};
use super::{reload, without_tls};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::{Facts, Observed, Unavailable};

pub(crate) const CHECK: Check = Check {
    id: "tls-cert-identity",
    title: "The certificate does not contain the name that clients use",
    severity: Severity::Medium,
    explanation: "A client that checks the name refuses the server, so operators switch the check off. Then whoever \
        has any certificate of the same authority can pose as the server. Current TLS libraries check the subject \
        alternative name only, not the common name. The names are compared with those given by --client-name, or else \
        with the host's own.",
    applies: "every server with TLS",
    fix: "reissue the certificate with every name in subjectAltName",
    cost: "no lock, no restart",
    standards: &["PCI DSS 4.0.1 4.2.1", "NIST SP 800-53r5 SC-23"],
    exposes: Exposes::Help(
        Attacker::Impostor,
        "Sessions, to whoever poses as the server: its certificate does not contain its name",
    ),
    closed_by: ClosedBy::Cert,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    if let Some(none) = without_tls(cx) {
        return Ok(none);
    }
    let mut results = CheckResults::new();
    for found in server_certificates(cx.facts)? {
        results.push(result(cx, &found));
    }
    Ok(results)
}

fn result(cx: &Context<'_>, found: &Found<'_>) -> CheckResult {
    let certificate = found.certificate;
    let fail = |text: String| {
        CheckResult::fail(&found.artefact, found.grade, text).fix(fix(cx)).evidence(found.evidence.clone())
    };
    if certificate.san_dns.is_empty() && certificate.san_ip.is_empty() {
        return fail(format!("{}: {} has no subject alternative name", found.artefact, certificate.subject));
    }
    let missing: Vec<&str> =
        cx.facts.client_names.iter().filter(|name| !certificate.names_host(name)).map(String::as_str).collect();
    let names = certificate.names().join(", ");
    if !missing.is_empty() {
        return fail(format!("{}: the certificate is for {names}, clients use {}", found.artefact, missing.join(", ")));
    }
    let used = if cx.facts.client_names.is_empty() { host_names(cx.facts) } else { cx.facts.client_names.clone() };
    match used.iter().find(|name| certificate.names_host(name)) {
        Some(name) => {
            let text = format!("{}: the certificate is for {names}, {name} included", found.artefact);
            CheckResult::pass(&found.artefact, found.grade, text).evidence(found.evidence.clone())
        }
        None => CheckResult::unknown(&found.artefact, no_name(&names)).evidence(found.evidence.clone()),
    }
}

/// Host names that clients probably use: that of our own connection, and the host's.
fn host_names(facts: &Facts) -> Vec<String> {
    let Some(sql) = &facts.sql else { return Vec::new() };
    let host = match sql.session.endpoint.parse() {
        Ok(endpoint @ Endpoint::Tcp { .. }) => Some(endpoint.certificate_name().to_owned()),
        _ => None,
    };
    [host, Some(sql.identity.hostname.clone())].into_iter().flatten().filter(|name| !name.is_empty()).collect()
}

fn no_name(names: &str) -> Unavailable {
    Unavailable {
        what: "the name that clients use".to_owned(),
        why: format!("the certificate is for {names}, and the name that clients use is not known"),
        remedy: "name it with --client-name NAME".to_owned(),
    }
}

fn fix(cx: &Context<'_>) -> Remedy {
    let names = if cx.facts.client_names.is_empty() {
        "every name that clients use".to_owned()
    } else {
        cx.facts.client_names.join(", ")
    };
    Remedy::advice(format!("reissue the certificate with {names} in subjectAltName"))
        .then(reload(cx.facts.sql.as_ref()))
}

#[cfg(test)]
mod tests {
    use pki::Certificate;
    use server::probe::TlsProbe;

    use super::super::made::{certificate, good_tls, probed};
    use super::*;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql};

    fn sending(certificate: Certificate, names: &[&str]) -> FactsBuilder {
        let mut made = probed(mysql(), Some(TlsProbe { certificates: vec![certificate], ..good_tls() }));
        made.0.client_names = names.iter().map(|name| (*name).to_owned()).collect();
        made
    }

    #[test]
    fn a_common_name_alone_is_no_identity() {
        let no_san = Certificate { san_dns: Vec::new(), ..certificate() };
        assert_eq!(sending(no_san, &["db.example"]).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn every_name_that_clients_use_must_be_there() {
        assert_eq!(sending(certificate(), &["db.example"]).statuses(&CHECK), [Pass]);
        let found = sending(certificate(), &["db.example", "db-rw.example"]).judge(&CHECK);
        assert_eq!(found[0].status, Fail);
        assert!(found[0].message.ends_with("clients use db-rw.example"));
    }

    #[test]
    fn without_names_the_host_name_may_decide() {
        assert_eq!(sending(certificate(), &[]).statuses(&CHECK), [Unknown]);
        let mut made = sending(certificate(), &[]);
        made.0.sql.as_mut().unwrap().identity.hostname = "db.example".to_owned();
        assert_eq!(made.statuses(&CHECK), [Pass]);
    }
}
