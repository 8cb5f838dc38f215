//! Results of probing the server's listeners without credentials.

use serde::{Deserialize, Serialize};
use server::probe::{ClassicProbe, Failure, PlainLogin, TlsProbe, XProbe};

/// All probed listeners.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct WireFacts {
    /// The port of the classic protocol.
    pub classic: Option<Listener<ClassicProbe>>,
    /// The administrative port, if one is set.
    pub admin: Option<Listener<ClassicProbe>>,
    /// The port of the X Protocol, if one is set.
    pub x: Option<Listener<XProbe>>,
    /// Result of logging in without TLS; tried only on this host.
    pub plain_login: Option<PlainLogin>,
    /// Whether the authorities in `ssl_ca` issued the main listener's certificate, verified by signatures; `None` if
    /// either is not available.
    #[serde(default)]
    pub chain: Option<ChainTrust>,
}

/// Whether a certificate chain is trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainTrust {
    /// File with the authorities.
    pub ca_file: String,
    /// Why it is not trusted; `None` if it is.
    pub error: Option<String>,
}

/// A listener and its results.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Listener<P> {
    /// `host:port`.
    pub endpoint: String,
    /// Results of the probe.
    pub probe: P,
}

/// Name of the port for the classic protocol.
pub const MAIN_PORT: &str = "main port";
/// Name of the administrative port.
pub const ADMIN_PORT: &str = "admin port";
/// Name of the port for the X protocol.
pub const X_PORT: &str = "X port";

/// A listener of any protocol.
#[derive(Debug, Clone, Copy)]
pub struct Port<'a> {
    /// [`MAIN_PORT`], [`ADMIN_PORT`] or [`X_PORT`]: stable across runs, unlike the endpoint.
    pub name: &'static str,
    /// `host:port`.
    pub endpoint: &'a str,
    /// Whether a server answered in the expected protocol.
    pub reachable: bool,
    /// Whether it offers TLS; `None` if the probe did not get that far.
    pub offers_tls: Option<bool>,
    /// Results for TLS.
    pub tls: Option<&'a TlsProbe>,
    /// Why the results are incomplete.
    pub error: Option<&'a Failure>,
}

impl WireFacts {
    /// All probed listeners.
    #[must_use]
    pub fn ports(&self) -> Vec<Port<'_>> {
        let classic = self.classic.iter().map(|listener| Port::of_classic(MAIN_PORT, listener));
        let admin = self.admin.iter().map(|listener| Port::of_classic(ADMIN_PORT, listener));
        classic.chain(admin).chain(self.x.iter().map(Port::of_x)).collect()
    }
}

impl<'a> Port<'a> {
    fn of_classic(name: &'static str, listener: &'a Listener<ClassicProbe>) -> Self {
        let probe = &listener.probe;
        Self {
            name,
            endpoint: &listener.endpoint,
            reachable: probe.reachable,
            offers_tls: probe.greeting.as_ref().map(|greeting| greeting.offers_tls),
            tls: probe.tls.as_ref(),
            error: probe.error.as_ref(),
        }
    }

    fn of_x(listener: &'a Listener<XProbe>) -> Self {
        let probe = &listener.probe;
        Self {
            name: X_PORT,
            endpoint: &listener.endpoint,
            reachable: probe.reachable,
            offers_tls: probe.offers_tls,
            tls: probe.tls.as_ref(),
            error: probe.error.as_ref(),
        }
    }
}
