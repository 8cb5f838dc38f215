//! A real HashiCorp Vault for tests: its server, with TLS, on a port of 127.0.0.1.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::certs::{Authority, Profile, TlsFiles};
use crate::command::run;
use crate::kind::cache;
use crate::process::Daemon;
use crate::server::new_directory;
use crate::{Error, free_port, limit, within};

const SECONDS: u64 = 60;

/// A running Vault, unsealed, with an audit log of all requests; removed on drop.
///
/// Its storage is a directory, so it keeps its secrets when it is stopped and started again.
#[derive(Debug)]
pub struct Vault {
    program: PathBuf,
    directory: TempDir,
    port: u16,
    plain_port: u16,
    daemon: Option<Daemon>,
    tls: TlsFiles,
    unseal_key: String,
    root_token: String,
}

/// Finds the program that `bin/install-servers vault` has built, or prints on stderr that the test is skipped.
///
/// # Panics
/// If `CI` is set: a skipped test must not count as passed there.
#[must_use]
pub fn require() -> Option<PathBuf> {
    let program = cache().join("servers/vault/root/bin/vault");
    if program.exists() {
        return Some(program);
    }
    crate::skip(&format!("{} is missing; tests/harness/bin/install-servers vault builds it", program.display()));
    None
}

impl Vault {
    /// Starts `program`, then initialises and unseals the Vault.
    ///
    /// # Errors
    /// [`Error`].
    pub fn start(program: PathBuf) -> Result<Self, Error> {
        let directory = new_directory()?;
        let authority = Authority::create(&directory.path().join("ca"))?;
        let tls = authority.issue("vault", &Profile::default())?;
        let port = free_port().map_err(Error::file("port"))?;
        let plain_port = free_port().map_err(Error::file("port"))?;
        let (unseal_key, root_token) = Default::default();
        let mut vault = Self { program, directory, port, plain_port, daemon: None, tls, unseal_key, root_token };
        fs::write(vault.path("vault.hcl"), vault.configuration()).map_err(Error::file(vault.path("vault.hcl")))?;
        vault.run_server()?;
        let said = vault.run(&["operator", "init", "-key-shares=1", "-key-threshold=1"])?;
        vault.unseal_key = word_after(&said, "Unseal Key 1:");
        vault.root_token = word_after(&said, "Initial Root Token:");
        vault.unseal()?;
        let log = format!("file_path={}", vault.path("audit.log").display());
        // Tests compare the paths in the audit log, so it stores them in plaintext.
        vault.run(&["audit", "enable", "file", &log])?;
        Ok(vault)
    }

    /// `https://127.0.0.1:PORT`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// Its port of 127.0.0.1 for HTTP without TLS, for a proxy that has to understand the requests.
    #[must_use]
    pub const fn plain_port(&self) -> u16 {
        self.plain_port
    }

    /// The certificate of the authority that issued the Vault's.
    #[must_use]
    pub fn authority(&self) -> &Path {
        &self.tls.ca
    }

    /// A token with all privileges.
    #[must_use]
    pub fn root_token(&self) -> &str {
        &self.root_token
    }

    /// A path in the Vault's own directory.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs the command `vault` with these arguments as root, and returns what it prints.
    ///
    /// # Errors
    /// [`Error`] if the command fails.
    pub fn run(&self, arguments: &[&str]) -> Result<String, Error> {
        let mut command = self.client();
        let output = run(command.args(arguments).env("VAULT_TOKEN", &self.root_token), b"", limit(SECONDS))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The command `vault`, configured for this server.
    fn client(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().env("HOME", self.directory.path());
        command.env("VAULT_ADDR", self.address()).env("VAULT_CACERT", &self.tls.ca);
        command
    }

    /// A new token with only this policy and the default one, and with further options of `vault token create`.
    ///
    /// # Errors
    /// [`Error`].
    pub fn token(&self, name: &str, policy: &str, options: &[&str]) -> Result<String, Error> {
        let file = self.path(&format!("{name}.hcl"));
        fs::write(&file, policy).map_err(Error::file(&file))?;
        self.run(&["policy", "write", name, &file.display().to_string()])?;
        let policy = format!("-policy={name}");
        let token = self.run(&[&["token", "create", "-field=token", &policy], options].concat())?;
        Ok(token.trim().to_owned())
    }

    /// The requests so far, without those about tokens: the operation and the path of each.
    ///
    /// # Errors
    /// [`Error`] if the audit log cannot be read.
    pub fn requests(&self) -> Result<Vec<String>, Error> {
        let log = fs::read_to_string(self.path("audit.log")).map_err(Error::file(self.path("audit.log")))?;
        let requests = log.lines().filter(|line| line.contains(r#""type":"request""#)).filter_map(|line| {
            let value = |name: &str| {
                let at = line.rfind(&format!("\"{name}\":\""))?;
                line.get(at..)?.split('"').nth(3)
            };
            Some(format!("{} {}", value("operation")?, value("path")?))
        });
        Ok(requests.filter(|request| !request.contains(" auth/token/")).collect())
    }

    /// Seals the Vault.
    ///
    /// # Errors
    /// [`Error`].
    pub fn seal(&self) -> Result<(), Error> {
        self.run(&["operator", "seal"]).map(drop)
    }

    /// Unseals the Vault, and waits until it answers.
    ///
    /// # Errors
    /// [`Error`].
    pub fn unseal(&self) -> Result<(), Error> {
        self.run(&["operator", "unseal", &self.unseal_key])?;
        self.wait_for(|said| said.contains("Sealed          false"))
    }

    /// Kills the server, so that connections are refused.
    pub fn stop(&mut self) {
        self.daemon = None;
    }

    /// Starts it again after [`stop`](Self::stop), and unseals it.
    ///
    /// # Errors
    /// [`Error`].
    pub fn start_again(&mut self) -> Result<(), Error> {
        self.run_server()?;
        self.unseal()
    }

    fn run_server(&mut self) -> Result<(), Error> {
        let log = self.path("vault.log");
        let log = File::options().append(true).create(true).open(&log).map_err(Error::file(log))?;
        let mut command = Daemon::command(&self.program);
        command.arg("server").arg(format!("-config={}", self.path("vault.hcl").display()));
        command
            .env_clear()
            .env("HOME", self.directory.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.stdout(log.try_clone().map_err(Error::file("vault.log"))?).stderr(log);
        let spawned = |source| Error::Spawn { program: "vault".to_owned(), source };
        self.daemon = Some(Daemon::spawn(command).map_err(spawned)?);
        self.wait_for(|said| said.contains("Initialized"))
    }

    /// `vault status` exits with 2 if the Vault is sealed, so only its output counts.
    fn wait_for(&self, is_so: impl Fn(&str) -> bool) -> Result<(), Error> {
        let look = || {
            let output = self.client().arg("status").output().map_err(|error| error.to_string())?;
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            if is_so(&said) { Ok(()) } else { Err(said) }
        };
        within(limit(SECONDS), look).map_err(|why| {
            let log = fs::read_to_string(self.path("vault.log")).unwrap_or_default();
            Error::NotStarted { why, log_tail: log }
        })
    }

    fn configuration(&self) -> String {
        format!(
            "storage \"file\" {{ path = \"{}\" }}\n\
             listener \"tcp\" {{\n address = \"127.0.0.1:{}\"\n tls_cert_file = \"{}\"\n tls_key_file = \"{}\"\n}}\n\
             listener \"tcp\" {{\n address = \"127.0.0.1:{}\"\n tls_disable = true\n}}\n\
             api_addr = \"{}\"\ndisable_mlock = true\nui = false\n",
            self.path("data").display(),
            self.port,
            self.tls.cert.display(),
            self.tls.key.display(),
            self.plain_port,
            self.address(),
        )
    }
}

fn word_after(text: &str, what: &str) -> String {
    let rest = text.split(what).nth(1).unwrap_or_default();
    rest.split_whitespace().next().unwrap_or_default().to_owned()
}
