//! Parses addresses: `HOST:PORT`, or the path of a unix socket, which contains a slash.

use std::{path::PathBuf, str::FromStr};

use server::address::{self, HostPort};

use crate::{far::ServerAddress, listener::Listen};

/// Why a text is not an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressFault {
    /// Not `HOST:PORT`.
    #[error(transparent)]
    HostPort(#[from] address::AddressFault),
    /// Neither `HOST:PORT` nor the path of a unix socket.
    #[error("{0}; the path of a socket contains a slash")]
    SocketOrPort(address::AddressFault),
    /// A unix socket where only TCP is possible.
    #[error("links need a TCP port: give HOST:PORT")]
    NotTcp,
}

/// Parses an address on which the far end listens for near ends.
///
/// # Errors
/// [`AddressFault`].
pub fn tcp_listener(text: &str) -> Result<HostPort, AddressFault> {
    if text.contains('/') {
        return Err(AddressFault::NotTcp);
    }
    Ok(text.parse()?)
}

/// Parses the address of a far end to connect to.
///
/// # Errors
/// [`AddressFault`].
pub fn far_end(text: &str) -> Result<HostPort, AddressFault> {
    Ok(text.parse::<HostPort>()?.to_connect()?)
}

impl FromStr for Listen {
    type Err = AddressFault;

    fn from_str(text: &str) -> Result<Self, AddressFault> {
        if text.contains('/') {
            return Ok(Self::Socket(PathBuf::from(text)));
        }
        Ok(Self::Port(text.parse::<HostPort>().map_err(AddressFault::SocketOrPort)?))
    }
}

impl FromStr for ServerAddress {
    type Err = AddressFault;

    fn from_str(text: &str) -> Result<Self, AddressFault> {
        if text.contains('/') {
            return Ok(Self::Socket(PathBuf::from(text)));
        }
        Ok(Self::Port(text.parse::<HostPort>().map_err(AddressFault::SocketOrPort)?))
    }
}

impl ServerAddress {
    /// The name that the server's certificate usually has: the server's host, without the zone of an IPv6 address.
    /// `None` for a socket.
    #[must_use]
    pub fn certificate_name(&self) -> Option<&str> {
        match self {
            Self::Socket(_) => None,
            Self::Port(address) => Some(address::without_zone(&address.host)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_makes_it_a_socket() {
        assert_eq!("/run/s".parse(), Ok(Listen::Socket("/run/s".into())));
        assert_eq!("./s".parse(), Ok(ServerAddress::Socket("./s".into())));
        assert_eq!(tcp_listener("/run/s"), Err(AddressFault::NotTcp));
    }

    #[test]
    fn anything_else_is_a_host_and_a_port() {
        assert_eq!("0.0.0.0:0".parse(), Ok(Listen::Port(HostPort::new("0.0.0.0", 0))));
        assert_eq!(tcp_listener("[::]:3307"), Ok(HostPort::new("::", 3307)));
        assert_eq!(far_end("db1:3307"), Ok(HostPort::new("db1", 3307)));
        assert_eq!(far_end("db1:0"), Err(AddressFault::HostPort(address::AddressFault::PortZero)));
        for text in ["db1", "::1:3306", "[db1]:1", ":1", "[::1:1", "db1:65536", "db1:+1", "u@db1:1"] {
            assert!(text.parse::<Listen>().is_err() && text.parse::<ServerAddress>().is_err(), "{text}");
            assert!(tcp_listener(text).is_err() && far_end(text).is_err(), "{text}");
        }
        let fault = "mysqld.sock".parse::<ServerAddress>().unwrap_err();
        assert_eq!(fault, AddressFault::SocketOrPort(address::AddressFault::NoPort));
        assert!(fault.to_string().ends_with("; the path of a socket contains a slash"), "{fault}");
        assert_eq!(tcp_listener("db1"), Err(AddressFault::HostPort(address::AddressFault::NoPort)));
    }

    #[test]
    fn a_certificate_names_the_servers_host_without_port_brackets_and_zone() {
        let name = |text: &str| text.parse::<ServerAddress>().unwrap().certificate_name().map(str::to_owned);
        assert_eq!(name("[::1]:3306").as_deref(), Some("::1"));
        assert_eq!(name("[fe80::1%eth0]:3306").as_deref(), Some("fe80::1"));
        assert_eq!((name("db1:3306").as_deref(), name("/run/s")), (Some("db1"), None));
    }
}
