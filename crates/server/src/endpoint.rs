//! Endpoints of servers, and accounts.

use std::{fmt, path::PathBuf, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::address::{self, AddressFault, HostPort};

/// Port of the classic protocol.
pub const DEFAULT_PORT: u16 = 3306;
/// Port of the X Protocol.
pub const DEFAULT_X_PORT: u16 = 33060;
/// Port for administrators, `admin_port`.
pub const DEFAULT_ADMIN_PORT: u16 = 33062;
/// Port that the manual of Group Replication uses; the variable has no default.
pub const DEFAULT_GROUP_PORT: u16 = 33061;
/// Port for replication between nodes of Galera.
pub const DEFAULT_GALERA_PORT: u16 = 4567;
/// Port for incremental state transfers of Galera.
pub const DEFAULT_IST_PORT: u16 = 4568;
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

impl Endpoint {
    /// A TCP endpoint.
    pub fn tcp(host: impl Into<String>, port: u16) -> Self {
        Self::Tcp { host: host.into(), port }
    }

    /// The name that a certificate must contain for this endpoint: the host, an IPv6 address without its zone.
    pub fn certificate_name(&self) -> &str {
        match self {
            Self::Tcp { host, .. } => address::without_zone(host),
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
            Self::Tcp { host, port } => f.write_str(&address::join(host, port)),
            Self::Socket(path) => path.display().fmt(f),
        }
    }
}

impl FromStr for Endpoint {
    type Err = AddressFault;

    /// Parses `HOST[:PORT]`, perhaps with a slash after it, or the path of a socket, which contains a slash. Text
    /// with a colon before its first slash is no path: `db1:3306/sakila` is a part of a URL.
    fn from_str(text: &str) -> Result<Self, AddressFault> {
        if text.contains("://") {
            return Err(AddressFault::Host);
        }
        let text = text.strip_suffix('/').unwrap_or(text);
        if text.split_once('/').is_some_and(|(before, _)| !before.contains(':')) {
            return Ok(Self::Socket(text.into()));
        }
        let HostPort { host, port } = HostPort::with_default_port(text, DEFAULT_PORT)?.to_connect()?;
        Ok(Self::Tcp { host, port })
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

    #[test]
    fn certificates_name_hosts_without_zones() {
        assert_eq!(Endpoint::tcp("fe80::1%eth0", 3306).certificate_name(), "fe80::1");
        assert_eq!(Endpoint::tcp("db1", 3306).certificate_name(), "db1");
        assert_eq!(Endpoint::Socket("/run/s".into()).certificate_name(), "localhost");
    }

    #[test]
    fn endpoints_are_ports_or_sockets() {
        assert_eq!("/run/s".parse(), Ok(Endpoint::Socket("/run/s".into())));
        assert_eq!("./s".parse(), Ok(Endpoint::Socket("./s".into())));
        assert_eq!("db:3307".parse(), Ok(Endpoint::tcp("db", 3307)));
        assert_eq!("db".parse(), Ok(Endpoint::tcp("db", DEFAULT_PORT)));
        assert_eq!("::1".parse(), Ok(Endpoint::tcp("::1", DEFAULT_PORT)));
        assert_eq!("db:0".parse::<Endpoint>(), Err(AddressFault::PortZero));
        assert_eq!("root@db".parse::<Endpoint>(), Err(AddressFault::Host));
    }

    #[test]
    fn parts_of_urls_are_not_sockets() {
        assert_eq!("db1:3306/".parse(), Ok(Endpoint::tcp("db1", 3306)));
        assert_eq!("db1/".parse(), Ok(Endpoint::tcp("db1", DEFAULT_PORT)));
        assert_eq!("[::1]:3307/".parse(), Ok(Endpoint::tcp("::1", 3307)));
        assert_eq!("/run/s/".parse(), Ok(Endpoint::Socket("/run/s".into())));
        assert_eq!("./a:b".parse(), Ok(Endpoint::Socket("./a:b".into())));
        assert_eq!("db1:3306/sakila".parse::<Endpoint>(), Err(AddressFault::Port));
        assert_eq!("mysql://db1:3306".parse::<Endpoint>(), Err(AddressFault::Host));
        assert_eq!("/".parse::<Endpoint>(), Err(AddressFault::NoHost));
    }
}
