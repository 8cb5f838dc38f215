//! A Galera cluster on loopback: MariaDB 10.11 with the Galera 4 provider.

use std::thread;
use std::time::{Duration, Instant};

use crate::options::free_ports;
use crate::{Error, Kind, Server};

const LIMIT: Duration = Duration::from_secs(120);

/// Running nodes; the first one started the cluster.
#[derive(Debug)]
pub struct Cluster {
    /// The nodes, in the order they joined.
    pub nodes: Vec<Server>,
}

impl Cluster {
    /// Starts a node and lets the others join it one by one, each with a full
    /// state transfer by rsync.
    ///
    /// `provider_options` are added to `wsrep_provider_options`, for example
    /// `socket.ssl=no`; `options` to every node's command line.
    ///
    /// # Errors
    /// As [`crate::ServerBuilder::start`]; [`Error::TimedOut`] if a node does
    /// not become ready.
    pub fn start(nodes: usize, provider_options: &str, options: &[&str]) -> Result<Self, Error> {
        let mut cluster = Self { nodes: Vec::with_capacity(nodes) };
        let mut first_address = None;
        for _ in 0..nodes {
            let [group, transfer, ist] = free_ports()?;
            let members = first_address.clone().unwrap_or_default();
            let node = Server::builder(Kind::MariaDb1011)
                .option(format!("--wsrep-provider={}", provider()?))
                .option(format!("--wsrep-cluster-address=gcomm://{members}"))
                .option(format!(
                    "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:{group};\
                     ist.recv_addr=127.0.0.1:{ist};gcache.size=8M;{provider_options}"
                ))
                .option(format!("--wsrep-node-address=127.0.0.1:{group}"))
                .option(format!("--wsrep-sst-receive-address=127.0.0.1:{transfer}"))
                .options(WSREP)
                .options(options.iter().copied())
                .start()?;
            wait_until_ready(&node)?;
            cluster.nodes.push(node);
            first_address.get_or_insert_with(|| format!("127.0.0.1:{group}"));
        }
        Ok(cluster)
    }
}

/// What Galera demands of any node.
const WSREP: [&str; 6] = [
    "--wsrep-on=ON",
    "--wsrep-cluster-name=sealant",
    // mariadb-backup would refuse the server's options that a script hands on.
    "--wsrep-sst-method=rsync",
    "--binlog-format=ROW",
    "--default-storage-engine=InnoDB",
    "--innodb-autoinc-lock-mode=2",
];

fn provider() -> Result<String, Error> {
    let provider = Kind::MariaDb1011.locate()?.galera_provider();
    let provider =
        provider.ok_or(Error::Unsupported("no Galera provider; run tests/harness/bin/install-servers galera"))?;
    Ok(provider.display().to_string())
}

/// A node answers on its socket before it may serve.
fn wait_until_ready(node: &Server) -> Result<(), Error> {
    let start = Instant::now();
    let query = "SHOW STATUS WHERE Variable_name IN ('wsrep_ready', 'wsrep_local_state_comment')";
    while !node.sql(query).is_ok_and(|rows| rows.contains("\tON") && rows.contains("\tSynced")) {
        if start.elapsed() > LIMIT {
            return Err(Error::TimedOut { what: "Galera node to be ready".to_owned(), limit: LIMIT });
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}
