//! Which server, as whom to log in, and how the connection is secured: the same for every verb.

use std::io::Read;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use server::option_file::{ClientOptions, Warning};
use server::tls::Fingerprint;
use server::{Endpoint, Options, Password, Target, TlsMode, TlsOptions};
use zeroize::Zeroizing;

use crate::output::message::{Failure, warning};

/// Options of the connection.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct Login {
    /// The account [default: from the option file, or the name of the user who runs this]
    #[arg(long, short)]
    pub(crate) user: Option<String>,
    /// Read connection options and the password from the groups client and sealant of this file only
    #[arg(long, value_name = "FILE")]
    pub(crate) defaults_file: Option<PathBuf>,
    /// Read the password from this file; a line end at its end is not part of it
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Read the password from this open file descriptor
    #[arg(long, value_name = "N", conflicts_with = "password_file")]
    pub(crate) password_fd: Option<RawFd>,
    /// Ask for the password, even if an option file has one
    #[arg(long, short = 'p', conflicts_with_all = ["password_file", "password_fd"])]
    pub(crate) ask_password: bool,
    /// How TLS must be: required encrypts without looking at the certificate, so that no password itself is given;
    /// off only works on a socket [default: required; verify-ca with --tls-ca; off on a socket]
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) tls: Option<Tls>,
    /// CA certificates to trust, PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_ca: Option<PathBuf>,
    /// Take only the server whose certificate has this SHA-256, as `openssl x509 -fingerprint -sha256` shows it
    /// (repeatable)
    #[arg(long, value_name = "HEX")]
    pub(crate) tls_fingerprint: Vec<Fingerprint>,
    /// Client certificate, PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Key of the client certificate, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Let --tls off send statements and answers over TCP in clear text, for everyone on the way to read
    #[arg(long)]
    pub(crate) insecure_plaintext_tcp: bool,
    /// Give the password itself to a server that nothing has verified, if it asks for it: an impostor then has it
    #[arg(long)]
    pub(crate) insecure_password_to_unverified_server: bool,
    /// Give up on a silent server after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,
}

/// How TLS must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tls {
    /// Encrypt, or stop
    Required,
    /// The same, and the server proves by the password's hash that the certificate is its own, as MariaDB does from 11.4
    VerifyProof,
    /// Encrypt, and trust only --tls-ca
    VerifyCa,
    /// The same, and the certificate must carry the server's name
    VerifyIdentity,
    /// No TLS: only on a socket
    Off,
}

impl From<Tls> for TlsMode {
    fn from(mode: Tls) -> Self {
        match mode {
            Tls::Required => Self::Required,
            Tls::VerifyProof => Self::VerifyProof,
            Tls::VerifyCa => Self::VerifyCa,
            Tls::VerifyIdentity => Self::VerifyIdentity,
            Tls::Off => Self::Off,
        }
    }
}

impl Login {
    /// The password from where the command line says; none if it does not say.
    pub(crate) fn explicit_password(&self, account: &str) -> Result<Option<Password>, Failure> {
        if let Some(path) = &self.password_file {
            return from_file(path).map(Some);
        }
        if let Some(fd) = self.password_fd {
            return from_descriptor(fd).map(Some);
        }
        if self.ask_password { ask(account).map(Some) } else { Ok(None) }
    }
}

/// Where to connect and how: the command line first, then the option files. `nothing` is what is
/// wrong, and what to do, if neither names a server.
pub(crate) fn connection(
    url: Option<&str>,
    socket: Option<&Path>,
    login: &Login,
    nothing: [&str; 2],
) -> Result<(Target, Options), Failure> {
    let defaults = client_options(login.defaults_file.as_deref())?;
    let target = target(url, socket, login, &defaults, nothing)?;
    let password = match login.explicit_password(&target.to_string())? {
        Some(password) => Some(password),
        None => match defaults.password.clone() {
            None if !target.endpoint.is_socket() && std::io::IsTerminal::is_terminal(&std::io::stdin()) => {
                Some(ask(&target.to_string())?)
            }
            from_file => from_file,
        },
    };
    let options = Options {
        password,
        tls: tls(login, &defaults, &target.endpoint),
        allow_plaintext_tcp: login.insecure_plaintext_tcp,
        password_to_unverified: login.insecure_password_to_unverified_server,
        connect_timeout: Duration::from_secs(login.timeout),
        ..Options::default()
    };
    Ok((target, options))
}

fn target(
    url: Option<&str>,
    socket: Option<&Path>,
    login: &Login,
    defaults: &ClientOptions,
    [error, hint]: [&str; 2],
) -> Result<Target, Failure> {
    if let Some(url) = url {
        let mut target: Target = url.parse().map_err(|error: server::Error| Failure::bad_argument(error))?;
        if let Some(user) = &login.user {
            target.user.clone_from(user);
        }
        return Ok(target);
    }
    let endpoint = match (socket, &defaults.host, &defaults.socket) {
        (Some(socket), _, _) => Endpoint::Socket(socket.to_owned()),
        (None, Some(host), _) => Endpoint::tcp(host, defaults.port.unwrap_or(server::DEFAULT_PORT)),
        (None, None, Some(socket)) => Endpoint::Socket(socket.clone()),
        (None, None, None) => return Err(Failure::usage(error).hint(hint)),
    };
    let user = login.user.clone().or_else(|| defaults.user.clone()).or_else(|| std::env::var("USER").ok());
    let user = user.ok_or_else(|| Failure::usage("no account is named").hint("give --user NAME"))?;
    Ok(Target { endpoint, user })
}

/// What that option file says of the connection, or what the usual ones say; tells what is odd there.
pub(crate) fn client_options(file: Option<&Path>) -> Result<ClientOptions, Failure> {
    let read = match file {
        Some(file) => ClientOptions::from_file(file),
        None => ClientOptions::from_usual_files(),
    };
    let options = read?;
    for text in &options.warnings {
        warning(&describe(text));
    }
    Ok(options)
}

/// Names the server first, unless the message already does.
pub(crate) fn about(endpoint: &Endpoint, error: ::audit::Error) -> Failure {
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
        Warning::NotFollowed { file, line, key, instead } => {
            format!("{} line {line}: {key} is not followed: {instead}", file.display())
        }
        _ => "an option file is odd".to_owned(),
    }
}

/// The command line's trust takes the place of the files'.
fn tls(login: &Login, defaults: &ClientOptions, endpoint: &Endpoint) -> TlsOptions {
    let own_trust = login.tls_ca.is_some() || !login.tls_fingerprint.is_empty();
    let trusted = if own_trust { ClientOptions::default() } else { defaults.clone() };
    let mut options = TlsOptions {
        mode: None,
        ca_file: login.tls_ca.clone().or(trusted.ssl_ca),
        ca_path: trusted.ssl_capath,
        fingerprints: if own_trust { login.tls_fingerprint.clone() } else { trusted.fingerprints },
        versions: defaults.tls_versions.clone(),
        cert_file: login.tls_cert.clone().or_else(|| defaults.ssl_cert.clone()),
        key_file: login.tls_key.clone().or_else(|| defaults.ssl_key.clone()),
    };
    let of_files =
        defaults.mode_for(endpoint, options.has_authority()).filter(|mode| !own_trust || keeps(*mode, &options));
    options.mode = login.tls.map(TlsMode::from).or(of_files);
    options
}

/// Whether a mode of the files stays in force beside trust of the command line: never one that would leave that out.
fn keeps(mode: TlsMode, options: &TlsOptions) -> bool {
    matches!(mode, TlsMode::VerifyIdentity | TlsMode::VerifyCa) && options.has_authority()
}

/// Asks on the terminal, without showing what is typed.
fn ask(account: &str) -> Result<Password, Failure> {
    let typed = rpassword::prompt_password(format!("Password of {account}: "));
    let typed = Zeroizing::new(typed.map_err(|e| {
        Failure::new(format!("the password cannot be asked for: {e}"))
            .hint("give it with --defaults-file, --password-file or --password-fd")
    })?);
    Ok(Password::new(typed.as_bytes()))
}

pub(crate) fn from_file(path: &Path) -> Result<Password, Failure> {
    let fail = |e: std::io::Error| Failure::new(format!("{}: {e}", path.display()));
    read_line(std::fs::File::open(path).map_err(fail)?).map_err(fail)
}

/// `/proc/self/fd/N` opens the same pipe or file again, without taking over a descriptor that is not ours.
fn from_descriptor(fd: RawFd) -> Result<Password, Failure> {
    let path = format!("/proc/self/fd/{fd}");
    let fail = |e: std::io::Error| {
        Failure::new(format!("descriptor {fd}: {e}")).hint("open it in the shell, as in --password-fd 3 3<FILE")
    };
    read_line(std::fs::File::open(path).map_err(fail)?).map_err(fail)
}

/// A password is at most this long; more is a wrong file.
const LONGEST: u64 = 4096;

fn read_line(source: impl Read) -> std::io::Result<Password> {
    let mut text = Zeroizing::new(Vec::with_capacity(4096));
    source.take(LONGEST).read_to_end(&mut text)?;
    while matches!(text.last(), Some(b'\n' | b'\r')) {
        text.pop();
    }
    Ok(Password::new(text.as_slice()))
}
