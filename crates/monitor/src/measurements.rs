//! Dates of a server that alerts compare with the present time: findings alone do not say how many days are left.

use std::collections::BTreeMap;

use audit::facts::Facts;
use audit::facts::wire::WireFacts;
use jiff::Timestamp;

/// Dates that the facts about a server contain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Measurements {
    /// The certificate of each port that offers TLS.
    pub certificates: Vec<CertificateExpiry>,
    /// The last recorded rotation of each kind of key.
    pub rotations: Vec<KeyRotation>,
    /// When a copy of the keys was proven last.
    pub copy_proven: Option<Timestamp>,
}

/// The certificate of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateExpiry {
    /// Name of the port, as in [`audit::facts::wire::Port`].
    pub port: &'static str,
    /// End of its validity.
    pub not_after: Timestamp,
}

/// A rotation that the register of keys has recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRotation {
    /// Kind of key.
    pub key: String,
    /// When it was rotated.
    pub at: Timestamp,
}

impl Measurements {
    /// Extracts the dates from facts.
    #[must_use]
    pub fn new(facts: &Facts) -> Self {
        let register = facts.register.as_ref().and_then(|register| register.as_ref().ok());
        let empty = BTreeMap::new();
        let rotated = register.map_or(&empty, |register| &register.last_rotated);
        Self {
            certificates: facts.wire.as_ref().map(certificates).unwrap_or_default(),
            rotations: rotated.iter().map(|(key, at)| KeyRotation { key: key.clone(), at: *at }).collect(),
            copy_proven: register.and_then(|register| register.copies.iter().map(|copy| copy.proven).max()),
        }
    }
}

fn certificates(wire: &WireFacts) -> Vec<CertificateExpiry> {
    let own = |port: audit::facts::wire::Port<'_>| {
        let certificate = port.tls?.certificates.first()?;
        Some(CertificateExpiry { port: port.name, not_after: certificate.not_after })
    };
    wire.ports().into_iter().filter_map(own).collect()
}
