//! `tls-cert-weak`.

use findings::{Remedy, Severity};
use pki::Certificate;

use super::certificates::{self, Found, Use, server_certificates};
use super::{reload, without_tls};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::wire::MAIN_PORT;
use crate::policy::Policy;

pub(crate) const CHECK: Check = Check {
    id: "tls-cert-weak",
    title: "A certificate has a weak key, signature or form",
    severity: Severity::High,
    explanation: "Keys of RSA below 2048 or curves below 256 bits, and signatures by SHA-1 or MD5, can be forged. \
        X.509 version 1 certificates have no extensions, so current TLS libraries refuse them. They also refuse a \
        server certificate whose extended key usage lacks serverAuth. The signature of a self-signed root is not \
        judged: nobody relies on it.",
    applies: "every server with TLS",
    fix: "reissue as X.509 version 3 with RSA 3072 or P-256 and SHA-256",
    cost: "no lock, no restart",
    standards: &["NIST SP 800-57pt1r5", "NIST SP 800-52r2"],
    exposes: Exposes::Help(Attacker::Impostor, "Sessions, to whoever breaks or forges the certificate"),
    closed_by: ClosedBy::Cert,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let found = certificates::all(cx.facts);
    let mut results = CheckResults::new();
    for found in &found {
        let faults = faults(cx.policy, found);
        if !faults.is_empty() {
            let message = format!("{}: {} has {}", found.artefact, found.certificate.subject, faults.join(", "));
            let result = CheckResult::fail(&found.artefact, found.grade, message).evidence(found.evidence.clone());
            results.push(result.fix(Remedy::advice(CHECK.fix).then(reload(cx.facts.sql.as_ref()))));
        }
    }
    match server_certificates(cx.facts) {
        Ok(served) => {
            let message = format!("certificates seen: {}, all with sound keys and signatures", found.len());
            let pass = served.iter().fold(None, |pass: Option<CheckResult>, served| {
                let result = pass.unwrap_or_else(|| CheckResult::pass("server", served.grade, &message));
                Some(result.evidence(served.evidence.clone()))
            });
            pass.into_iter().for_each(|pass| results.pass_if_clean(pass));
        }
        Err(unseen) => match without_tls(cx) {
            Some(none) if results.is_empty() => return Ok(none),
            Some(_) => {}
            None => results.push_unknown(MAIN_PORT, unseen),
        },
    }
    Ok(results)
}

fn faults(policy: &Policy, found: &Found<'_>) -> Vec<String> {
    let certificate = found.certificate;
    let root = certificate.self_signed && found.purpose != Use::Server;
    let mut faults: Vec<String> = weak_key(policy, certificate).into_iter().collect();
    if !root && is_weak_signature(&certificate.signature_algorithm) {
        faults.push(format!("a signature by {}", certificate.signature_algorithm));
    }
    if !root && certificate.version < 3 {
        faults.push(format!("the form X.509 version {}", certificate.version));
    }
    let usage = &certificate.ext_key_usage;
    if found.purpose == Use::Server && !usage.is_empty() && !usage.iter().any(|u| u == "serverAuth" || u == "any") {
        faults.push(format!("only the key usages {}", usage.join(", ")));
    }
    faults
}

fn weak_key(policy: &Policy, certificate: &Certificate) -> Option<String> {
    let bits = certificate.key_bits;
    let limit = match certificate.key_type.as_str() {
        "RSA" => policy.rsa_min_bits,
        kind if kind.starts_with("EC") => policy.ec_min_bits,
        // DSA, withdrawn by FIPS 186-5.
        "DSA" => return Some("a DSA key".to_owned()),
        _ => return None,
    };
    let bits = bits.filter(|bits| *bits < limit)?;
    Some(format!("a key of {} {bits} bits, below {limit}", certificate.key_type))
}

fn is_weak_signature(algorithm: &str) -> bool {
    let name = algorithm.to_ascii_lowercase();
    ["md2", "md4", "md5", "sha1"].iter().any(|hash| name.contains(hash))
}

#[cfg(test)]
mod tests {
    use server::probe::TlsProbe;

    use super::super::made::{authority, certificate, good_tls, probed};
    use super::*;
    use crate::facts::files::Content;
    use crate::finding::EvidenceGrade;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql};

    fn sending(certificate: Certificate) -> FactsBuilder {
        probed(mysql(), Some(TlsProbe { certificates: vec![certificate], ..good_tls() }))
    }

    #[test]
    fn each_weakness_fails() {
        let weak = [
            Certificate { key_bits: Some(1024), ..certificate() },
            Certificate { key_type: "EC P-192".to_owned(), key_bits: Some(192), ..certificate() },
            Certificate { key_type: "DSA".to_owned(), key_bits: None, ..certificate() },
            Certificate { signature_algorithm: "sha1WithRSAEncryption".to_owned(), ..certificate() },
            Certificate { signature_algorithm: "ecdsa-with-SHA1".to_owned(), ..certificate() },
            Certificate { version: 1, ..certificate() },
            Certificate { ext_key_usage: vec!["clientAuth".to_owned()], ..certificate() },
        ];
        for certificate in weak {
            let found = sending(certificate.clone()).judge(&CHECK);
            assert_eq!((found[0].status, found[0].grade), (Fail, Some(EvidenceGrade::Wire)), "{certificate:?}");
        }
    }

    #[test]
    fn sound_certificates_pass() {
        assert_eq!(sending(certificate()).statuses(&CHECK), [Pass]);
        let curve = Certificate { key_type: "EC P-256".to_owned(), key_bits: Some(256), ..certificate() };
        assert_eq!(sending(curve).statuses(&CHECK), [Pass]);
        let both =
            Certificate { ext_key_usage: vec!["clientAuth".to_owned(), "serverAuth".to_owned()], ..certificate() };
        assert_eq!(sending(both).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn the_signature_of_a_root_does_not_matter_but_its_key_does() {
        let root = Certificate { signature_algorithm: "sha1WithRSAEncryption".to_owned(), ..authority() };
        let with_root =
            |root| sending(certificate()).file("ca.pem", Content::Certificates { certificates: vec![root] });
        assert_eq!(with_root(root.clone()).statuses(&CHECK), [Pass]);
        let found = with_root(Certificate { key_bits: Some(1024), ..root }).judge(&CHECK);
        assert_eq!(
            (found[0].status, found[0].artefact.as_str(), found[0].grade),
            (Fail, "ca.pem", Some(EvidenceGrade::Bytes))
        );
    }

    #[test]
    fn nothing_seen_is_unknown_and_no_tls_not_concerned() {
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
        assert_eq!(probed(mysql(), None).statuses(&CHECK), [NotApplicable]);
    }
}
