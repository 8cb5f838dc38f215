//! Connects to the receiver and authenticates it.

use std::{
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    sync::Arc,
    time::Duration,
};

use rustls::client::danger::ServerCertVerifier;
use rustls_pki_types::ServerName;
use server::address::without_zone;

use super::{Destination, SendSettings};
use crate::{
    error::Error,
    pairing::{Pin, Side},
    tls::{ControlChannel, DataChannel, Pinned, Suite, client_config, identity::Identity, speed},
    wire::{Control, Data, SUITES, VERSION},
};

/// Connection timeout for each address of a pairing code.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Result of the negotiation between sender and receiver.
pub(super) struct Negotiated {
    token: [u8; 16],
    pin: Pin,
    pub(super) suite: usize,
    pub(super) speeds: [[u32; SUITES]; 2],
    pub(super) streams: u16,
}

/// Destination and credentials.
pub(super) struct Connector<'d> {
    destination: &'d Destination,
    identity: Identity,
    verifier: Arc<dyn ServerCertVerifier>,
    name: ServerName<'static>,
    timeout: Duration,
    address: SocketAddr,
}

impl<'d> Connector<'d> {
    /// Tries one address after the other until the right receiver answers: in the donor's network, one of the joiner's
    /// addresses may belong to another host. The secret is only used with the receiver whose key is in the code.
    pub(super) fn reach(
        destination: &'d Destination,
        settings: &SendSettings,
    ) -> Result<(Self, ControlChannel), Error> {
        let (identity, verifier, name, addresses): (_, Arc<dyn ServerCertVerifier>, _, Vec<_>) = match destination {
            Destination::Paired(code) => {
                let name = ServerName::try_from("sealant").map_err(crate::tls::identity::failed)?;
                (Identity::ephemeral()?, Pinned::to(code.pin), name, code.sockets().collect())
            }
            Destination::Certified { host, port, identity, authorities, .. } => {
                let addresses = (host.as_str(), *port).to_socket_addrs();
                let addresses = addresses.map_err(|source| unreachable(host, source))?.collect();
                let name = without_zone(host).to_owned();
                let name = ServerName::try_from(name).map_err(crate::tls::identity::failed)?;
                (identity.duplicate(), authorities.server_verifier()?, name, addresses)
            }
        };
        let Some((address, others)) = addresses.split_first() else {
            return Err(unreachable("the receiver", std::io::ErrorKind::NotFound.into()));
        };
        let timeout = settings.timeout;
        let mut connector = Self { destination, identity, verifier, name, timeout, address: *address };
        let mut tried = Vec::new();
        for address in std::iter::once(address).chain(others) {
            connector.address = *address;
            match connector.control() {
                Ok(control) => return Ok((connector, control)),
                Err(error) => tried.push(error),
            }
        }
        match tried.pop() {
            Some(only) if tried.is_empty() => Err(only),
            last => Err(Error::Unreached { tried: tried.into_iter().chain(last).collect() }),
        }
    }

    fn peer(&self) -> String {
        self.address.to_string()
    }

    fn control(&self) -> Result<ControlChannel, Error> {
        let socket = connect(&self.address, CONNECT_TIMEOUT)?;
        let config = client_config(None, &self.identity, self.verifier.clone())?;
        ControlChannel::connect(socket, config, self.name.clone(), self.peer(), CONNECT_TIMEOUT)
            .map_err(|error| self.not_the_receiver(error))
    }

    /// The error if the peer's key is not the one in the code.
    fn not_the_receiver(&self, error: Error) -> Error {
        use rustls::CertificateError::ApplicationVerificationFailure;
        match (self.destination, error) {
            (
                Destination::Paired(_),
                Error::Tls { peer, source: rustls::Error::InvalidCertificate(ApplicationVerificationFailure) },
            ) => Error::NotTheReceiver { peer },
            (_, error) => error,
        }
    }

    pub(super) fn hello(&self, control: &mut ControlChannel, settings: &SendSettings) -> Result<Negotiated, Error> {
        let exporter = control.exporter()?;
        let secret = match self.destination {
            Destination::Paired(code) => Some(&code.secret),
            Destination::Certified { secret, .. } => secret.as_ref(),
        };
        let proof = secret.map(|secret| secret.proof(Side::Sender, &exporter)).unwrap_or_default();
        let ours = speed::suite_rates();
        control.send(&Control::Hello { version: VERSION, proof, speeds: ours, streams: settings.streams })?;
        let (proof, token, theirs, streams) = match control.expect()? {
            Control::Welcome { proof, token, speeds, streams } => (proof, token, speeds, streams),
            Control::Failed { reason } => {
                return Err(Error::Peer { peer: self.peer(), reason });
            }
            _ => return Err(Error::protocol(&self.peer(), "unexpected message")),
        };
        if secret.is_some_and(|secret| !secret.is_proven(Side::Receiver, &exporter, &proof)) {
            return Err(Error::NotTheReceiver { peer: self.peer() });
        }
        control.set_timeout(settings.timeout)?;
        let pin = control.peer_pin().ok_or_else(|| Error::protocol(&self.peer(), "no certificate"))?;
        let suite = settings.suite.map_or_else(|| speed::fastest_suite(ours, theirs), Suite::index);
        let streams = streams.clamp(1, settings.streams.max(1));
        Ok(Negotiated { token, pin, suite, speeds: [ours, theirs], streams })
    }

    /// Opens a data connection to the key that the control connection authenticated.
    pub(super) fn data(&self, session: &Negotiated) -> Result<DataChannel, Error> {
        let socket = connect(&self.address, self.timeout)?;
        let config = client_config(Some(session.suite), &self.identity, Pinned::to(session.pin))?;
        let mut channel = DataChannel::connect(socket, config, self.name.clone(), self.peer(), self.timeout)?;
        channel.send(&Data::Attach { token: session.token })?;
        let mut body = Vec::new();
        match channel.receive(&mut body)?.decode(&self.peer())? {
            Data::Attached => Ok(channel),
            _ => Err(Error::protocol(&self.peer(), "unexpected message")),
        }
    }
}

fn connect(address: &SocketAddr, timeout: Duration) -> Result<TcpStream, Error> {
    let socket = TcpStream::connect_timeout(address, timeout);
    let socket = socket.map_err(|source| unreachable(&address.to_string(), source))?;
    socket.set_nodelay(true).map_err(|source| unreachable(&address.to_string(), source))?;
    Ok(socket)
}

fn unreachable(host: &str, source: std::io::Error) -> Error {
    Error::Network { peer: host.to_owned(), doing: "connecting", source }
}
