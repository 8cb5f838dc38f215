//! Parses addresses: `HOST:PORT`, or the path of a unix socket, which contains a slash.

use std::{net::Ipv6Addr, path::PathBuf, str::FromStr};

use crate::{far::ServerAddress, listener::Listen, near::FarAddress};

/// Why a text is not an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressFault {
    /// It has no port, or no valid host before the port.
    #[error("it is neither HOST:PORT nor the path of a socket")]
    Form,
    /// The part after the colon is not a number up to 65535.
    #[error("{0:?} is not a port number")]
    Port(String),
    /// Port 0 cannot be connected to.
    #[error("port 0 cannot be connected to")]
    PortZero,
    /// A unix socket where only TCP is possible.
    #[error("links need a TCP port: give HOST:PORT")]
    NotTcp,
}

/// `HOST:PORT`, with brackets around an IPv6 address; the host without them.
///
/// # Errors
/// [`AddressFault`].
pub(crate) fn host_and_port(text: &str) -> Result<(&str, u16), AddressFault> {
    let (host, port) = text.rsplit_once(':').ok_or(AddressFault::Form)?;
    let port = port.parse().map_err(|_| AddressFault::Port(port.to_owned()))?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    match bare {
        Some(address) if address.parse::<Ipv6Addr>().is_ok() => Ok((address, port)),
        None if !host.is_empty() && !host.contains([':', '[', ']']) => Ok((host, port)),
        _ => Err(AddressFault::Form),
    }
}

/// Parses an address on which the far end listens for near ends.
///
/// # Errors
/// [`AddressFault`].
pub fn tcp_listener(text: &str) -> Result<String, AddressFault> {
    match host_and_port(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) if text.contains('/') => Err(AddressFault::NotTcp),
        Err(error) => Err(error),
    }
}

impl FromStr for Listen {
    type Err = AddressFault;

    fn from_str(text: &str) -> Result<Self, AddressFault> {
        if text.contains('/') {
            return Ok(Self::Socket(PathBuf::from(text)));
        }
        host_and_port(text).map(|_| Self::Port(text.to_owned()))
    }
}

impl FromStr for ServerAddress {
    type Err = AddressFault;

    fn from_str(text: &str) -> Result<Self, AddressFault> {
        if text.contains('/') {
            return Ok(Self::Socket(PathBuf::from(text)));
        }
        host_and_port(text).map(|_| Self::Port(text.to_owned()))
    }
}

impl ServerAddress {
    /// The host name that the server's certificate usually has; `None` for a socket.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::Socket(_) => None,
            Self::Port(address) => Some(host_and_port(address).map_or(address.as_str(), |(host, _)| host)),
        }
    }
}

impl FromStr for FarAddress {
    type Err = AddressFault;

    fn from_str(text: &str) -> Result<Self, AddressFault> {
        match host_and_port(text)? {
            (_, 0) => Err(AddressFault::PortZero),
            (host, port) => Ok(Self { host: host.to_owned(), port }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports_are_distinguished() {
        assert_eq!(host_and_port("db1:3307"), Ok(("db1", 3307)));
        assert_eq!(host_and_port("[::1]:3306"), Ok(("::1", 3306)));
        for text in ["db1", "::1:3306", "[db1]:1", ":1", "[::1:1"] {
            assert_eq!(host_and_port(text), Err(AddressFault::Form), "{text}");
        }
        assert_eq!(host_and_port("db1:65536"), Err(AddressFault::Port("65536".to_owned())));
    }

    #[test]
    fn a_slash_makes_it_a_socket() {
        assert_eq!("/run/s".parse(), Ok(Listen::Socket("/run/s".into())));
        assert_eq!("./s".parse(), Ok(ServerAddress::Socket("./s".into())));
        assert_eq!(tcp_listener("/run/s"), Err(AddressFault::NotTcp));
        assert_eq!("db1:0".parse::<FarAddress>(), Err(AddressFault::PortZero));
    }

    #[test]
    fn a_servers_host_is_without_port_and_brackets() {
        let host = |text: &str| text.parse::<ServerAddress>().unwrap().host().map(str::to_owned);
        assert_eq!(host("[::1]:3306").as_deref(), Some("::1"));
        assert_eq!((host("db1:3306").as_deref(), host("/run/s")), (Some("db1"), None));
    }
}
