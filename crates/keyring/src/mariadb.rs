//! The keys of a MariaDB key file.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use data_encoding::HEXLOWER;
use innodb::keys::MARIADB_SYSTEM_KEY;
use keyservice::Withdrawn;
use zeroize::Zeroizing;

use crate::{
    error::Error,
    key::{Arena, Key},
    kms_source::{self, KmsSource, NOT_WRAPPED},
    lost_keys::LostKeys,
    mariadb_file::{KeyLine, Line, key_digits, lines},
    mariadb_service::{MariaDbService, mariadb_service},
    openssl_enc::{Derivation, OpensslFile},
    record::Material,
    service::{self, Versions, version_name},
    store::kind_of,
    summary::{Damage, InvalidReason, StoreKind},
    vault_source::{self, VaultSource},
    withdrawn_key::WithdrawnKey,
};

/// Maximum length of a key file; the server reads no more of it.
const MAX_FILE_BYTES: usize = 1 << 20;
/// Maximum length of a password that the server accepts, in bytes.
const MAX_PASSWORD_BYTES: usize = 256;

/// The keys of `file_key_management`.
///
/// Source: docs/formats, "MariaDB key file"; confirmed on MariaDB 10.11. From the plug-in's source: the details of
/// parsing lines, and that the last of several keys with one number counts.
#[derive(Debug)]
pub struct MariaDbKeys {
    keys: BTreeMap<(u32, u32), Key>,
    damage: Vec<Damage>,
    unusable: Vec<String>,
    withdrawn: Vec<WithdrawnKey>,
    derivation: Option<Derivation>,
    locked: bool,
}

impl MariaDbKeys {
    /// Parses a key file, plain or encrypted. The caller wipes `bytes`.
    ///
    /// `password` is the content of the password file, with or without its line end; a plain file ignores it. The key
    /// derivation is found by trial: the server's default first, PBKDF2 last, which can take seconds.
    /// [`Self::load_derived`] avoids the trial.
    ///
    /// # Errors
    /// [`Error::WrongKind`] and [`Error::NoKeyLine`] for other files; [`Error::NeedsPassword`],
    /// [`Error::PasswordTooLong`] and [`Error::WrongPassword`]; [`Error::InvalidLine`],
    /// [`Error::Truncated`] and [`Error::TooLarge`] for files that the server refuses, too.
    pub fn load(bytes: &[u8], password: Option<&[u8]>) -> Result<Self, Error> {
        Self::load_with(bytes, password, None)
    }

    /// Parses a key file with a known key derivation.
    ///
    /// # Errors
    /// Those of [`Self::load`].
    pub fn load_derived(bytes: &[u8], password: Option<&[u8]>, derivation: Derivation) -> Result<Self, Error> {
        Self::load_with(bytes, password, Some(derivation))
    }

    fn load_with(bytes: &[u8], password: Option<&[u8]>, derivation: Option<Derivation>) -> Result<Self, Error> {
        let kind = match kind_of(bytes) {
            // It may be a key file whose first line is damaged.
            Err(Error::NotRecognised) => StoreKind::MariaDbPlain,
            kind => kind?,
        };
        if bytes.len() > MAX_FILE_BYTES {
            return Err(Error::TooLarge { limit: 1 << 20 });
        }
        match kind {
            StoreKind::MariaDbPlain => Self::from_text(bytes, None),
            StoreKind::VaultConfig | StoreKind::KmipConfig | StoreKind::KmsConfig => Err(Error::OfMySql),
            StoreKind::OpensslSalted => {
                let (clear, derivation) = decrypt(bytes, password, derivation)?;
                Self::from_text(&clear, Some(derivation))
            }
            kind => Err(Error::WrongKind { kind }),
        }
    }

    /// As [`Self::load`]; an option file with the variables of `hashicorp_key_management` or `aws_key_management` is
    /// accepted too, and the keys are fetched from the Vault, or decrypted by AWS KMS.
    ///
    /// # Errors
    /// Those of [`Self::load`]; [`Error::TwoServices`], [`Error::VaultConfig`], [`Error::Service`],
    /// [`Error::MayNotList`], [`Error::NoKeysInVault`] and [`Error::Vanished`].
    pub fn open(bytes: &[u8], password: Option<&[u8]>) -> Result<Self, Error> {
        match mariadb_service(bytes)? {
            None => Self::load(bytes, password),
            Some(MariaDbService::Kms) => Self::from_kms(&kms_source::mariadb(bytes)?),
            Some(MariaDbService::Vault) => Self::from_vault(&vault_source::mariadb(bytes)?),
        }
    }

    /// Fetches keys from a Vault.
    fn from_vault(source: &VaultSource) -> Result<Self, Error> {
        let fetched = service::mariadb(source)?;
        let (mut found, mut damage, mut unusable) = (Vec::new(), Vec::new(), Vec::new());
        for ((id, version), answer) in &fetched.answers {
            match answer.text("data").map_err(|_| InvalidReason::Data).and_then(|text| key_digits(text.as_bytes())) {
                Ok(hex) => found.push(((*id, *version), Material::Hex(hex))),
                Err(reason) => {
                    damage.push(Damage::InvalidElement { index: u64::from(*id), reason });
                    unusable.push(version_name(*id, *version));
                }
            }
        }
        let keys = Self::from_materials(&found, damage)?;
        Ok(Self { withdrawn: fetched.withdrawn, unusable, ..keys })
    }

    /// Reads keys that AWS KMS decrypts.
    fn from_kms(source: &KmsSource) -> Result<Self, Error> {
        let keys = source.mariadb_keys()?;
        let (mut found, mut damage, mut unusable) = (Vec::new(), Vec::new(), Vec::new());
        for ((id, version), key) in &keys {
            let (reason, why) = match key {
                Ok(key) if matches!(key.len(), 16 | 24 | 32) => {
                    found.push(((*id, *version), Material::Plain(key)));
                    continue;
                }
                Ok(_) => (InvalidReason::Length, " (its length is not that of a key)"),
                Err(_) => (InvalidReason::Data, NOT_WRAPPED),
            };
            damage.push(Damage::InvalidElement { index: u64::from(*id), reason });
            unusable.push(format!("{}{why}", version_name(*id, *version)));
        }
        Ok(Self { unusable, ..Self::from_materials(&found, damage)? })
    }

    fn from_text(text: &[u8], derivation: Option<Derivation>) -> Result<Self, Error> {
        let lines = key_lines(text)?;
        let found: Vec<_> =
            lines.iter().filter_map(|line| Some(((line.id, line.version), Material::Hex(line.hex().ok()?)))).collect();
        let mut keys = Self::from_materials(&found, Vec::new())?;
        // Only `file_key_management` refuses to start without it.
        if !keys.keys.keys().any(|(id, _)| *id == MARIADB_SYSTEM_KEY) {
            keys.damage.push(Damage::NoSystemKey);
        }
        Ok(Self { derivation, ..keys })
    }

    fn from_materials(found: &[((u32, u32), Material<'_>)], mut damage: Vec<Damage>) -> Result<Self, Error> {
        let bytes = found.iter().fold(0, |sum: usize, (_, material)| sum.saturating_add(material.bytes()));
        let mut arena = Arena::new(bytes)?;
        let mut slots = Vec::new();
        for (id, material) in found {
            if let Some((slot, memory)) = arena.allocate(material.bytes()) {
                material.write(memory);
                slots.push((*id, slot));
            }
        }
        let frozen = arena.freeze();
        let mut keys = BTreeMap::new();
        for (id, slot) in slots {
            if keys.insert(id, frozen.key(slot)).is_some() {
                damage.push(Damage::Duplicate { id: id.0.to_string() });
            }
        }
        Ok(Self {
            keys,
            damage,
            unusable: Vec::new(),
            withdrawn: Vec::new(),
            derivation: None,
            locked: frozen.is_locked(),
        })
    }

    /// Writes a new random version of key `id` into the Vault that this option file names. It succeeds the newest
    /// version and has the same length.
    ///
    /// # Errors
    /// [`Error::VaultConfig`], [`Error::Service`], [`Error::Cipher`]; [`Error::Vanished`] if there is no such key;
    /// [`Error::NewestWithdrawn`]; [`Error::VersionWouldBeLost`] and [`Error::VersionMayBeLost`].
    pub fn add_version(&self, option_file: &[u8], id: u32) -> Result<(), Error> {
        if mariadb_service(option_file)? == Some(MariaDbService::Kms) {
            return Err(Error::KmsIsReadOnly);
        }
        let newest = self.newest_version(id).and_then(|version| Some((version, self.get(id, version)?)));
        let (newest, key) = newest.ok_or_else(|| Error::Vanished { name: format!("key {id}") })?;
        let next = version_name(id, newest.saturating_add(1));
        if let Some(gone) = self.withdrawn.iter().find(|gone| gone.name == next) {
            return Err(Error::NewestWithdrawn { key: gone.to_string() });
        }
        let versions = self.versions(id, newest);
        service::add_mariadb_version(&vault_source::mariadb(option_file)?, &versions, key)
    }

    /// The versions of a key up to `newest`, of which a new one must remove none.
    fn versions(&self, id: u32, newest: u32) -> Versions {
        // A deleted version can be restored until the Vault removes it.
        let deleted = self.withdrawn.iter().filter(|gone| matches!(gone.how, Withdrawn::Deleted { .. }));
        let deleted: BTreeSet<&str> = deleted.map(|gone| gone.name.as_str()).collect();
        let is_restorable = |version| deleted.contains(version_name(id, version).as_str());
        let is_there = |version: &u32| self.get(id, *version).is_some() || is_restorable(*version);
        let there = (1..=newest).filter(is_there).collect();
        // The Vault removes the oldest versions first.
        let first = version_name(id, 1);
        let some_not_kept = self.withdrawn.iter().any(|gone| gone.how == Withdrawn::NotKept && gone.name == first);
        Versions { id, there, some_not_kept }
    }

    /// The newest version of key `id`.
    #[must_use]
    pub fn newest_version(&self, id: u32) -> Option<u32> {
        self.keys.range((id, 0)..=(id, u32::MAX)).next_back().map(|((_, version), _)| *version)
    }

    /// The keys as the text of a key file, which [`load`](Self::load) reads, to back up the keys of a service. A server
    /// reads it if all keys have version 1, which is not written.
    #[must_use]
    pub fn as_key_file(&self) -> Zeroizing<Vec<u8>> {
        /// More bytes than number, version, separators and line end have together.
        const REST: usize = 32;
        let bytes = self.keys.values().map(|key| key.as_bytes().len().saturating_mul(2).saturating_add(REST));
        // Allocated once: reallocation would leave keys in memory.
        let mut text = Zeroizing::new(String::with_capacity(bytes.fold(0, usize::saturating_add)));
        for ((id, version), key) in &self.keys {
            let _ = if *version == 1 { write!(text, "{id};") } else { write!(text, "{id};{version};") };
            HEXLOWER.encode_append(key.as_bytes(), &mut text);
            text.push('\n');
        }
        Zeroizing::new(text.as_bytes().to_vec())
    }

    /// Version `version` of key `id`. Lines without a version are version 1.
    #[must_use]
    pub fn get(&self, id: u32, version: u32) -> Option<&Key> {
        self.keys.get(&(id, version))
    }

    /// Ids and versions of all keys, ascending.
    pub fn ids(&self) -> impl Iterator<Item = (u32, u32)> {
        self.keys.keys().copied()
    }

    /// Keys that occur twice, of which the last counts; and a missing key 1, which makes the server refuse the file.
    #[must_use]
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// The keys, if none was omitted: a copy of them would lose it.
    ///
    /// # Errors
    /// [`Error::Incomplete`].
    pub fn whole(self) -> Result<Self, Error> {
        match self.unusable.len() {
            0 => Ok(self),
            entries => Err(Error::Incomplete { entries, names: self.unusable }),
        }
    }

    /// Names of the keys of a service that were omitted.
    #[must_use]
    pub fn unusable(&self) -> &[String] {
        &self.unusable
    }

    /// Versions of keys that the Vault no longer has.
    #[must_use]
    pub fn withdrawn(&self) -> &[WithdrawnKey] {
        &self.withdrawn
    }

    /// The keys that the store names, but does not give.
    #[must_use]
    pub fn lost(&self) -> LostKeys {
        LostKeys::new(&self.withdrawn, &self.unusable)
    }

    /// The newest of the versions of key `id` that the Vault no longer has.
    #[must_use]
    pub fn newest_withdrawn(&self, id: u32) -> Option<&WithdrawnKey> {
        let of_key = version_name(id, 0);
        let of_key = of_key.trim_end_matches('0');
        // They are fetched from the newest to the oldest.
        self.withdrawn.iter().find(|gone| gone.name.starts_with(of_key))
    }

    /// The derivation that opened the file; `None` if it is not encrypted.
    #[must_use]
    pub const fn derivation(&self) -> Option<Derivation> {
        self.derivation
    }

    /// Whether all keys are locked against swapping.
    #[must_use]
    pub const fn locked(&self) -> bool {
        self.locked
    }
}

/// All lines with keys; an error if there are none, or one is invalid.
fn key_lines(text: &[u8]) -> Result<Vec<KeyLine<'_>>, Error> {
    let mut found = Vec::new();
    let mut invalid = None;
    for (line, parsed) in lines(text) {
        let reason = match parsed {
            Line::Blank => continue,
            Line::Other => InvalidReason::Id,
            Line::Key(key) => match key.hex() {
                Ok(_) => {
                    found.push(key);
                    continue;
                }
                Err(reason) => reason,
            },
        };
        invalid.get_or_insert(Error::InvalidLine { line, reason });
    }
    match invalid {
        _ if found.is_empty() => Err(Error::NoKeyLine),
        Some(error) => Err(error),
        None => Ok(found),
    }
}

fn decrypt(
    bytes: &[u8],
    password: Option<&[u8]>,
    derivation: Option<Derivation>,
) -> Result<(Zeroizing<Vec<u8>>, Derivation), Error> {
    let password = server_password(password.ok_or(Error::NeedsPassword)?)?;
    let file = OpensslFile::new(bytes, password)?;
    let found = match derivation {
        Some(derivation) => file.decrypt(derivation, is_text).map(|clear| (clear, derivation)),
        None => file.search(is_text),
    };
    found.ok_or(Error::WrongPassword)
}

/// The part of a password file that the server uses.
fn server_password(bytes: &[u8]) -> Result<&[u8], Error> {
    let end = bytes.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')).map_or(0, |last| last.saturating_add(1));
    let password = bytes.get(..end).unwrap_or_default();
    if password.len() > MAX_PASSWORD_BYTES {
        return Err(Error::PasswordTooLong { limit: MAX_PASSWORD_BYTES });
    }
    Ok(password.split(|byte| *byte == 0).next().unwrap_or_default())
}

/// Whether decrypted bytes are the text of a key file, possibly damaged, and not the result of a wrong password.
fn is_text(clear: &[u8]) -> bool {
    let control = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    let mut keys = lines(clear).filter(|(_, line)| matches!(line, Line::Key(key) if key.hex().is_ok()));
    !clear.iter().take(16).any(control) && keys.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::withdrawn_key::KeyService;

    #[test]
    fn only_a_key_file_lacks_key_1() {
        let text = format!("2;{}\n", "5a".repeat(16));
        assert_eq!(MariaDbKeys::load(text.as_bytes(), None).unwrap().damage(), [Damage::NoSystemKey]);
        let of_service = MariaDbKeys::from_materials(&[((2, 1), Material::Plain(&[0x5a; 16]))], Vec::new()).unwrap();
        assert_eq!((of_service.keys.len(), of_service.damage()), (1, &[][..]));
    }

    #[test]
    fn a_deleted_version_counts_until_it_is_destroyed() {
        let mut keys = MariaDbKeys::load(format!("1;{}\n", "5a".repeat(16)).as_bytes(), None).unwrap();
        let key = keys.keys.remove(&(1, 1)).unwrap();
        keys.keys.insert((1, 4), key);
        let gone = |id, version, how| WithdrawnKey {
            service: KeyService::Vault,
            name: version_name(id, version),
            user: String::new(),
            path: format!("mariadb/{id}"),
            how,
        };
        let deleted = || Withdrawn::Deleted { time: "2026-11-26T01:00:00Z".to_owned() };
        keys.withdrawn = vec![
            gone(1, 3, Withdrawn::Destroyed),
            gone(1, 2, deleted()),
            gone(2, 1, deleted()),
            gone(1, 1, Withdrawn::NotKept),
        ];
        let newest = |id| keys.newest_withdrawn(id).map(|gone| gone.name.as_str());
        assert_eq!((newest(1), newest(2), newest(3)), (Some("key 1 version 3"), Some("key 2 version 1"), None));
        assert_eq!(keys.versions(1, 4), Versions { id: 1, there: vec![2, 4], some_not_kept: true });
    }
}
