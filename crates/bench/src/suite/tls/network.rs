//! The network between clients and the server, and the routes through it.

use std::{path::Path, time::Duration};

use super::TestBed;
use crate::{
    ClientKind, Error, Experiment, Proxy, Relay, Route, Security, TlsSettings, TlsVersion, Unit, ssh_forward,
    stunnel_pair, tunnel_pair,
};

/// The kinds of handshake to measure: TLS version, and whether the session is resumed.
const KINDS: [(TlsVersion, bool); 4] =
    [(TlsVersion::Tls13, false), (TlsVersion::Tls13, true), (TlsVersion::Tls12, false), (TlsVersion::Tls12, true)];
/// Names of arms in the results.
pub(crate) const PLAIN: &str = "plain TCP";
pub(crate) const TUNNEL: &str = "sealant tunnel";

/// The relay and the proxies that run while one round-trip time is measured.
pub(super) struct Network {
    round_trip: u16,
    relay: Option<Relay>,
    proxies: Vec<(&'static str, Proxy)>,
}

impl Network {
    pub(super) fn new(test_bed: &TestBed<'_>, round_trip: u16, missing: &mut Vec<String>) -> Result<Self, Error> {
        let time = Duration::from_millis(round_trip.into());
        let server = test_bed.daemon.address();
        let relay = (round_trip > 0).then(|| Relay::start(server, time)).transpose().map_err(Error::Port)?;
        let (directory, certificates) = (test_bed.directory, &test_bed.certificates);
        let tunnel = tunnel_pair(&test_bed.suite.program, directory, certificates, &test_bed.daemon.socket(), time)?;
        let mut proxies = Vec::new();
        if !test_bed.suite.no_peers {
            let peers = [
                ("ssh -L", ssh_forward(directory, server, time)),
                ("stunnel", stunnel_pair(directory, certificates, server, time)),
            ];
            for (name, peer) in peers {
                match peer {
                    Ok(proxy) => proxies.push((name, proxy)),
                    Err(error) => missing.push(format!("{name} ({error})")),
                }
            }
        }
        proxies.push((TUNNEL, tunnel));
        Ok(Self { round_trip, relay, proxies })
    }

    pub(super) fn experiment<'w>(&self, what: &str, unit: Unit) -> Experiment<'w> {
        let name = match self.round_trip {
            0 => format!("{what}, loopback"),
            time => format!("{what}, round trip {time} ms"),
        };
        Experiment::new(name).unit(unit)
    }

    fn route<'s>(&self, test_bed: &'s TestBed<'_>, name: impl Into<String>, client: ClientKind) -> Route<'s> {
        let address = self.relay.as_ref().map_or_else(|| test_bed.daemon.address(), Relay::address);
        Route { name: name.into(), address, client, stopped: test_bed.suite.settings.stopped, certificate: None }
    }

    pub(super) fn connection_routes<'s>(
        &self,
        test_bed: &'s TestBed<'_>,
        missing: &mut Vec<String>,
    ) -> Result<Vec<Route<'s>>, Error> {
        let mut routes = vec![self.route(test_bed, PLAIN, ClientKind::Driver(Security::Plain))];
        // The cost of a key does not depend on the route.
        let pairs =
            if self.round_trip == 0 { test_bed.pairs.as_slice() } else { test_bed.pairs.get(..1).unwrap_or_default() };
        for (key, pair) in pairs {
            for (version, resumes) in KINDS {
                let name = format!("{version} {key}{}", if resumes { ", resumed" } else { "" });
                let route = self.route(test_bed, name, driver(test_bed, version, resumes)?);
                let route = Route { certificate: Some((&test_bed.daemon, pair.clone())), ..route };
                if route.is_possible()? {
                    routes.push(route);
                } else {
                    missing.push(format!("{} (this server does not resume it)", route.name));
                }
            }
        }
        routes.extend(self.programs(test_bed));
        routes.extend(self.proxied(test_bed));
        Ok(routes)
    }

    /// Routes with the command-line client, measured only where the processor dominates.
    fn programs<'s>(&self, test_bed: &'s TestBed<'_>) -> Vec<Route<'s>> {
        let Some((program, mariadb)) = test_bed.client.as_ref().filter(|_| self.round_trip == 0) else {
            return Vec::new();
        };
        let route = |(name, options)| {
            let client = ClientKind::Program { program: program.clone(), options };
            let certificate = test_bed.pairs.first().map(|(_, pair)| (&test_bed.daemon, pair.clone()));
            Route { certificate, ..self.route(test_bed, name, client) }
        };
        client_options(*mariadb, &test_bed.certificates.ca).into_iter().map(route).collect()
    }

    /// Routes for clients without TLS.
    pub(super) fn clear_routes<'s>(&self, test_bed: &'s TestBed<'_>) -> Vec<Route<'s>> {
        let mut routes = vec![self.route(test_bed, PLAIN, ClientKind::Driver(Security::Plain))];
        routes.extend(self.proxied(test_bed));
        routes
    }

    pub(super) fn query_routes<'s>(&self, test_bed: &'s TestBed<'_>) -> Result<Vec<Route<'s>>, Error> {
        let mut routes = vec![self.route(test_bed, PLAIN, ClientKind::Driver(Security::Plain))];
        for version in [TlsVersion::Tls13, TlsVersion::Tls12] {
            routes.push(self.route(test_bed, version.to_string(), driver(test_bed, version, false)?));
        }
        routes.extend(self.proxied(test_bed));
        Ok(routes)
    }

    fn proxied<'s>(&self, test_bed: &'s TestBed<'_>) -> Vec<Route<'s>> {
        let route = |(name, proxy): &(&str, Proxy)| Route {
            name: (*name).to_owned(),
            address: proxy.address,
            client: ClientKind::Driver(Security::Plain),
            stopped: test_bed.suite.settings.stopped,
            certificate: None,
        };
        self.proxies.iter().map(route).collect()
    }
}

fn driver(test_bed: &TestBed<'_>, version: TlsVersion, resumes: bool) -> Result<ClientKind, Error> {
    let settings = TlsSettings::new(version, &test_bed.certificates.ca, resumes);
    let settings = settings.map_err(|error| Error::Tls(error.to_string()))?;
    Ok(ClientKind::Driver(Security::Tls(settings)))
}

/// Client options for plaintext, and for TLS.
fn client_options(mariadb: bool, ca: &Path) -> [(&'static str, Vec<String>); 2] {
    let ca = format!("--ssl-ca={}", ca.display());
    let (clear, secure) = if mariadb {
        ("--skip-ssl", "--ssl-verify-server-cert")
    } else {
        ("--ssl-mode=DISABLED", "--ssl-mode=VERIFY_CA")
    };
    [("client program, clear", vec![clear.to_owned()]), ("client program, TLS ECDSA", vec![ca, secure.to_owned()])]
}
