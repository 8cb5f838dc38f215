//! TLS 1.3, both sides known to each other, no other mode.

mod control;
mod data;
mod handshake;
pub mod identity;
mod pinned;
mod socket;
pub mod speed;

use std::sync::Arc;

use rustls::{ClientConfig, ServerConfig, client::danger::ServerCertVerifier, server::danger::ClientCertVerifier};
pub(crate) use tls13::{provider, record};

pub(crate) use self::{
    control::ControlChannel,
    data::{DataChannel, MessageBuffer},
    pinned::{Pinned, spki_of},
};
use crate::{error::TransferError, tls::identity::Identity, wire::message::SUITES};

/// The cipher suites of TLS 1.3, in the order in which speeds are told.
pub const NAMES: [&str; SUITES] = ["AES-128-GCM", "AES-256-GCM", "ChaCha20-Poly1305"];

/// What a sender connects with.
pub(crate) fn client_config(
    suite: Option<usize>,
    identity: &Identity,
    verifier: Arc<dyn ServerCertVerifier>,
) -> Result<Arc<ClientConfig>, TransferError> {
    Ok(tls13::client_config(suite, identity, verifier)?)
}

/// What a receiver accepts with.
pub(crate) fn server_config(
    identity: &Identity,
    verifier: Arc<dyn ClientCertVerifier>,
) -> Result<Arc<ServerConfig>, TransferError> {
    Ok(tls13::server_config(identity, verifier)?)
}
