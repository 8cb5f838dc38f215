//! `sealant tunnel`: a local socket to a remote server.

mod far;
mod near;

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use ::tunnel::{Credentials, Log};
use clap::{Args, Subcommand};

use crate::cli::value;
use crate::exit::{self, Exit};
use crate::output::message::{Failure, info, warning};
use crate::process::forbid_dumps;

/// Connect applications to a remote MySQL or MariaDB server over TLS 1.3, without a handshake for each connection
///
/// The far end runs beside the server, the near end beside the applications, which connect to a local socket or port as
/// if the server were there. Both ends authenticate with certificates of one authority (see `sealant cert`). The near
/// end keeps connections to the server ready, so that applications wait for neither TCP nor TLS.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Tunnel {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Near(Box<near::Near>),
    Far(Box<far::Far>),
}

const EXAMPLES: &str = "\
Examples:
  db$  sealant tunnel far --listen 0.0.0.0:3307 --server /run/mysqld/mysqld.sock \\
           --tls-cert db1.pem --tls-key db1.key --tls-ca ca.pem --allow app1
  app$ sealant tunnel near --listen /run/sealant-tunnel-near/db.sock,127.0.0.1:3306 --far db1:3307 \\
           --socket-group app --tls-cert app1.pem --tls-key app1.key --tls-ca ca.pem
  app$ mysql --socket /run/sealant-tunnel-near/db.sock

Signals:
  SIGTERM, SIGINT  take no more connections, let those that are open end, then stop; a second one cuts them off
  SIGHUP           read the certificates again";

const EXITS: exit::Codes = &[(Exit::Clean, "stopped on request"), (Exit::Failed, "could not start")];

/// Certificate files of this end.
#[derive(Debug, Args)]
#[command(next_help_heading = "Certificates")]
struct Files {
    /// This end's certificate and its chain, PEM
    #[arg(long, value_name = "FILE")]
    tls_cert: PathBuf,
    /// Private key of this end's certificate, PEM
    #[arg(long, value_name = "FILE")]
    tls_key: PathBuf,
    /// CA certificates to trust for the other end's certificate, PEM
    #[arg(long, value_name = "FILE")]
    tls_ca: PathBuf,
}

impl Files {
    fn credentials(&self) -> Credentials {
        let credentials =
            Credentials { certificate: self.tls_cert.clone(), key: self.tls_key.clone(), ca: self.tls_ca.clone() };
        credentials.warning().iter().for_each(|text| warning(text));
        credentials
    }
}

/// Options of the process.
#[derive(Debug, Args)]
#[command(next_help_heading = "Running")]
struct Running {
    /// Number of threads; one handles about ten thousand new connections or one gigabyte per second [default: half of
    /// the cores, at least 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Serve metrics for Prometheus on this loopback address
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = value::loopback)]
    metrics: Option<SocketAddr>,
}

impl Tunnel {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        forbid_dumps();
        match self.command {
            Command::Near(near) => near.run(),
            Command::Far(far) => far.run(),
        }
    }
}

impl Running {
    /// Runs an end until it stops.
    fn run(&self, end: impl Future<Output = Result<(), Failure>>) -> Result<Exit, Failure> {
        ::tunnel::run(self.threads.map(usize::from), end)?;
        Ok(Exit::Clean)
    }
}

/// Lines for the operator.
fn log() -> Arc<Log> {
    Arc::new(|text: &str| info(text))
}
