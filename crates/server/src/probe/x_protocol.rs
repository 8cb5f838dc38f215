//! Probes a listener of the X Protocol.

use std::{
    io::{Read, Write},
    time::Duration,
};

use super::{
    Failure, ProbeLimits, XProbe,
    handshake::{Budget, Connector, probe_tls},
    x_messages::{self, CAPABILITIES_GET, SET_TLS, XMessage},
};
use crate::{
    endpoint::Endpoint,
    error::{Error, OtherService, Phase},
    socket::Socket,
};

/// Maximum size of a message; capabilities have a few hundred bytes.
const MAX_MESSAGE_BYTES: u32 = 64 * 1024;

/// Probes an X Protocol listener, usually port 33060.
///
/// Never fails: errors are part of the result.
pub fn x_protocol(endpoint: &Endpoint, limits: &ProbeLimits) -> XProbe {
    let mut budget = Budget { used: 0, limit: limits.max_connections };
    let mut probe = XProbe {
        endpoint: endpoint.to_string(),
        reachable: false,
        error: None,
        offers_tls: None,
        capabilities: Vec::new(),
        auth_mechanisms: Vec::new(),
        tls: None,
        connections: 0,
    };
    budget.spend();
    match capabilities(endpoint, limits.timeout) {
        Ok(capabilities) => {
            probe.reachable = true;
            let offers_tls = capabilities.iter().any(|(name, _)| name == "tls");
            probe.offers_tls = Some(offers_tls);
            probe.auth_mechanisms = capabilities
                .iter()
                .find(|(name, _)| name == "authentication.mechanisms")
                .map(|(_, mechanisms)| mechanisms.clone())
                .unwrap_or_default();
            probe.capabilities = capabilities.into_iter().map(|(name, _)| name).collect();
            if offers_tls {
                let mut connector = XConnector { endpoint, timeout: limits.timeout };
                probe.tls = Some(probe_tls(&mut connector, &mut budget, limits));
            }
        }
        Err(error) => probe.error = Some(Failure::from(&error)),
    }
    probe.connections = budget.used;
    probe
}

struct XConnector<'a> {
    endpoint: &'a Endpoint,
    timeout: Duration,
}

impl Connector for XConnector<'_> {
    fn open(&mut self) -> Result<Socket, Error> {
        let mut socket = Socket::open(self.endpoint, self.timeout)?;
        match request(&mut socket, SET_TLS)? {
            XMessage::Ok => Ok(socket),
            XMessage::Error { code, message } => Err(Error::Server { code, sqlstate: "HY000".to_owned(), message }),
            _ => Err(Error::Malformed { what: "X Protocol answer" }),
        }
    }
}

fn capabilities(endpoint: &Endpoint, timeout: Duration) -> Result<Vec<(String, Vec<String>)>, Error> {
    let mut socket = Socket::open(endpoint, timeout)?;
    match request(&mut socket, CAPABILITIES_GET)? {
        XMessage::Capabilities(found) => Ok(found),
        XMessage::Error { code, message } => Err(Error::RefusedBeforeGreeting { code, message }),
        _ => Err(Error::NotMySql { endpoint: endpoint.clone(), service: OtherService::Unknown }),
    }
}

/// Sends a message; returns the first answer that is not a notice.
fn request(socket: &mut Socket, message: &[u8]) -> Result<XMessage, Error> {
    socket.write_all(message).map_err(|error| socket.failure(Phase::Greeting, error))?;
    // A real server does not send only notices.
    for _ in 0..8 {
        match receive(socket)? {
            XMessage::Notice => {}
            answer => return Ok(answer),
        }
    }
    Err(Error::Malformed { what: "X Protocol answer" })
}

fn receive(socket: &mut Socket) -> Result<XMessage, Error> {
    let mut head = [0; 5];
    let mut start = Vec::new();
    Read::take(&mut *socket, 5).read_to_end(&mut start).map_err(|error| socket.failure(Phase::Greeting, error))?;
    let service = |socket: &Socket, bytes: &[u8]| {
        let service = match bytes {
            // A classic greeting: length, sequence 0, protocol version 10.
            [_, 0, 0, 0, 10] => OtherService::Classic,
            other => OtherService::guess(other),
        };
        Error::NotMySql { endpoint: socket.endpoint().clone(), service }
    };
    if start.len() != head.len() {
        return Err(service(socket, &start));
    }
    head.copy_from_slice(&start);
    let [a, b, c, d, kind] = head;
    let length = u32::from_le_bytes([a, b, c, d]);
    if length == 0 || length > MAX_MESSAGE_BYTES || (kind == 10 && length < 200) {
        return Err(service(socket, &start));
    }
    let mut body = vec![0; usize::try_from(length.saturating_sub(1)).unwrap_or(0)];
    socket.read_exact(&mut body).map_err(|error| socket.failure(Phase::Greeting, error))?;
    x_messages::parse(kind, &body).ok_or(Error::Malformed { what: "X Protocol message" })
}
