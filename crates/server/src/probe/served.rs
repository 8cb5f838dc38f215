//! Which certificate a listener serves, by one whole handshake.

use std::{sync::Arc, time::Duration};

use rustls_pki_types::CertificateDer;

use super::{classic::ClassicDoor, handshake::Door};
use crate::{
    connect::{handshake, unverified_builder},
    endpoint::Endpoint,
    error::Error,
    tls::verify::Demand,
};

/// The chain that a classic listener serves, its own certificate first, as DER.
///
/// With authorities the chain must lead to one of them and the server must prove that it holds the
/// key. The connection ends before any account is named, which the server counts as aborted.
///
/// # Errors
/// [`Error::TlsNotOffered`], [`Error::CertificateNotTrusted`], and all that a connection meets with.
pub fn served(
    endpoint: &Endpoint,
    authorities: Option<&[CertificateDer<'static>]>,
    timeout: Duration,
) -> Result<Vec<Vec<u8>>, Error> {
    let socket = ClassicDoor { endpoint, timeout }.open()?;
    let demand = authorities.map_or(Demand::Nothing, |trusted| Demand::Issuer(trusted.to_vec()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = unverified_builder(&provider, demand)?.with_no_client_auth();
    let (_, facts) = handshake(socket, Arc::new(config), endpoint)?;
    Ok(facts.peer_certificates)
}
