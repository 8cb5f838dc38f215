//! The keys of a MySQL keyring file.

use std::collections::BTreeMap;

use zeroize::Zeroizing;

use crate::{
    base64::Base64,
    component_file::{self, AES, is_wrapped_key},
    error::Error,
    key::{Arena, Key, Keys, Slot},
    kmip_source::KmipSource,
    kms_source::{self, KmsSource, NOT_WRAPPED},
    lost_keys::LostKeys,
    mariadb_service::mariadb_service,
    plugin_file,
    record::{Material, Parsed, Record},
    repeated_key::RepeatedKey,
    service::{MysqlDirectory, Owners},
    store::kind_of,
    stored_key::StoredKey,
    summary::{Damage, StoreKind},
    vault_source,
    withdrawn_key::{CompromisedKey, WithdrawnKey},
};

/// Follows the name of an unusable key in warnings.
const LOOKS_WRAPPED: &str = " (as AWS KMS encrypts keys)";

/// Keys from a file of `component_keyring_file` or of the `keyring_file` plug-in.
///
/// Source: docs/formats, "Key stores": name and user together identify a key, and the server's own keys have an empty
/// user. Confirmed on testdata.
#[derive(Debug, Default)]
pub struct MysqlKeyring {
    /// By user, then by name.
    keys: BTreeMap<String, BTreeMap<String, TypedKey>>,
    damage: Vec<Damage>,
    unusable: Vec<String>,
    /// Number of unusable keys, also of those without a name.
    unusable_entries: usize,
    repeated: Vec<RepeatedKey>,
    withdrawn: Vec<WithdrawnKey>,
    compromised: Vec<CompromisedKey>,
    other_secrets: Vec<String>,
    unlocked: bool,
}

#[derive(Debug)]
struct TypedKey {
    key_type: String,
    key: Key,
}

impl TypedKey {
    fn is_same(&self, other: &Self) -> bool {
        self.key_type == other.key_type && self.key.is_same(&other.key)
    }
}

impl MysqlKeyring {
    /// Parses a keyring. The caller wipes `bytes`. An empty file has no keys, as for the server.
    ///
    /// Unusable keys are omitted and listed by [`Self::damage`].
    ///
    /// # Errors
    /// [`Error::WrongKind`] and [`Error::NotRecognised`] for other files; [`Error::Truncated`],
    /// [`Error::NotJson`], [`Error::Malformed`], [`Error::Checksum`] and
    /// [`Error::UnknownVersion`] for a file that may have lost keys: they would otherwise count as missing.
    pub fn load(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let parsed = match kind_of(bytes)? {
            StoreKind::ComponentFile => component_file::parse(bytes).map_err(|error| Error::not_json(&error))?,
            kind @ (StoreKind::PluginFileV1 | StoreKind::PluginFileV2) => plugin_file::parse(bytes, kind),
            kind => return Err(Error::WrongKind { kind }),
        };
        match parsed.damage.first() {
            Some(damage) => Err(damage_error(damage)),
            None => Self::from_parsed(&parsed),
        }
    }

    /// As [`Self::load`]; also accepts the configuration of a Vault, of a KMIP service or of AWS KMS, and fetches the
    /// server's own keys from there, or lets it decrypt them.
    ///
    /// # Errors
    /// Those of [`Self::load`]; [`Error::VaultConfig`], [`Error::Service`],
    /// [`Error::NoKeysInVault`] and [`Error::Vanished`].
    pub fn open(bytes: &[u8]) -> Result<Self, Error> {
        match kind_of(bytes) {
            Ok(StoreKind::VaultConfig) => {
                Self::from_vault(&MysqlDirectory::connect(&vault_source::percona(bytes)?)?, Owners::Server)
            }
            Ok(StoreKind::KmipConfig) => Self::from_kmip(&KmipSource::parse(bytes)?),
            Ok(StoreKind::KmsConfig) => Self::from_kms(&kms_source::percona(bytes)?, Owners::Server),
            Err(Error::NotRecognised) if mariadb_service(bytes)?.is_some() => Err(Error::OfMariaDb),
            _ => Self::load(bytes),
        }
    }

    /// Fetches keys from a KMIP service, which knows no types and no users.
    pub(crate) fn from_kmip(source: &KmipSource) -> Result<Self, Error> {
        let fetched = source.fetch()?;
        let records = fetched.keys.iter().map(|(name, key)| Record {
            id: name.clone(),
            user: String::new(),
            key_type: AES.to_owned(),
            is_utf8: true,
            material: key.as_ref().map(|key| Material::Plain(key.as_bytes())),
        });
        let parsed = Parsed { records: records.collect(), damage: Vec::new(), checksum_ok: None };
        let (withdrawn, compromised) = (fetched.withdrawn, fetched.compromised);
        Ok(Self { withdrawn, compromised, ..Self::from_parsed(&parsed)? })
    }

    /// Reads keys that AWS KMS decrypts.
    pub(crate) fn from_kms(source: &KmsSource, owners: Owners) -> Result<Self, Error> {
        let keys = source.percona_keys(owners)?;
        let records = keys.iter().map(|found| Record {
            id: found.name.clone(),
            user: found.user.clone(),
            key_type: found.key_type.clone(),
            is_utf8: true,
            material: found.key.as_ref().ok().map(|key| Material::Plain(key)),
        });
        let parsed = Parsed { records: records.collect(), damage: Vec::new(), checksum_ok: None };
        let mut keyring = Self::from_parsed(&parsed)?;
        for name in &mut keyring.unusable {
            if keys.iter().any(|found| found.name == *name && found.key.is_err()) {
                name.push_str(NOT_WRAPPED);
            }
        }
        Ok(keyring)
    }

    /// Fetches keys from a Vault.
    pub(crate) fn from_vault(directory: &MysqlDirectory<'_>, owners: Owners) -> Result<Self, Error> {
        let fetched = directory.fetch(owners)?;
        let records = fetched.answers.iter().map(|(identity, answer)| Record {
            id: identity.name.clone(),
            user: identity.user.clone(),
            key_type: answer.text("type").unwrap_or_default().to_owned(),
            is_utf8: true,
            material: answer.text("value").ok().and_then(|text| Base64::new(text.as_bytes())).map(Material::Base64),
        });
        let parsed = Parsed { records: records.collect(), damage: Vec::new(), checksum_ok: None };
        let (withdrawn, other_secrets) = (fetched.withdrawn, fetched.other_secrets);
        Ok(Self { withdrawn, other_secrets, ..Self::from_parsed(&parsed)? })
    }

    fn from_parsed(parsed: &Parsed<'_>) -> Result<Self, Error> {
        let materials = || parsed.records.iter().filter_map(|record| record.usable().ok());
        let bytes = materials().fold(0, |sum: usize, material| sum.saturating_add(material.bytes()));
        let mut arena = Arena::new(bytes)?;
        let (mut damage, mut unusable) = (Vec::new(), Vec::new());
        let mut slots = Vec::new();
        for (index, record) in (0_u64..).zip(&parsed.records) {
            match record.usable() {
                Ok(material) => {
                    if let Some((slot, memory)) = arena.allocate(material.bytes()) {
                        material.write(memory);
                        slots.push((record, slot));
                    }
                }
                Err(reason) => {
                    damage.push(Damage::InvalidElement { index, reason });
                    let is_wrapped = !record.id.is_empty() && record.material.is_some_and(is_wrapped_key);
                    unusable.push(format!("{}{}", record.id, if is_wrapped { LOOKS_WRAPPED } else { "" }));
                }
            }
        }
        let unusable_entries = unusable.len();
        unusable.retain(|name| !name.is_empty());
        Ok(Self { unusable, unusable_entries, ..Self::index(&arena.freeze(), slots, damage) })
    }

    fn index(keys: &Keys, slots: Vec<(&Record<'_>, Slot)>, damage: Vec<Damage>) -> Self {
        let mut keyring = Self { damage, unlocked: !keys.is_locked(), ..Self::default() };
        for (record, slot) in slots {
            let key = TypedKey { key_type: record.key_type.clone(), key: keys.key(slot) };
            let for_user = keyring.keys.entry(record.user.clone()).or_default();
            if let Some(first) = for_user.get(&record.id) {
                let is_same = first.is_same(&key);
                keyring.note_repeated(record, is_same);
            } else {
                for_user.insert(record.id.clone(), key);
            }
        }
        keyring
    }

    fn note_repeated(&mut self, record: &Record<'_>, is_same: bool) {
        self.damage.push(Damage::Duplicate { id: record.id.clone() });
        let known = self.repeated.iter_mut().find(|key| (&key.name, &key.user) == (&record.id, &record.user));
        match known {
            Some(key) => key.is_same &= is_same,
            None => self.repeated.push(RepeatedKey { name: record.id.clone(), user: record.user.clone(), is_same }),
        }
    }

    /// The server's own key of this name, e.g. `INNODBKey-<server uuid>-<number>`. If the name occurs twice, returns
    /// the first key; [`Self::damage`] lists such names.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Key> {
        self.for_user(name, "")
    }

    /// The key of this name that belongs to `user`.
    #[must_use]
    pub(crate) fn for_user(&self, name: &str, user: &str) -> Option<&Key> {
        self.keys.get(user)?.get(name).map(|typed| &typed.key)
    }

    /// The keys as the bytes of a file of `component_keyring_file`, which [`load`](Self::load) reads, to back up the
    /// keys of a service.
    ///
    /// # Errors
    /// [`Error::CannotAdd`] if a name cannot be written.
    pub fn as_component_file(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        component_file::with_keys(&self.stored())
    }

    /// The keys as the bytes of a file of the `keyring_file` plug-in, for servers that have no components.
    ///
    /// # Errors
    /// [`Error::CannotAdd`] if a key cannot be written.
    pub fn as_plugin_file(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        plugin_file::with_keys(&self.stored()).ok_or(Error::CannotAdd)
    }

    /// Every key, of the server and of users, sorted by user and name.
    #[must_use]
    pub fn stored(&self) -> Vec<StoredKey> {
        let of_user = |(user, keys): (&String, &BTreeMap<String, TypedKey>)| -> Vec<StoredKey> {
            let stored = |(name, typed): (&String, &TypedKey)| StoredKey {
                name: name.clone(),
                user: user.clone(),
                key_type: typed.key_type.clone(),
                key: typed.key.clone(),
            };
            keys.iter().map(stored).collect()
        };
        self.keys.iter().flat_map(of_user).collect()
    }

    /// The server's own keys with their names, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Key)> {
        self.keys.get("").into_iter().flatten().map(|(name, typed)| (name.as_str(), &typed.key))
    }

    /// Names of the server's own keys, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(name, _)| name)
    }

    /// Keys that were omitted, or that occur twice.
    #[must_use]
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// Names of the keys that were omitted, as far as they have one.
    #[must_use]
    pub fn unusable(&self) -> &[String] {
        &self.unusable
    }

    /// Number of keys that were omitted, with those that have no name.
    #[must_use]
    pub const fn unusable_entries(&self) -> usize {
        self.unusable_entries
    }

    /// Names with more than one key.
    #[must_use]
    pub fn repeated(&self) -> &[RepeatedKey] {
        &self.repeated
    }

    /// The keyring, if a copy of it has every key: none was omitted, and no name has different keys.
    ///
    /// # Errors
    /// [`Error::Incomplete`], [`Error::SeveralKeys`].
    pub fn whole(self) -> Result<Self, Error> {
        if self.unusable_entries > 0 {
            return Err(Error::Incomplete { entries: self.unusable_entries, names: self.unusable });
        }
        self.refuse_several()?;
        Ok(self)
    }

    /// Fails if a name has different keys.
    ///
    /// # Errors
    /// [`Error::SeveralKeys`].
    pub fn refuse_several(&self) -> Result<(), Error> {
        let several = self.repeated.iter().filter(|key| !key.is_same);
        let names: Vec<String> = several.map(|key| key.name.clone()).collect();
        if names.is_empty() { Ok(()) } else { Err(Error::SeveralKeys { names }) }
    }

    /// Keys that the service no longer has.
    #[must_use]
    pub fn withdrawn(&self) -> &[WithdrawnKey] {
        &self.withdrawn
    }

    /// The keys that the store names, but does not give.
    #[must_use]
    pub fn lost(&self) -> LostKeys {
        LostKeys::new(&self.withdrawn, &self.unusable)
    }

    /// Keys that the service calls compromised. They can be used.
    #[must_use]
    pub fn compromised(&self) -> &[CompromisedKey] {
        &self.compromised
    }

    /// Names of secrets in the directory of the Vault that are not the names of keys.
    #[must_use]
    pub fn other_secrets(&self) -> &[String] {
        &self.other_secrets
    }

    /// Whether all keys are locked against swapping.
    #[must_use]
    pub const fn locked(&self) -> bool {
        !self.unlocked
    }
}

/// The error for damage to the whole file.
const fn damage_error(damage: &Damage) -> Error {
    match damage {
        Damage::Checksum => Error::Checksum,
        Damage::Malformed { at } => Error::Malformed { offset: *at },
        Damage::UnknownVersion => Error::UnknownVersion,
        _ => Error::Truncated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::InvalidReason;

    #[test]
    fn name_and_user_together_are_the_identity() {
        let element = |user, id, byte: &str| {
            let data = byte.repeat(32);
            format!(r#"{{"user":"{user}","data_id":"{id}","data_type":"AES","data":"{data}","extension":[]}}"#)
        };
        let elements = [
            element("u@h", "INNODBKey-x-1", "aa"),
            element("", "INNODBKey-x-1", "bb"),
            element("", "INNODBKey-x-1", "cc"),
            element("", "", "dd"),
        ];
        let text = format!(r#"{{"version":"1.0","elements":[{}]}}"#, elements.join(","));
        let keyring = MysqlKeyring::load(text.as_bytes()).unwrap();
        assert_eq!(keyring.get("INNODBKey-x-1").unwrap().as_bytes(), [0xbb; 32]);
        assert_eq!(keyring.for_user("INNODBKey-x-1", "u@h").unwrap().as_bytes(), [0xaa; 32]);
        assert!(keyring.for_user("INNODBKey-x-1", "v@h").is_none());
        assert_eq!(keyring.names().collect::<Vec<_>>(), ["INNODBKey-x-1"]);
        let unnamed = Damage::InvalidElement { index: 3, reason: InvalidReason::Id };
        assert_eq!(keyring.damage(), [unnamed, Damage::Duplicate { id: "INNODBKey-x-1".to_owned() }]);
        assert_eq!((keyring.unusable_entries(), keyring.unusable()), (1, &[][..]));
    }

    #[test]
    fn a_copy_may_leave_out_a_repeated_key_but_none_of_two_different_ones() {
        let element = |user: &str, byte: &str| {
            let data = byte.repeat(32);
            format!(r#"{{"user":"{user}","data_id":"k","data_type":"AES","data":"{data}","extension":[]}}"#)
        };
        let load = |elements: &[String]| {
            let text = format!(r#"{{"version":"1.0","elements":[{}]}}"#, elements.join(","));
            MysqlKeyring::load(text.as_bytes()).unwrap()
        };
        let [one, of_user, other] = [element("", "aa"), element("u@h", "bb"), element("", "cc")];
        let same = load(&[one.clone(), of_user.clone(), one.clone(), one.clone()]);
        let repeated = |is_same| RepeatedKey { name: "k".to_owned(), user: String::new(), is_same };
        assert_eq!((same.repeated(), same.unusable_entries()), (&[repeated(true)][..], 0));
        let plugin = MysqlKeyring::load(&same.as_plugin_file().unwrap()).unwrap();
        assert_eq!(plugin.for_user("k", "u@h").unwrap().as_bytes(), [0xbb; 32]);
        assert_eq!((plugin.stored().len(), plugin.damage()), (2, &[][..]));
        assert_eq!(same.whole().unwrap().stored().len(), 2);
        let several = load(&[one.clone(), of_user, one, other]);
        assert_eq!(several.repeated(), [repeated(false)]);
        assert!(matches!(several.whole(), Err(Error::SeveralKeys { names }) if names == ["k"]));
    }
}
