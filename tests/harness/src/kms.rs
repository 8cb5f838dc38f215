//! A local KMS for tests, with the wire format of AWS: moto's server, with TLS, on a port of 127.0.0.1.
//!
//! moto does not check signatures, and decrypts with keys that are disabled or pending deletion.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::certs::{Authority, Profile};
use crate::command::run;
use crate::kind::cache;
use crate::process::Daemon;
use crate::server::new_directory;
use crate::{Error, free_port, limit, within};

const SECONDS: u64 = 60;
/// What the service logs when it accepts connections.
const LISTENS: &str = "Running on";
/// What the service logs for each request.
const REQUEST: &str = "\"POST / HTTP/1.1\"";
/// The region of the keys.
pub const REGION: &str = "eu-central-1";

/// A running service with one key; removed on drop.
#[derive(Debug)]
pub struct Kms {
    python: PathBuf,
    directory: TempDir,
    port: u16,
    daemon: Option<Daemon>,
    authority: PathBuf,
    key: String,
}

/// Finds the Python that `bin/install-servers moto` has installed, or prints on stderr that the test is skipped.
///
/// # Panics
/// If `CI` is set: a skipped test must not count as passed there.
#[must_use]
pub fn require() -> Option<PathBuf> {
    let program = cache().join("servers/moto/venv/bin/python");
    if program.exists() {
        return Some(program);
    }
    crate::skip(&format!("{} is missing; tests/harness/bin/install-servers moto installs it", program.display()));
    None
}

impl Kms {
    /// Starts a service with one key.
    ///
    /// # Errors
    /// [`Error`].
    pub fn start(python: PathBuf) -> Result<Self, Error> {
        let directory = new_directory()?;
        let tls = Authority::create(&directory.path().join("ca"))?.issue("service", &Profile::default())?;
        let port = free_port().map_err(Error::file("port"))?;
        let log = directory.path().join("log");
        let file = File::create(&log).map_err(Error::file(&log))?;
        let mut command = Daemon::command(&python);
        command.arg(python.with_file_name("moto_server")).args([
            "-H",
            "127.0.0.1",
            "-p",
            &port.to_string(),
            "-s",
            "-c",
        ]);
        command.arg(&tls.cert).arg("-k").arg(&tls.key).env_clear().env("HOME", directory.path());
        command.stdout(file.try_clone().map_err(Error::file(&log))?).stderr(file);
        let spawned = |source| Error::Spawn { program: "moto_server".to_owned(), source };
        let daemon = Some(Daemon::spawn(command).map_err(spawned)?);
        // Connecting to find out is not safe: a connection to a free port can take that port itself.
        let listens = || match fs::read_to_string(&log) {
            Ok(text) if text.contains(LISTENS) => Ok(()),
            Ok(text) => Err(text.lines().last().unwrap_or_default().to_owned()),
            Err(error) => Err(error.to_string()),
        };
        within(limit(SECONDS), listens).map_err(|why| {
            let log_tail = fs::read_to_string(&log).unwrap_or_default();
            Error::NotStarted { why, log_tail }
        })?;
        let mut service = Self { python, directory, port, daemon, authority: tls.ca, key: String::new() };
        service.key = service.call(&["create"], b"")?.trim().to_owned();
        Ok(service)
    }

    /// Scheme, host and port.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// The authority of the service.
    #[must_use]
    pub fn authority(&self) -> &Path {
        &self.authority
    }

    /// A path in the service's own directory.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Encrypts keys, given in hexadecimal; returns the `CiphertextBlob` of each in base64.
    ///
    /// # Errors
    /// [`Error`].
    pub fn wrap(&self, keys: &[&str]) -> Result<Vec<String>, Error> {
        let wrapped = self.call(&["wrap", &self.key], keys.join("\n").as_bytes())?;
        Ok(wrapped.lines().map(str::to_owned).collect())
    }

    /// Number of requests so far.
    ///
    /// # Errors
    /// [`Error`].
    pub fn requests(&self) -> Result<usize, Error> {
        let log = fs::read_to_string(self.path("log")).map_err(Error::file(self.path("log")))?;
        Ok(log.matches(REQUEST).count())
    }

    /// Kills the service, so that connections are refused.
    pub fn stop(&mut self) {
        self.daemon = None;
    }

    fn call(&self, arguments: &[&str], input: &[u8]) -> Result<String, Error> {
        let mut command = Command::new(&self.python);
        command.env_clear().env("HOME", self.directory.path());
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("kms/client.py")).arg(self.endpoint());
        command.arg(&self.authority).arg(REGION).args(arguments);
        let output = run(&mut command, input, limit(SECONDS))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
