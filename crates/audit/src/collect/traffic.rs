//! Watches the packets of the server's ports, or reads those that another program captured.

use std::net::{IpAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::{sync::atomic::AtomicBool, time::Duration};

use files::accounts;
use server::address;
use server::dialect::variable;
use server::switch::is_on;
use server::{DEFAULT_GALERA_PORT, DEFAULT_GROUP_PORT, DEFAULT_STATE_TRANSFER_PORT, Endpoint};
use sniff::{MAX_PORTS, Outcome, Ports, Protocol, Service, State, Traffic};

use super::process::local_address;
use super::request::{LiveOptions, report};
use crate::Error;
use crate::channel::galera::galera;
use crate::channel::group::group;
use crate::channel::replica::channels;
use crate::facts::sql::SqlFacts;
use crate::facts::{Observed, Unavailable};

/// Where packets are taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packets {
    /// The network, now.
    Live {
        /// For how long.
        time: Duration,
        /// Only from this interface.
        interface: Option<String>,
    },
    /// A file that another program captured.
    File(PathBuf),
}

/// Looks at the packets of a server's ports, and those of its sources.
///
/// # Errors
/// [`Error::Sniff`] if the interface does not exist or the file cannot be read. What the system does not permit is
/// [`Unavailable`].
pub(super) fn collect(
    packets: &Packets,
    options: &LiveOptions<'_>,
    sql: &SqlFacts,
) -> Result<Observed<Outcome>, Error> {
    let peers = Peers::new(&options.target.endpoint, sql);
    let ports = peers.ports();
    if ports.numbers().is_empty() {
        return Ok(Ok(Outcome::of_no_port()));
    }
    let (seen, is_file) = match packets {
        Packets::Live { time, interface } => (watch(&ports, *time, interface.as_deref(), options)?, false),
        Packets::File(path) => (Ok(sniff::read_file(path, &ports)?), true),
    };
    let tells = |row: &Traffic| !is_file || !is_of_any_host(row.server.ip()) && !is_of_any_host(row.client);
    Ok(seen.map(|seen| {
        let mut seen = seen.only(|row| tells(row) && peers.has(row, &is_local));
        peers.name_sources(&mut seen.traffic, &is_local);
        seen
    }))
}

/// Whether every host has such addresses: in a file, which may be of another host, they tell nothing.
fn is_of_any_host(address: IpAddr) -> bool {
    address.is_loopback() || is_link_local(address)
}

fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local())
}

fn watch(
    ports: &Ports,
    time: Duration,
    interface: Option<&str>,
    options: &LiveOptions<'_>,
) -> Result<Observed<Outcome>, Error> {
    let count = ports.numbers().len();
    if count > MAX_PORTS {
        let why = format!("its {count} ports, with those of its sources, are too many to watch at once");
        return Ok(Err(unavailable(why, "watch some of them with `sealant sniff --port`".to_owned())));
    }
    report(options.progress, "watching the server's ports", 0, 0);
    let never = AtomicBool::new(false);
    match sniff::watch(ports, interface, time, &never, || ()) {
        Ok(seen) => Ok(Ok(seen)),
        Err(error) if error.is_misuse() => Err(error.into()),
        Err(error) => Ok(Err(unavailable(error.to_string(), error.hint().unwrap_or_default()))),
    }
}

fn unavailable(why: impl Into<String>, remedy: String) -> Unavailable {
    Unavailable { what: "the server's packets".to_owned(), why: why.into(), remedy }
}

/// Whether an address is one of this host. Of a link-local address that cannot be told without its interface; one of the
/// two ends of a packet that was seen is this host.
fn is_local(address: IpAddr) -> bool {
    is_link_local(address) || local_address(&address.to_string(), 0).is_some()
}

/// What tells traffic of the audited server from that of others with the same ports.
struct Peers {
    /// Addresses by which it was connected to.
    server: Vec<IpAddr>,
    /// Whether it is on this host, so that all addresses of this host are the server's.
    is_here: bool,
    /// Addresses on which its main port listens; empty if on all.
    bound: Vec<IpAddr>,
    /// Where it listens.
    listening: Vec<(u16, Service)>,
    /// Ports by which members of a cluster connect to each other.
    cluster: Vec<(u16, Service)>,
    /// Ports of its replication sources, each with its addresses: none if its name cannot be resolved.
    sources: Vec<(u16, Vec<IpAddr>)>,
}

impl Peers {
    fn new(endpoint: &Endpoint, sql: &SqlFacts) -> Self {
        let resolve = |host: &str| {
            let found = (host, 0).to_socket_addrs().into_iter().flatten();
            found.map(|address| address.ip()).collect::<Vec<_>>()
        };
        // A tunnel, a proxy or a container may give the server another port, or this host's another server.
        let (server, port) = match endpoint {
            Endpoint::Tcp { host, port } => (resolve(host), *port),
            Endpoint::Socket(_) => (Vec::new(), sql.identity.port),
        };
        let hostname = accounts::host_name().unwrap_or_default();
        let is_here = port == sql.identity.port && hostname.eq_ignore_ascii_case(&sql.identity.hostname);
        let listening = if port == sql.identity.port { listening(sql) } else { vec![(port, Service::Classic)] };
        let mut cluster = cluster(sql);
        // Group Replication by the protocol of clients is watched with them.
        cluster.retain(|(port, _)| !listening.iter().any(|(other, _)| other == port));
        let channels = channels(sql).unwrap_or_default();
        let sources = channels.iter().filter_map(|channel| Some((number(channel.port)?, resolve(channel.host))));
        Self { server, is_here, bound: bound(sql), listening, cluster, sources: sources.collect() }
    }

    /// All ports to watch.
    fn ports(&self) -> Ports {
        let sources = self.sources.iter().map(|(port, _)| (*port, Service::Source));
        Ports::new(self.listening.iter().chain(&self.cluster).copied().chain(sources))
    }

    /// Distinguishes connections to sources from those of clients: both may use the same port.
    fn name_sources(&self, rows: &mut [Traffic], is_local: &dyn Fn(IpAddr) -> bool) {
        for row in rows.iter_mut().filter(|row| row.service == Service::Classic && !self.listens(row, is_local)) {
            row.service = Service::Source;
        }
    }

    fn is_server(&self, address: IpAddr, is_local: &dyn Fn(IpAddr) -> bool) -> bool {
        self.server.contains(&address) || self.is_here && is_local(address)
    }

    /// Whether this is a connection to a port on which the server listens.
    fn listens(&self, row: &Traffic, is_local: &dyn Fn(IpAddr) -> bool) -> bool {
        let address = row.server.ip();
        let is_bound = row.service != Service::Classic || self.bound.is_empty() || self.bound.contains(&address);
        is_among(&self.listening, row.server.port()) && self.is_server(address, is_local) && is_bound
    }

    /// Whether the server, or one of its peers, has sent or received this.
    fn has(&self, row: &Traffic, is_local: &dyn Fn(IpAddr) -> bool) -> bool {
        let is_server = |address: IpAddr| self.is_server(address, is_local);
        let (address, port) = (row.server.ip(), row.server.port());
        let is_source =
            self.sources.iter().any(|(known, at)| *known == port && (at.is_empty() || at.contains(&address)));
        // Another program of this host may be a client of the source.
        let is_channel = is_source && (row.state != State::Clear || row.protocol == Protocol::Replication);
        self.listens(row, is_local)
            || is_among(&self.cluster, port) && (is_server(address) || is_server(row.client))
            || is_channel && is_server(row.client)
    }
}

fn is_among(ports: &[(u16, Service)], port: u16) -> bool {
    ports.iter().any(|(known, _)| *known == port)
}

fn number(text: &str) -> Option<u16> {
    text.parse().ok().filter(|port: &u16| *port != 0)
}

/// Addresses to which the main port is bound; none if to all, or if a name is among them.
fn bound(sql: &SqlFacts) -> Vec<IpAddr> {
    let value = sql.variable_or_none(variable::BIND_ADDRESS).unwrap_or("*");
    let addresses: Option<Vec<IpAddr>> = value.split(',').map(|address| address.trim().parse().ok()).collect();
    addresses.filter(|all| !all.iter().any(IpAddr::is_unspecified)).unwrap_or_default()
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
        // IST uses the port after `base_port`, whatever `gmcast.listen_addr` is (`IST_fix_addr_port` of Galera).
        let base = node.option("base_port").and_then(number).unwrap_or(DEFAULT_GALERA_PORT);
        let replication = node.option("gmcast.listen_addr").and_then(port_of).unwrap_or(base);
        let next = base.saturating_add(1);
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
    use super::*;
    use crate::testing::{FactsBuilder, NOW, mariadb, mysql};

    /// What is watched of a server on this host.
    fn peers(made: &FactsBuilder, endpoint: &Endpoint) -> Peers {
        let mut sql = made.0.sql.clone().unwrap();
        sql.identity.hostname = accounts::host_name().unwrap_or_default();
        Peers::new(endpoint, &sql)
    }

    fn socket() -> Endpoint {
        Endpoint::Socket("/run/mysqld.sock".into())
    }

    fn ports_of(made: &FactsBuilder) -> Ports {
        peers(made, &socket()).ports()
    }

    fn replica() -> FactsBuilder {
        let columns = ["channel", "host", "port", "user", "ssl_allowed"];
        mysql().answer("replica_channels", &columns, &[&["", "10.0.0.2", "3307", "repl", "No"]])
    }

    #[test]
    fn every_port_of_the_server_and_of_its_sources_is_watched() {
        let plain = mysql().variable("mysqlx_port", "33060").variable("admin_port", "33062");
        assert_eq!(ports_of(&plain), Ports::new([(3306, Service::Classic), (33060, Service::X)]));
        let admin = plain.variable("admin_address", "127.0.0.1");
        assert!(ports_of(&admin).numbers().contains(&33062));
        let node = mariadb()
            .variable("wsrep_provider", "/usr/lib/galera/libgalera_smm.so")
            .variable("wsrep_provider_options", "gmcast.listen_addr = tcp://0.0.0.0:5567; ist.recv_addr = 10.0.0.1");
        let galera = [
            (3306, Service::Classic),
            (5567, Service::Galera),
            (4568, Service::IncrementalTransfer),
            (4444, Service::StateTransfer),
        ];
        assert_eq!(ports_of(&node), Ports::new(galera));
        assert_eq!(ports_of(&mysql().variable("skip_networking", "ON")), Ports::new([]));
        let alone = ports_of(&replica().variable("skip_networking", "ON"));
        assert_eq!(alone, Ports::new([(3307, Service::Source)]));
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
        let same_port =
            Peers { sources: vec![(3306, vec!["10.0.0.2".parse().unwrap()])], ..peers(&replica(), &socket()) };
        let to_source = Traffic { state: State::Encrypted, ..row("10.0.0.1", "10.0.0.2:3306") };
        let mut rows = [row("10.0.0.9", "10.0.0.1:3306"), to_source];
        assert!(rows.iter().all(|row| same_port.has(row, &is_local)));
        same_port.name_sources(&mut rows, &is_local);
        assert_eq!(rows.map(|row| row.service), [Service::Classic, Service::Source]);
        assert!(here.has(&row("10.0.0.9", "10.0.0.1:3306"), &is_local), "a client");
        let from_source = Traffic { protocol: Protocol::Replication, ..row("10.0.0.1", "10.0.0.2:3307") };
        assert!(here.has(&from_source, &is_local), "its source");
        assert!(!here.has(&row("10.0.0.1", "10.0.0.2:3307"), &is_local), "another client of its source");
        assert!(!here.has(&row("10.0.0.1", "10.0.0.3:3306"), &is_local), "a client on this host");
        assert!(!here.has(&row("10.0.0.9", "10.0.0.2:3307"), &is_local), "another replica");
        let bound = peers(&mysql().variable("bind_address", "10.0.0.8,127.0.0.1"), &socket());
        assert!(!bound.has(&row("10.0.0.9", "10.0.0.1:3306"), &is_local), "a server on another address");
        let forwarded = peers(&mysql(), &Endpoint::tcp("10.0.0.1", 3307));
        assert_eq!(forwarded.ports(), Ports::new([(3307, Service::Classic)]));
        assert!(forwarded.has(&row("10.0.0.9", "10.0.0.1:3307"), &is_local));
        let elsewhere = Peers::new(&socket(), mysql().0.sql.as_ref().unwrap());
        assert!(!elsewhere.has(&row("10.0.0.9", "10.0.0.1:3306"), &is_local), "its host has another name");
        let far = Peers::new(&Endpoint::tcp("10.0.0.7", 3306), mysql().0.sql.as_ref().unwrap());
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
