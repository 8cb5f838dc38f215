//! Which server, which account, and how the connection is secured: the same for every verb.

use std::io::IsTerminal;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use pki::Fingerprint;
use server::login::{PasswordSource, Prompt};
use server::{Options, Target, TlsMode};
use zeroize::Zeroizing;

use crate::cli::value::{self, Word};
use crate::output::message::{Failure, warning};

/// Which server, as the command-line clients of MySQL and MariaDB name it.
#[derive(Debug, Clone, Args)]
pub(crate) struct Address {
    /// Server, as mysql://USER@HOST:PORT; localhost means TCP here, see --socket
    #[arg(value_name = "URL", conflicts_with_all = ["socket", "host"])]
    pub(crate) url: Option<String>,
    /// Unix socket of the server
    #[arg(long, short = 'S', value_name = "PATH", conflicts_with = "host")]
    pub(crate) socket: Option<PathBuf>,
    /// Host name or address of the server; localhost means TCP here
    #[arg(long, short = 'h', value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// Port of the server [default: from the option file, or 3306]
    #[arg(long, short = 'P', value_name = "PORT", requires = "host")]
    pub(crate) port: Option<u16>,
}

impl Address {
    /// The address of a URL.
    pub(crate) fn from_url(url: &str) -> Self {
        Self { url: Some(url.to_owned()), socket: None, host: None, port: None }
    }

    /// Whether the command line names a server; otherwise option files may.
    pub(crate) fn is_given(&self) -> bool {
        self.url.is_some() || self.socket.is_some() || self.host.is_some()
    }
}

/// Options of the connection.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct Login {
    /// Account to log in with [default: from the URL, the option file, or the name of the current user]
    #[arg(long, short)]
    pub(crate) user: Option<String>,
    /// Read the connection options and the password only from this option file, groups client and sealant
    #[arg(long, value_name = "FILE")]
    pub(crate) defaults_file: Option<PathBuf>,
    /// Read the password from this file; a line break at its end is ignored
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Read the password from this open file descriptor
    #[arg(long, value_name = "N", conflicts_with = "password_file")]
    pub(crate) password_fd: Option<RawFd>,
    /// Ask for the password, even if an option file has one
    #[arg(long, short = 'p', conflicts_with_all = ["password_file", "password_fd"])]
    pub(crate) ask_password: bool,
    /// TLS mode [default: from the option file; else off on a socket, verify-ca with --tls-ca, and otherwise required]
    #[arg(long, value_name = "MODE", value_parser = value::word(TLS_MODES))]
    pub(crate) tls: Option<TlsMode>,
    /// CA certificates to trust, PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_ca: Option<PathBuf>,
    /// Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256`
    /// prints it (repeatable)
    #[arg(long, value_name = "HEX")]
    pub(crate) tls_fingerprint: Vec<Fingerprint>,
    /// Client certificate, PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key of the client certificate, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Allow --tls off over TCP: statements and results are then readable on the network
    #[arg(long)]
    pub(crate) insecure_plaintext_tcp: bool,
    /// Send the password itself to an unverified server that asks for it; an impostor would learn it
    #[arg(long)]
    pub(crate) insecure_password_to_unverified_server: bool,
    /// Give up on a server that does not answer for this long
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = value::seconds(1, 3600))]
    pub(crate) timeout: Duration,
}

const TLS_MODES: &[Word<TlsMode>] = &[
    ("required", TlsMode::Required, "Encrypt, and do not check the certificate; the password itself is never sent"),
    (
        "verify-proof",
        TlsMode::VerifyProof,
        "Like required; the server also proves with the password's hash that the certificate is its own (MariaDB 11.4 \
         and newer)",
    ),
    ("verify-ca", TlsMode::VerifyCa, "Encrypt, and accept only a certificate that --tls-ca has issued"),
    ("verify-identity", TlsMode::VerifyIdentity, "Like verify-ca; the certificate must also contain the server's name"),
    ("off", TlsMode::Off, "No TLS; over TCP only with --insecure-plaintext-tcp"),
];

impl Login {
    /// The login of the library, with a host only if [`Self::at`] adds one.
    pub(crate) fn to_login(&self) -> server::login::Login {
        server::login::Login {
            host: None,
            port: None,
            user: self.user.clone(),
            option_file: self.defaults_file.clone(),
            option_groups: None,
            password: match self.ask_password {
                true => PasswordSource::Prompt,
                false => password_source(self.password_file.as_deref(), self.password_fd),
            },
            tls: self.tls,
            ca_file: self.tls_ca.clone(),
            fingerprints: self.tls_fingerprint.clone(),
            cert_file: self.tls_cert.clone(),
            key_file: self.tls_key.clone(),
            allow_plaintext_tcp: self.insecure_plaintext_tcp,
            password_to_unverified: self.insecure_password_to_unverified_server,
            timeout: self.timeout,
        }
    }

    /// As [`Self::to_login`], for the host of an address.
    pub(crate) fn at(&self, address: &Address) -> server::login::Login {
        server::login::Login { host: address.host.clone(), port: address.port, ..self.to_login() }
    }
}

/// Asks on the terminal, without echo.
pub(crate) struct Terminal;

impl Prompt for Terminal {
    fn is_possible(&self) -> bool {
        std::io::stdin().is_terminal()
    }

    fn password(&self, account: &str) -> std::io::Result<Zeroizing<String>> {
        rpassword::prompt_password(format!("Password of {account}: ")).map(Zeroizing::new)
    }
}

/// The source of a password of which at most one of these is given.
pub(crate) fn password_source(file: Option<&Path>, descriptor: Option<RawFd>) -> PasswordSource {
    match (file, descriptor) {
        (Some(path), _) => PasswordSource::File(path.to_owned()),
        (None, Some(fd)) => PasswordSource::Descriptor(fd),
        (None, None) => PasswordSource::OptionFiles,
    }
}

/// The failure of a verb for which neither the command line nor an option file names a server.
pub(crate) struct NoServer {
    pub(crate) error: &'static str,
    pub(crate) hint: &'static str,
}

/// Where and how to connect: from the command line, or else from option files.
pub(crate) fn connection(address: &Address, login: &Login, none: NoServer) -> Result<(Target, Options), Failure> {
    let named = find(&login.at(address), address.url.as_deref(), address.socket.as_deref())?;
    named.ok_or_else(|| Failure::usage(none.error).hint(none.hint))
}

/// As [`connection`]; `None` if no server is named. Prints the warnings of option files.
pub(crate) fn find(
    login: &server::login::Login,
    url: Option<&str>,
    socket: Option<&Path>,
) -> Result<Option<(Target, Options)>, server::Error> {
    let files = login.option_files()?;
    files.warnings.iter().for_each(|odd| warning(&odd.to_string()));
    let Some(target) = login.target(url, socket, &files)? else { return Ok(None) };
    let options = login.options(&target, &files, &Terminal)?;
    Ok(Some((target, options)))
}
