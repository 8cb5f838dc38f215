//! Helpers for the tests against real servers.

#![allow(dead_code, reason = "each test binary uses its part")]

pub(crate) mod played;

use std::path::Path;

use harness::{Kind, Server, ServerBuilder};
use server::{Connection, Endpoint, Error, Options, Password, Target, TlsMode, TlsOptions};

/// A running server of this kind, or `None` if it is not on this machine.
pub(crate) fn start(kind: Kind, set_up: impl FnOnce(ServerBuilder) -> ServerBuilder) -> Option<Server> {
    harness::require(kind)?;
    Some(set_up(Server::builder(kind)).start().expect("the server starts"))
}

pub(crate) fn tcp(server: &Server) -> Endpoint {
    Endpoint::tcp("127.0.0.1", server.port())
}

pub(crate) fn socket(server: &Server) -> Endpoint {
    Endpoint::Socket(server.socket().to_owned())
}

pub(crate) fn options(password: &str, mode: TlsMode) -> Options {
    Options {
        password: Some(Password::new(password)),
        tls: TlsOptions { mode: Some(mode), ..TlsOptions::default() },
        allow_plaintext_tcp: mode == TlsMode::Off,
        connect_timeout: harness::limit(10),
        ..Options::default()
    }
}

pub(crate) fn open(endpoint: Endpoint, user: &str, password: &str, mode: TlsMode) -> Result<Connection, Error> {
    Connection::open(&Target { endpoint, user: user.to_owned() }, &options(password, mode))
}

/// Connects over TLS to a server whose certificate must come from that authority.
pub(crate) fn open_known(server: &Server, ca: &Path, user: &str, password: &str) -> Result<Connection, Error> {
    let mut options = options(password, TlsMode::VerifyCa);
    options.tls.ca_file = Some(ca.to_owned());
    Connection::open(&Target { endpoint: tcp(server), user: user.to_owned() }, &options)
}

/// The authority that MySQL generates.
pub(crate) fn generated_ca(server: &Server) -> std::path::PathBuf {
    server.datadir().join("ca.pem")
}

pub(crate) fn root(server: &Server) -> Connection {
    open(socket(server), "root", "", TlsMode::Off).expect("root logs in through the socket")
}
