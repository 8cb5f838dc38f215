//! Names in certificates, and names of their files.

use std::{fmt, net::IpAddr, str::FromStr};

use rustls_pki_types::DnsName;

use crate::Error;

/// Name of the authority's own files.
pub const CA: &str = "ca";

/// Longest common name (RFC 5280, `ub-common-name`).
const MAX_CHARS: usize = 64;

/// Name of a certificate and of its files: letters, digits, `.`, `-`, `_`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(String);

impl Name {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name in the form that a peer checks, if it is a host name or an address.
    #[must_use]
    pub fn alternative(&self) -> Option<AlternativeName> {
        self.0.parse().ok()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Name {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refuse = |reason| Err(Error::Name { name: text.to_owned(), reason });
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        match text {
            "" => refuse("it is empty"),
            CA => refuse("that is the authority's own"),
            _ if text.len() > MAX_CHARS => refuse("it has more than 64 characters"),
            _ if text.starts_with(['.', '-']) => refuse("it begins with . or -"),
            _ if !text.chars().all(plain) => refuse("it has characters besides letters, digits, '.', '-' and '_'"),
            _ => Ok(Self(text.to_owned())),
        }
    }
}

/// A name or address that a peer checks (RFC 5280, `subjectAltName`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AlternativeName {
    /// A host name; its leftmost label may be `*`.
    Dns(String),
    /// An address.
    Ip(IpAddr),
}

impl FromStr for AlternativeName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if let Ok(address) = text.parse() {
            return Ok(Self::Ip(address));
        }
        let name = text.strip_prefix("*.").unwrap_or(text);
        if DnsName::try_from(name).is_err() {
            return Err(Error::Name { name: text.to_owned(), reason: "it is no host name and no address" });
        }
        Ok(Self::Dns(text.to_ascii_lowercase()))
    }
}

impl fmt::Display for AlternativeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns(name) => f.write_str(name),
            Self::Ip(address) => address.fmt(f),
        }
    }
}

/// Checks that a text is a valid subject for an authority, and returns it.
///
/// # Errors
/// What is wrong with it.
pub fn subject(text: &str) -> Result<String, String> {
    match text {
        "" => Err("it is empty".to_owned()),
        _ if text.len() > 64 => Err("it has more than 64 bytes".to_owned()),
        _ if text.chars().any(char::is_control) => Err("it has control characters".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_directory() {
        for text in ["", "ca", "../x", "a/b", ".hidden", "-x", "a b", "ä", &"a".repeat(65)] {
            assert!(text.parse::<Name>().is_err(), "{text}");
        }
        for text in ["db1", "db1.example.org", "app_7", "10.0.0.1"] {
            assert!(text.parse::<Name>().is_ok(), "{text}");
        }
    }

    #[test]
    fn alternative_names_are_hosts_or_addresses() {
        let parse = |text: &str| text.parse::<AlternativeName>();
        assert_eq!(parse("DB1.example").unwrap(), AlternativeName::Dns("db1.example".to_owned()));
        assert_eq!(parse("::1").unwrap(), AlternativeName::Ip("::1".parse().unwrap()));
        assert!(parse("*.example.org").is_ok());
        for text in ["", "a b", "db1:3306", "http://x", "*", "a,b"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
