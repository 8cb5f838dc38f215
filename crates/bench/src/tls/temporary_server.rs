//! A temporary server to measure on: empty, on the loopback interface, in its own directory.
//!
//! Its only account has no password. It may read one table of generated data, write in an empty database, and reload
//! certificates; the administrator's account is removed.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use server::{
    Flavor, NotStarted, ServerFiles, ServerProcess,
    dialect::setting::reload_tls,
    program::{Installation, option, version_word},
};

use super::{
    accounts::{USER, statements},
    client::Client,
    security::{Address, Security},
    system_tables,
};
use crate::{
    Error, Program,
    program::{ended_with_parent, succeed},
};

const START_LIMIT: Duration = Duration::from_secs(90);
/// Time for a regular end.
const STOP_LIMIT: Duration = Duration::from_secs(60);
const GUARD_INTERVAL: Duration = Duration::from_millis(50);

/// Additional settings for starting a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct StartOptions {
    /// A copy of the program to run instead, for a server that needs files beside it.
    pub(crate) program: Option<PathBuf>,
    /// Options for creating the system tables and for running the server.
    pub(crate) installation: Vec<String>,
    /// Options for running the server. Without any, it has no binary log.
    pub(crate) options: Vec<String>,
    /// A directory of system tables to copy. The first server that is started with it creates the tables.
    pub(crate) seed: Option<PathBuf>,
    /// Whether to create the account [`ADMINISTRATOR`](super::ADMINISTRATOR) for connections through the socket.
    pub(crate) administrator: bool,
    /// The flag that a signal sets: the server is then killed, so that no statement delays the end.
    pub(crate) stopped: Option<Arc<AtomicBool>>,
}

/// A server's certificate and private key.
#[derive(Clone, Debug)]
pub struct KeyPairFiles {
    /// The certificate, PEM.
    pub certificate: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
}

/// A running server; killed on drop, as its data is of no use then. Its directory remains.
#[derive(Debug)]
pub struct TemporaryServer {
    /// Ends before the process does.
    _guard: Option<SignalGuard>,
    process: ServerProcess,
    /// The version that the server reports.
    version: String,
    mariadb: bool,
    directory: PathBuf,
    port: u16,
}

impl TemporaryServer {
    /// Starts the server program in an empty private directory, with these certificates.
    ///
    /// # Errors
    /// [`Error::Program`] with the server's error, [`Error::File`].
    pub fn start(server: &Path, directory: &Path, ca: &Path, pair: &KeyPairFiles) -> Result<Self, Error> {
        Self::start_with(server, directory, ca, pair, &StartOptions::default())
    }

    /// Like [`Self::start`], with additional settings.
    pub(crate) fn start_with(
        server: &Path,
        directory: &Path,
        ca: &Path,
        pair: &KeyPairFiles,
        extra: &StartOptions,
    ) -> Result<Self, Error> {
        let version = version_of(server)?;
        let mariadb = is_mariadb(&version);
        let files = files(directory);
        let mut options = Installation::around(server).options();
        options.extend(extra.installation.iter().cloned());
        fs::create_dir_all(&files.temporary).map_err(Error::file(&files.temporary))?;
        let program = extra.program.as_deref().unwrap_or(server);
        if let Some(seed) = extra.seed.as_deref().filter(|seed| seed.is_dir()) {
            copy_directory(seed, &files.datadir)?;
        } else {
            fs::create_dir(&files.datadir).map_err(Error::file(&files.datadir))?;
            system_tables::create(server, program, &files, &options, mariadb)?;
            extra.seed.as_deref().map_or(Ok(()), |seed| copy_directory(&files.datadir, seed))?;
        }
        copy(ca, &directory.join("ca.pem"))?;
        install(directory, pair)?;
        let init = directory.join("init.sql");
        fs::write(&init, statements(mariadb, extra.administrator)).map_err(Error::file(&init))?;
        let port = ports::free_port().map_err(|source| Error::program(server, format!("no port: {source}")))?;
        options.extend(network_options(directory, &init, port));
        if extra.options.is_empty() {
            options.push("--skip-log-bin".to_owned());
        }
        options.extend(extra.options.iter().cloned());
        // Ctrl-C is meant for this program, which shuts the server down afterwards.
        let program = ended_with_parent(program).with_children();
        let started = ServerProcess::start(program, &files, options);
        let process = started.map_err(|fault| match fault {
            NotStarted::Log(error) => Error::file(&files.log)(error),
            NotStarted::Program(error) => Error::program(server, error.to_string()),
        })?;
        let guard = extra.stopped.clone().map(|stopped| SignalGuard::start(process.id(), stopped));
        let mut started = Self { _guard: guard, process, version, mariadb, directory: directory.to_owned(), port };
        started.wait(server)?;
        Ok(started)
    }

    /// The version that the server reports, for example `10.11.19-MariaDB`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The server as a program of a record.
    pub(crate) fn program(&self) -> Program {
        let name = if self.mariadb { "MariaDB" } else { "MySQL" };
        Program { name: name.to_owned(), version: Some(self.version.clone()) }
    }

    /// Its address on the loopback interface.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Its unix socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        files(&self.directory).socket
    }

    /// Its process id.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.process.id()
    }

    /// Makes the server present another certificate of the same authority.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Program`] with the server's error.
    pub fn install_certificate(&self, pair: &KeyPairFiles) -> Result<(), Error> {
        install(&self.directory, pair)?;
        let reload = reload_tls(if self.mariadb { Flavor::MariaDb } else { Flavor::MySql });
        let reloaded = Client::open(&Address::Socket(self.socket()), USER, &Security::Plain)
            .and_then(|mut client| client.query(reload).map(|_| client.quit()));
        reloaded.map_err(|error| Error::program(Path::new(&self.version), format!("{reload}: {error}")))
    }

    /// Shuts it down and leaves its data complete.
    ///
    /// # Errors
    /// [`Error::Program`]: it does not end, or not regularly.
    pub(crate) fn shut_down(mut self) -> Result<(), Error> {
        match self.process.stop(STOP_LIMIT) {
            Ok(Some(status)) if status.success() => Ok(()),
            _ => Err(Error::program(Path::new(&self.version), "does not shut down")),
        }
    }

    fn wait(&mut self, server: &Path) -> Result<(), Error> {
        let open = |socket: &Path| Client::open(&Address::Socket(socket.to_owned()), USER, &Security::Plain).ok();
        match self.process.connect(START_LIMIT, open) {
            Some(client) => client.quit(),
            None => {
                // The last line of the log is the reason only if the server has ended; a running server may log
                // anything.
                let has_ended = self.process.has_ended();
                let last_line = || self.process.last_line().filter(|_| has_ended);
                let reason = self.process.first_error().or_else(last_line);
                return Err(Error::program(server, reason.as_deref().unwrap_or("it does not answer")));
            }
        }
        Ok(())
    }
}

/// Kills a server as soon as a signal has set the flag.
#[derive(Debug)]
struct SignalGuard {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl SignalGuard {
    /// The process leads a group.
    fn start(process: u32, stopped: Arc<AtomicBool>) -> Self {
        let process = i32::try_from(process).ok().and_then(Pid::from_raw);
        let ended = Arc::new(AtomicBool::new(false));
        let is_ended = Arc::clone(&ended);
        let thread = thread::spawn(move || {
            while !is_ended.load(Ordering::Relaxed) {
                if stopped.load(Ordering::Relaxed) {
                    // An error means that it has ended.
                    let _ = process.map(|process| kill_process_group(process, Signal::KILL));
                    return;
                }
                thread::park_timeout(GUARD_INTERVAL);
            }
        });
        Self { ended, thread: Some(thread) }
    }
}

impl Drop for SignalGuard {
    /// Waits for the thread, so that it never kills a process that got the number of the server's.
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// Whether a version is one of MariaDB.
pub(crate) fn is_mariadb(version: &str) -> bool {
    version.contains("MariaDB")
}

/// The version that a server program reports, for example `10.11.19-MariaDB`.
///
/// # Errors
/// [`Error::Program`] if it cannot be run, or is no server.
pub(crate) fn version_of(server: &Path) -> Result<String, Error> {
    let text = process::version_text(server, &["--no-defaults", "--version"]);
    let text = text.map_err(|error| Error::program(server, error.to_string()))?;
    version_word(&text)
        .map(str::to_owned)
        .ok_or_else(|| Error::program(server, "is not a server: it does not print its version"))
}

/// The files of a server in a directory.
fn files(directory: &Path) -> ServerFiles {
    ServerFiles {
        datadir: directory.join("data"),
        socket: directory.join("sql"),
        pid_file: directory.join("pid"),
        temporary: directory.join("tmp"),
        log: directory.join("log"),
    }
}

/// Options for connections: over the loopback interface, with TLS.
fn network_options(directory: &Path, init: &Path, port: u16) -> Vec<String> {
    let mut options = [
        ("init-file", init.to_owned()),
        ("ssl-ca", directory.join("ca.pem")),
        ("ssl-cert", certificate(directory)),
        ("ssl-key", key(directory)),
    ]
    .map(|(name, path)| option(name, &path))
    .to_vec();
    options.push(format!("--port={port}"));
    options.extend(
        ["--bind-address=127.0.0.1", "--max-connections=4000", "--skip-name-resolve", "--tls-version=TLSv1.2,TLSv1.3"]
            .map(str::to_owned),
    );
    options
}

fn certificate(directory: &Path) -> PathBuf {
    directory.join("server.pem")
}

fn key(directory: &Path) -> PathBuf {
    directory.join("server.key")
}

fn install(directory: &Path, pair: &KeyPairFiles) -> Result<(), Error> {
    copy(&pair.certificate, &certificate(directory))?;
    copy(&pair.key, &key(directory))
}

/// Copies a file and its permissions: a key stays private.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    fs::copy(from, to).map(drop).map_err(Error::file(from))
}

fn copy_directory(from: &Path, to: &Path) -> Result<(), Error> {
    succeed(Command::new("cp").arg("-a").arg(from).arg(to)).map(drop)
}
