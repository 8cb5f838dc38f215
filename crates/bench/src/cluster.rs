//! A small Galera cluster: a donor with a client that writes to it, and nodes that join.

use std::{
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use process::Running;
use rustix::process::Signal;
use server::{Connection, Endpoint, Options, Target, option_group::MYSQLD, program::option};

use crate::{Error, program::ended_with_parent};

/// Maximum time for a node to join or to stop.
const TIMEOUT: Duration = Duration::from_secs(900);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The programs of a node.
#[derive(Clone, Debug)]
pub struct Installation {
    /// Path of `mariadbd`.
    pub daemon: PathBuf,
    /// Path of the Galera provider library.
    pub provider: PathBuf,
    /// Directory that is searched first for the programs of state transfers.
    pub programs: PathBuf,
    /// Additional options of every server.
    pub options: Vec<OsString>,
}

/// A running node; killed on drop, with the programs of its state transfer.
#[derive(Debug)]
pub struct Node {
    running: Running,
    directory: PathBuf,
    group_port: u16,
}

impl Installation {
    /// The server's options go into its option file: mariabackup receives the options of the command line, and refuses
    /// some of them.
    fn settings(&self, option_file: &str) -> Vec<u8> {
        let mut settings = format!("{option_file}[{MYSQLD}]\n").into_bytes();
        for option in &self.options {
            let option = option.as_encoded_bytes();
            settings.extend_from_slice(option.strip_prefix(b"--").unwrap_or(option));
            settings.push(b'\n');
        }
        settings
    }

    /// Starts a node on `directory/data`, without waiting for it; `members` is empty for the first node.
    ///
    /// # Errors
    /// [`Error::Program`] or [`Error::File`] if it cannot be started.
    pub fn start(&self, directory: &Path, members: &str, method: &str, option_file: &str) -> Result<Node, Error> {
        let settings = directory.join("my.cnf");
        fs::write(&settings, self.settings(option_file)).map_err(Error::file(&settings))?;
        let [sql, group, transfer, ist] = ports::free_ports().map_err(Error::file("127.0.0.1"))?;
        let tmp = directory.join("tmp");
        fs::create_dir_all(&tmp).map_err(Error::file(&tmp))?;
        let log = directory.join("error.log");
        let log = File::create(&log).map_err(Error::file(&log))?;
        let prefix = self.daemon.ancestors().nth(2).unwrap_or_else(|| Path::new("/"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let programs = [self.programs.clone(), prefix.join("bin")];
        let path = std::env::join_paths(programs.into_iter().chain(std::env::split_paths(&path))).unwrap_or_default();
        let mut program = ended_with_parent(&self.daemon)
            .arg(format!("--defaults-file={}", settings.display()))
            .arg(option("basedir", prefix))
            .args([option("datadir", &directory.join("data")), option("socket", &directory.join("sql.sock"))])
            .args([option("pid-file", &directory.join("pid")), option("tmpdir", &tmp)])
            .args(["--bind-address=127.0.0.1".to_owned(), format!("--port={sql}"), format!("--server-id={sql}")])
            .args(["--wsrep-on=ON", "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2"])
            .arg(option("wsrep-provider", &self.provider))
            .args([format!("--wsrep-cluster-address=gcomm://{members}"), format!("--wsrep-sst-method={method}")])
            .arg(format!(
                "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:{group};\
                 ist.recv_addr=127.0.0.1:{ist};gcache.size=512M"
            ))
            .arg(format!("--wsrep-node-address=127.0.0.1:{group}"))
            .arg(format!("--wsrep-sst-receive-address=127.0.0.1:{transfer}"))
            .arg("--wsrep-sst-auth=root:")
            .env("PATH", path)
            .directory(directory)
            .with_children();
        if program.runs_as_root() {
            program = program.arg("--user=root");
        }
        let errors = log.try_clone().map_err(Error::file(directory))?;
        let running = program.start(log, errors);
        let running = running.map_err(|error| Error::program(&self.daemon, error.to_string()))?;
        Ok(Node { running, directory: directory.to_owned(), group_port: group })
    }
}

impl Node {
    /// Address for the other nodes, `host:port`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.group_port)
    }

    /// Path of its data directory.
    #[must_use]
    pub fn datadir(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// Path of its socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.directory.join("sql.sock")
    }

    /// Content of its error log; empty if it cannot be read.
    #[must_use]
    pub fn log(&self) -> String {
        let log = fs::read(self.directory.join("error.log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Connects as root.
    ///
    /// # Errors
    /// [`Error::Program`].
    pub fn connect(&self) -> Result<Connection, Error> {
        let options =
            Options { changes: true, statement_timeout: TIMEOUT, connect_timeout: TIMEOUT, ..Options::default() };
        let target = Target { endpoint: Endpoint::Socket(self.socket()), user: "root".to_owned() };
        Connection::open(&target, &options).map_err(|error| self.failed(&error.to_string()))
    }

    /// Waits until the node serves as a member of the cluster, or a signal has set `stopped`.
    ///
    /// # Errors
    /// [`Error::Program`] with the end of its log if it stops instead, or takes too long; [`Error::Interrupted`].
    pub fn wait_until_synced(&mut self, stopped: &AtomicBool) -> Result<(), Error> {
        let until = Instant::now() + TIMEOUT;
        let synced = "SHOW STATUS WHERE Variable_name = 'wsrep_local_state_comment' AND Value = 'Synced'";
        let socket = self.socket();
        while Instant::now() < until {
            if stopped.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            if let Ok(Some(status)) = self.running.status() {
                return Err(self.failed(&format!("ended ({status})")));
            }
            let there = socket.exists()
                && self
                    .connect()
                    .is_ok_and(|mut connection| connection.query(synced).is_ok_and(|rows| rows.scalar().is_some()));
            if there {
                return Ok(());
            }
            thread::sleep(POLL_INTERVAL);
        }
        Err(self.failed("was not synced in time"))
    }

    /// Shuts the node down.
    ///
    /// # Errors
    /// [`Error::Program`] if it does not stop.
    pub fn stop(mut self) -> Result<(), Error> {
        self.running.signal(Signal::TERM);
        match self.running.wait(TIMEOUT) {
            Ok(None) => Err(self.failed("does not stop")),
            Ok(Some(_)) | Err(_) => Ok(()),
        }
    }

    fn failed(&self, what: &str) -> Error {
        let log = self.log();
        // The log of the transfer method names the cause best.
        let of = |text: &str| log.lines().rfind(|line| line.contains(text));
        let reported = of("WSREP_SST: [ERROR]").or_else(|| of("[ERROR]")).unwrap_or_default();
        Error::Program { program: "mariadbd".to_owned(), reason: format!("{what}: {reported}") }
    }
}

/// A client that commits continuously.
#[derive(Debug)]
pub struct Writer {
    stopped: Arc<AtomicBool>,
    longest: Arc<AtomicU64>,
    commits: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts writing to a node, into a new table.
    ///
    /// # Errors
    /// [`Error::Program`].
    pub fn begin(node: &Node) -> Result<Self, Error> {
        let mut connection = node.connect()?;
        let made = "CREATE TABLE IF NOT EXISTS test.sealant_bench (id BIGINT AUTO_INCREMENT PRIMARY KEY, v CHAR(100))";
        for sql in ["CREATE DATABASE IF NOT EXISTS test", made] {
            connection.query(sql).map_err(|error| node.failed(&error.to_string()))?;
        }
        let (stopped, longest, commits) = <(Arc<AtomicBool>, Arc<AtomicU64>, Arc<AtomicU64>)>::default();
        let shared = (stopped.clone(), longest.clone(), commits.clone());
        let thread = thread::spawn(move || {
            let (stopped, longest, commits) = shared;
            while !stopped.load(Ordering::Relaxed) {
                let began = Instant::now();
                let written = connection.query("INSERT INTO test.sealant_bench (v) VALUES (REPEAT('x', 100))");
                let took = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
                longest.fetch_max(took, Ordering::Relaxed);
                commits.fetch_add(u64::from(written.is_ok()), Ordering::Relaxed);
                // A donor is not always under full load: leave some processor time between bursts.
                thread::sleep(Duration::from_millis(1));
            }
        });
        Ok(Self { stopped, longest, commits, thread: Some(thread) })
    }

    /// The longest commit since the last call, and the number of commits so far.
    #[must_use]
    pub fn take(&self) -> (Duration, u64) {
        (Duration::from_micros(self.longest.swap(0, Ordering::Relaxed)), self.commits.load(Ordering::Relaxed))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
