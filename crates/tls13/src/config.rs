//! Configurations of rustls: TLS 1.3 only. Between two sides of this program both are authenticated, and no session is
//! resumed.

use std::sync::Arc;

use pki::Identity;
use rustls::{
    ClientConfig, ConfigBuilder, ServerConfig, SupportedCipherSuite, WantsVerifier,
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
    let mut config = server()?.with_client_cert_verifier(verifier).with_cert_resolver(identity.resolver());
    // If the other side never reads tickets, its close becomes a reset, which can destroy the last bytes.
    config.send_tls13_tickets = 0;
    // Callers use a record layer of their own.
    config.enable_secret_extraction = true;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(Arc::new(config))
}

/// Configuration of a listener for other programs, such as browsers: they must have a certificate only if there is a
/// verifier. Without one, the caller must authenticate them by other means, such as a token. Sessions may be resumed.
///
/// # Errors
/// Errors of rustls, if the identity cannot be used.
pub fn public_server_config(
    identity: &Identity,
    verifier: Option<Arc<dyn ClientCertVerifier>>,
) -> Result<Arc<ServerConfig>, rustls::Error> {
    let builder = match verifier {
        Some(verifier) => server()?.with_client_cert_verifier(verifier),
        None => server()?.with_no_client_auth(),
    };
    Ok(Arc::new(builder.with_cert_resolver(identity.resolver())))
}

/// The versions and suites of every accepting side.
fn server() -> Result<ConfigBuilder<ServerConfig, WantsVerifier>, rustls::Error> {
    ServerConfig::builder_with_provider(provider(None)).with_protocol_versions(&[&rustls::version::TLS13])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_server_has_the_version_and_suites_of_every_other() {
        let identity = Identity::ephemeral().unwrap();
        let public = public_server_config(&identity, None).unwrap();
        let suites: Vec<_> = public.crypto_provider().cipher_suites.iter().map(SupportedCipherSuite::suite).collect();
        assert_eq!(suites, SUITES.map(|suite| suite.suite()));
    }
}
