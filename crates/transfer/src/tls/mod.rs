//! TLS 1.3, both sides known to each other, no other mode.

mod control;
mod data;
mod handshake;
pub mod identity;
mod pinned;
mod record;
mod socket;
pub mod speed;

use std::sync::Arc;

use rustls::{
    ClientConfig, ServerConfig, SupportedCipherSuite,
    client::{Resumption, danger::ServerCertVerifier},
    crypto::{CryptoProvider, aws_lc_rs},
    server::{NoServerSessionStorage, danger::ClientCertVerifier},
};

pub(crate) use self::{
    control::ControlChannel,
    data::{DataChannel, MessageBuffer},
    pinned::{Pinned, spki_of},
};
use crate::{error::TransferError, tls::identity::Identity, wire::message::SUITES};

/// The cipher suites of TLS 1.3, in the order in which speeds are told.
pub const NAMES: [&str; SUITES] = ["AES-128-GCM", "AES-256-GCM", "ChaCha20-Poly1305"];

fn all_suites() -> [SupportedCipherSuite; SUITES] {
    use aws_lc_rs::cipher_suite::{TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256};
    [TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256]
}

/// The provider with one suite, or with all three.
pub(crate) fn provider(suite: Option<usize>) -> Arc<CryptoProvider> {
    let suites = all_suites();
    let cipher_suites = match suite.and_then(|suite| suites.get(suite)) {
        Some(suite) => vec![*suite],
        None => suites.to_vec(),
    };
    Arc::new(CryptoProvider { cipher_suites, ..aws_lc_rs::default_provider() })
}

/// What a sender connects with.
pub(crate) fn client_config(
    suite: Option<usize>,
    identity: &Identity,
    verifier: Arc<dyn ServerCertVerifier>,
) -> Result<Arc<ClientConfig>, TransferError> {
    let mut config = ClientConfig::builder_with_provider(provider(suite))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(identity::failed)?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_client_auth_cert(identity.chain(), identity.key())
        .map_err(identity::failed)?;
    config.resumption = Resumption::disabled();
    config.enable_secret_extraction = true;
    Ok(Arc::new(config))
}

/// What a receiver accepts with.
pub(crate) fn server_config(
    identity: &Identity,
    verifier: Arc<dyn ClientCertVerifier>,
) -> Result<Arc<ServerConfig>, TransferError> {
    let mut config = ServerConfig::builder_with_provider(provider(None))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(identity::failed)?
        .with_client_cert_verifier(verifier)
        .with_single_cert(identity.chain(), identity.key())
        .map_err(identity::failed)?;
    // Tickets that the sender never reads turn its close into a reset, which can eat the last bytes.
    config.send_tls13_tickets = 0;
    // Data connections have a record layer of their own.
    config.enable_secret_extraction = true;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(Arc::new(config))
}
