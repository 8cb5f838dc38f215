//! Network addresses as text: `HOST:PORT`, and the lists that `bind_address` holds.

use std::{
    error, fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

/// A host and a TCP port, written `db1:3306`, `10.0.0.1:3306` or `[fd00::7]:3306`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// Host name or address; IPv6 without brackets, perhaps with a zone (`fe80::1%eth0`).
    pub host: String,
    /// TCP port. 0 is valid for listeners only: the system then chooses a free port.
    pub port: u16,
}

/// Why a text is not `HOST:PORT`. Messages never repeat the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddressFault {
    /// Nothing stands before the port.
    NoHost,
    /// The host contains a character that is in no name and no address.
    Host,
    /// No port follows the host.
    NoPort,
    /// The port is not a number of 16 bits.
    Port,
    /// Port 0, to which a client cannot connect.
    PortZero,
    /// Several colons without brackets: host and port cannot be told apart.
    NoBrackets,
    /// A bracket that is not closed.
    OpenBracket,
    /// Brackets around text that is not an IPv6 address.
    NotIpv6,
    /// Text other than a port after the closing bracket.
    AfterBracket,
}

impl AddressFault {
    /// The fault as a sentence about the address, without its text.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NoHost => "it names no host",
            Self::Host => "its host contains a character that no host name has",
            Self::NoPort => "it names no port: write HOST:PORT",
            Self::Port => "the port must be a number up to 65535",
            Self::PortZero => "port 0 cannot be connected to",
            Self::NoBrackets => "it has several colons: an IPv6 address needs brackets, as in [::1]:3306",
            Self::OpenBracket => "an IPv6 address needs a closing bracket",
            Self::NotIpv6 => "brackets must hold an IPv6 address",
            Self::AfterBracket => "after the bracket only a port may follow",
        }
    }
}

impl fmt::Display for AddressFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

impl error::Error for AddressFault {}

impl HostPort {
    /// An address from a host (IPv6 without brackets) and a port.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self { host: host.into(), port }
    }

    /// Parses `HOST[:PORT]`. An IPv6 address without a port may stand without brackets.
    ///
    /// # Errors
    /// [`AddressFault`].
    pub fn with_default_port(text: &str, port: u16) -> Result<Self, AddressFault> {
        if is_ipv6(text) {
            return Ok(Self::new(text, port));
        }
        let (host, written) = split(text)?;
        Ok(Self::new(host, written.unwrap_or(port)))
    }

    /// Checks that the address can be connected to.
    ///
    /// # Errors
    /// [`AddressFault::PortZero`].
    pub fn to_connect(self) -> Result<Self, AddressFault> {
        if self.port == 0 { Err(AddressFault::PortZero) } else { Ok(self) }
    }
}

impl FromStr for HostPort {
    type Err = AddressFault;

    /// Parses `HOST:PORT`.
    fn from_str(text: &str) -> Result<Self, AddressFault> {
        let (host, port) = split(text)?;
        Ok(Self::new(host, port.ok_or(AddressFault::NoPort)?))
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&join(&self.host, self.port))
    }
}

/// `HOST:PORT`, with brackets around an IPv6 address; [`split`] is the reverse.
pub fn join(host: &str, port: impl fmt::Display) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// The host of `HOST[:PORT]` without brackets, and the port if there is one.
///
/// # Errors
/// [`AddressFault`].
pub fn split(text: &str) -> Result<(&str, Option<u16>), AddressFault> {
    let (host, port) = match text.strip_prefix('[') {
        Some(bracketed) => {
            let (host, after) = bracketed.split_once(']').ok_or(AddressFault::OpenBracket)?;
            if !is_ipv6(host) {
                return Err(AddressFault::NotIpv6);
            }
            match after.strip_prefix(':') {
                Some(port) => (host, Some(port)),
                None if after.is_empty() => (host, None),
                None => return Err(AddressFault::AfterBracket),
            }
        }
        None => {
            let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
            if port.is_some_and(|port| port.contains(':')) {
                return Err(AddressFault::NoBrackets);
            }
            (host, port)
        }
    };
    if host.is_empty() {
        return Err(AddressFault::NoHost);
    }
    if host.contains(|c: char| c.is_whitespace() || c.is_control() || "[]/@?#".contains(c)) {
        return Err(AddressFault::Host);
    }
    let digits = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.map(|port| port.parse().ok().filter(|_| digits(port)).ok_or(AddressFault::Port)).transpose()?;
    Ok((host, port))
}

/// A host as certificates name it: without the zone of an IPv6 address, which has a meaning on this host only.
#[must_use]
pub fn without_zone(host: &str) -> &str {
    host.split_once('%').map_or(host, |(address, _)| address)
}

/// Whether a text is an IPv6 address, perhaps with a zone (RFC 4007, section 11).
fn is_ipv6(text: &str) -> bool {
    let address = match text.split_once('%') {
        Some((_, "")) => return false,
        Some((address, _)) => address,
        None => text,
    };
    address.parse::<Ipv6Addr>().is_ok()
}

/// One address of `bind_address`, `mysqlx_bind_address` or `admin_address`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindAddress<'a> {
    /// Host name or address without brackets, or `*`. Empty if the variable is not set on MariaDB.
    pub address: &'a str,
    /// The network namespace in which the server listens, if not its own (MySQL 8.0.22 and later).
    pub namespace: Option<&'a str>,
}

/// The addresses of a value such as `10.0.0.5,fd00::5/red`: separated by commas, each perhaps with a network namespace.
pub fn bind_addresses(value: &str) -> impl Iterator<Item = BindAddress<'_>> {
    value.split(',').map(|address| {
        let (address, namespace) =
            address.split_once('/').map_or((address, None), |(address, namespace)| (address, Some(namespace.trim())));
        BindAddress { address: without_brackets(address.trim()), namespace }
    })
}

/// Whether a server with this `bind_address` listens on all interfaces of some network namespace.
#[must_use]
pub fn binds_every_interface(value: &str) -> bool {
    bind_addresses(value).any(|bound| is_any_address(bound.address))
}

impl BindAddress<'_> {
    /// The address at which the server is reachable from its own host; `None` in another network namespace.
    #[must_use]
    pub fn reachable(&self) -> Option<String> {
        if self.namespace.is_some() {
            return None;
        }
        if is_any_address(self.address) {
            return Some(Ipv4Addr::LOCALHOST.to_string());
        }
        Some(self.address.parse::<IpAddr>().map_or_else(|_| self.address.to_owned(), |address| address.to_string()))
    }
}

/// Whether an address of a listener means all interfaces.
#[must_use]
pub fn is_any_address(address: &str) -> bool {
    let address = without_brackets(address);
    let is_unspecified = |address: IpAddr| address.to_canonical().is_unspecified();
    matches!(address, "" | "*") || address.parse().is_ok_and(is_unspecified)
}

fn without_brackets(address: &str) -> &str {
    address.strip_prefix('[').and_then(|address| address.strip_suffix(']')).unwrap_or(address)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn host_and_port_are_told_apart() {
        for (text, host, port) in [
            ("db1:3307", "db1", Some(3307)),
            ("db1", "db1", None),
            ("10.0.0.1:0", "10.0.0.1", Some(0)),
            ("*:3306", "*", Some(3306)),
            ("[::1]:3306", "::1", Some(3306)),
            ("[fd00::7]", "fd00::7", None),
            ("[fe80::1%eth0]:4444", "fe80::1%eth0", Some(4444)),
        ] {
            assert_eq!(split(text), Ok((host, port)), "{text}");
        }
    }

    #[test]
    fn each_wrong_address_has_one_reason() {
        for (text, fault) in [
            ("", AddressFault::NoHost),
            (":3306", AddressFault::NoHost),
            ("::1", AddressFault::NoBrackets),
            ("a:b:4444", AddressFault::NoBrackets),
            ("::1:3306", AddressFault::NoBrackets),
            ("db1:", AddressFault::Port),
            ("db1:+1", AddressFault::Port),
            ("db1:65536", AddressFault::Port),
            ("db1:mysql", AddressFault::Port),
            ("[::1", AddressFault::OpenBracket),
            ("[::1:1", AddressFault::OpenBracket),
            ("[db1]:1", AddressFault::NotIpv6),
            ("[fe80::1%]:1", AddressFault::NotIpv6),
            ("[::1]3306", AddressFault::AfterBracket),
            ("[[::1]]:1", AddressFault::NotIpv6),
            ("db 1:3306", AddressFault::Host),
            ("root@db1:3306", AddressFault::Host),
            ("db1]:3306", AddressFault::Host),
        ] {
            assert_eq!(split(text), Err(fault), "{text}");
        }
        assert_eq!("db1".parse::<HostPort>(), Err(AddressFault::NoPort));
        assert_eq!(HostPort::new("db1", 0).to_connect(), Err(AddressFault::PortZero));
    }

    #[test]
    fn a_default_port_allows_ipv6_without_brackets() {
        let parsed = |text| HostPort::with_default_port(text, 4444).map(|address| (address.host, address.port));
        assert_eq!(parsed("127.0.0.1"), Ok(("127.0.0.1".to_owned(), 4444)));
        assert_eq!(parsed("db1.example:5555"), Ok(("db1.example".to_owned(), 5555)));
        assert_eq!(parsed("[::1]:6666"), Ok(("::1".to_owned(), 6666)));
        assert_eq!(parsed("[fd00::7]"), Ok(("fd00::7".to_owned(), 4444)));
        assert_eq!(parsed("fd00::7"), Ok(("fd00::7".to_owned(), 4444)));
        assert_eq!(parsed("fe80::1%eth0"), Ok(("fe80::1%eth0".to_owned(), 4444)));
        assert_eq!(parsed("a:b:4444"), Err(AddressFault::NoBrackets));
    }

    #[test]
    fn certificates_name_no_zone() {
        assert_eq!(without_zone("fe80::1%eth0"), "fe80::1");
        assert_eq!((without_zone("::1"), without_zone("db1")), ("::1", "db1"));
    }

    #[test]
    fn lists_of_addresses_name_network_namespaces() {
        let found: Vec<_> = bind_addresses("10.0.0.1, [::1]/red").collect();
        let expected = [
            BindAddress { address: "10.0.0.1", namespace: None },
            BindAddress { address: "::1", namespace: Some("red") },
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn every_spelling_of_all_interfaces_is_known() {
        for all in ["", "*", "0.0.0.0", "::", "[::]", "::ffff:0.0.0.0", "0:0:0:0:0:0:0:0", "10.0.0.1,*", "*/red"] {
            assert!(binds_every_interface(all), "{all:?}");
        }
        for named in ["127.0.0.1", "::1", "db1", "10.0.0.1,10.0.0.2", "10.0.0.1/red"] {
            assert!(!binds_every_interface(named), "{named}");
        }
    }

    #[test]
    fn addresses_to_bind_become_addresses_to_reach() {
        let reachable = |value: &str| bind_addresses(value).next().unwrap().reachable();
        for all in ["*", "::", "", "0.0.0.0", "::ffff:0.0.0.0"] {
            assert_eq!(reachable(all).as_deref(), Some("127.0.0.1"), "{all:?}");
        }
        assert_eq!(reachable("10.0.0.1,10.0.0.2").as_deref(), Some("10.0.0.1"));
        assert_eq!(reachable("[::1]").as_deref(), Some("::1"));
        assert_eq!(reachable("db1").as_deref(), Some("db1"));
        assert_eq!(reachable("10.0.0.1/red"), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(host in "[a-z0-9.-]{1,20}|fd00::[0-9a-f]{1,4}", port: u16) {
            let address = HostPort::new(host, port);
            prop_assert_eq!(address.to_string().parse(), Ok(address));
        }

        #[test]
        fn any_text_parses_or_errs(text in ".*") {
            let _ = split(&text);
        }
    }
}
