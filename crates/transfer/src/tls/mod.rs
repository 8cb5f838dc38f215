//! TLS 1.3 with mutual authentication; there is no other mode.

mod control;
mod data;
mod handshake;
pub(crate) mod identity;
mod pinned;
mod socket;
pub mod speed;
mod suite;

use std::sync::Arc;

use rustls::{ClientConfig, ServerConfig, client::danger::ServerCertVerifier, server::danger::ClientCertVerifier};
pub(crate) use tls13::{provider, record};

pub use self::suite::Suite;
pub(crate) use self::{
    control::ControlChannel,
    data::{DataChannel, MessageBuffer},
    pinned::Pinned,
};
use crate::{error::Error, tls::identity::Identity};

/// TLS configuration of a sender.
pub(crate) fn client_config(
    suite: Option<usize>,
    identity: &Identity,
    verifier: Arc<dyn ServerCertVerifier>,
) -> Result<Arc<ClientConfig>, Error> {
    tls13::client_config(suite, identity, verifier).map_err(identity::failed)
}

/// TLS configuration of a receiver.
pub(crate) fn server_config(
    identity: &Identity,
    verifier: Arc<dyn ClientCertVerifier>,
) -> Result<Arc<ServerConfig>, Error> {
    tls13::server_config(identity, verifier).map_err(identity::failed)
}
