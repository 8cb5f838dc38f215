//! Probes a listener of the classic protocol.

use std::time::Duration;

use super::{
    ClassicProbe, Failure, GreetingFacts, ProbeLimits,
    handshake::{Budget, Connector, probe_tls},
};
use crate::{
    connect::request_head,
    endpoint::Endpoint,
    error::{Error, Phase},
    greeting::{Greeting, capability},
    packet,
    socket::Socket,
};

/// Probes a listener of the classic protocol: the main port, `admin_port`, or a Unix socket.
///
/// Never fails: errors are part of the result.
pub fn classic(endpoint: &Endpoint, limits: &ProbeLimits) -> ClassicProbe {
    let mut budget = Budget { used: 0, limit: limits.max_connections };
    let mut probe = ClassicProbe {
        endpoint: endpoint.to_string(),
        reachable: false,
        error: None,
        greeting: None,
        tls: None,
        connections: 0,
    };
    budget.spend();
    match greet(endpoint, limits.timeout) {
        Ok((socket, greeting)) => {
            // Close it before opening others: max_connections may be small.
            drop(socket);
            probe.reachable = true;
            probe.greeting = Some(GreetingFacts {
                version: greeting.version.clone(),
                offers_tls: greeting.offers_tls(),
                auth_plugin: greeting.auth_plugin.clone(),
                flavor_guess: greeting.flavor(),
                capabilities: greeting.capabilities,
            });
            if greeting.offers_tls() {
                let mut connector = ClassicConnector { endpoint, timeout: limits.timeout };
                probe.tls = Some(probe_tls(&mut connector, &mut budget, limits));
            }
        }
        Err(error) => probe.error = Some(Failure::from(&error)),
    }
    probe.connections = budget.used;
    probe
}

pub(super) struct ClassicConnector<'a> {
    pub(super) endpoint: &'a Endpoint,
    pub(super) timeout: Duration,
}

impl Connector for ClassicConnector<'_> {
    fn open(&mut self) -> Result<Socket, Error> {
        let (mut socket, greeting) = greet(self.endpoint, self.timeout)?;
        if !greeting.offers_tls() {
            return Err(Error::TlsNotOffered);
        }
        let capabilities = capability::LONG_PASSWORD
            | capability::LONG_FLAG
            | capability::PROTOCOL_41
            | capability::SSL
            | capability::SECURE_CONNECTION
            | (greeting.capabilities & capability::PLUGIN_AUTH);
        packet::write(&mut socket, &mut 1, &request_head(capabilities))
            .map_err(|error| socket.failure(Phase::Tls, error))?;
        Ok(socket)
    }
}

pub(super) fn greet(endpoint: &Endpoint, timeout: Duration) -> Result<(Socket, Greeting), Error> {
    let mut socket = Socket::open(endpoint, timeout)?;
    let greeting = packet::read_greeting(&mut socket)?;
    Ok((socket, greeting))
}
