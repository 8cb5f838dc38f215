//! A Galera cluster on loopback: MariaDB with the Galera 4 provider.

use std::path::PathBuf;

use tempfile::TempDir;

use crate::{Error, Kind, Server, ServerBuilder, limit, within};

/// Time limit until a node is ready.
const SECONDS: u64 = 120;

/// Running nodes; the first one started the cluster.
#[derive(Debug)]
pub struct Cluster {
    /// The nodes, in the order they joined.
    pub nodes: Vec<Server>,
    set_up: SetUp,
    first_address: Option<String>,
}

/// Options of all nodes of a cluster.
#[derive(Clone, Debug)]
pub struct SetUp {
    kind: Kind,
    method: String,
    provider_options: String,
    options: Vec<String>,
    option_file: String,
    files: Vec<(String, Vec<u8>)>,
    programs: Option<PathBuf>,
}

impl SetUp {
    /// Creates options for nodes of this kind, which join by rsync.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            method: "rsync".to_owned(),
            provider_options: String::new(),
            options: Vec::new(),
            option_file: String::new(),
            files: Vec::new(),
            programs: None,
        }
    }

    /// Sets `wsrep_sst_method`.
    #[must_use]
    pub fn method(mut self, method: &str) -> Self {
        method.clone_into(&mut self.method);
        self
    }

    /// Adds to `wsrep_provider_options`, for example `socket.ssl=no`.
    #[must_use]
    pub fn provider_options(mut self, options: &str) -> Self {
        options.clone_into(&mut self.provider_options);
        self
    }

    /// Adds options to every node's command line; placeholders as in [`ServerBuilder::option`].
    #[must_use]
    pub fn options<S: Into<String>>(mut self, options: impl IntoIterator<Item = S>) -> Self {
        self.options.extend(options.into_iter().map(Into::into));
        self
    }

    /// Sets the text of every node's option file; placeholders as in [`ServerBuilder::option`].
    #[must_use]
    pub fn option_file(mut self, text: &str) -> Self {
        text.clone_into(&mut self.option_file);
        self
    }

    /// Puts a file into every node's private directory.
    #[must_use]
    pub fn file(mut self, name: &str, contents: &[u8]) -> Self {
        self.files.push((name.to_owned(), contents.to_vec()));
        self
    }

    /// A directory of programs that nodes call by name, as [`ServerBuilder::programs`].
    #[must_use]
    pub fn programs(mut self, directory: impl Into<PathBuf>) -> Self {
        self.programs = Some(directory.into());
        self
    }

    /// Starts the first node and lets the others join one by one.
    ///
    /// # Errors
    /// As [`ServerBuilder::start`]; [`Error::TimedOut`] if a node does not become ready.
    pub fn start(self, nodes: usize) -> Result<Cluster, Error> {
        let mut cluster = Cluster { nodes: Vec::with_capacity(nodes), set_up: self, first_address: None };
        for _ in 0..nodes {
            let mut node = cluster.prepare(|builder| builder)?;
            node.start()?;
            wait_until_synced(&node)?;
            cluster.nodes.push(node);
        }
        Ok(cluster)
    }
}

impl Cluster {
    /// Starts a node of MariaDB 10.11 and lets the others join one by one, each with a full state transfer by rsync.
    ///
    /// `provider_options` are added to `wsrep_provider_options`, for example
    /// `socket.ssl=no`; `options` to every node's command line.
    ///
    /// # Errors
    /// As [`SetUp::start`].
    pub fn start(nodes: usize, provider_options: &str, options: &[&str]) -> Result<Self, Error> {
        SetUp::new(Kind::MariaDb1011).provider_options(provider_options).options(options.iter().copied()).start(nodes)
    }

    /// A node that is not started yet, with an empty data directory. `more` adds options for this node.
    ///
    /// # Errors
    /// As [`ServerBuilder::prepare`].
    pub fn prepare(&mut self, more: impl FnOnce(ServerBuilder) -> ServerBuilder) -> Result<Server, Error> {
        let provider_options = self.set_up.provider_options.clone();
        self.prepare_with(&provider_options, more)
    }

    /// Like [`Self::prepare`], with additional `wsrep_provider_options` for this node.
    ///
    /// # Errors
    /// As [`ServerBuilder::prepare`].
    pub fn prepare_with(
        &mut self,
        provider_options: &str,
        more: impl FnOnce(ServerBuilder) -> ServerBuilder,
    ) -> Result<Server, Error> {
        self.prepare_at("127.0.0.1", provider_options, more)
    }

    /// Like [`Self::prepare_with`], at this address.
    ///
    /// # Errors
    /// As [`ServerBuilder::prepare`].
    pub fn prepare_at(
        &mut self,
        address: &str,
        provider_options: &str,
        more: impl FnOnce(ServerBuilder) -> ServerBuilder,
    ) -> Result<Server, Error> {
        let [group, transfer, ist] = ports::free_ports().map_err(Error::file("127.0.0.1"))?;
        let members = self.first_address.clone().unwrap_or_default();
        let SetUp { kind, method, options, option_file, files, programs, .. } = &self.set_up;
        let mut builder = Server::builder(*kind)
            .option(format!("--wsrep-provider={}", provider(*kind)?))
            .option(format!("--wsrep-cluster-address=gcomm://{members}"))
            .option(format!(
                "--wsrep-provider-options=gmcast.listen_addr=tcp://{address}:{group};\
                 ist.recv_addr={address}:{ist};gcache.size=8M;{provider_options}"
            ))
            .option(format!("--wsrep-node-address={address}:{group}"))
            .option(format!("--wsrep-sst-receive-address={address}:{transfer}"))
            .option(format!("--wsrep-sst-method={method}"))
            .options(WSREP)
            .options(options.iter().cloned())
            .option_file(option_file.clone());
        for (name, contents) in files {
            builder = builder.file(name.clone(), contents.clone());
        }
        if let Some(programs) = programs {
            builder = builder.programs(programs);
        }
        let node = more(builder).prepare()?;
        self.first_address.get_or_insert_with(|| format!("{address}:{group}"));
        Ok(node)
    }
}

/// Options that Galera requires of every node.
const WSREP: [&str; 5] = [
    "--wsrep-on=ON",
    "--wsrep-cluster-name=sealant",
    "--binlog-format=ROW",
    "--default-storage-engine=InnoDB",
    "--innodb-autoinc-lock-mode=2",
];

fn provider(kind: Kind) -> Result<String, Error> {
    let provider = kind.locate()?.galera_provider();
    let provider =
        provider.ok_or(Error::Unsupported("no Galera provider; run tests/harness/bin/install-servers galera"))?;
    Ok(provider.display().to_string())
}

/// A directory that contains only `stunnel`, which the state transfer by rsync needs for encryption; for
/// [`SetUp::programs`].
///
/// # Errors
/// [`Error::Unsupported`] if it is not installed.
pub fn stunnel() -> Result<TempDir, Error> {
    let program = crate::cache().join("servers/stunnel/root/usr/bin/stunnel");
    if !program.exists() {
        return Err(Error::Unsupported("no stunnel; run tests/harness/bin/install-servers stunnel"));
    }
    let directory = crate::server::new_directory()?;
    let link = directory.path().join("stunnel");
    std::os::unix::fs::symlink(program, &link).map_err(Error::file(&link))?;
    Ok(directory)
}

/// Waits until a node serves queries. Before that, it already answers on its socket.
///
/// # Errors
/// [`Error::TimedOut`].
pub fn wait_until_synced(node: &Server) -> Result<(), Error> {
    let query = "SHOW STATUS WHERE Variable_name IN ('wsrep_ready', 'wsrep_local_state_comment')";
    let limit = limit(SECONDS);
    within(limit, || match node.sql(query) {
        Ok(rows) if rows.contains("\tON") && rows.contains("\tSynced") => Ok(()),
        Ok(rows) => Err(rows),
        Err(error) => Err(error.to_string()),
    })
    .map_err(|state| Error::TimedOut { what: format!("Galera node to be ready: {state}"), limit })
}
