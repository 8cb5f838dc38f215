//! What the server's listeners answered to someone without credentials.

use serde::{Deserialize, Serialize};
use server::probe::{ClassicProbe, Failure, PlainLogin, TlsProbe, XProbe};

/// All listeners that were probed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct WireFacts {
    /// The classic protocol's port.
    pub classic: Option<Listener<ClassicProbe>>,
    /// The administrative port, if one is set.
    pub admin: Option<Listener<ClassicProbe>>,
    /// The X Protocol's port, if one is set.
    pub x: Option<Listener<XProbe>>,
    /// What came of logging in without TLS; only tried on this host itself.
    pub plain_login: Option<PlainLogin>,
    /// Whether the main listener's certificate leads to the certificates that `ssl_ca` names,
    /// signatures included; none if either was not to be had.
    #[serde(default)]
    pub chain: Option<ChainTrust>,
}

/// Whether a certificate chain leads to a given set of authorities.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainTrust {
    /// The file of the authorities.
    pub ca_file: String,
    /// Why it does not; none if it does.
    pub error: Option<String>,
}

/// One listener and what it answered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Listener<P> {
    /// `host:port`.
    pub endpoint: String,
    /// What was seen.
    pub probe: P,
}

impl WireFacts {
    /// The classic and the administrative listeners that were probed, with the name of each.
    pub fn classic_like(&self) -> impl Iterator<Item = (&'static str, &Listener<ClassicProbe>)> {
        let main = self.classic.iter().map(|l| ("main", l));
        main.chain(self.admin.iter().map(|l| ("admin", l)))
    }
}

/// A listener, whichever protocol it speaks.
#[derive(Debug, Clone, Copy)]
pub struct Port<'a> {
    /// `main port`, `admin port` or `X port`: stable across runs, unlike the endpoint.
    pub name: &'static str,
    /// `host:port`.
    pub endpoint: &'a str,
    /// Whether a server answered in the expected protocol.
    pub reachable: bool,
    /// Whether it offers to switch to TLS; none if it did not get as far as saying so.
    pub offers_tls: Option<bool>,
    /// What came of switching.
    pub tls: Option<&'a TlsProbe>,
    /// Why less was seen than wanted.
    pub error: Option<&'a Failure>,
}

impl WireFacts {
    /// Every listener that was probed.
    #[must_use]
    pub fn ports(&self) -> Vec<Port<'_>> {
        let classic = self.classic.iter().map(|listener| Port::of_classic("main port", listener));
        let admin = self.admin.iter().map(|listener| Port::of_classic("admin port", listener));
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
            name: "X port",
            endpoint: &listener.endpoint,
            reachable: probe.reachable,
            offers_tls: probe.offers_tls,
            tls: probe.tls.as_ref(),
            error: probe.error.as_ref(),
        }
    }
}
