//! The cost of TLS for clients of a database server.

mod network;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use pki::KeyType;

use self::network::Network;
pub(crate) use self::network::{PLAIN, TUNNEL};
use super::{Collected, Outcome, Watch, server_program};
use crate::{
    Arm, Certificates, Environment, Error, Experiment, KeyPairFiles, Oltp, Route, Settings, Subject,
    TemporaryDirectory, TemporaryServer, Unit,
    tls::{authority, is_mariadb, issue},
};

/// Part of the names of experiments with new connections.
pub(crate) const CONNECTING: &str = "connections, one after the other";
/// Part of the names of experiments with queries.
pub(crate) const QUERYING: &str = "SELECT 1 on an open connection";
const KEYS: [(&str, KeyType); 3] =
    [("ECDSA", KeyType::EcdsaP256), ("RSA-2048", KeyType::Rsa2048), ("RSA-4096", KeyType::Rsa4096)];
const PUBLISHED: &str = "published in 2013, on another machine, one client, connections per second: plain 1,000, \
                         TLS 22, SSH forwarding 480";

/// Parameters of the measurement.
#[derive(Debug)]
pub struct TlsSuite<'a> {
    /// This program.
    pub program: PathBuf,
    /// The server program; by default `mariadbd` or `mysqld` from `PATH` or `/usr/sbin`.
    pub server: Option<&'a Path>,
    /// Round trips to measure at, in milliseconds.
    pub round_trips: &'a [u16],
    /// Sizes of results in bytes, up to 1 GB, the size of the table's cross join.
    pub sizes: &'a [u64],
    /// Number of clients for sysbench transactions, if requested.
    pub oltp: Option<u32>,
    /// Measure only this program and the server's own TLS.
    pub no_peers: bool,
    /// Directory below which the server lives.
    pub into: &'a Path,
    /// Duration of each run.
    pub span: Duration,
    /// Rounds and time budget of each experiment.
    pub settings: Settings<'a>,
}

impl TlsSuite<'_> {
    /// Runs the measurement.
    ///
    /// # Errors
    /// [`Error`]: the server or a connection to it could not be started, or an answer was wrong.
    pub fn run(&self, watch: &Watch<'_>) -> Result<Outcome, Error> {
        let environment = Environment::now(self.into);
        let scratch = TemporaryDirectory::below(self.into)?;
        watch("starting a server");
        let test_bed = TestBed::new(self, &scratch)?;
        let mut collected = Collected::default();
        test_bed.measure(&mut collected, watch)?;
        collected.missing.sort();
        collected.missing.dedup();
        collected.notes.push(PUBLISHED.to_owned());
        collected.programs.push(test_bed.daemon.program());
        Ok(collected.finish(environment, Subject::default()))
    }
}

/// Certificates of the server with their keys, by kind of key.
type ServerPairs = Vec<(&'static str, KeyPairFiles)>;

/// The measured server, with its certificates and clients.
struct TestBed<'a> {
    suite: &'a TlsSuite<'a>,
    directory: &'a Path,
    certificates: Certificates,
    /// Certificates of the server, by kind of key.
    pairs: ServerPairs,
    daemon: TemporaryServer,
    oltp: Option<Oltp>,
    /// `mariadb` or `mysql`, and whether it is MariaDB's.
    client: Option<(PathBuf, bool)>,
}

impl<'a> TestBed<'a> {
    fn new(suite: &'a TlsSuite<'a>, scratch: &'a TemporaryDirectory) -> Result<Self, Error> {
        let server = server_program(suite.server, &server::PROGRAMS)?;
        let directory = scratch.path();
        let (certificates, pairs) = certificates(&directory.join("certificates"))?;
        let location = directory.join("server");
        std::fs::create_dir(&location).map_err(Error::file(&location))?;
        let daemon = TemporaryServer::start(&server, &location, &certificates.ca, &certificates.far)?;
        let oltp = suite.oltp.map(Oltp::new).transpose()?;
        if let Some(oltp) = &oltp {
            oltp.prepare(daemon.address())?;
        }
        Ok(Self { suite, directory, certificates, pairs, daemon, oltp, client: client_program(&server) })
    }

    fn measure(&self, collected: &mut Collected, watch: &Watch<'_>) -> Result<(), Error> {
        let span = self.suite.span;
        for &round_trip in self.suite.round_trips {
            let network = Network::new(self, round_trip, &mut collected.missing)?;
            let routes = network.connection_routes(self, &mut collected.missing)?;
            let connecting = network.experiment(CONNECTING, Unit::Connections);
            self.run(connecting, routes, |route| crate::connections(route, span), collected, watch)?;
            let asking = network.experiment(QUERYING, Unit::Queries);
            self.run(asking, network.query_routes(self)?, |route| crate::queries(route, span), collected, watch)?;
            for &bytes in self.suite.sizes.iter().filter(|_| round_trip == 0) {
                let reading = Experiment::new(format!("results of {}", decimal(bytes)));
                let results = |route| crate::results(route, span, bytes);
                self.run(reading, network.query_routes(self)?, results, collected, watch)?;
            }
            if let Some(oltp) = &self.oltp {
                let name = format!("oltp_read_write of {} clients", self.suite.oltp.unwrap_or_default());
                let trade = |route: Route<'_>| oltp.arm(route.name, route.address, span);
                let trading = network.experiment(&name, Unit::Transactions);
                self.run(trading, network.clear_routes(self), trade, collected, watch)?;
            }
        }
        Ok(())
    }

    /// Runs an experiment with an arm for each route.
    fn run<'w>(
        &self,
        experiment: Experiment<'w>,
        routes: Vec<Route<'w>>,
        arm: impl Fn(Route<'w>) -> Arm<'w>,
        collected: &mut Collected,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        let names: Vec<String> = routes.iter().map(|route| route.name.clone()).collect();
        // Each arm warms itself up.
        let settings = Settings { warm_up: false, ..self.suite.settings };
        collected.run(experiment.arms(routes.into_iter().map(arm)), &settings, &pairs(&names), watch)
    }
}

/// Pairs the tunnel with every other route, and every other route with plaintext connections.
fn pairs(names: &[String]) -> Vec<(String, String)> {
    let others = || names.iter().filter(|name| *name != TUNNEL);
    let tunnel = others().map(|other| (TUNNEL.to_owned(), other.clone()));
    tunnel.chain(others().filter(|name| *name != PLAIN).map(|other| (other.clone(), PLAIN.to_owned()))).collect()
}

/// Creates an authority, certificates for both ends of a tunnel, and one for the server for each kind of key.
fn certificates(directory: &Path) -> Result<(Certificates, ServerPairs), Error> {
    let (ca, authority) = authority(directory)?;
    let pairs = KEYS.iter().map(|(name, key)| Ok((*name, issue(&authority, &name.to_lowercase(), *key)?)));
    let pairs = pairs.collect::<Result<Vec<_>, Error>>()?;
    let [far, near] = ["far", "near"].map(|name| issue(&authority, name, KeyType::EcdsaP256));
    Ok((Certificates { ca, far: far?, near: near? }, pairs))
}

/// The command-line client beside the server, or from `PATH`.
fn client_program(server: &Path) -> Option<(PathBuf, bool)> {
    let beside = server.ancestors().nth(2).map(|base| base.join("bin"));
    let named = |name: &str| {
        let beside = beside.as_ref().and_then(|bin| process::find(bin.join(name).as_os_str()));
        beside.or_else(|| process::find(name))
    };
    let program = named("mariadb").or_else(|| named("mysql"))?;
    let is_mariadb = is_mariadb(&process::version_text(&program, &["--version"]).ok()?);
    Some((program, is_mariadb))
}

/// Formats a size as the user gave it.
fn decimal(bytes: u64) -> String {
    match bytes {
        1_000_000_000.. => format!("{} GB", bytes / 1_000_000_000),
        1_000_000.. => format!("{} MB", bytes / 1_000_000),
        1_000.. => format!("{} kB", bytes / 1_000),
        _ => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tunnel_is_compared_with_all_routes_and_all_routes_with_plain_tcp() {
        let names = [PLAIN, "TLS 1.3", TUNNEL].map(str::to_owned);
        let pair = |of: &str, to: &str| (of.to_owned(), to.to_owned());
        assert_eq!(pairs(&names), [pair(TUNNEL, PLAIN), pair(TUNNEL, "TLS 1.3"), pair("TLS 1.3", PLAIN)]);
    }

    #[test]
    fn sizes_are_formatted_as_the_user_gave_them() {
        assert_eq!([1, 3_000, 3_000_000, 1_000_000_000].map(decimal), ["1 bytes", "3 kB", "3 MB", "1 GB"]);
    }

    #[test]
    fn every_kind_of_key_has_a_pair() {
        let directory = tempfile::tempdir().unwrap();
        let (certificates, pairs) = certificates(&directory.path().join("certificates")).unwrap();
        assert!(certificates.ca.is_file() && certificates.near.key.is_file());
        assert_eq!(pairs.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["ECDSA", "RSA-2048", "RSA-4096"]);
    }
}
