//! Watches the packets of the server's ports.

use std::{sync::atomic::AtomicBool, time::Duration};

use server::address;
use server::dialect::variable;
use server::switch::is_on;
use server::{DEFAULT_GALERA_PORT, DEFAULT_GROUP_PORT, DEFAULT_IST_PORT, DEFAULT_STATE_TRANSFER_PORT};
use sniff::{MAX_PORTS, Outcome, Ports, Service};

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
    let ports = ports(sql);
    if ports.is_empty() {
        return Ok(Err(unavailable(
            "the server listens on no TCP port, and reads from no source",
            "none is needed: nothing of it crosses the network".to_owned(),
        )));
    }
    report(options.progress, "watching the server's ports", 0, 0);
    let ports = Ports::new(ports.into_iter().take(MAX_PORTS));
    let never = AtomicBool::new(false);
    match sniff::watch(&ports, watch.interface.as_deref(), watch.time, &never, || ()) {
        Ok(seen) => Ok(Ok(seen)),
        Err(error) if error.is_misuse() => Err(error.into()),
        Err(error) => Ok(Err(unavailable(error.to_string(), error.hint().unwrap_or_default()))),
    }
}

fn unavailable(why: impl Into<String>, remedy: String) -> Unavailable {
    Unavailable { what: "the server's packets".to_owned(), why: why.into(), remedy }
}

/// The ports on which the server listens, and to which it connects.
fn ports(sql: &SqlFacts) -> Vec<(u16, Service)> {
    let number = |text: &str| text.parse().ok().filter(|port: &u16| *port != 0);
    let port = |name: &str| sql.variable_or_none(name).and_then(number);
    let mut ports = Vec::new();
    if !sql.variable_or_none(variable::SKIP_NETWORKING).is_some_and(is_on) {
        let has_admin = sql.variable_or_none(variable::ADMIN_ADDRESS).is_some_and(|address| !address.is_empty());
        let main = Some(sql.identity.port).filter(|port| *port != 0);
        ports.extend(main.map(|port| (port, Service::Classic)));
        ports.extend(port(variable::ADMIN_PORT).filter(|_| has_admin).map(|port| (port, Service::Admin)));
        ports.extend(port(variable::EXTRA_PORT).map(|port| (port, Service::Admin)));
        ports.extend(port(variable::MYSQLX_PORT).map(|port| (port, Service::X)));
    }
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
    let sources = channels(sql).unwrap_or_default();
    ports.extend(sources.iter().filter_map(|channel| Some((number(channel.port)?, Service::Classic))));
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
    use crate::testing::{FactsBuilder, mariadb, mysql};

    fn ports_of(made: &FactsBuilder) -> Vec<(u16, Service)> {
        ports(made.0.sql.as_ref().unwrap())
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
        let galera = [(3306, Service::Classic), (5567, Service::Galera), (5568, Service::IncrementalTransfer)];
        assert_eq!(ports_of(&node)[..3], galera);
        assert_eq!(ports_of(&node)[3], (4444, Service::StateTransfer));
        let quiet = mysql().variable("skip_networking", "ON");
        assert_eq!(ports_of(&quiet), []);
        let columns = ["channel", "host", "port", "user", "ssl_allowed"];
        let replica = quiet.answer("replica_channels", &columns, &[&["", "db2", "3307", "repl", "No"]]);
        assert_eq!(ports_of(&replica), [(3307, Service::Classic)]);
    }
}
