//! Watches the packets of the server's ports.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::{sync::atomic::AtomicBool, time::Duration};

use server::address;
use server::dialect::variable;
use server::switch::is_on;
use server::{DEFAULT_GALERA_PORT, DEFAULT_GROUP_PORT, DEFAULT_IST_PORT, DEFAULT_STATE_TRANSFER_PORT, Endpoint};
use sniff::{MAX_PORTS, Outcome, Ports, Service, Traffic};

use super::process::local_address;
use super::request::{LiveOptions, report};
use crate::Error;
use crate::channel::galera::galera;
use crate::channel::group::group;
use crate::channel::replica::channels;
use crate::facts::sql::SqlFacts;
use crate::facts::{Observed, Unavailable};

/// How to watch packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// For how long.
    pub time: Duration,
    /// Only on this interface.
    pub interface: Option<String>,
}

/// Watches the ports of a server, and those of its sources.
///
/// # Errors
/// [`Error::Sniff`] if the interface does not exist. What the system does not permit is [`Unavailable`].
pub(super) fn watch(watch: &Watch, options: &LiveOptions<'_>, sql: &SqlFacts) -> Result<Observed<Outcome>, Error> {
    let peers = Peers::new(&options.target.endpoint, sql);
    let ports = peers.ports();
    if ports.len() > MAX_PORTS {
        let why = format!("its {} ports, with those of its sources, are too many to watch at once", ports.len());
        return Ok(Err(unavailable(why, "watch some of them with `sealant sniff --port`".to_owned())));
    }
    report(options.progress, "watching the server's ports", 0, 0);
    let never = AtomicBool::new(false);
    let time = if ports.is_empty() { Duration::ZERO } else { watch.time };
    match sniff::watch(&Ports::new(ports), watch.interface.as_deref(), time, &never, || ()) {
        Ok(seen) => Ok(Ok(seen.only(|row| peers.has(row, &is_local)))),
        Err(error) if error.is_misuse() => Err(error.into()),
        Err(error) => Ok(Err(unavailable(error.to_string(), error.hint().unwrap_or_default()))),
    }
}

fn unavailable(why: impl Into<String>, remedy: String) -> Unavailable {
    Unavailable { what: "the server's packets".to_owned(), why: why.into(), remedy }
}

/// Whether an address is one of this host.
fn is_local(address: IpAddr) -> bool {
    local_address(&address.to_string(), 0).is_some()
}

/// What tells traffic of the audited server from that of others with the same ports.
struct Peers {
    /// Addresses of the server; empty if it is on this host, and was connected to by its socket.
    server: Vec<IpAddr>,
    /// Where it listens.
    listening: Vec<(u16, Service)>,
    /// Ports by which members of a cluster connect to each other.
    cluster: Vec<(u16, Service)>,
    /// Addresses of its replication sources.
    sources: Vec<SocketAddr>,
}

impl Peers {
    fn new(endpoint: &Endpoint, sql: &SqlFacts) -> Self {
        let resolve = |host: &str, port: u16| (host, port).to_socket_addrs().into_iter().flatten().collect::<Vec<_>>();
        let server = match endpoint {
            Endpoint::Tcp { host, port } => resolve(host, *port).iter().map(SocketAddr::ip).collect(),
            Endpoint::Socket(_) => Vec::new(),
        };
        let channels = channels(sql).unwrap_or_default();
        let sources = channels.iter().filter_map(|channel| Some((channel.host, number(channel.port)?)));
        let sources = sources.flat_map(|(host, port)| resolve(host, port)).collect();
        Self { server, listening: listening(sql), cluster: cluster(sql), sources }
    }

    /// All ports to watch.
    fn ports(&self) -> Vec<(u16, Service)> {
        let sources = self.sources.iter().map(|source| (source.port(), Service::Classic));
        let mut ports: Vec<(u16, Service)> = Vec::new();
        for (port, service) in self.listening.iter().chain(&self.cluster).copied().chain(sources) {
            if !ports.iter().any(|(known, _)| *known == port) {
                ports.push((port, service));
            }
        }
        ports
    }

    /// Whether the server, or one of its peers, has sent or received this.
    fn has(&self, row: &Traffic, is_local: &dyn Fn(IpAddr) -> bool) -> bool {
        let is_here = self.server.is_empty() || self.server.iter().any(|address| is_local(*address));
        let is_server = |address: IpAddr| self.server.contains(&address) || is_here && is_local(address);
        let is_on = |ports: &[(u16, Service)]| ports.iter().any(|(port, _)| *port == row.server.port());
        is_on(&self.listening) && is_server(row.server.ip())
            || is_on(&self.cluster) && (is_server(row.server.ip()) || is_server(row.client))
            || self.sources.contains(&row.server) && is_server(row.client)
    }
}

fn number(text: &str) -> Option<u16> {
    text.parse().ok().filter(|port: &u16| *port != 0)
}

/// The ports on which the server listens for clients.
fn listening(sql: &SqlFacts) -> Vec<(u16, Service)> {
    if sql.variable_or_none(variable::SKIP_NETWORKING).is_some_and(is_on) {
        return Vec::new();
    }
    let port = |name: &str| sql.variable_or_none(name).and_then(number);
    let has_admin = sql.variable_or_none(variable::ADMIN_ADDRESS).is_some_and(|address| !address.is_empty());
    let main = Some(sql.identity.port).filter(|port| *port != 0);
    let ports = [
        (main, Service::Classic),
        (port(variable::ADMIN_PORT).filter(|_| has_admin), Service::Admin),
        (port(variable::EXTRA_PORT), Service::Admin),
        (port(variable::MYSQLX_PORT), Service::X),
    ];
    ports.into_iter().filter_map(|(port, service)| Some((port?, service))).collect()
}

/// The ports of a cluster or group, if the server is a member.
fn cluster(sql: &SqlFacts) -> Vec<(u16, Service)> {
    let mut ports = Vec::new();
    if let Some(node) = galera(sql) {
        // `tcp://0.0.0.0:4567`; without a port, IST uses the next one.
        let listens = node.option("gmcast.listen_addr").and_then(port_of);
        let replication = listens.or_else(|| node.option("base_port").and_then(number)).unwrap_or(DEFAULT_GALERA_PORT);
        let next = if replication == DEFAULT_GALERA_PORT { DEFAULT_IST_PORT } else { replication.saturating_add(1) };
        let transfer = sql.variable_or_none("wsrep_sst_receive_address").and_then(port_of);
        ports.extend([
            (replication, Service::Galera),
            (node.option("ist.recv_addr").and_then(port_of).unwrap_or(next), Service::IncrementalTransfer),
            (transfer.unwrap_or(DEFAULT_STATE_TRANSFER_PORT), Service::StateTransfer),
        ]);
    }
    if group(sql).is_some() {
        let own = sql.variable_or_none(variable::GROUP_REPLICATION_LOCAL_ADDRESS).and_then(port_of);
        ports.push((own.unwrap_or(DEFAULT_GROUP_PORT), Service::GroupCommunication));
    }
    ports
}

/// The port of an address such as `tcp://10.0.0.1:4567` or `db1:33061`.
fn port_of(text: &str) -> Option<u16> {
    let bare = text.split_once("://").map_or(text, |(_, bare)| bare);
    address::split(bare).ok()?.1.filter(|port| *port != 0)
}

#[cfg(test)]
mod tests {
    use sniff::{Protocol, State};

    use super::*;
    use crate::testing::{FactsBuilder, NOW, mariadb, mysql};

    fn peers(made: &FactsBuilder, endpoint: &Endpoint) -> Peers {
        Peers::new(endpoint, made.0.sql.as_ref().unwrap())
    }

    fn socket() -> Endpoint {
        Endpoint::Socket("/run/mysqld.sock".into())
    }

    fn ports_of(made: &FactsBuilder) -> Vec<(u16, Service)> {
        peers(made, &socket()).ports()
    }

    fn replica() -> FactsBuilder {
        let columns = ["channel", "host", "port", "user", "ssl_allowed"];
        mysql().answer("replica_channels", &columns, &[&["", "10.0.0.2", "3307", "repl", "No"]])
    }

    #[test]
    fn every_port_of_the_server_and_of_its_sources_is_watched() {
        let plain = mysql().variable("mysqlx_port", "33060").variable("admin_port", "33062");
        assert_eq!(ports_of(&plain), [(3306, Service::Classic), (33060, Service::X)]);
        let admin = plain.variable("admin_address", "127.0.0.1");
        assert!(ports_of(&admin).contains(&(33062, Service::Admin)));
        let node = mariadb()
            .variable("wsrep_provider", "/usr/lib/galera/libgalera_smm.so")
            .variable("wsrep_provider_options", "gmcast.listen_addr = tcp://0.0.0.0:5567; ist.recv_addr = 10.0.0.1");
        let galera = [(5567, Service::Galera), (5568, Service::IncrementalTransfer), (4444, Service::StateTransfer)];
        assert_eq!(ports_of(&node)[1..], galera);
        assert_eq!(ports_of(&mysql().variable("skip_networking", "ON")), []);
        assert_eq!(ports_of(&replica().variable("skip_networking", "ON")), [(3307, Service::Classic)]);
    }

    #[test]
    fn traffic_of_other_servers_with_the_same_ports_is_not_this_servers() {
        let row = |client: &str, server: &str| Traffic {
            client: client.parse().unwrap(),
            server: server.parse().unwrap(),
            service: Service::Classic,
            protocol: Protocol::Mysql,
            state: State::Clear,
            tls: None,
            connections: 1,
            bytes_to_server: 1,
            bytes_to_client: 1,
            first_seen: NOW.parse().unwrap(),
            last_seen: NOW.parse().unwrap(),
            evidence: Vec::new(),
            entropy: None,
        };
        let is_local = |address: IpAddr| address.to_string() == "10.0.0.1";
        let here = peers(&replica(), &socket());
        assert!(here.has(&row("10.0.0.9", "10.0.0.1:3306"), &is_local), "a client");
        assert!(here.has(&row("10.0.0.1", "10.0.0.2:3307"), &is_local), "its source");
        assert!(!here.has(&row("10.0.0.1", "10.0.0.3:3306"), &is_local), "a client on this host");
        assert!(!here.has(&row("10.0.0.9", "10.0.0.2:3307"), &is_local), "another replica");
        let far = peers(&mysql(), &Endpoint::tcp("10.0.0.7", 3306));
        assert!(far.has(&row("10.0.0.1", "10.0.0.7:3306"), &is_local));
        assert!(!far.has(&row("10.0.0.9", "10.0.0.1:3306"), &is_local), "a server of this host");
        let node = mariadb()
            .variable("wsrep_provider", "/usr/lib/galera/libgalera_smm.so")
            .variable("wsrep_provider_options", "socket.ssl = YES");
        let node = peers(&node, &socket());
        assert!(node.has(&row("10.0.0.1", "10.0.0.5:4567"), &is_local), "to another node");
        assert!(!node.has(&row("10.0.0.6", "10.0.0.5:4567"), &is_local));
    }
}
