//! Endpoints of servers, and accounts.

use std::{fmt, path::PathBuf, str::FromStr};

use serde::{Deserialize, Serialize};

/// Port of the classic protocol.
pub const DEFAULT_PORT: u16 = 3306;
/// Port of the X Protocol.
pub const DEFAULT_X_PORT: u16 = 33060;
/// Port for state transfers of Galera.
pub const DEFAULT_STATE_TRANSFER_PORT: u16 = 4444;

/// An endpoint of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Endpoint {
    /// A TCP port. `localhost` also means TCP: the socket is used only if it is named.
    Tcp {
        /// Host name or address; IPv6 without brackets.
        host: String,
        /// Port.
        port: u16,
    },
    /// A Unix socket.
    Socket(PathBuf),
}

/// Whether an address of `bind_address` or a socket means all interfaces. MariaDB reports an unset address as empty; a
/// network namespace may follow the address after a slash.
#[must_use]
pub fn is_any_address(address: &str) -> bool {
    let address = address.trim().split('/').next().unwrap_or_default();
    ["", "*", "0.0.0.0", "::", "[::]", "::ffff:0.0.0.0"].contains(&address)
}

impl Endpoint {
    /// A TCP endpoint.
    pub fn tcp(host: impl Into<String>, port: u16) -> Self {
        Self::Tcp { host: host.into(), port }
    }

    /// The name that a certificate must contain for this endpoint.
    pub fn host(&self) -> &str {
        match self {
            Self::Tcp { host, .. } => host,
            Self::Socket(_) => "localhost",
        }
    }

    /// Whether the connection stays on this machine, so that nobody else can read it.
    pub fn is_socket(&self) -> bool {
        matches!(self, Self::Socket(_))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Socket(path) => path.display().fmt(f),
        }
    }
}

/// Error for text that is not an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is neither HOST:PORT nor the path of a socket")]
pub struct NotAnEndpoint;

impl FromStr for Endpoint {
    type Err = NotAnEndpoint;

    /// Parses `HOST:PORT`, or the absolute path of a socket.
    fn from_str(text: &str) -> Result<Self, NotAnEndpoint> {
        if text.starts_with('/') {
            return Ok(Self::Socket(text.into()));
        }
        let target: Result<Target, _> = format!("mysql://x@{text}").parse();
        target.map(|target| target.endpoint).map_err(|_| NotAnEndpoint)
    }
}

/// A server, and the account to use.
///
/// Parsed from `mysql://user@host:port` or `mysql://user@?socket=/path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Endpoint of the server.
    pub endpoint: Endpoint,
    /// Name of the account; the empty name is the anonymous account.
    pub user: String,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.user, self.endpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_shown_as_they_are_written() {
        assert_eq!(Endpoint::tcp("::1", 3306).to_string(), "[::1]:3306");
        assert_eq!(Endpoint::tcp("db", 3306).to_string(), "db:3306");
    }
}
