//! Opens the listening socket. Determines the addresses and the code for the sender.

use std::net::IpAddr;

use super::{ReceiveSettings, Trust, listener::Listener};
use crate::{
    error::Error,
    pairing::{MAX_ADDRESSES, PairingCode, Secret},
    tls::{
        Pinned,
        identity::{Identity, pin_of},
        server_config,
    },
};

/// Binds the listener, with a pairing code if the sides authenticate with one.
pub(super) fn bind_listener(
    settings: &ReceiveSettings,
    trust: &Trust,
) -> Result<(Listener, Option<PairingCode>), Error> {
    match trust {
        Trust::Certificates { identity, authorities, secret } => {
            let config = server_config(identity, authorities.client_verifier()?)?;
            Ok((Listener::open(settings.listen, config, identity.duplicate(), secret.clone())?, None))
        }
        Trust::Pairing => {
            let (identity, secret) = (Identity::ephemeral()?, Secret::generate()?);
            let (pin, config) = (pin_of(&identity)?, server_config(&identity, Pinned::to_any())?);
            let listener = Listener::open(settings.listen, config, identity, Some(secret.clone()))?;
            let addresses = match settings.advertise.as_slice() {
                [] => local_addresses(listener.address().ip()),
                given => given.to_vec(),
            };
            let port = listener.address().port();
            let addresses = addresses.into_iter().take(MAX_ADDRESSES).collect();
            Ok((listener, Some(PairingCode { addresses, port, pin, secret })))
        }
    }
}

/// Addresses of this host by which other hosts may reach `listening`.
fn local_addresses(listening: IpAddr) -> Vec<IpAddr> {
    if !listening.is_unspecified() {
        return vec![listening];
    }
    let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
    let mut addresses: Vec<IpAddr> = interfaces.iter().map(if_addrs::Interface::ip).collect();
    let scoped = |address: &IpAddr| matches!(address, IpAddr::V6(address) if address.is_unicast_link_local());
    addresses.retain(|address| !scoped(address) && (listening.is_ipv6() || address.is_ipv4()));
    // Other hosts cannot reach the loopback address, but a sender on this host can if there is no
    // other.
    addresses.sort_by_key(|address| (address.is_loopback(), address.is_ipv6()));
    addresses.dedup();
    if addresses.is_empty() { vec![IpAddr::from([127, 0, 0, 1])] } else { addresses }
}
