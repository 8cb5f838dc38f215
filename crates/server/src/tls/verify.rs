//! Verifies a server's certificate as MySQL clients do, as a verifier of rustls; [`pki`] judges its chain.

use std::{fmt, sync::Arc};

use pki::{Certificate, Fingerprint, Purpose, Untrusted, check_chain, check_signature, key_is_checked};
use rustls::{
    CertificateError, DigitallySignedStruct, OtherError, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::WebPkiSupportedAlgorithms,
};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use crate::error::Error;

/// Requirements on the certificate.
#[derive(Clone, Debug)]
pub(crate) enum CertificatePolicy {
    /// None: encryption only.
    Nothing,
    /// The server must prove possession of the certificate's key.
    Key,
    /// One of these certificates must have issued it.
    Issuer(Vec<CertificateDer<'static>>),
    /// One of these certificates must have issued it, and it must be valid for this host.
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

/// Checks server certificates in handshakes of rustls.
#[derive(Debug)]
pub(crate) struct Verifier {
    policy: CertificatePolicy,
    /// If not empty, the certificate must also be one of these.
    pinned: Vec<Fingerprint>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    pub(crate) fn new(
        policy: CertificatePolicy,
        pinned: Vec<Fingerprint>,
        algorithms: WebPkiSupportedAlgorithms,
    ) -> Self {
        Self { policy, pinned, algorithms }
    }

    /// Whether the proof of possession is skipped: only if signatures by this kind of key cannot be verified, and
    /// neither an issuer nor a fingerprint is required.
    fn goes_without_key(&self, certificate: &CertificateDer<'_>) -> bool {
        matches!(self.policy, CertificatePolicy::Key) && self.pinned.is_empty() && !key_is_checked(certificate)
    }

    fn is_pinned(&self, certificate: &CertificateDer<'_>) -> Result<(), Rejection> {
        let found = Fingerprint::from_der(certificate);
        if self.pinned.is_empty() || self.pinned.contains(&found) {
            return Ok(());
        }
        Err(Rejection::Untrusted(Untrusted::OtherFingerprint { found }))
    }

    fn chain(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        trusted: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Rejection> {
        check_chain(end_entity, intermediates, trusted, self.algorithms.all, Purpose::Server, now)
            .map_err(Rejection::Untrusted)
    }

    /// Verifies the peer's proof that it has the certificate's key.
    fn signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        proof: &DigitallySignedStruct,
        only_first: bool,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        if matches!(self.policy, CertificatePolicy::Nothing) && self.pinned.is_empty()
            || self.goes_without_key(certificate)
        {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let candidates = self
            .algorithms
            .mapping
            .iter()
            .find(|(scheme, _)| *scheme == proof.scheme)
            .map_or(&[] as &[_], |(_, algorithms)| *algorithms);
        // In TLS 1.3 a scheme means one curve, the first; in TLS 1.2 any curve with that hash.
        let count = if only_first { 1 } else { candidates.len() };
        let candidates = candidates.get(..count).unwrap_or(candidates);
        match check_signature(certificate, message, proof.signature(), candidates) {
            Ok(()) => Ok(HandshakeSignatureValid::assertion()),
            Err(Untrusted::BadSignature) => Err(CertificateError::BadSignature.into()),
            Err(why) => Err(Rejection::Untrusted(why).into()),
        }
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
        match &self.policy {
            CertificatePolicy::Nothing | CertificatePolicy::Key => {}
            CertificatePolicy::Issuer(trusted) => {
                self.chain(end_entity, intermediates, trusted, now)?;
            }
            CertificatePolicy::IssuerAndName(trusted, host) => {
                self.chain(end_entity, intermediates, trusted, now)?;
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

fn name(end_entity: &CertificateDer<'_>, host: &str) -> Result<(), Rejection> {
    let facts = Certificate::from_der(end_entity)
        .map_err(|error| Rejection::Untrusted(Untrusted::Malformed(error.to_string())))?;
    if facts.names_host(host) {
        return Ok(());
    }
    Err(Rejection::Name { host: host.to_owned(), names: facts.names() })
}
