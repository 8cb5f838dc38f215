//! The certificate that a listener presents, by one complete handshake.

use std::{sync::Arc, time::Duration};

use rustls_pki_types::CertificateDer;

use super::{classic::ClassicConnector, handshake::Connector};
use crate::{
    connect::{handshake, unverified_builder},
    endpoint::Endpoint,
    error::Error,
    tls::verify::CertificatePolicy,
};

/// The chain that a classic listener presents, its own certificate first, as DER.
///
/// With `authorities`, one of them must have issued the chain, and the server must prove possession of the key. The
/// connection ends before an account is named; the server counts it as aborted.
///
/// # Errors
/// [`Error::TlsNotOffered`], [`Error::CertificateNotTrusted`], and those of connecting.
pub fn served(
    endpoint: &Endpoint,
    authorities: Option<&[CertificateDer<'static>]>,
    timeout: Duration,
) -> Result<Vec<Vec<u8>>, Error> {
    let socket = ClassicConnector { endpoint, timeout }.open()?;
    let policy = authorities.map_or(CertificatePolicy::Nothing, |trusted| CertificatePolicy::Issuer(trusted.to_vec()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = unverified_builder(&provider, policy)?.with_no_client_auth();
    let (_, facts) = handshake(socket, Arc::new(config), endpoint)?;
    Ok(facts.peer_certificates)
}
