//! `tls-chain-untrusted`.

use findings::{Remedy, Severity};
use pki::Certificate;
use server::dialect::variable;

use super::certificates::{describe, named_certificates, path_of};
use super::{reload, tls_ports, without_tls};
use crate::channel::client::seen_at;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::wire::{MAIN_PORT, Port};
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "tls-chain-untrusted",
    title: "The server's certificate chain does not end at its authority",
    severity: Severity::Medium,
    explanation: "If the server does not send an intermediate certificate, or the authority is another one, clients \
        that verify refuse the server. The chain that the main port sends is checked against the certificates in the \
        file ssl_ca.",
    applies: "every server with TLS whose ssl_ca is set",
    fix: "append the intermediate certificates to the file ssl_cert, the server's own first",
    cost: "no lock, no restart",
    standards: &["PCI DSS 4.0.1 4.2.1"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    if let Some(none) = without_tls(cx) {
        return Ok(none);
    }
    let sql = cx.facts.sql()?;
    let Some(ca_file) = path_of(sql, variable::SSL_CA) else {
        return Ok(CheckResults::not_applicable("ssl_ca is empty: there is no authority to check the chain against"));
    };
    cx.facts.wire()?;
    let port = tls_ports(cx)
        .into_iter()
        .find(|port| port.name == MAIN_PORT)
        .ok_or_else(|| unseen(&ca_file, "the main port's chain was not seen"))?;
    let result = match cx.facts.wire.as_ref().and_then(|wire| wire.chain.as_ref()) {
        Some(trust) => match &trust.error {
            Some(why) => fail(cx, &ca_file, why),
            None => CheckResult::pass(MAIN_PORT, EvidenceGrade::Wire, format!("the chain leads to {}", trust.ca_file)),
        },
        None => by_names(cx, &port, &ca_file)?,
    };
    let chain = port.tls.map_or_else(Vec::new, |tls| tls.certificates.iter().map(describe).collect());
    let result =
        chain.into_iter().fold(result, |result, sent| result.evidence(seen_at(&port, format!("sent: {sent}"))));
    let authorities = named_certificates(cx.facts, variable::SSL_CA).unwrap_or_default();
    let held: Vec<&str> = authorities.iter().take(5).map(|ca| ca.subject.as_str()).collect();
    Ok(CheckResults::one(
        result.evidence(Evidence::Host { source: ca_file, observation: format!("holds {}", held.join("; ")) }),
    ))
}

/// Without signatures only a missing issuer is certain: names alone prove no chain.
fn by_names(cx: &Context<'_>, port: &Port<'_>, ca_file: &str) -> Observed<CheckResult> {
    let sent = port.tls.map_or(&[][..], |tls| &tls.certificates);
    let authorities =
        named_certificates(cx.facts, variable::SSL_CA).ok_or_else(|| unseen(ca_file, "it was not read"))?;
    let Some(mut last) = sent.first() else { return Err(unseen(ca_file, "the server sent no certificate")) };
    for _ in 0..sent.len() {
        if leads_to(last, authorities) {
            return Err(unseen(ca_file, "the issuer's name is present, but the signatures were not checked"));
        }
        match sent.iter().find(|next| next.subject == last.issuer && next.sha256 != last.sha256) {
            Some(next) => last = next,
            None => break,
        }
    }
    Ok(fail(
        cx,
        ca_file,
        &format!("neither the chain nor that file holds {}, which issued {}", last.issuer, last.subject),
    ))
}

fn leads_to(certificate: &Certificate, authorities: &[Certificate]) -> bool {
    authorities.iter().any(|ca| ca.subject == certificate.issuer || ca.sha256 == certificate.sha256)
}

fn fail(cx: &Context<'_>, ca_file: &str, why: &str) -> CheckResult {
    let result = CheckResult::fail(
        MAIN_PORT,
        EvidenceGrade::Wire,
        format!(
            "the certificate chain does not end at {ca_file}: \
        {why}"
        ),
    );
    result.fix(Remedy::advice(CHECK.fix).then(reload(cx.facts.sql.as_ref())))
}

fn unseen(ca_file: &str, why: &str) -> Unavailable {
    Unavailable {
        what: format!("whether the server's certificate chain ends at {ca_file}"),
        why: why.to_owned(),
        remedy: format!("give a TCP address that reaches the server, and run as a user who can read {ca_file}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::made::{authority, good_tls, probed};
    use super::*;
    use crate::facts::files::Content;
    use crate::facts::wire::ChainTrust;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql};

    fn with_ca(ca: Certificate) -> FactsBuilder {
        let made = probed(mysql().variable("ssl_ca", "/var/lib/mysql/ca.pem"), Some(good_tls()));
        made.file("ca.pem", Content::Certificates { certificates: vec![ca] })
    }

    fn verified(error: Option<&str>) -> FactsBuilder {
        let mut made = with_ca(authority());
        let error = error.map(str::to_owned);
        made.0.wire.as_mut().unwrap().chain = Some(ChainTrust { ca_file: "/var/lib/mysql/ca.pem".to_owned(), error });
        made
    }

    #[test]
    fn checked_signatures_decide() {
        assert_eq!(verified(None).statuses(&CHECK), [Pass]);
        assert_eq!(verified(Some("unknown issuer")).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn names_alone_can_fail_and_not_pass() {
        let other = Certificate { subject: "CN=Other CA".to_owned(), ..authority() };
        assert_eq!(with_ca(other).statuses(&CHECK), [Fail]);
        assert_eq!(with_ca(authority()).statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn without_an_authority_there_is_nothing_to_lead_to() {
        assert_eq!(probed(mysql().variable("ssl_ca", ""), Some(good_tls())).statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().variable("ssl_ca", "ca.pem").statuses(&CHECK), [Unknown]);
    }
}
