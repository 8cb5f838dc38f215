//! TLS for two purposes: secure connections, by rustls with this crate's verifier; and probes, by this crate's own
//! messages, because a probe must support every version.

use std::fmt;

use serde::{Deserialize, Serialize};

pub mod client_hello;
pub mod record;
pub mod server_hello;
pub mod suites;
pub(crate) mod verify;

/// The value of the servers' `tls_version` that allows only secure versions.
pub const TLS_1_2_AND_1_3: &str = "TLSv1.2,TLSv1.3";

/// A version of SSL or TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TlsVersion {
    /// SSL 3.0, forbidden by RFC 7568.
    #[serde(rename = "SSLv3")]
    Ssl3,
    /// TLS 1.0, deprecated by RFC 8996.
    #[serde(rename = "TLSv1")]
    Tls10,
    /// TLS 1.1, deprecated by RFC 8996.
    #[serde(rename = "TLSv1.1")]
    Tls11,
    /// TLS 1.2, RFC 5246.
    #[serde(rename = "TLSv1.2")]
    Tls12,
    /// TLS 1.3, RFC 8446.
    #[serde(rename = "TLSv1.3")]
    Tls13,
}

impl TlsVersion {
    /// All versions, oldest first.
    pub const ALL: [Self; 5] = [Self::Ssl3, Self::Tls10, Self::Tls11, Self::Tls12, Self::Tls13];

    /// Its number in the protocol.
    pub fn wire(self) -> u16 {
        match self {
            Self::Ssl3 => 0x0300,
            Self::Tls10 => 0x0301,
            Self::Tls11 => 0x0302,
            Self::Tls12 => 0x0303,
            Self::Tls13 => 0x0304,
        }
    }

    /// The version with this number.
    pub fn from_wire(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.wire() == number)
    }

    /// The version with this name in any case: that of [`Self::name`], or `TLSv1.0`, as MariaDB and TLS libraries call
    /// it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let name = if name.eq_ignore_ascii_case("TLSv1.0") { Self::Tls10.name() } else { name };
        Self::ALL.into_iter().find(|version| version.name().eq_ignore_ascii_case(name))
    }

    /// Its name in the servers' `tls_version` variable.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ssl3 => "SSLv3",
            Self::Tls10 => "TLSv1",
            Self::Tls11 => "TLSv1.1",
            Self::Tls12 => "TLSv1.2",
            Self::Tls13 => "TLSv1.3",
        }
    }

    /// Its name in the standards.
    #[must_use]
    pub const fn standard_name(self) -> &'static str {
        match self {
            Self::Ssl3 => "SSL 3.0",
            Self::Tls10 => "TLS 1.0",
            Self::Tls11 => "TLS 1.1",
            Self::Tls12 => "TLS 1.2",
            Self::Tls13 => "TLS 1.3",
        }
    }
}

impl fmt::Display for TlsVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_known_by_its_names() {
        assert!(TlsVersion::ALL.into_iter().all(|version| TlsVersion::from_name(version.name()) == Some(version)));
        assert_eq!(
            ["TLSv1.0", "tlsv1.2", "TLS 1.2", ""].map(TlsVersion::from_name),
            [Some(TlsVersion::Tls10), Some(TlsVersion::Tls12), None, None]
        );
        let list = TLS_1_2_AND_1_3.split(',').map(TlsVersion::from_name);
        assert!(list.eq([Some(TlsVersion::Tls12), Some(TlsVersion::Tls13)]));
    }
}
