//! TLS of the client: trusted certificates, and the result of the handshake.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use pki::{Fingerprint, Identity, Untrusted, ders_from_pem};
use rustls::{ClientConfig, ClientConnection, StreamOwned, crypto::CryptoProvider};
use rustls_pki_types::{CertificateDer, ServerName};

use super::transport::Transport;
use crate::{
    endpoint::Endpoint,
    error::{Error, Phase},
    socket::Socket,
    tls::{
        TlsVersion, suites,
        verify::{CertificatePolicy, Rejection, Verifier},
    },
};

/// Required security of the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TlsMode {
    /// No TLS. Over TCP only with [`Options::allow_plaintext_tcp`](super::Options::allow_plaintext_tcp).
    Off,
    /// TLS without verification of the certificate: protects against sniffers, not against impostors. The password
    /// itself is then not sent; see [`Options::password_to_unverified`](super::Options::password_to_unverified).
    Required,
    /// TLS, and the server proves its certificate by the password hash (MariaDB from 11.4).
    VerifyProof,
    /// TLS, and the certificate is issued by the given CA.
    VerifyCa,
    /// TLS, and the certificate is issued by the given CA for the host.
    VerifyIdentity,
}

/// TLS options of a client.
#[derive(Clone, Debug, Default)]
pub struct TlsOptions {
    /// `None`: [`TlsMode::Off`] on Unix sockets; on TCP [`TlsMode::VerifyCa`] if a CA file is given, else
    /// [`TlsMode::Required`].
    pub mode: Option<TlsMode>,
    /// PEM file with the only trusted certificates.
    pub ca_file: Option<PathBuf>,
    /// Additional directory of such files, named by OpenSSL's hash (`5e79c4a7.0`).
    pub ca_path: Option<PathBuf>,
    /// If not empty, the server's certificate must also have one of these fingerprints.
    pub fingerprints: Vec<Fingerprint>,
    /// Permitted versions; if empty, 1.2 and 1.3.
    pub versions: Vec<TlsVersion>,
    /// PEM file with the client certificate and its chain.
    pub cert_file: Option<PathBuf>,
    /// PEM file with the client's private key.
    pub key_file: Option<PathBuf>,
}

impl TlsOptions {
    /// The mode that applies to an endpoint.
    pub fn mode_for(&self, endpoint: &Endpoint) -> TlsMode {
        match self.mode {
            Some(mode) => mode,
            None if endpoint.is_socket() => TlsMode::Off,
            None if self.has_authority() => TlsMode::VerifyCa,
            None => TlsMode::Required,
        }
    }

    /// Whether a CA is configured.
    pub fn has_authority(&self) -> bool {
        self.ca_file.is_some() || self.ca_path.is_some()
    }

    /// Whether a successful handshake authenticates the server.
    pub fn verifies(&self, endpoint: &Endpoint) -> bool {
        match self.mode_for(endpoint) {
            TlsMode::Off => false,
            TlsMode::Required | TlsMode::VerifyProof => !self.fingerprints.is_empty(),
            TlsMode::VerifyCa | TlsMode::VerifyIdentity => true,
        }
    }
}

/// Parameters of a completed handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFacts {
    /// Protocol version.
    pub version: TlsVersion,
    /// Cipher suite, by its IANA name.
    pub suite: String,
    /// The server's chain as DER, its own certificate first.
    pub peer_certificates: Vec<Vec<u8>>,
}

/// The rustls configuration for a mode: only the given CA is trusted, and `host` is the name that the certificate must
/// contain.
///
/// # Errors
/// [`Error::CaMissing`], [`Error::PemFile`], [`Error::Tls`].
pub fn client_config(mode: TlsMode, options: &TlsOptions, host: &str) -> Result<Arc<ClientConfig>, Error> {
    let policy = match mode {
        TlsMode::VerifyCa => CertificatePolicy::Issuer(authorities(options)?),
        TlsMode::VerifyIdentity => CertificatePolicy::IssuerAndName(authorities(options)?, host.to_owned()),
        TlsMode::Required | TlsMode::VerifyProof | TlsMode::Off => CertificatePolicy::Key,
    };
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = Verifier::new(policy, options.fingerprints.clone(), provider.signature_verification_algorithms);
    let builder = judged_by(verifier, &provider, &protocol_versions(&options.versions))?;
    let mut config = match (&options.cert_file, &options.key_file) {
        (None, None) => builder.with_no_client_auth(),
        (Some(cert), Some(key)) => builder.with_client_cert_resolver(identity(cert, key)?.resolver()),
        (Some(file), None) => return Err(pem_error(file, "its private key file is missing")),
        (None, Some(file)) => return Err(pem_error(file, "its certificate file is missing")),
    };
    config.enable_sni = ServerName::try_from(host).is_ok();
    Ok(Arc::new(config))
}

/// A client configuration that uses only this crate's verifier.
pub(crate) fn unverified_builder(
    provider: &Arc<CryptoProvider>,
    policy: CertificatePolicy,
) -> Result<rustls::ConfigBuilder<ClientConfig, rustls::client::WantsClientCert>, Error> {
    let verifier = Verifier::new(policy, Vec::new(), provider.signature_verification_algorithms);
    judged_by(verifier, provider, rustls::DEFAULT_VERSIONS)
}

fn judged_by(
    verifier: Verifier,
    provider: &Arc<CryptoProvider>,
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> Result<rustls::ConfigBuilder<ClientConfig, rustls::client::WantsClientCert>, Error> {
    Ok(ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(versions)
        .map_err(|error| tls_failure(&error))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier)))
}

fn protocol_versions(wanted: &[TlsVersion]) -> Vec<&'static rustls::SupportedProtocolVersion> {
    let known = [(TlsVersion::Tls13, &rustls::version::TLS13), (TlsVersion::Tls12, &rustls::version::TLS12)];
    let is_wanted = |version| wanted.is_empty() || wanted.contains(&version);
    known.into_iter().filter(|(version, _)| is_wanted(*version)).map(|(_, version)| version).collect()
}

fn authorities(options: &TlsOptions) -> Result<Vec<CertificateDer<'static>>, Error> {
    if !options.has_authority() {
        return Err(Error::CaMissing);
    }
    let mut all = Vec::new();
    if let Some(file) = &options.ca_file {
        all.extend(certificates(file)?);
    }
    if let Some(directory) = &options.ca_path {
        for file in hashed_files(directory)? {
            all.extend(certificates(&file)?);
        }
    }
    // A directory without certificates trusts nothing: every certificate is refused.
    Ok(all)
}

/// Files in OpenSSL's directory format: eight hexadecimal digits of the subject's hash, a dot and a number.
///
/// Source: `openssl-rehash(1)`.
fn hashed_files(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |error: io::Error| pem_error(directory, &error.to_string());
    let is_hashed = |path: &Path| {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let number = path.extension().and_then(|number| number.to_str()).unwrap_or_default();
        stem.len() == 8
            && stem.bytes().all(|byte| byte.is_ascii_hexdigit())
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if is_hashed(&path) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn identity(certificate: &Path, key: &Path) -> Result<Identity, Error> {
    Identity::from_files(certificate, key).map_err(|error| match error {
        pki::Error::Read { path, source } => pem_error(&path, &source.to_string()),
        pki::Error::Content { path, reason } => pem_error(&path, &reason),
        other => pem_error(key, &other.to_string()),
    })
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let pem = fs::read(file).map_err(|error| pem_error(file, &error.to_string()))?;
    ders_from_pem(&pem).map_err(|error| pem_error(file, &error.to_string()))
}

fn pem_error(file: &Path, reason: &str) -> Error {
    Error::PemFile { path: file.to_owned(), reason: reason.to_owned() }
}

/// The server name for rustls; this crate's verifier checks names.
pub fn server_name(host: &str) -> ServerName<'static> {
    ServerName::try_from(host.to_owned())
        .unwrap_or_else(|_| ServerName::IpAddress(std::net::Ipv4Addr::UNSPECIFIED.into()))
}

pub(crate) fn handshake(
    mut socket: Socket,
    config: Arc<ClientConfig>,
    endpoint: &Endpoint,
) -> Result<(Transport, TlsFacts), Error> {
    let mut client =
        ClientConnection::new(config, server_name(endpoint.certificate_name())).map_err(|error| tls_failure(&error))?;
    while client.is_handshaking() {
        if let Err(error) = client.complete_io(&mut socket) {
            return Err(match tls_cause(&error) {
                Some(cause) => tls_failure(cause),
                None => socket.failure(Phase::Tls, error),
            });
        }
    }
    let facts = tls_facts(&client);
    let stream = Box::new(StreamOwned::new(client, socket));
    Ok((Transport::Tls(stream), facts))
}

fn tls_facts(client: &ClientConnection) -> TlsFacts {
    let version = match client.protocol_version() {
        Some(rustls::ProtocolVersion::TLSv1_2) => TlsVersion::Tls12,
        _ => TlsVersion::Tls13,
    };
    let suite =
        client.negotiated_cipher_suite().map(|suite| suites::name(u16::from(suite.suite()))).unwrap_or_default();
    let peer_certificates =
        client.peer_certificates().unwrap_or_default().iter().map(|certificate| certificate.to_vec()).collect();
    TlsFacts { version, suite, peer_certificates }
}

pub(super) fn tls_cause(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// The error for a failed handshake with a configuration of [`client_config`].
pub fn tls_failure(error: &rustls::Error) -> Error {
    use rustls::{AlertDescription, CertificateError, Error as E, InvalidMessage, PeerIncompatible as P};
    match error {
        E::InvalidCertificate(CertificateError::Other(other)) => match other.0.downcast_ref::<Rejection>() {
            Some(rejection) => rejection.clone().into(),
            None => Error::Tls { reason: error.to_string() },
        },
        E::InvalidCertificate(CertificateError::BadSignature) => {
            Error::CertificateNotTrusted { why: Untrusted::Unproven }
        }
        E::PeerIncompatible(P::ServerDoesNotSupportTls12Or13 | P::ServerTlsVersionIsDisabledByOurConfig) => {
            Error::TlsTooOld { reason: "it chose an older one".to_owned() }
        }
        E::AlertReceived(AlertDescription::ProtocolVersion) => {
            Error::TlsTooOld { reason: "alert protocol_version".to_owned() }
        }
        // The error packet "Bad handshake": its length happens to match a TLS record type. MySQL builds with yaSSL
        // before 5.7.28, which lack TLS 1.2, answer this. Seen on 5.7.22.
        E::InvalidMessage(InvalidMessage::UnknownProtocolVersion) => {
            Error::TlsTooOld { reason: "it rejects the handshake".to_owned() }
        }
        other => Error::Tls { reason: other.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_ca_is_used_by_default() {
        let options = TlsOptions { ca_file: Some("ca.pem".into()), ..TlsOptions::default() };
        let tcp = Endpoint::tcp("db", 3306);
        assert_eq!(options.mode_for(&tcp), TlsMode::VerifyCa);
        assert_eq!(TlsOptions::default().mode_for(&tcp), TlsMode::Required);
        let socket = Endpoint::Socket("/x".into());
        assert_eq!(options.mode_for(&socket), TlsMode::Off);
    }
}
