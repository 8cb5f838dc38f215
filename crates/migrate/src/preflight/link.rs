//! How a connection to one of the servers is protected.

use serde::Serialize;
use server::{Connection, Options, TlsMode, tls::TlsVersion};

use crate::Side;

/// A connection to one of the servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    /// Whether it leads to the source or to the target.
    pub side: Side,
    /// What protects it.
    #[serde(flatten)]
    pub transport: Transport,
}

/// What protects a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "transport", rename_all = "lowercase")]
pub enum Transport {
    /// A Unix socket of this host.
    Socket,
    /// TLS.
    Tls {
        /// Protocol version.
        version: TlsVersion,
        /// Cipher suite, by its IANA name.
        suite: String,
        /// How the server's certificate was verified.
        verified: Verification,
    },
    /// Nothing: the connection is in plaintext.
    Clear,
}

impl Transport {
    /// Whether the connection uses a local socket, or this version of TLS or a newer one.
    #[must_use]
    pub fn is_at_least(&self, version: TlsVersion) -> bool {
        match self {
            Self::Socket => true,
            Self::Tls { version: found, .. } => *found >= version,
            Self::Clear => false,
        }
    }
}

/// How a server's certificate was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verification {
    /// The given CA issued it for the server's name.
    Identity,
    /// The given CA issued it; the server's name was not compared.
    Authority,
    /// Its fingerprint is the given one.
    Fingerprint,
    /// It was not verified.
    No,
}

impl Link {
    /// Describes an open connection.
    #[must_use]
    pub fn inspect(side: Side, connection: &Connection, options: &Options) -> Self {
        let endpoint = &connection.target().endpoint;
        let verified = match options.tls.mode_for(endpoint) {
            TlsMode::VerifyIdentity => Verification::Identity,
            TlsMode::VerifyCa => Verification::Authority,
            _ if options.tls.verifies(endpoint) => Verification::Fingerprint,
            _ => Verification::No,
        };
        let transport = match connection.tls() {
            Some(tls) => Transport::Tls { version: tls.version, suite: tls.suite.clone(), verified },
            None if endpoint.is_socket() => Transport::Socket,
            None => Transport::Clear,
        };
        Self { side, transport }
    }
}
