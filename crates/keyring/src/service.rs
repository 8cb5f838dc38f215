//! Fetches keys from a Vault: each at most once, with the minimum of privileges.
//!
//! Source: docs/formats, "Keys in a HashiCorp Vault".

use std::fmt;

use data_encoding::BASE64;
use keyservice::{Answer, Engine, EngineVersion, Fault, Stored, Vault, Withdrawn};

use crate::{error::Error, vault_source::VaultSource};

/// Maximum number of versions of a key; by default the Vault keeps ten.
const MAX_VERSIONS: u32 = 100_000;

/// A key that the Vault no longer has, although its name is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithdrawnKey {
    /// The key, as messages name it.
    pub name: String,
    /// Why it no longer exists.
    pub how: Withdrawn,
}

impl fmt::Display for WithdrawnKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in the Vault, {} is {}", self.name, self.how)
    }
}

/// Keys in the Vault, by name.
pub(crate) struct Fetched<N> {
    pub(crate) answers: Vec<(N, Answer)>,
    pub(crate) withdrawn: Vec<WithdrawnKey>,
}

/// The server's own MySQL keys, without keys that users stored beside them.
pub(crate) fn mysql(source: &VaultSource) -> Result<Fetched<String>, Error> {
    let vault = Vault::connect(&source.access)?;
    let engine = match source.version {
        Some(EngineVersion::First) => Engine::at(&source.path, EngineVersion::First),
        _ => vault.engine(&source.path)?,
    };
    let names = vault.list(&engine)?;
    let keys = names.iter().filter_map(|name| Some((name, own_key(name)?)));
    let mut fetched = Fetched { answers: Vec::new(), withdrawn: Vec::new() };
    for (name, key) in keys {
        match vault.secret(&engine, name, None)? {
            Stored::Secret(answer) => fetched.answers.push((key, answer)),
            Stored::Withdrawn { how, .. } => fetched.withdrawn.push(WithdrawnKey { name: key, how }),
            Stored::Absent => return Err(Error::Vanished { name: key }),
        }
    }
    fetched.require_keys(source)
}

/// The keys of MariaDB with all their versions.
pub(crate) fn mariadb(source: &VaultSource) -> Result<Fetched<(u32, u32)>, Error> {
    let vault = Vault::connect(&source.access)?;
    let engine = Engine::at(&source.path, EngineVersion::Second);
    let ids = match &source.key_ids {
        Some(ids) => ids.clone(),
        None => listed_ids(&vault, &engine)?,
    };
    let mut fetched = Fetched { answers: Vec::new(), withdrawn: Vec::new() };
    for id in ids {
        fetched.add_versions(&vault, &engine, id)?;
    }
    fetched.require_keys(source)
}

fn listed_ids(vault: &Vault, engine: &Engine) -> Result<Vec<u32>, Error> {
    let names = vault.list(engine).map_err(|error| match error.fault() {
        Some(Fault::Forbidden) => Error::MayNotList(error),
        _ => Error::from(error),
    })?;
    let ids: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
    // The list is also empty if the engine has version 1, whose lists have another path.
    if ids.is_empty() && vault.engine(&engine.mount)?.version == EngineVersion::First {
        let found = "a KV engine of version 1".to_owned();
        let fault = Fault::WrongEngine { found, needed: "the version 2 that MariaDB's plug-in needs" };
        return Err(vault.failed(&engine.mount, fault).into());
    }
    Ok(ids)
}

impl Fetched<(u32, u32)> {
    /// The newest version of a key, and the older ones down to the last that is kept.
    fn add_versions(&mut self, vault: &Vault, engine: &Engine, id: u32) -> Result<(), Error> {
        let name = id.to_string();
        let newest = match vault.secret(engine, &name, None)? {
            Stored::Secret(answer) => {
                let version = answer.version().filter(|version| *version <= MAX_VERSIONS);
                let version = version.ok_or_else(|| vault.failed(&name, Fault::NotASecret { second_version: true }))?;
                self.answers.push(((id, version), answer));
                version
            }
            Stored::Withdrawn { how, version } => {
                let version = version.unwrap_or(1).min(MAX_VERSIONS);
                self.add_withdrawn(id, version, how);
                version
            }
            Stored::Absent => return Err(Error::Vanished { name: format!("key {id}") }),
        };
        for version in (1..newest).rev() {
            match vault.secret(engine, &name, Some(version))? {
                Stored::Secret(answer) => self.answers.push(((id, version), answer)),
                Stored::Withdrawn { how, .. } => self.add_withdrawn(id, version, how),
                // The oldest versions are removed first.
                Stored::Absent => {
                    (1..=version).for_each(|version| self.add_withdrawn(id, version, Withdrawn::NotKept));
                    break;
                }
            }
        }
        Ok(())
    }

    fn add_withdrawn(&mut self, id: u32, version: u32, how: Withdrawn) {
        self.withdrawn.push(WithdrawnKey { name: format!("key {id} version {version}"), how });
    }
}

impl<N> Fetched<N> {
    /// Returns [`Error::NoKeysInVault`] if nothing was fetched: the path is wrong then.
    fn require_keys(self, source: &VaultSource) -> Result<Self, Error> {
        if self.answers.is_empty() && self.withdrawn.is_empty() {
            return Err(Error::NoKeysInVault { path: source.path.clone() });
        }
        Ok(self)
    }
}

/// The key's name, derived from the name of its secret; `None` if it belongs to a user, or is not a key.
///
/// The name of the secret is the base64 of `LENGTH_NAMELENGTH_USER`, in which the server's own keys have no user.
fn own_key(secret: &str) -> Option<String> {
    let signature = String::from_utf8(BASE64.decode(secret.as_bytes()).ok()?).ok()?;
    let (length, rest) = signature.split_once('_')?;
    let (name, user) = rest.split_at_checked(length.parse().ok()?)?;
    (user == "0_").then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_servers_own_keys_are_fetched() {
        let name = |signature: &str| own_key(&BASE64.encode(signature.as_bytes()));
        let key = "INNODBKey-95b2f013-e4cd-11f1-8c02-02fc00000001-2";
        assert_eq!(name(&format!("{}_{key}0_", key.len())).as_deref(), Some(key));
        assert_eq!(name("4_name6_me@it_"), None);
        for other in ["", "x", "9_short0_", "4_name", "-1_x0_", "4_name1_"] {
            assert_eq!(name(other), None, "{other}");
        }
        assert_eq!(own_key("not base64!"), None);
        assert_eq!(own_key("sub/"), None);
    }
}
