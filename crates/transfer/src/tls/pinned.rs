//! Accepts certificates by their key alone: the key in the pairing code, or the one that the
//! control connection authenticated.

use std::sync::Arc;

use pki::public_key_info;
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, verify_tls13_signature},
    server::danger::{ClientCertVerified, ClientCertVerifier},
};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use crate::{pairing::Pin, tls::provider};

/// Accepts a certificate whose key has the expected fingerprint; the handshake proves that the peer
/// has the key. Without a fingerprint any key is accepted until the peer proves the pairing code's
/// secret.
#[derive(Debug)]
pub(crate) struct Pinned {
    pin: Option<Pin>,
    provider: Arc<CryptoProvider>,
}

impl Pinned {
    pub(crate) fn to(pin: Pin) -> Arc<Self> {
        Arc::new(Self { pin: Some(pin), provider: provider(None) })
    }

    pub(crate) fn to_any() -> Arc<Self> {
        Arc::new(Self { pin: None, provider: provider(None) })
    }

    fn judge(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        let spki = public_key_info(certificate).ok_or(CertificateError::BadEncoding)?;
        match self.pin {
            Some(pin) if pin != Pin::from_spki(&spki) => Err(CertificateError::ApplicationVerificationFailure.into()),
            _ => Ok(()),
        }
    }

    fn check(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// TLS 1.2 is never offered.
fn tls12_refused() -> Error {
    Error::General("TLS 1.2 is not used".to_owned())
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.judge(end_entity).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(tls12_refused())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.judge(end_entity).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(tls12_refused())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::identity::Identity;

    #[test]
    fn the_key_is_parsed_as_the_handshake_parses_it() {
        let certificate = Identity::ephemeral().unwrap().chain().remove(0);
        let spki = public_key_info(&certificate).unwrap();
        // The header of a P-256 key, whose pin is in pairing codes of other releases.
        assert_eq!((spki.len(), &spki[..4]), (91, [0x30, 0x59, 0x30, 0x13].as_slice()));
        // A parser that stops at the certificate's end would accept what the handshake rejects.
        let mut longer = certificate.to_vec();
        longer.push(0);
        assert_eq!(public_key_info(&CertificateDer::from(longer)), None);
    }
}
