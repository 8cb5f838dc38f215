//! Configurations of rustls: TLS 1.3 only, both sides authenticated, no resumption.

use std::sync::Arc;

use pki::Identity;
use rustls::{
    ClientConfig, ServerConfig, SupportedCipherSuite,
    client::{Resumption, danger::ServerCertVerifier},
    crypto::{
        CryptoProvider,
        aws_lc_rs::{
            self,
            cipher_suite::{TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256},
        },
    },
    server::{NoServerSessionStorage, danger::ClientCertVerifier},
};

/// The cipher suites of TLS 1.3.
pub const SUITES: [SupportedCipherSuite; 3] =
    [TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256];

/// The crypto provider, with one suite or all three.
#[must_use]
pub fn provider(suite: Option<usize>) -> Arc<CryptoProvider> {
    let cipher_suites = match suite.and_then(|suite| SUITES.get(suite)) {
        Some(suite) => vec![*suite],
        None => SUITES.to_vec(),
    };
    Arc::new(CryptoProvider { cipher_suites, ..aws_lc_rs::default_provider() })
}

/// Configuration of the connecting side, with one of [`SUITES`] or all of them.
///
/// # Errors
/// Errors of rustls, if the identity cannot be used.
pub fn client_config(
    suite: Option<usize>,
    identity: &Identity,
    verifier: Arc<dyn ServerCertVerifier>,
) -> Result<Arc<ClientConfig>, rustls::Error> {
    let mut config = ClientConfig::builder_with_provider(provider(suite))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_client_cert_resolver(identity.resolver());
    config.resumption = Resumption::disabled();
    config.enable_secret_extraction = true;
    Ok(Arc::new(config))
}

/// Configuration of the accepting side.
///
/// # Errors
/// Errors of rustls, if the identity cannot be used.
pub fn server_config(
    identity: &Identity,
    verifier: Arc<dyn ClientCertVerifier>,
) -> Result<Arc<ServerConfig>, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(provider(None))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(identity.resolver());
    // If the other side never reads tickets, its close becomes a reset, which can destroy the last bytes.
    config.send_tls13_tickets = 0;
    // Callers use a record layer of their own.
    config.enable_secret_extraction = true;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(Arc::new(config))
}
