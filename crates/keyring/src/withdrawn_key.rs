//! Keys that a service no longer has, or calls compromised.

use std::fmt;

use keyservice::Withdrawn;

/// A service that keeps keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyService {
    /// A HashiCorp Vault.
    Vault,
    /// A KMIP service.
    Kmip,
}

/// A key that a service no longer has, although its name is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithdrawnKey {
    /// The service.
    pub service: KeyService,
    /// The key, as messages name it.
    pub name: String,
    /// The account that owns it; empty for the server's own keys.
    pub user: String,
    /// Path of its secret, as `vault kv` takes it; in a KMIP service, its identifier.
    pub path: String,
    /// Why it no longer exists.
    pub how: Withdrawn,
}

/// A key that a KMIP service calls compromised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompromisedKey {
    /// Name of the key.
    pub name: String,
}

impl fmt::Display for KeyService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vault => "the Vault",
            Self::Kmip => "the KMIP service",
        })
    }
}

impl fmt::Display for WithdrawnKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in {}, {} is {}", self.service, self.name.escape_debug(), self.how)
    }
}

impl fmt::Display for CompromisedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.escape_debug();
        write!(f, "the KMIP service calls {name} compromised: others may know it; rotate it")
    }
}
