//! Probes a listener from outside, without an account.
//!
//! Every attempt is a new connection that ends during the TLS handshake. A server counts such connections of a remote
//! host towards `max_connect_errors` (MySQL's default is 100; reaching it blocks the host until the host cache is
//! flushed; a successful login resets the counter). Therefore [`ProbeLimits::max_connections`] limits them (40 by
//! default), and weak suites are tested first. [`VersionProbe::complete`] is false if anything was left out.

use std::time::Duration;

use pki::Certificate;
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, OtherService, Phase},
    tls::TlsVersion,
    version::Flavor,
};

mod classic;
mod handshake;
mod plaintext;
mod served;
pub mod x_messages;
mod x_protocol;

pub use classic::classic;
pub use plaintext::{PlainLogin, plaintext_login};
pub use served::served;
pub use x_protocol::x_protocol;

/// Limits of a probe.
#[derive(Clone, Copy, Debug)]
pub struct ProbeLimits {
    /// Maximum number of connections, including the first.
    pub max_connections: u32,
    /// Timeout of each connection, from opening it to its last byte.
    pub timeout: Duration,
    /// Whether to determine every accepted suite, or only one per version.
    pub enumerate_suites: bool,
}

impl Default for ProbeLimits {
    fn default() -> Self {
        Self { max_connections: 40, timeout: Duration::from_secs(5), enumerate_suites: true }
    }
}

/// Kind of an error, stable for programs, unlike the human-readable text next to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureClass {
    /// Nothing listens.
    Refused,
    /// The socket or host does not exist.
    NotFound,
    /// No answer in time.
    Timeout,
    /// Another kind of server answers.
    NotMySql,
    /// The server refused the connection before its greeting.
    RefusedByServer,
    /// The connection broke.
    Lost,
    /// Bytes that violate the protocol.
    Malformed,
    /// Another error.
    Other,
}

/// Why a probe is incomplete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Kind of the error.
    pub class: FailureClass,
    /// Human-readable message.
    pub text: String,
    /// The kind of server that answered, if not of the MySQL family.
    #[serde(rename = "stranger")]
    pub service: Option<OtherService>,
    /// The failed step, for timeouts and lost connections.
    pub phase: Option<Phase>,
    /// The server's error number, if it sent one.
    pub server_code: Option<u16>,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        let (class, service, phase, server_code) = match error {
            Error::Refused { .. } => (FailureClass::Refused, None, None, None),
            Error::NoSuchSocket { .. } | Error::NotASocket { .. } | Error::Resolve { .. } => {
                (FailureClass::NotFound, None, None, None)
            }
            Error::Timeout { phase, .. } => (FailureClass::Timeout, None, Some(*phase), None),
            Error::NotMySql { service, .. } => (FailureClass::NotMySql, Some(*service), None, None),
            Error::RefusedBeforeGreeting { code, .. } => (FailureClass::RefusedByServer, None, None, Some(*code)),
            Error::Server { code, .. } => (FailureClass::RefusedByServer, None, None, Some(*code)),
            Error::Lost { phase } => (FailureClass::Lost, None, Some(*phase), None),
            Error::Malformed { .. } => (FailureClass::Malformed, None, None, None),
            _ => (FailureClass::Other, None, None, None),
        };
        Self { class, text: error.to_string(), service, phase, server_code }
    }
}

/// Content of a greeting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GreetingFacts {
    /// Version text as sent.
    pub version: String,
    /// Whether `CLIENT_SSL` is set.
    pub offers_tls: bool,
    /// The plug-in that the server proposes.
    pub auth_plugin: String,
    /// The fork according to the greeting: Percona Server looks like MySQL.
    pub flavor_guess: Option<Flavor>,
    /// Capability bits.
    pub capabilities: u32,
}

/// A suite that the server chose, and its key exchange.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuiteSeen {
    /// IANA number.
    pub id: u16,
    /// IANA name, or the number in hexadecimal.
    pub name: String,
    /// Elliptic curve or key share group, by its IANA name.
    pub group: Option<String>,
    /// Size of the finite field group, for DHE.
    pub dh_bits: Option<u32>,
}

/// Result of offering a single protocol version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Acceptance {
    /// The server continued the handshake.
    Accepted,
    /// The server refused; the text names the alert, or the end of the connection.
    Refused(String),
    /// Unknown, with the reason.
    Unknown(String),
}

impl Acceptance {
    /// Whether the server continued.
    pub fn is_accepted(&self) -> bool {
        matches!(self, Self::Accepted)
    }
}

/// Results for one protocol version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionProbe {
    /// The version.
    pub version: TlsVersion,
    /// Whether the server accepts it.
    pub acceptance: Acceptance,
    /// Accepted suites, in the order of discovery, which is not the server's preference.
    pub suites: Vec<SuiteSeen>,
    /// Whether `suites` is complete, for suites known here; otherwise the connections ran out.
    pub complete: bool,
    /// Whether secure renegotiation (RFC 5746) was confirmed; `None` for TLS 1.3, and if not accepted.
    pub secure_renegotiation: Option<bool>,
    /// Whether extended master secret (RFC 7627) was confirmed; `None` for TLS 1.3, and if not accepted.
    pub extended_master_secret: Option<bool>,
}

/// TLS of a listener.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsProbe {
    /// Every version from SSL 3.0, oldest first.
    pub versions: Vec<VersionProbe>,
    /// The chain as sent, the server's own certificate first.
    pub certificates: Vec<Certificate>,
    /// Why `certificates` is empty or incomplete.
    pub certificate_error: Option<String>,
    /// Whether all versions and suites were determined within the limits.
    pub complete: bool,
}

impl TlsProbe {
    /// Results for one version.
    pub fn version(&self, version: TlsVersion) -> Option<&VersionProbe> {
        self.versions.iter().find(|probe| probe.version == version)
    }

    /// The accepted versions, oldest first.
    pub fn accepted(&self) -> Vec<TlsVersion> {
        self.versions.iter().filter(|probe| probe.acceptance.is_accepted()).map(|probe| probe.version).collect()
    }
}

/// A listener of the classic protocol (main port, admin port, Unix socket).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassicProbe {
    /// Address or socket of the server.
    pub endpoint: String,
    /// Whether a MySQL-family server sent a greeting.
    pub reachable: bool,
    /// Why it is not reachable, or a later error.
    pub error: Option<Failure>,
    /// The greeting.
    pub greeting: Option<GreetingFacts>,
    /// TLS, if offered.
    pub tls: Option<TlsProbe>,
    /// Number of connections opened.
    pub connections: u32,
}

/// A listener of the X Protocol (port 33060).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct XProbe {
    /// Address or socket of the server.
    pub endpoint: String,
    /// Whether it answered in the X Protocol.
    pub reachable: bool,
    /// Why it is not reachable, or a later error.
    pub error: Option<Failure>,
    /// Whether it offers the capability `tls`.
    pub offers_tls: Option<bool>,
    /// Names of the capabilities, in the order sent.
    pub capabilities: Vec<String>,
    /// Authentication mechanisms offered before TLS, such as `MYSQL41`, `PLAIN`.
    pub auth_mechanisms: Vec<String>,
    /// TLS, if offered.
    pub tls: Option<TlsProbe>,
    /// Number of connections opened.
    pub connections: u32,
}
