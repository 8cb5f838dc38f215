//! Verifies a server's certificate as MySQL clients do, as a verifier of rustls.
//!
//! webpki builds the chains. It does not accept two kinds of server certificates that occur on these servers and are
//! handled here: X.509 version 1, and a certificate that is itself in the CA file.

use std::{fmt, sync::Arc};

use rustls::{
    CertificateError, DigitallySignedStruct, OtherError, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::WebPkiSupportedAlgorithms,
};
use rustls_pki_types::{CertificateDer, ServerName, SignatureVerificationAlgorithm, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, KeyUsage};
use x509_parser::{certificate::X509Certificate, public_key::PublicKey};

use crate::{
    certificate::{self, Certificate, Purpose},
    error::{Error, Untrusted},
    tls::Fingerprint,
};

/// Requirements on the certificate.
#[derive(Clone, Debug)]
pub(crate) enum Demand {
    /// None: encryption only.
    Nothing,
    /// The server must prove possession of the certificate's key.
    Key,
    /// One of these certificates must have issued it.
    Issuer(Vec<CertificateDer<'static>>),
    /// As above, and it must be valid for this host.
    IssuerAndName(Vec<CertificateDer<'static>>, String),
}

/// The verdict, passed through rustls to the caller.
#[derive(Clone, Debug)]
pub(crate) enum Rejection {
    Untrusted(Untrusted),
    Name { host: String, names: Vec<String> },
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untrusted(why) => why.fmt(f),
            Self::Name { host, .. } => write!(f, "not for {host}"),
        }
    }
}

impl std::error::Error for Rejection {}

impl From<Rejection> for rustls::Error {
    fn from(rejection: Rejection) -> Self {
        Self::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(rejection))))
    }
}

impl From<Rejection> for Error {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Untrusted(why) => Self::CertificateNotTrusted { why },
            Rejection::Name { host, names } => Self::NameMismatch { host, names },
        }
    }
}

/// webpki verifies no signature by a shorter RSA key, so that even a valid one fails.
const MIN_RSA_BITS: usize = 2048;

/// The verifier for rustls.
#[derive(Debug)]
pub(crate) struct Verifier {
    demand: Demand,
    /// If not empty, the certificate must also be one of these.
    pinned: Vec<Fingerprint>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    pub(crate) fn new(demand: Demand, pinned: Vec<Fingerprint>, algorithms: WebPkiSupportedAlgorithms) -> Self {
        Self { demand, pinned, algorithms }
    }

    /// Whether the proof of the key may be skipped, if the key is of a kind that cannot be verified: only when nothing
    /// is trusted.
    fn goes_without_key(&self, certificate: &CertificateDer<'_>) -> bool {
        matches!(self.demand, Demand::Key) && self.pinned.is_empty() && !key_is_checked(certificate)
    }

    fn is_pinned(&self, certificate: &CertificateDer<'_>) -> Result<(), Rejection> {
        let found = Fingerprint::from_der(certificate);
        if self.pinned.is_empty() || self.pinned.contains(&found) {
            return Ok(());
        }
        Err(Rejection::Untrusted(Untrusted::OtherFingerprint { found }))
    }

    /// Verifies the peer's proof that it has the certificate's key.
    fn signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        proof: &DigitallySignedStruct,
        only_first: bool,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        if matches!(self.demand, Demand::Nothing) && self.pinned.is_empty() || self.goes_without_key(certificate) {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let parsed = parsed(certificate)?;
        let key = parsed.public_key().subject_public_key.data.as_ref();
        let candidates = self
            .algorithms
            .mapping
            .iter()
            .find(|(scheme, _)| *scheme == proof.scheme)
            .map_or(&[] as &[_], |(_, algorithms)| *algorithms);
        // In TLS 1.3 a scheme means one curve, the first; in TLS 1.2 any curve with that hash.
        let count = if only_first { 1 } else { candidates.len() };
        let valid = candidates
            .iter()
            .take(count)
            .any(|algorithm| algorithm.verify_signature(key, message, proof.signature()).is_ok());
        if valid {
            return Ok(HandshakeSignatureValid::assertion());
        }
        if has_short_key(&parsed) {
            return Err(Rejection::Untrusted(Untrusted::ShortKey).into());
        }
        Err(CertificateError::BadSignature.into())
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.is_pinned(end_entity)?;
        match &self.demand {
            Demand::Nothing | Demand::Key => {}
            Demand::Issuer(trusted) => {
                chain(end_entity, intermediates, trusted, self.algorithms.all, Purpose::Server, now)?;
            }
            Demand::IssuerAndName(trusted, host) => {
                chain(end_entity, intermediates, trusted, self.algorithms.all, Purpose::Server, now)?;
                name(end_entity, host)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        proof: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signature(message, certificate, proof, false)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        proof: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signature(message, certificate, proof, true)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Whether a completed handshake with [`Demand::Key`] proves possession of this certificate's key.
pub(crate) fn key_is_checked(certificate: &CertificateDer<'_>) -> bool {
    parsed(certificate).is_ok_and(|parsed| !has_short_key(&parsed))
}

fn has_short_key(certificate: &X509Certificate<'_>) -> bool {
    matches!(certificate.public_key().parsed(), Ok(PublicKey::RSA(key)) if key.key_size() < MIN_RSA_BITS)
}

/// Checks that one of `trusted` has issued `end_entity`, and that it is valid now.
pub(crate) fn chain(
    end_entity: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    trusted: &[CertificateDer<'_>],
    algorithms: &[&dyn SignatureVerificationAlgorithm],
    purpose: Purpose,
    now: UnixTime,
) -> Result<(), Rejection> {
    if trusted.iter().any(|one| one.as_ref() == end_entity.as_ref()) {
        return in_time(&parsed(end_entity)?, now);
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
        // The handshake is verified with the key as parsed by the other parser.
        Ok(key) if key.as_ref() == parsed(end_entity)?.public_key().raw => Ok(()),
        Ok(_) => Err(Rejection::Untrusted(Untrusted::Malformed("its key can be read in two ways".to_owned()))),
        Err(webpki::Error::UnsupportedCertVersion) => version1(&parsed(end_entity)?, trusted, algorithms, now),
        Err(error) => Err(Rejection::Untrusted(cause(&error))),
    }
}

/// A version 1 certificate has no extensions: it is valid if one of the trusted certificates has signed it.
fn version1(
    leaf: &X509Certificate<'_>,
    trusted: &[CertificateDer<'_>],
    algorithms: &[&dyn SignatureVerificationAlgorithm],
    now: UnixTime,
) -> Result<(), Rejection> {
    let mut why = Untrusted::UnknownIssuer;
    for der in trusted {
        let issuer = parsed(der)?;
        if issuer.subject().as_raw() != leaf.issuer().as_raw() {
            continue;
        }
        let key = issuer.public_key().subject_public_key.data.as_ref();
        let Some(hash) = signature_hash(&leaf.signature_algorithm.algorithm.to_id_string()) else {
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
            in_time(&issuer, now)?;
            return in_time(leaf, now);
        }
        why = Untrusted::BadSignature;
    }
    Err(Rejection::Untrusted(why))
}

/// DER of the signature algorithm's OID, for the algorithms that are safe today.
fn signature_hash(oid: &str) -> Option<&'static [u8]> {
    Some(match oid {
        // sha256, sha384, sha512WithRSAEncryption.
        "1.2.840.113549.1.1.11" => &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 0x0b],
        "1.2.840.113549.1.1.12" => &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 0x0c],
        "1.2.840.113549.1.1.13" => &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 0x0d],
        // ecdsa-with-SHA256, SHA384, SHA512.
        "1.2.840.10045.4.3.2" => &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2],
        "1.2.840.10045.4.3.3" => &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3],
        "1.2.840.10045.4.3.4" => &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 4],
        "1.3.101.112" => &[0x2b, 0x65, 0x70],
        _ => return None,
    })
}

fn name(end_entity: &CertificateDer<'_>, host: &str) -> Result<(), Rejection> {
    let facts = Certificate::from_der(end_entity)
        .map_err(|error| Rejection::Untrusted(Untrusted::Malformed(error.to_string())))?;
    if facts.names_host(host) {
        return Ok(());
    }
    Err(Rejection::Name { host: host.to_owned(), names: facts.names() })
}

fn parsed<'a>(der: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, Rejection> {
    certificate::parse(der).map_err(|error| Rejection::Untrusted(Untrusted::Malformed(error.to_string())))
}

fn in_time(certificate: &X509Certificate<'_>, now: UnixTime) -> Result<(), Rejection> {
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    if now < certificate.validity().not_before.timestamp() {
        return Err(Rejection::Untrusted(Untrusted::NotYetValid));
    }
    if now > certificate.validity().not_after.timestamp() {
        return Err(Rejection::Untrusted(Untrusted::Expired));
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
