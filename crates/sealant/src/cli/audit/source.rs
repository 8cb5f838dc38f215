//! What to audit: a running server, a directory, saved facts, or a fleet of these.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ::audit::collect::{self, KeyCopies, LiveOptions, OfflineOptions, Progress};
use ::audit::facts::Facts;
use clap::Args;
use server::option_file::{ClientOptions, Warning};
use server::{Endpoint, Options, Target, TlsMode, TlsOptions};

use super::login::{self, Login};
use crate::cli::verify::forbid_dumps;
use crate::output::message::{Failure, warning};
use crate::output::progress::StatusLine;

/// Options that say what to audit.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "What to audit")]
pub(crate) struct Source {
    /// The server, as mysql://USER@HOST:PORT; localhost means TCP here, see --socket
    #[arg(value_name = "URL", conflicts_with_all = ["socket", "offline", "facts", "fleet"])]
    pub(super) url: Option<String>,
    /// The server, by its unix socket
    #[arg(long, value_name = "PATH", conflicts_with_all = ["offline", "facts", "fleet"])]
    pub(super) socket: Option<PathBuf>,
    /// A data or backup directory, without a server: bytes only
    #[arg(long, value_name = "DIR", conflicts_with_all = ["facts", "fleet"])]
    pub(super) offline: Option<PathBuf>,
    /// Facts saved with --save: judge them again
    #[arg(long, value_name = "FILE", conflicts_with = "fleet")]
    pub(super) facts: Option<PathBuf>,
    /// Many servers, concurrently, in one report (TOML; see the user guide)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["save", "baseline"])]
    pub(super) fleet: Option<PathBuf>,
    /// Read every page of every file, not a sample, and open it with the keys found, as `sealant verify` does
    #[arg(long)]
    pub(super) deep: bool,
    /// The server's data directory as seen from here, if it is elsewhere than the server says
    #[arg(long, value_name = "DIR")]
    pub(super) datadir: Option<PathBuf>,
    /// A directory with dumps or backups to judge (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(super) backup: Vec<PathBuf>,
    /// A copy of MySQL's keyring file: prove that it alone opens everything encrypted (repeatable)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["facts", "fleet", "no_files"])]
    pub(super) keyring_copy: Vec<PathBuf>,
    /// A copy of MariaDB's key file: prove that it alone opens everything encrypted (repeatable)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["facts", "fleet", "no_files"])]
    pub(super) key_file_copy: Vec<PathBuf>,
    /// File with the password of the copy of the key file, if that is encrypted
    #[arg(long, value_name = "FILE", requires = "key_file_copy")]
    pub(super) key_file_copy_password_file: Option<PathBuf>,
    /// A name that clients use for this server; its certificate must carry it (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(super) client_name: Vec<String>,
    /// An option file of the server or its clients to judge besides the usual ones (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(super) option_file: Vec<PathBuf>,
    /// Do not read the server's files
    #[arg(long)]
    pub(super) no_files: bool,
    /// Do not probe the server's ports
    #[arg(long)]
    pub(super) no_wire: bool,
    /// Do not look at the host: disks, process, option files
    #[arg(long)]
    pub(super) no_host: bool,
}

impl Source {
    /// The fleet file, if a fleet is wanted.
    pub(super) fn fleet_file(&self) -> Option<&Path> {
        self.fleet.as_deref()
    }

    /// Gathers or loads the facts of the one server.
    pub(super) fn facts(&self, login: &Login, quiet: bool) -> Result<Facts, Failure> {
        if let Some(path) = &self.facts {
            return Ok(Facts::load(path)?);
        }
        let line = StatusLine::new(quiet);
        let show = |progress: Progress| line.show(&status(progress));
        let key_copies = self.key_copies();
        if self.deep || !key_copies.is_empty() {
            forbid_dumps();
        }
        if let Some(directory) = &self.offline {
            let options = OfflineOptions {
                deep: self.deep,
                backup_dirs: self.backup.clone(),
                client_names: self.client_name.clone(),
                key_copies,
                progress: Some(&show),
                ..OfflineOptions::default()
            };
            return Ok(collect::offline(directory, &options)?);
        }
        let (target, connect) = self.connection(login)?;
        let options = LiveOptions {
            datadir: self.datadir.clone(),
            backup_dirs: self.backup.clone(),
            client_names: self.client_name.clone(),
            option_files: self.option_file.clone(),
            key_copies,
            deep: self.deep,
            files: !self.no_files,
            wire: !self.no_wire,
            plaintext_probe: !self.no_wire,
            host: !self.no_host,
            progress: Some(&show),
            ..LiveOptions::new(target, connect)
        };
        collect::live(&options).map_err(|e| about(&options.target.endpoint, e))
    }

    fn key_copies(&self) -> KeyCopies {
        KeyCopies {
            keyrings: self.keyring_copy.clone(),
            key_files: self.key_file_copy.clone(),
            key_file_password_file: self.key_file_copy_password_file.clone(),
        }
    }

    /// Where to connect and how: the command line first, then the option files.
    fn connection(&self, login: &Login) -> Result<(Target, Options), Failure> {
        let defaults = client_options(login)?;
        let target = self.target(login, &defaults)?;
        let password = match login.explicit_password(&target.to_string())? {
            Some(password) => Some(password),
            None => match defaults.password.clone() {
                None if !target.endpoint.is_socket() && std::io::IsTerminal::is_terminal(&std::io::stdin()) => {
                    Some(login::ask(&target.to_string())?)
                }
                from_file => from_file,
            },
        };
        let options = Options {
            password,
            tls: tls(login, &defaults),
            allow_plaintext_tcp: login.insecure_plaintext_tcp,
            connect_timeout: Duration::from_secs(login.timeout),
            ..Options::default()
        };
        Ok((target, options))
    }

    fn target(&self, login: &Login, defaults: &ClientOptions) -> Result<Target, Failure> {
        if let Some(url) = &self.url {
            let mut target: Target = url
                .parse()
                .map_err(|e| Failure { exit: crate::exit::Exit::Usage, ..Failure::from(::audit::Error::from(e)) })?;
            if let Some(user) = &login.user {
                target.user.clone_from(user);
            }
            return Ok(target);
        }
        let endpoint = match (&self.socket, &defaults.host, &defaults.socket) {
            (Some(socket), _, _) => Endpoint::Socket(socket.clone()),
            (None, Some(host), _) => Endpoint::tcp(host, defaults.port.unwrap_or(server::DEFAULT_PORT)),
            (None, None, Some(socket)) => Endpoint::Socket(socket.clone()),
            (None, None, None) => {
                return Err(Failure::usage("nothing to audit is named")
                    .hint("give mysql://USER@HOST:PORT, --socket PATH, --offline DIR, --facts FILE or --fleet FILE"));
            }
        };
        let user = login.user.clone().or_else(|| defaults.user.clone()).or_else(|| std::env::var("USER").ok());
        let user = user.ok_or_else(|| Failure::usage("no account is named").hint("give --user NAME"))?;
        Ok(Target { endpoint, user })
    }
}

fn client_options(login: &Login) -> Result<ClientOptions, Failure> {
    let read = match &login.defaults_file {
        Some(file) => ClientOptions::from_file(file),
        None => ClientOptions::from_usual_files(),
    };
    let options = read.map_err(|e| Failure::from(::audit::Error::from(e)))?;
    for text in &options.warnings {
        warning(&describe(text));
    }
    Ok(options)
}

/// Names the server first, unless the message already does.
fn about(endpoint: &Endpoint, error: ::audit::Error) -> Failure {
    let failure = Failure::from(error);
    let name = endpoint.to_string();
    if failure.error.starts_with(&name) {
        failure
    } else {
        Failure { error: format!("{name}: {}", failure.error), ..failure }
    }
}

/// What is odd about an option file, as a sentence.
fn describe(odd: &Warning) -> String {
    match odd {
        Warning::ReadableSecret { file, mode } => {
            format!(
                "{} holds a password and others may read it (mode {:04o}); chmod 0600 it",
                file.display(),
                mode & 0o7777
            )
        }
        Warning::WorldWritable { file } => format!("{} is ignored, because everyone may write it", file.display()),
        Warning::BadLine { file, line, reason } => format!("{} line {line}: {reason}", file.display()),
        Warning::Unreadable { file, reason } => format!("{}: {reason}", file.display()),
        Warning::IncludeLoop { file } => format!("{} includes itself", file.display()),
        _ => "an option file is odd".to_owned(),
    }
}

/// One line for people who wait.
fn status(progress: Progress) -> String {
    let mib = progress.bytes >> 20;
    match (progress.files, mib) {
        (0, _) => progress.step.to_owned(),
        (files, 0) => format!("{}: {files}", progress.step),
        (files, mib) => format!("{}: {files}, {mib} MiB read", progress.step),
    }
}

fn tls(login: &Login, defaults: &ClientOptions) -> TlsOptions {
    TlsOptions {
        mode: login.tls.map(TlsMode::from).or(defaults.ssl_mode),
        ca_file: login.tls_ca.clone().or_else(|| defaults.ssl_ca.clone()),
        cert_file: login.tls_cert.clone().or_else(|| defaults.ssl_cert.clone()),
        key_file: login.tls_key.clone().or_else(|| defaults.ssl_key.clone()),
    }
}
