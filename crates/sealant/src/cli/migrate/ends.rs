//! The two servers of a migration: which, with which account, and how each is verified.

use std::os::fd::RawFd;
use std::path::PathBuf;
use std::time::Duration;

use ::migrate::{Error, Side};
use clap::Args;
use pki::Fingerprint;
use server::login::{Login, PasswordSource};
use server::{Connection, Options, Target, TlsMode};

use crate::cli::connect::Terminal;
use crate::output::message::{Failure, warning};

/// Reading the catalogue of thousands of tables takes longer than other statements.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(300);

/// Both servers.
#[derive(Debug, Args)]
pub(crate) struct Ends {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    target: Receiver,
    /// Read connection options and passwords only from this file, groups sealant-source and sealant-target
    #[arg(long, value_name = "FILE", help_heading = "Connections")]
    defaults_file: Option<PathBuf>,
    /// Accept certificates of the given CA that do not contain the server's name
    #[arg(long, help_heading = "Connections")]
    tls_any_name: bool,
    /// Give up on a server that does not answer for this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    #[arg(help_heading = "Connections")]
    timeout: u64,
}

/// An open connection, and how it was opened.
pub(crate) struct End {
    pub(crate) connection: Connection,
    pub(crate) options: Options,
}

impl End {
    /// The connection and its options.
    pub(crate) fn borrowed(&mut self) -> (&mut Connection, &Options) {
        (&mut self.connection, &self.options)
    }
}

/// The options of one side.
macro_rules! side {
    ($name:ident, $end:expr, $side:literal, $group:literal, $heading:literal) => {
        /// One of the servers.
        #[derive(Debug, Args)]
        #[command(next_help_heading = $heading)]
        struct $name {
            /// The server, as mysql://USER@HOST:PORT
            #[arg(id = $side, long = $side, value_name = "URL", conflicts_with = concat!($side, "_socket"))]
            url: Option<String>,
            /// The server, by its unix socket
            #[arg(id = concat!($side, "_socket"), long = concat!($side, "-socket"), value_name = "PATH")]
            socket: Option<PathBuf>,
            /// Account [default: from the URL, the option file, or the name of the current user]
            #[arg(id = concat!($side, "_user"), long = concat!($side, "-user"), value_name = "NAME")]
            user: Option<String>,
            /// Read the password from this file, without a final line break
            #[arg(id = concat!($side, "_password_file"), long = concat!($side, "-password-file"), value_name = "FILE")]
            password_file: Option<PathBuf>,
            /// Read the password from this open file descriptor
            #[arg(id = concat!($side, "_password_fd"), long = concat!($side, "-password-fd"), value_name = "N")]
            #[arg(conflicts_with = concat!($side, "_password_file"))]
            password_fd: Option<RawFd>,
            /// CA certificates to trust, PEM; the certificate must contain the server's name
            #[arg(id = concat!($side, "_tls_ca"), long = concat!($side, "-tls-ca"), value_name = "FILE")]
            tls_ca: Option<PathBuf>,
            /// Accept only the server whose certificate has this SHA-256 (repeatable)
            #[arg(id = concat!($side, "_tls_fingerprint"), long = concat!($side, "-tls-fingerprint"), value_name = "HEX")]
            tls_fingerprint: Vec<Fingerprint>,
            /// Client certificate, PEM
            #[arg(id = concat!($side, "_tls_cert"), long = concat!($side, "-tls-cert"), value_name = "FILE")]
            #[arg(requires = concat!($side, "_tls_key"))]
            tls_cert: Option<PathBuf>,
            /// Key of the client certificate, PEM
            #[arg(id = concat!($side, "_tls_key"), long = concat!($side, "-tls-key"), value_name = "FILE")]
            #[arg(requires = concat!($side, "_tls_cert"))]
            tls_key: Option<PathBuf>,
            /// Do not verify the server's certificate: anyone on the network can read and change all rows
            #[arg(id = concat!("insecure_unverified_", $side), long = concat!("insecure-unverified-", $side))]
            unverified: bool,
        }

        impl $name {
            fn login(&self, option_file: Option<PathBuf>, timeout: u64) -> Login {
                Login {
                    user: self.user.clone(),
                    option_file,
                    option_groups: Some(&[$group]),
                    password: match (&self.password_file, self.password_fd) {
                        (Some(path), _) => PasswordSource::File(path.clone()),
                        (None, Some(fd)) => PasswordSource::Descriptor(fd),
                        (None, None) => PasswordSource::OptionFiles,
                    },
                    ca_file: self.tls_ca.clone(),
                    fingerprints: self.tls_fingerprint.clone(),
                    cert_file: self.tls_cert.clone(),
                    key_file: self.tls_key.clone(),
                    timeout: Duration::from_secs(timeout),
                    ..Login::default()
                }
            }

            fn connection(&self, ends: &Ends) -> Result<(Target, Options), Failure> {
                let of_side = |error| Error::Server { side: $end, error };
                let login = self.login(ends.defaults_file.clone(), ends.timeout);
                let files = login.option_files().map_err(of_side)?;
                files.warnings.iter().for_each(|odd| warning(&odd.to_string()));
                let target = login.target(self.url.as_deref(), self.socket.as_deref(), &files).map_err(of_side)?;
                let target = target.ok_or_else(|| {
                    Failure::usage(concat!("no ", $side, " is named"))
                        .hint(concat!("give --", $side, " mysql://USER@HOST:PORT or --", $side, "-socket PATH"))
                })?;
                let options = login.options(&target, &files, &Terminal).map_err(of_side)?;
                Ok((target, options))
            }
        }
    };
}

side!(Source, Side::Source, "source", "sealant-source", "Source");
side!(Receiver, Side::Target, "target", "sealant-target", "Target");

impl Ends {
    /// Whether the user accepts that each of the servers is not verified.
    pub(crate) const fn unverified(&self) -> [bool; 2] {
        [self.source.unverified, self.target.unverified]
    }

    /// Connects to both, for reading. A server that would not be verified is not contacted, unless the user accepts
    /// that.
    pub(crate) fn open(&self) -> Result<[End; 2], Failure> {
        // Both command lines first, then both servers.
        let (source, target) = (self.source.connection(self)?, self.target.connection(self)?);
        let source = self.open_one(Side::Source, source, self.source.unverified)?;
        Ok([source, self.open_one(Side::Target, target, self.target.unverified)?])
    }

    /// The target, which is not contacted.
    pub(crate) fn target(&self) -> Result<(Target, Options), Failure> {
        self.verifiable(Side::Target, self.target.connection(self)?, self.target.unverified)
    }

    fn open_one(&self, side: Side, named: (Target, Options), unverified: bool) -> Result<End, Failure> {
        let (target, options) = self.verifiable(side, named, unverified)?;
        let connection = Connection::open(&target, &options).map_err(|error| Error::Server { side, error })?;
        Ok(End { connection, options })
    }

    fn verifiable(
        &self,
        side: Side,
        (target, options): (Target, Options),
        unverified: bool,
    ) -> Result<(Target, Options), Failure> {
        let mut options = Options { statement_timeout: STATEMENT_TIMEOUT, ..options };
        let endpoint = &target.endpoint;
        if !endpoint.is_socket() && options.tls.has_authority() {
            let by_name = if self.tls_any_name { TlsMode::VerifyCa } else { TlsMode::VerifyIdentity };
            options.tls.mode = Some(by_name);
        }
        if !endpoint.is_socket() && !options.tls.verifies(endpoint) && !unverified {
            return Err(Error::Unverified { side, endpoint: endpoint.to_string() }.into());
        }
        Ok((target, options))
    }
}
