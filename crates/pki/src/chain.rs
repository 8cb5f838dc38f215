//! Judges whether a chain of certificates leads to a trusted one, as MySQL clients do.
//!
//! webpki builds the chains. It does not accept two kinds of server certificates that occur on these servers and are
//! handled here: X.509 version 1, and a certificate that is itself in the CA file.

use std::fmt;

use jiff::Timestamp;
use rustls::server::ParsedCertificate;
use rustls_pki_types::{CertificateDer, SignatureVerificationAlgorithm, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, KeyUsage};
use x509_parser::{certificate::X509Certificate, public_key::PublicKey};

use crate::{Fingerprint, certificate, signature};

/// Minimum length of RSA keys. webpki rejects every signature by a shorter key, even a valid one.
const MIN_RSA_BITS: usize = 2048;

/// Why a certificate chain was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Untrusted {
    /// Not issued by a certificate in the CA file.
    UnknownIssuer,
    /// The end of its validity is in the past.
    Expired,
    /// The start of its validity is in the future.
    NotYetValid,
    /// A signature in the chain is wrong.
    BadSignature,
    /// A signature in the chain uses an unsafe algorithm, such as SHA-1.
    WeakSignature,
    /// The chain is valid, but the leaf's key is too short for its signatures to be accepted.
    ShortKey,
    /// The certificate's fingerprint is not one of the given fingerprints.
    OtherFingerprint {
        /// Fingerprint of the presented certificate.
        found: Fingerprint,
    },
    /// Its extended key usage does not include servers.
    NotForServers,
    /// The server did not prove possession of the certificate's key; the chain is valid.
    Unproven,
    /// The certificate cannot be parsed.
    Malformed(String),
    /// Another rule is violated.
    Other(String),
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownIssuer => f.write_str("its issuer is not in the CA file"),
            Self::Expired => f.write_str("it has expired"),
            Self::NotYetValid => f.write_str("it is not valid yet"),
            Self::BadSignature => f.write_str("a signature in its chain is wrong"),
            Self::WeakSignature => f.write_str("it is signed with an algorithm that is not safe"),
            Self::ShortKey => f.write_str("its own key is too short"),
            Self::OtherFingerprint { found } => {
                write!(f, "its fingerprint is {found}, which is not one that was given")
            }
            Self::NotForServers => f.write_str("its extended key usage is not for servers"),
            Self::Unproven => f.write_str("the server did not prove that it holds the certificate's key"),
            Self::Malformed(reason) => write!(f, "it cannot be read: {reason}"),
            Self::Other(reason) => f.write_str(reason),
        }
    }
}

/// The use for which a chain is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// As a server.
    Server,
    /// As a client.
    Client,
}

/// Checks that a chain, which begins with the certificate itself, leads to one of the trusted certificates at the time
/// `now`.
///
/// # Errors
/// [`Untrusted`] says why it does not.
pub fn leads_to(
    chain: &[CertificateDer<'_>],
    trusted: &[CertificateDer<'_>],
    purpose: Purpose,
    now: Timestamp,
) -> Result<(), Untrusted> {
    let Some((leaf, between)) = chain.split_first() else { return Err(Untrusted::Malformed("it is empty".to_owned())) };
    let seconds = u64::try_from(now.as_second()).unwrap_or(0);
    let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
    let algorithms = rustls::crypto::aws_lc_rs::default_provider().signature_verification_algorithms.all;
    check_chain(leaf, between, trusted, algorithms, purpose, now)
}

/// Whether signatures by this certificate's key can be verified, so that a completed handshake proves possession of the
/// key.
#[must_use]
pub fn key_is_checked(certificate: &CertificateDer<'_>) -> bool {
    parsed(certificate).is_ok_and(|parsed| !has_short_key(&parsed))
}

/// Verifies a signature by a certificate's key, with any of these algorithms.
///
/// # Errors
/// [`Untrusted::ShortKey`] if the key is too short for its signatures to be verified, [`Untrusted::BadSignature`],
/// [`Untrusted::Malformed`].
pub fn check_signature(
    certificate: &CertificateDer<'_>,
    message: &[u8],
    signature: &[u8],
    algorithms: &[&dyn SignatureVerificationAlgorithm],
) -> Result<(), Untrusted> {
    let parsed = parsed(certificate)?;
    let key = parsed.public_key().subject_public_key.data.as_ref();
    if algorithms.iter().any(|algorithm| algorithm.verify_signature(key, message, signature).is_ok()) {
        return Ok(());
    }
    Err(if has_short_key(&parsed) { Untrusted::ShortKey } else { Untrusted::BadSignature })
}

/// SubjectPublicKeyInfo of a certificate in DER. Read with the parser that checks the handshake's signature, so that no
/// certificate can show one key to a pin and another to the handshake.
#[must_use]
pub fn public_key_info(certificate: &CertificateDer<'_>) -> Option<Vec<u8>> {
    let certificate = ParsedCertificate::try_from(certificate).ok()?;
    Some(certificate.subject_public_key_info().as_ref().to_vec())
}

fn has_short_key(certificate: &X509Certificate<'_>) -> bool {
    matches!(certificate.public_key().parsed(), Ok(PublicKey::RSA(key)) if key.key_size() < MIN_RSA_BITS)
}

/// Checks that one of `trusted` is `end_entity` or leads to it, and that `end_entity` is valid at `now`.
///
/// # Errors
/// [`Untrusted`] says why it is not accepted.
pub fn check_chain(
    end_entity: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    trusted: &[CertificateDer<'_>],
    algorithms: &[&dyn SignatureVerificationAlgorithm],
    purpose: Purpose,
    now: UnixTime,
) -> Result<(), Untrusted> {
    if trusted.iter().any(|one| one.as_ref() == end_entity.as_ref()) {
        return check_validity(&parsed(end_entity)?, now);
    }
    let anchors: Vec<TrustAnchor<'_>> =
        trusted.iter().filter_map(|one| webpki::anchor_from_trusted_cert(one).ok()).collect();
    let usage = match purpose {
        Purpose::Server => KeyUsage::server_auth(),
        Purpose::Client => KeyUsage::client_auth(),
    };
    let judged = EndEntityCert::try_from(end_entity).and_then(|leaf| {
        leaf.verify_for_usage(algorithms, &anchors, intermediates, now, usage, None, None)?;
        Ok(leaf.subject_public_key_info())
    });
    match judged {
        // The handshake's signature is checked with the key that the other parser reads, so both must read the same
        // key.
        Ok(key) if key.as_ref() == parsed(end_entity)?.public_key().raw => Ok(()),
        Ok(_) => Err(Untrusted::Malformed("its key can be read in two ways".to_owned())),
        Err(webpki::Error::UnsupportedCertVersion) => check_version1(&parsed(end_entity)?, trusted, algorithms, now),
        Err(error) => Err(cause(&error)),
    }
}

/// A version 1 certificate has no extensions: it is valid if one of the trusted certificates has signed it.
fn check_version1(
    leaf: &X509Certificate<'_>,
    trusted: &[CertificateDer<'_>],
    algorithms: &[&dyn SignatureVerificationAlgorithm],
    now: UnixTime,
) -> Result<(), Untrusted> {
    let mut why = Untrusted::UnknownIssuer;
    for der in trusted {
        let issuer = parsed(der)?;
        if issuer.subject().as_raw() != leaf.issuer().as_raw() {
            continue;
        }
        let key = issuer.public_key().subject_public_key.data.as_ref();
        let algorithm = signature::algorithm(&leaf.signature_algorithm.algorithm.to_id_string());
        let Some(hash) = algorithm.and_then(|algorithm| algorithm.accepted) else {
            why = Untrusted::WeakSignature;
            continue;
        };
        let signed = leaf.tbs_certificate.as_ref();
        let proof = leaf.signature_value.data.as_ref();
        let valid = algorithms
            .iter()
            .filter(|algorithm| algorithm.signature_alg_id().as_ref().windows(hash.len()).any(|part| part == hash))
            .any(|algorithm| algorithm.verify_signature(key, signed, proof).is_ok());
        if valid {
            check_validity(&issuer, now)?;
            return check_validity(leaf, now);
        }
        why = Untrusted::BadSignature;
    }
    Err(why)
}

fn parsed<'a>(der: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, Untrusted> {
    certificate::parse(der).map_err(|error| Untrusted::Malformed(error.to_string()))
}

fn check_validity(certificate: &X509Certificate<'_>, now: UnixTime) -> Result<(), Untrusted> {
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    if now < certificate.validity().not_before.timestamp() {
        return Err(Untrusted::NotYetValid);
    }
    if now > certificate.validity().not_after.timestamp() {
        return Err(Untrusted::Expired);
    }
    Ok(())
}

fn cause(error: &webpki::Error) -> Untrusted {
    use webpki::Error as E;
    match error {
        E::UnknownIssuer => Untrusted::UnknownIssuer,
        E::CertExpired { .. } => Untrusted::Expired,
        E::CertNotValidYet { .. } => Untrusted::NotYetValid,
        E::InvalidSignatureForPublicKey => Untrusted::BadSignature,
        E::UnsupportedSignatureAlgorithmContext(_) | E::UnsupportedSignatureAlgorithmForPublicKeyContext(_) => {
            Untrusted::WeakSignature
        }
        E::RequiredEkuNotFoundContext(_) => Untrusted::NotForServers,
        E::CaUsedAsEndEntity => Untrusted::Other("it is a CA's own certificate and not in the CA file".to_owned()),
        E::BadDer | E::BadDerTime | E::TrailingData(_) => Untrusted::Malformed(error.to_string()),
        other => Untrusted::Other(format!("it breaks a rule of RFC 5280 ({other})")),
    }
}
