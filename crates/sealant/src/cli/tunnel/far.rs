//! `sealant tunnel far`: the end beside the server.

use std::path::PathBuf;
use std::time::Duration;

use ::server::address::HostPort;
use ::tunnel::address::tcp_listener;
use ::tunnel::{FarOptions, ProxyVersion, ServerAddress, ServerTls};
use clap::Args;

use super::{Files, Running, log};
use crate::cli::value::{self, Word};
use crate::exit::Exit;
use crate::output::message::{Failure, info, warning};

/// Run the end beside the server, which accepts near ends that the authority has certified
#[derive(Debug, Args)]
pub(super) struct Far {
    /// Listen for near ends here (repeatable, or separated by commas); sockets from systemd, if any, come first
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',', required = true, value_parser = tcp_listener)]
    listen: Vec<HostPort>,
    /// Server: path of its socket, or HOST:PORT; another host only with --server-tls-ca
    #[arg(long, value_name = "SOCKET|HOST:PORT")]
    server: ServerAddress,
    #[command(flatten)]
    files: Files,
    /// Encrypt the connection to the server's port, and trust only these CA certificates, PEM
    ///
    /// The far end starts TLS with the server when the client's login has arrived, so each connection costs a handshake
    /// between these two, usually a resumed one. Clients see a server without TLS; those that require it do not
    /// connect. The server considers the channel secure: clients that use caching_sha2_password must connect to the
    /// near end's socket, not its port, and those that use sha256_password cannot log in.
    #[arg(long, value_name = "FILE", help_heading = "Certificates", conflicts_with = "insecure_plaintext_server")]
    server_tls_ca: Option<PathBuf>,
    /// Name that the server's certificate must contain, if it is not the host in --server
    #[arg(long, value_name = "NAME", help_heading = "Certificates", requires = "server_tls_ca")]
    server_tls_name: Option<String>,
    /// Do not check the name in the server's certificate: those that MySQL generates have none
    #[arg(long, help_heading = "Certificates", requires = "server_tls_ca", conflicts_with = "server_tls_name")]
    server_tls_any_name: bool,
    /// Accept only near ends whose certificate has one of these names (repeatable, or separated by commas)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    allow: Vec<String>,
    /// Send the client's host to the server with the PROXY protocol
    ///
    /// The server must be configured to trust it (proxy_protocol_networks in MariaDB and Percona Server), and cannot be
    /// reached by its socket then. MySQL does not support it.
    #[arg(long, value_name = "VERSION", value_parser = value::word(PROXY_VERSIONS))]
    proxy_protocol: Option<ProxyVersion>,
    /// Maximum number of server connections kept ready for the applications of one near end [default: as the near end
    /// says, but 16 where the server counts unused connections]
    ///
    /// A server blocks a host after max_connect_errors (100) connections from it without a login in between, but never
    /// its own socket and 127.0.0.1. Ready connections that were not used count. For any other address, and with
    /// --proxy-protocol, raise max_connect_errors on the server first.
    #[arg(long, value_name = "N")]
    warm_max: Option<u16>,
    /// Maximum number of connections from near ends
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_links: u32,
    /// Maximum number of simultaneous handshakes; beyond it, the oldest one that has not started or has taken over 2 s
    /// is closed, or else the new one
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    max_handshakes: u32,
    /// Maximum number of simultaneous handshakes from one address
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    max_handshakes_per_address: u32,
    /// Time limit of a handshake
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = value::time)]
    handshake_timeout: Duration,
    /// Time limit for connecting to the server
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = value::time)]
    connect_timeout: Duration,
    /// How long open sessions may go on after the tunnel is asked to stop
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = value::time)]
    drain: Duration,
    /// Allow an unencrypted connection to a server on another host, readable on the network
    #[arg(long)]
    insecure_plaintext_server: bool,
    #[command(flatten)]
    running: Running,
}

const PROXY_VERSIONS: &[Word<ProxyVersion>] =
    &[("v1", ProxyVersion::V1, "A line of text"), ("v2", ProxyVersion::V2, "Binary")];

impl Far {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let options = self.options(self.server_tls()?);
        self.running.run(async {
            let far = ::tunnel::Far::open(options, log())?;
            if let Some(reason) = far.try_server().await {
                // The server may come up later.
                warning(&reason);
            }
            info(&far.ready_text());
            far.run().await;
            Ok(())
        })
    }

    fn options(&self, server_tls: Option<ServerTls>) -> FarOptions {
        FarOptions {
            listen: self.listen.clone(),
            server: self.server.clone(),
            credentials: self.files.credentials(),
            allow: self.allow.clone(),
            server_tls,
            plaintext_server: self.insecure_plaintext_server,
            proxy: self.proxy_protocol,
            warm_max: self.warm_max,
            max_links: self.max_links as usize,
            max_handshakes: self.max_handshakes as usize,
            max_handshakes_per_address: self.max_handshakes_per_address as usize,
            handshake_timeout: self.handshake_timeout,
            connect_timeout: self.connect_timeout,
            drain: self.drain,
            metrics: self.running.metrics,
        }
    }

    fn server_tls(&self) -> Result<Option<ServerTls>, Failure> {
        let Some(ca) = self.server_tls_ca.clone() else { return Ok(None) };
        let (name, any_name) = (self.server_tls_name.as_deref(), self.server_tls_any_name);
        Ok(Some(ServerTls::to(&self.server, ca, name, any_name)?))
    }
}
