//! The steps of a connection.

use std::fmt;

/// The step of a connection that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Resolving the host name.
    Resolve,
    /// Opening the TCP or Unix socket.
    Connect,
    /// Waiting for or reading the server's first packet.
    Greeting,
    /// The TLS handshake.
    Tls,
    /// Authentication.
    Login,
    /// A statement and its result.
    Statement,
    /// The events of a binary log.
    BinaryLog,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Resolve => "looking up the host name",
            Self::Connect => "connecting",
            Self::Greeting => "waiting for the server's greeting",
            Self::Tls => "the TLS handshake",
            Self::Login => "logging in",
            Self::Statement => "executing a statement",
            Self::BinaryLog => "reading the binary log",
        })
    }
}
