//! Looks at a listener from outside, without an account.
//!
//! Every look is a new connection that ends during the TLS handshake. A server
//! counts such connections of a remote host towards `max_connect_errors`
//! (MySQL's default is 100, and reaching it blocks the host until the next
//! successful login has reset the counter or the host cache is flushed), so
//! [`ProbeLimits::max_connections`] bounds them (40 by default) and the weak
//! suites are asked for first. What was left out is said, in
//! [`VersionProbe::complete`].

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    certificate::Certificate,
    error::{Error, Phase, Stranger},
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

/// How much a probe may ask of a listener.
#[derive(Clone, Copy, Debug)]
pub struct ProbeLimits {
    /// Connections to open at most, the first look included.
    pub max_connections: u32,
    /// Time for each connection, from opening it to its last byte.
    pub timeout: Duration,
    /// Whether to find out every accepted suite, or only one per version.
    pub enumerate_suites: bool,
}

impl Default for ProbeLimits {
    fn default() -> Self {
        Self { max_connections: 40, timeout: Duration::from_secs(5), enumerate_suites: true }
    }
}

/// The kind of a failure, stable for programs; the text beside it is for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureClass {
    /// Nobody listens.
    Refused,
    /// No such socket or host.
    NotFound,
    /// No answer in time.
    Timeout,
    /// Something else than a MySQL-family server answers.
    NotMySql,
    /// The server refused us before its greeting.
    RefusedByServer,
    /// The connection broke.
    Lost,
    /// Bytes that are not the protocol.
    Malformed,
    /// Anything else.
    Other,
}

/// Why a probe saw less than it wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What kind.
    pub class: FailureClass,
    /// The error in words.
    pub text: String,
    /// What answered, if it was not a MySQL-family server.
    pub stranger: Option<Stranger>,
    /// The step it happened in, for time-outs and lost connections.
    pub phase: Option<Phase>,
    /// The server's error number, if it sent one.
    pub server_code: Option<u16>,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        let (class, stranger, phase, server_code) = match error {
            Error::Refused { .. } => (FailureClass::Refused, None, None, None),
            Error::NoSuchSocket { .. } | Error::Resolve { .. } => (FailureClass::NotFound, None, None, None),
            Error::Timeout { phase, .. } => (FailureClass::Timeout, None, Some(*phase), None),
            Error::NotMySql { stranger, .. } => (FailureClass::NotMySql, Some(*stranger), None, None),
            Error::RefusedBeforeGreeting { code, .. } => (FailureClass::RefusedByServer, None, None, Some(*code)),
            Error::Server { code, .. } => (FailureClass::RefusedByServer, None, None, Some(*code)),
            Error::Lost { phase } => (FailureClass::Lost, None, Some(*phase), None),
            Error::Malformed { .. } => (FailureClass::Malformed, None, None, None),
            _ => (FailureClass::Other, None, None, None),
        };
        Self { class, text: error.to_string(), stranger, phase, server_code }
    }
}

/// What a greeting told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GreetingFacts {
    /// Version text as sent.
    pub version: String,
    /// Whether `CLIENT_SSL` is set.
    pub offers_tls: bool,
    /// The plug-in the server proposes.
    pub auth_plugin: String,
    /// The fork, as far as the greeting tells: Percona Server looks like MySQL here.
    pub flavor_guess: Option<Flavor>,
    /// Capability bits.
    pub capabilities: u32,
}

/// A suite a server chose, with what its key exchange showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuiteSeen {
    /// Number in the IANA registry.
    pub id: u16,
    /// Name in the IANA registry, or the number in hexadecimal.
    pub name: String,
    /// Elliptic curve or key share group, by its IANA name.
    pub group: Option<String>,
    /// Size of the finite field group, for DHE.
    pub dh_bits: Option<u32>,
}

/// What became of offering one protocol version alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Acceptance {
    /// The server went on with it.
    Accepted,
    /// The server refused it; the text names the alert or says that it closed.
    Refused(String),
    /// Not known, and why.
    Unknown(String),
}

impl Acceptance {
    /// Whether the server went on.
    pub fn is_accepted(&self) -> bool {
        matches!(self, Self::Accepted)
    }
}

/// One protocol version of a listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionProbe {
    /// Which.
    pub version: TlsVersion,
    /// Whether the server takes it.
    pub acceptance: Acceptance,
    /// Accepted suites in the order they were found, which is not the server's preference.
    pub suites: Vec<SuiteSeen>,
    /// Whether `suites` is all of those we can name; otherwise the connections ran out.
    pub complete: bool,
    /// Secure renegotiation (RFC 5746) was confirmed; `None` for TLS 1.3 and if not accepted.
    pub secure_renegotiation: Option<bool>,
    /// Extended master secret (RFC 7627) was confirmed; `None` as above.
    pub extended_master_secret: Option<bool>,
}

/// The TLS side of a listener.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsProbe {
    /// Every version from SSL 3.0 on, oldest first.
    pub versions: Vec<VersionProbe>,
    /// The chain as sent, the server's own certificate first.
    pub certificates: Vec<Certificate>,
    /// Why `certificates` is empty or short.
    pub certificate_error: Option<String>,
    /// Whether all versions and suites were found out within the limits.
    pub complete: bool,
}

impl TlsProbe {
    /// One version's result.
    pub fn version(&self, version: TlsVersion) -> Option<&VersionProbe> {
        self.versions.iter().find(|probe| probe.version == version)
    }

    /// The versions the server takes, oldest first.
    pub fn accepted(&self) -> Vec<TlsVersion> {
        self.versions.iter().filter(|probe| probe.acceptance.is_accepted()).map(|probe| probe.version).collect()
    }
}

/// A classic protocol listener (main port, admin port, unix socket).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassicProbe {
    /// Where we looked.
    pub endpoint: String,
    /// Whether a MySQL-family server answered with its greeting.
    pub reachable: bool,
    /// Why not, or what broke later.
    pub error: Option<Failure>,
    /// The greeting.
    pub greeting: Option<GreetingFacts>,
    /// TLS, if offered.
    pub tls: Option<TlsProbe>,
    /// Connections opened.
    pub connections: u32,
}

/// An X Protocol listener (port 33060).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct XProbe {
    /// Where we looked.
    pub endpoint: String,
    /// Whether it answered in the X Protocol.
    pub reachable: bool,
    /// Why not, or what broke later.
    pub error: Option<Failure>,
    /// Whether the capability `tls` is offered.
    pub offers_tls: Option<bool>,
    /// The capabilities' names in the order sent.
    pub capabilities: Vec<String>,
    /// Authentication mechanisms offered before TLS, such as `MYSQL41`, `PLAIN`.
    pub auth_mechanisms: Vec<String>,
    /// TLS, if offered.
    pub tls: Option<TlsProbe>,
    /// Connections opened.
    pub connections: u32,
}
