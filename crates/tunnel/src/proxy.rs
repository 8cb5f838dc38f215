//! The PROXY protocol: sends the client's address to a server that is configured for it.
//!
//! Source: "The PROXY protocol, versions 1 & 2", HAProxy, 2020. The server has to be configured to
//! trust it: `proxy_protocol_networks` in MariaDB and Percona Server. MySQL does not support it.

use std::net::{IpAddr, SocketAddr};

/// Version of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyVersion {
    /// A line of text.
    V1,
    /// Binary.
    V2,
}

/// First bytes of every header of version 2.
const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";

/// The header of a connection from `source` to `destination`.
pub(crate) fn header(version: ProxyVersion, source: SocketAddr, destination: SocketAddr) -> Vec<u8> {
    let (from, to) = (source.ip().to_canonical(), destination.ip().to_canonical());
    let (from, to) = match (from, to) {
        (IpAddr::V4(_), IpAddr::V4(_)) | (IpAddr::V6(_), IpAddr::V6(_)) => (from, to),
        _ => (source.ip(), destination.ip()),
    };
    match version {
        ProxyVersion::V1 => {
            let family = if from.is_ipv4() { "TCP4" } else { "TCP6" };
            format!("PROXY {family} {from} {to} {} {}\r\n", source.port(), destination.port()).into_bytes()
        }
        ProxyVersion::V2 => v2(from, to, source.port(), destination.port()),
    }
}

fn v2(from: IpAddr, to: IpAddr, from_port: u16, to_port: u16) -> Vec<u8> {
    let mut addresses = Vec::new();
    for address in [from, to] {
        match address {
            IpAddr::V4(address) => addresses.extend_from_slice(&address.octets()),
            IpAddr::V6(address) => addresses.extend_from_slice(&address.octets()),
        }
    }
    addresses.extend_from_slice(&from_port.to_be_bytes());
    addresses.extend_from_slice(&to_port.to_be_bytes());
    let mut header = SIGNATURE.to_vec();
    // Version 2, command PROXY; TCP over IPv4 or IPv6.
    header.extend_from_slice(&[0x21, if from.is_ipv4() { 0x11 } else { 0x21 }]);
    header.extend_from_slice(&u16::try_from(addresses.len()).unwrap_or(0).to_be_bytes());
    header.extend(addresses);
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_those_of_the_specification() {
        let (from, to) = ("192.0.2.7:40000".parse().unwrap(), "192.0.2.9:3306".parse().unwrap());
        assert_eq!(header(ProxyVersion::V1, from, to), b"PROXY TCP4 192.0.2.7 192.0.2.9 40000 3306\r\n");
        let binary = header(ProxyVersion::V2, from, to);
        assert_eq!(binary[..16], *b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c");
        assert_eq!(binary[16..], [192, 0, 2, 7, 192, 0, 2, 9, 0x9c, 0x40, 0x0c, 0xea]);
        let (from, to) = ("[2001:db8::1]:1".parse().unwrap(), "[::1]:2".parse().unwrap());
        assert_eq!(header(ProxyVersion::V2, from, to).len(), 16 + 36);
    }
}
