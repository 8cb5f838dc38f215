//! Fetches keys from a Vault: each at most once, with the minimum of privileges.
//!
//! Source: docs/formats, "Keys in a HashiCorp Vault".

use data_encoding::BASE64;
use files::secret::encode_base64;
use keyservice::{Answer, Engine, EngineVersion, Fault, Stored, Vault, Withdrawn};

use crate::{
    error::Error,
    generate::random_digits,
    key::Key,
    record::NewKey,
    stored_key::StoredKey,
    vault_source::VaultSource,
    withdrawn_key::{KeyService, WithdrawnKey},
};

/// Maximum number of versions of a key; by default the Vault keeps ten.
const MAX_VERSIONS: u32 = 100_000;

/// Keys in the Vault, by name.
pub(crate) struct Fetched<N> {
    pub(crate) answers: Vec<(N, Answer)>,
    pub(crate) withdrawn: Vec<WithdrawnKey>,
    /// Names of secrets that are not keys.
    pub(crate) other_secrets: Vec<String>,
}

/// Whose keys of a MySQL keyring are fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owners {
    /// The server's own.
    Server,
    /// The server's own, and those that users stored beside them.
    All,
}

/// Name and user of a MySQL key; the user is empty for the server's own keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) name: String,
    pub(crate) user: String,
}

/// The directory of a MySQL server's keys in a Vault, with one connection and one login.
pub(crate) struct MysqlDirectory<'s> {
    source: &'s VaultSource,
    vault: Vault,
    engine: Engine,
}

impl<'s> MysqlDirectory<'s> {
    pub(crate) fn connect(source: &'s VaultSource) -> Result<Self, Error> {
        let vault = Vault::connect(&source.access)?;
        let engine = match source.version {
            Some(EngineVersion::First) => Engine::at(&source.path, EngineVersion::First),
            _ => vault.engine(&source.path)?,
        };
        Ok(Self { source, vault, engine })
    }

    /// Fetches the keys.
    ///
    /// # Errors
    /// [`Error::NoKeysInVault`] if there are none.
    pub(crate) fn fetch(&self, owners: Owners) -> Result<Fetched<Identity>, Error> {
        let names = self.vault.list(&self.engine)?;
        let keys = names.iter().filter_map(|name| Some((name, Identity::of_secret(name)?)));
        let mut fetched = Fetched::new();
        // A name that ends with a slash is the name of a subdirectory.
        let others = names.iter().filter(|name| !name.ends_with('/') && Identity::of_secret(name).is_none());
        fetched.other_secrets = others.cloned().collect();
        for (name, key) in keys.filter(|(_, key)| owners == Owners::All || key.user.is_empty()) {
            match self.vault.secret(&self.engine, name, None)? {
                Stored::Secret(answer) => fetched.answers.push((key, answer)),
                Stored::Withdrawn { how, .. } => {
                    let path = secret_path(self.source, name);
                    let (service, Identity { name, user }) = (KeyService::Vault, key);
                    fetched.withdrawn.push(WithdrawnKey { service, name, user, path, how });
                }
                Stored::Absent => return Err(Error::Vanished { name: key.name }),
            }
        }
        fetched.require_keys(self.source)
    }

    /// Adds a key, in the form in which Percona's component and plug-in store it. Replaces none.
    pub(crate) fn add(&self, key: NewKey<'_>) -> Result<(), Error> {
        let value = encode_base64(key.key);
        let name = name_of_secret(key.name, key.user)?;
        Ok(self.vault.create(&self.engine, &name, &[("type", key.key_type), ("value", &value)])?)
    }

    /// Fails if the Vault says that it would not let a key of this name be added.
    pub(crate) fn check_may_add(&self, name: &str) -> Result<(), Error> {
        Ok(self.vault.check_may_create(&self.engine, &name_of_secret(name, "")?)?)
    }
}

/// Fails if a key cannot be added to a Vault.
///
/// # Errors
/// [`Error::NotForVault`] for the first key whose secret would have a slash in its name.
pub(crate) fn check_names(keys: &[StoredKey]) -> Result<(), Error> {
    keys.iter().try_for_each(|key| name_of_secret(&key.name, &key.user).map(drop))
}

fn secret_path(source: &VaultSource, name: &str) -> String {
    format!("{}/{name}", source.path.trim_matches('/'))
}

/// Fetches the keys of MariaDB with all their versions.
pub(crate) fn mariadb(source: &VaultSource) -> Result<Fetched<(u32, u32)>, Error> {
    let vault = Vault::connect(&source.access)?;
    let engine = Engine::at(&source.path, EngineVersion::Second);
    let ids = match &source.key_ids {
        Some(ids) => ids.clone(),
        None => listed_ids(&vault, &engine)?,
    };
    let mut fetched = Fetched::new();
    for id in ids {
        fetched.add_versions(&vault, &engine, source, id)?;
    }
    fetched.require_keys(source)
}

/// Versions of a MariaDB key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Versions {
    pub(crate) id: u32,
    /// Those that the Vault has or can restore, ascending.
    pub(crate) there: Vec<u32>,
    /// Whether older ones have been removed because the engine keeps only some.
    pub(crate) some_not_kept: bool,
}

/// Writes a random key as the successor of the newest version of a MariaDB key, with as many bytes as `like`.
///
/// # Errors
/// [`Error::VersionWouldBeLost`] and [`Error::VersionMayBeLost`] if the Vault would remove an older version for it, or
/// may do that.
pub(crate) fn add_mariadb_version(source: &VaultSource, versions: &Versions, like: &Key) -> Result<(), Error> {
    let (name, newest) = (versions.id.to_string(), versions.there.last().copied().unwrap_or_default());
    let digits = random_digits(like.as_bytes().len())?;
    let engine = Engine::at(&source.path, EngineVersion::Second);
    let vault = Vault::connect(&source.access)?;
    versions.refuse_loss(vault.max_versions(&engine, &name)?)?;
    Ok(vault.add_version(&engine, &name, &[("data", &digits)], newest)?)
}

impl Versions {
    /// Fails unless an engine that keeps `limit` versions keeps all these beside a new one. Without a known limit,
    /// what the engine has kept so far tells.
    ///
    /// When it takes version N, an engine removes all versions up to N - `limit`.
    fn refuse_loss(&self, limit: Option<u32>) -> Result<(), Error> {
        /// The limit of an engine that was told none.
        const DEFAULT: u32 = 10;
        let (Some(oldest), Some(newest)) = (self.there.first().copied(), self.there.last().copied()) else {
            return Ok(());
        };
        let id = self.id;
        match limit {
            Some(limit) if u64::from(oldest).saturating_add(limit.into()) <= u64::from(newest).saturating_add(1) => {
                Err(Error::VersionWouldBeLost { id, version: oldest, limit })
            }
            None if self.some_not_kept || newest >= DEFAULT => Err(Error::VersionMayBeLost { id, version: oldest }),
            _ => Ok(()),
        }
    }
}

/// A version of a MariaDB key, as messages name it.
pub(crate) fn version_name(id: u32, version: u32) -> String {
    format!("key {id} version {version}")
}

fn listed_ids(vault: &Vault, engine: &Engine) -> Result<Vec<u32>, Error> {
    let names = vault.list(engine).map_err(|error| match error.fault() {
        Some(Fault::Forbidden) => Error::MayNotList(error),
        _ => Error::from(error),
    })?;
    // A server asks for the plain number only, and "+1" would be key 1 a second time.
    let number = |name: &String| name.parse().ok().filter(|id: &u32| id.to_string() == *name);
    let ids: Vec<u32> = names.iter().filter_map(number).collect();
    // The list is also empty if the engine has version 1, whose lists have another path.
    if ids.is_empty() && vault.engine(&engine.mount)?.version == EngineVersion::First {
        let found = "a KV engine of version 1".to_owned();
        let fault = Fault::WrongEngine { found, needed: "the version 2 that MariaDB's plug-in needs" };
        return Err(vault.failed(&engine.mount, fault).into());
    }
    Ok(ids)
}

impl Fetched<(u32, u32)> {
    /// Adds the newest version of a key, and all older versions that the Vault still keeps.
    fn add_versions(&mut self, vault: &Vault, engine: &Engine, source: &VaultSource, id: u32) -> Result<(), Error> {
        let name = id.to_string();
        let path = secret_path(source, &name);
        let newest = match vault.secret(engine, &name, None)? {
            Stored::Secret(answer) => {
                let version = answer.version().filter(|version| *version <= MAX_VERSIONS);
                let version = version.ok_or_else(|| vault.failed(&name, Fault::NotASecret { second_version: true }))?;
                self.answers.push(((id, version), answer));
                version
            }
            Stored::Withdrawn { how, version } => {
                let version = version.unwrap_or(1).min(MAX_VERSIONS);
                self.add_withdrawn(&path, id, version, how);
                version
            }
            Stored::Absent => return Err(Error::Vanished { name: format!("key {id}") }),
        };
        for version in (1..newest).rev() {
            match vault.secret(engine, &name, Some(version))? {
                // A cache that ignores the asked version would give one key for all versions.
                Stored::Secret(answer) if answer.version() != Some(version) => {
                    return Err(vault.failed(&name, Fault::OtherObject).into());
                }
                Stored::Secret(answer) => self.answers.push(((id, version), answer)),
                Stored::Withdrawn { how, .. } => self.add_withdrawn(&path, id, version, how),
                // The Vault removes the oldest versions first, so all older ones are missing too.
                Stored::Absent => {
                    (1..=version).for_each(|version| self.add_withdrawn(&path, id, version, Withdrawn::NotKept));
                    break;
                }
            }
        }
        Ok(())
    }

    fn add_withdrawn(&mut self, path: &str, id: u32, version: u32, how: Withdrawn) {
        let (name, path) = (version_name(id, version), path.to_owned());
        self.withdrawn.push(WithdrawnKey { service: KeyService::Vault, name, user: String::new(), path, how });
    }
}

impl<N> Fetched<N> {
    const fn new() -> Self {
        Self { answers: Vec::new(), withdrawn: Vec::new(), other_secrets: Vec::new() }
    }

    /// Returns [`Error::NoKeysInVault`] if nothing was fetched: the path is wrong then.
    fn require_keys(self, source: &VaultSource) -> Result<Self, Error> {
        if self.answers.is_empty() && self.withdrawn.is_empty() {
            return Err(Error::NoKeysInVault { path: source.path.clone() });
        }
        Ok(self)
    }
}

impl Identity {
    /// The identity that the name of a secret encodes; `None` if the secret is not a key.
    ///
    /// The name of the secret is the base64 of `LENGTH_NAMELENGTH_USER`, in which the server's own keys have no user.
    fn of_secret(secret: &str) -> Option<Self> {
        let signature = String::from_utf8(BASE64.decode(secret.as_bytes()).ok()?).ok()?;
        let (name, rest) = counted(&signature)?;
        let (user, rest) = counted(rest)?;
        rest.is_empty().then(|| Self { name: name.to_owned(), user: user.to_owned() })
    }
}

/// Splits off a text that follows its length in bytes and `_`; returns the text and the rest. Accepts a length only as
/// the server writes it, without leading zeros: otherwise, two secrets could be the same key.
fn counted(text: &str) -> Option<(&str, &str)> {
    let (length, rest) = text.split_once('_')?;
    let is_plain = length.bytes().all(|byte| byte.is_ascii_digit()) && (length == "0" || !length.starts_with('0'));
    if !is_plain {
        return None;
    }
    rest.split_at_checked(length.parse().ok()?)
}

/// The name of the secret of a key with this name and user.
fn name_of_secret(name: &str, user: &str) -> Result<String, Error> {
    let signature = format!("{}_{name}{}_{user}", name.len(), user.len());
    let secret = BASE64.encode(signature.as_bytes());
    // A slash would lead to a subdirectory.
    if secret.contains('/') { Err(Error::NotForVault { name: name.to_owned() }) } else { Ok(secret) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Arena;

    #[test]
    fn names_of_secrets_are_parsed() {
        let identity = |signature: &str| Identity::of_secret(&BASE64.encode(signature.as_bytes()));
        let known = |name: &str, user: &str| Some(Identity { name: name.to_owned(), user: user.to_owned() });
        let key = "INNODBKey-95b2f013-e4cd-11f1-8c02-02fc00000001-2";
        assert_eq!(identity(&format!("{}_{key}0_", key.len())), known(key, ""));
        assert_eq!(identity("4_name6_me@it_"), known("name", "me@it_"));
        for other in
            ["", "x", "9_short0_", "4_name", "-1_x0_", "4_name1_", "4_name0_x", "+4_name0_", "04_name0_", "4_name00_"]
        {
            assert_eq!(identity(other), None, "{other}");
        }
        assert_eq!(Identity::of_secret("not base64!"), None);
        assert_eq!(Identity::of_secret("sub/"), None);
    }

    #[test]
    fn a_new_version_must_not_remove_an_older_one() {
        let versions = |there: &[u32], some_not_kept| Versions { id: 1, there: there.to_vec(), some_not_kept };
        let lost = |there: &[u32], limit| match versions(there, false).refuse_loss(limit) {
            Err(Error::VersionWouldBeLost { version, .. } | Error::VersionMayBeLost { version, .. }) => Some(version),
            _ => None,
        };
        assert_eq!(lost(&[1, 2, 3], Some(3)), Some(1));
        assert_eq!(lost(&[1, 2, 3], Some(4)), None);
        assert_eq!(lost(&[2, 3], Some(3)), None, "version 1 is gone already");
        assert_eq!(lost(&[1, 12], Some(20)), None);
        assert_eq!(lost(&[1], Some(1)), Some(1));
        assert_eq!(lost(&[u32::MAX], Some(1)), Some(u32::MAX));
        let all: Vec<u32> = (1..=10).collect();
        assert_eq!((lost(&all, None), lost(&all[..9], None), lost(&all, Some(10))), (Some(1), None, Some(1)));
        let refused = versions(&[2, 3], true).refuse_loss(None);
        assert!(matches!(refused, Err(Error::VersionMayBeLost { id: 1, version: 2 })), "{refused:?}");
        assert!(versions(&[2, 3], true).refuse_loss(Some(3)).is_ok());
    }

    #[test]
    fn a_key_is_found_under_the_name_that_it_is_given() {
        let mut arena = Arena::new(1).unwrap();
        let (slot, _) = arena.allocate(1).unwrap();
        let key = arena.freeze().key(slot);
        for (name, user) in [("INNODBKey-x-1", ""), ("mine", "me@localhost"), ("clé", "müller_1")] {
            let found = Identity::of_secret(&name_of_secret(name, user).unwrap()).unwrap();
            assert_eq!((found.name.as_str(), found.user.as_str()), (name, user));
        }
        assert!(matches!(name_of_secret("123?", ""), Err(Error::NotForVault { name }) if name == "123?"));
        let stored = |name: &str| {
            let (name, user) = (name.to_owned(), String::new());
            StoredKey { name, user, key_type: "AES".to_owned(), key: key.clone() }
        };
        // A key that cannot be stored is found before any other is written.
        let all = check_names(&[stored("INNODBKey-x-1"), stored("123?")]);
        assert!(matches!(all, Err(Error::NotForVault { name }) if name == "123?"));
    }
}
