//! A real KMIP service for tests: PyKMIP's server, with mutual TLS, on a port of 127.0.0.1.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::certs::{Authority, KeyKind, Profile, TlsFiles};
use crate::command::run;
use crate::kind::cache;
use crate::process::Daemon;
use crate::server::new_directory;
use crate::{Error, free_port, limit, within};

const SECONDS: u64 = 60;
/// What the service logs when it accepts connections.
const LISTENS: &str = "Starting connection service";

/// A running service; removed on drop. It keeps its keys when it is stopped and started again.
#[derive(Debug)]
pub struct Kmip {
    python: PathBuf,
    directory: TempDir,
    port: u16,
    daemon: Option<Daemon>,
    client: TlsFiles,
}

/// Finds the Python that `bin/install-servers pykmip` has installed, or prints on stderr that the test is skipped.
///
/// # Panics
/// If `CI` is set: a skipped test must not count as passed there.
#[must_use]
pub fn require() -> Option<PathBuf> {
    let program = cache().join("servers/pykmip/venv/bin/python");
    if program.exists() {
        return Some(program);
    }
    crate::skip(&format!("{} is missing; tests/harness/bin/install-servers pykmip installs it", program.display()));
    None
}

impl Kmip {
    /// Starts a service without keys.
    ///
    /// # Errors
    /// [`Error`].
    pub fn start(python: PathBuf) -> Result<Self, Error> {
        let directory = new_directory()?;
        let authority = Authority::create(&directory.path().join("ca"))?;
        // PyKMIP offers no cipher suite with both RSA and AES-GCM.
        let profile = Profile { key: KeyKind::P256, ..Profile::default() };
        let (tls, client) = (authority.issue("service", &profile)?, authority.issue("client", &profile)?);
        let port = free_port().map_err(Error::file("port"))?;
        let mut service = Self { python, directory, port, daemon: None, client };
        let configuration = service.path("server.conf");
        fs::create_dir(service.path("policies")).map_err(Error::file(service.path("policies")))?;
        fs::write(&configuration, service.configuration(&tls)).map_err(Error::file(configuration))?;
        service.start_again()?;
        Ok(service)
    }

    /// The port on 127.0.0.1.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Certificate and key of a client, and the authority of the service.
    #[must_use]
    pub const fn client(&self) -> &TlsFiles {
        &self.client
    }

    /// A path in the service's own directory.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Registers a key, in hexadecimal, and returns its identifier.
    ///
    /// # Errors
    /// [`Error`].
    pub fn register(&self, name: &str, group: &str, key: &str) -> Result<String, Error> {
        self.call(&["register", name, group], key.as_bytes())
    }

    /// Destroys a key.
    ///
    /// # Errors
    /// [`Error`].
    pub fn destroy(&self, id: &str) -> Result<(), Error> {
        self.call(&["destroy", id], b"").map(drop)
    }

    /// Revokes a key because others know it.
    ///
    /// # Errors
    /// [`Error`].
    pub fn compromise(&self, id: &str) -> Result<(), Error> {
        self.call(&["compromise", id], b"").map(drop)
    }

    /// Kills the service, so that connections are refused.
    pub fn stop(&mut self) {
        self.daemon = None;
    }

    /// Starts it again after [`stop`](Self::stop).
    ///
    /// # Errors
    /// [`Error`].
    pub fn start_again(&mut self) -> Result<(), Error> {
        let _ = fs::remove_file(self.path("server.log"));
        let log = self.path("output");
        let log = File::options().append(true).create(true).open(&log).map_err(Error::file(log))?;
        let mut command = Daemon::command(&self.python);
        command.arg(self.python.with_file_name("pykmip-server"));
        command.arg("-f").arg(self.path("server.conf")).arg("-l").arg(self.path("server.log"));
        command.env_clear().env("HOME", self.directory.path());
        command.stdout(log.try_clone().map_err(Error::file("output"))?).stderr(log);
        let spawned = |source| Error::Spawn { program: "pykmip-server".to_owned(), source };
        self.daemon = Some(Daemon::spawn(command).map_err(spawned)?);
        // The log shows whether the service listens. Connecting to find out is not safe: a connection to a free port
        // can take that port itself.
        let listens = || match fs::read_to_string(self.path("server.log")) {
            Ok(log) if log.contains(LISTENS) => Ok(()),
            Ok(log) => Err(log.lines().last().unwrap_or_default().to_owned()),
            Err(error) => Err(error.to_string()),
        };
        within(limit(SECONDS), listens).map_err(|why| {
            let log = fs::read_to_string(self.path("output")).unwrap_or_default();
            Error::NotStarted { why, log_tail: log }
        })
    }

    fn call(&self, arguments: &[&str], input: &[u8]) -> Result<String, Error> {
        let mut command = Command::new(&self.python);
        command.env_clear().env("HOME", self.directory.path());
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("kmip/client.py")).arg(self.port.to_string());
        command.args([&self.client.cert, &self.client.key, &self.client.ca]).args(arguments);
        let output = run(&mut command, input, limit(SECONDS))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(said.lines().last().unwrap_or_default().trim().to_owned())
    }

    fn configuration(&self, tls: &TlsFiles) -> String {
        format!(
            "[server]\nhostname=127.0.0.1\nport={}\ncertificate_path={}\nkey_path={}\nca_path={}\n\
             auth_suite=TLS1.2\npolicy_path={}\nenable_tls_client_auth=False\nlogging_level=INFO\ndatabase_path={}\n",
            self.port,
            tls.cert.display(),
            tls.key.display(),
            tls.ca.display(),
            self.path("policies").display(),
            self.path("keys.db").display(),
        )
    }
}
