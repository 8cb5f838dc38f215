//! Options that name the two servers of a migration, the accounts there, and how each is verified.

use std::os::fd::RawFd;
use std::path::PathBuf;
use std::time::Duration;

use ::migrate::{Accept, Error, Server, Side};
use clap::Args;
use pki::Fingerprint;
use server::login::Login;
use server::tls::TlsVersion;

use crate::cli::{connect, value};
use crate::output::message::Failure;

/// Both servers.
#[derive(Debug, Args)]
pub(crate) struct Servers {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    target: Target,
    /// Read the connection options and the passwords only from this option file, groups sealant-source and
    /// sealant-target
    #[arg(long, value_name = "FILE", help_heading = "Connections")]
    defaults_file: Option<PathBuf>,
    /// Accept certificates of --source-tls-ca and --target-tls-ca that do not contain the server's name
    #[arg(long, help_heading = "Connections")]
    tls_any_name: bool,
    /// Give up on a server that does not answer for this long
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = value::seconds(1, 3600))]
    #[arg(help_heading = "Connections")]
    timeout: Duration,
}

/// The options of one side.
macro_rules! side {
    ($name:ident, $which:expr, $side:literal, $group:literal, $heading:literal) => {
        /// One of the servers.
        #[derive(Debug, Args)]
        #[command(next_help_heading = $heading)]
        struct $name {
            /// Server, as mysql://USER@HOST:PORT; localhost means TCP here
            #[arg(id = $side, long = $side, value_name = "URL", conflicts_with = concat!($side, "_socket"))]
            url: Option<String>,
            /// Unix socket of the server
            #[arg(id = concat!($side, "_socket"), long = concat!($side, "-socket"), value_name = "PATH")]
            socket: Option<PathBuf>,
            /// Account to log in with [default: from the URL, the option file, or the name of the current user]
            #[arg(id = concat!($side, "_user"), long = concat!($side, "-user"), value_name = "NAME")]
            user: Option<String>,
            /// Read the password from this file; a line break at its end is ignored
            #[arg(id = concat!($side, "_password_file"), long = concat!($side, "-password-file"), value_name = "FILE")]
            password_file: Option<PathBuf>,
            /// Read the password from this open file descriptor
            #[arg(id = concat!($side, "_password_fd"), long = concat!($side, "-password-fd"), value_name = "N")]
            #[arg(conflicts_with = concat!($side, "_password_file"))]
            password_fd: Option<RawFd>,
            /// CA certificates to trust, PEM; the certificate must contain the server's name
            #[arg(id = concat!($side, "_tls_ca"), long = concat!($side, "-tls-ca"), value_name = "FILE")]
            tls_ca: Option<PathBuf>,
            /// Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint
            /// -sha256` prints it (repeatable)
            #[arg(id = concat!($side, "_tls_fingerprint"), long = concat!($side, "-tls-fingerprint"), value_name = "HEX")]
            tls_fingerprint: Vec<Fingerprint>,
            /// Client certificate, PEM
            #[arg(id = concat!($side, "_tls_cert"), long = concat!($side, "-tls-cert"), value_name = "FILE")]
            #[arg(requires = concat!($side, "_tls_key"))]
            tls_cert: Option<PathBuf>,
            /// Private key of the client certificate, PEM
            #[arg(id = concat!($side, "_tls_key"), long = concat!($side, "-tls-key"), value_name = "FILE")]
            #[arg(requires = concat!($side, "_tls_cert"))]
            tls_key: Option<PathBuf>,
            /// Do not verify the server's certificate: anyone on the network can then read and change all rows
            #[arg(id = concat!("insecure_unverified_", $side), long = concat!("insecure-unverified-", $side))]
            unverified: bool,
        }

        impl $name {
            fn login(&self, option_file: Option<PathBuf>, timeout: Duration) -> Login {
                Login {
                    user: self.user.clone(),
                    option_file,
                    option_groups: Some(&[$group]),
                    password: connect::password_source(self.password_file.as_deref(), self.password_fd),
                    ca_file: self.tls_ca.clone(),
                    fingerprints: self.tls_fingerprint.clone(),
                    cert_file: self.tls_cert.clone(),
                    key_file: self.tls_key.clone(),
                    timeout,
                    ..Login::default()
                }
            }

            /// `None` if nothing names it.
            fn named(&self, servers: &Servers, min_tls: TlsVersion) -> Result<Option<Server>, Failure> {
                let at_side = |error| Error::Server { side: $which, error };
                let login = self.login(servers.defaults_file.clone(), servers.timeout);
                let named = connect::find(&login, self.url.as_deref(), self.socket.as_deref()).map_err(at_side)?;
                let Some((target, options)) = named else { return Ok(None) };
                let accept = Accept { any_name: servers.tls_any_name, unverified: self.unverified, min_tls };
                Ok(Some(Server::new($which, target, options, accept)?))
            }

            fn server(&self, servers: &Servers, min_tls: TlsVersion) -> Result<Server, Failure> {
                self.named(servers, min_tls)?.ok_or_else(|| {
                    Failure::usage(concat!("no ", $side, " is named"))
                        .hint(concat!("give --", $side, " mysql://USER@HOST:PORT or --", $side, "-socket PATH"))
                })
            }
        }
    };
}

side!(Source, Side::Source, "source", "sealant-source", "Source");
side!(Target, Side::Target, "target", "sealant-target", "Target");

impl Servers {
    /// Both servers, which are not contacted.
    pub(crate) fn both(&self, min_tls: TlsVersion) -> Result<[Server; 2], Failure> {
        Ok([self.source.server(self, min_tls)?, self.target(min_tls)?])
    }

    /// The source, if an option names it. It is not contacted.
    pub(crate) fn source_if_named(&self, min_tls: TlsVersion) -> Result<Option<Server>, Failure> {
        let is_named = self.source.url.is_some() || self.source.socket.is_some() || self.defaults_file.is_some();
        if is_named { self.source.named(self, min_tls) } else { Ok(None) }
    }

    /// The target, which is not contacted.
    pub(crate) fn target(&self, min_tls: TlsVersion) -> Result<Server, Failure> {
        self.target.server(self, min_tls)
    }
}
