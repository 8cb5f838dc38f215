//! The keys of a MariaDB key file.

use std::collections::BTreeMap;

use zeroize::Zeroizing;

use crate::{
    error::KeyringError,
    key::{Arena, Key},
    mariadb_file::{KeyLine, Line, SYSTEM_KEY, lines},
    salted::{Derivation, Salted},
    store::{Damage, InvalidReason, StoreKind, kind_of},
};

/// What the server reads of a key file.
const MAX_FILE_BYTES: usize = 1 << 20;
/// What the server takes as password.
const MAX_PASSWORD_BYTES: usize = 256;

/// The keys of `file_key_management`.
///
/// Source: formats, "Key files (file_key_management)", confirmed on MariaDB 10.11; how lines are read in
/// detail, and that the last of two keys of one number counts, from the plug-in's source.
#[derive(Debug)]
pub struct MariaDbKeys {
    keys: BTreeMap<(u32, u32), Key>,
    damage: Vec<Damage>,
    derivation: Option<Derivation>,
    locked: bool,
}

impl MariaDbKeys {
    /// Reads a key file, plain or encrypted, all bytes of which are given and stay the caller's to wipe.
    ///
    /// `password` is the content of the password file, with or without its line end; a plain file needs
    /// none and ignores it. How the key is derived from it is found by trying: the server's default
    /// first, PBKDF2 with many rounds last, which can take seconds. [`Self::load_derived`] does not.
    ///
    /// # Errors
    /// [`KeyringError::WrongKind`] and [`KeyringError::NoKeyLine`] for anything else;
    /// [`KeyringError::NeedsPassword`], [`KeyringError::PasswordTooLong`] and
    /// [`KeyringError::WrongPassword`]; [`KeyringError::InvalidLine`], [`KeyringError::Truncated`] and
    /// [`KeyringError::TooLarge`] for files that the server refuses, too.
    pub fn load(bytes: &[u8], password: Option<&[u8]>) -> Result<Self, KeyringError> {
        Self::load_with(bytes, password, None)
    }

    /// Reads a key file whose key is derived from the password in a known way.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn load_derived(bytes: &[u8], password: Option<&[u8]>, derivation: Derivation) -> Result<Self, KeyringError> {
        Self::load_with(bytes, password, Some(derivation))
    }

    fn load_with(bytes: &[u8], password: Option<&[u8]>, derivation: Option<Derivation>) -> Result<Self, KeyringError> {
        let kind = match kind_of(bytes) {
            // Perhaps a key file whose first line is damaged.
            Err(KeyringError::NotRecognised) => StoreKind::MariaDbPlain,
            kind => kind?,
        };
        if bytes.len() > MAX_FILE_BYTES {
            return Err(KeyringError::TooLarge { limit: 1 << 20 });
        }
        match kind {
            StoreKind::MariaDbPlain => Self::keep(bytes, None),
            StoreKind::OpensslSalted => {
                let (clear, derivation) = opened(bytes, password, derivation)?;
                Self::keep(&clear, Some(derivation))
            }
            kind => Err(KeyringError::WrongKind { kind }),
        }
    }

    fn keep(text: &[u8], derivation: Option<Derivation>) -> Result<Self, KeyringError> {
        let found = key_lines(text)?;
        let hexes = || found.iter().filter_map(|line| Some((line, line.hex().ok()?)));
        let bytes = hexes().fold(0, |sum: usize, (_, hex)| sum.saturating_add(hex.bytes()));
        let mut arena = Arena::new(bytes)?;
        let mut slots = Vec::new();
        for (line, hex) in hexes() {
            if let Some((slot, room)) = arena.room(hex.bytes()) {
                hex.decode(room);
                slots.push(((line.id, line.version), slot));
            }
        }
        let frozen = arena.freeze();
        let mut damage = Vec::new();
        let mut keys = BTreeMap::new();
        for (id, slot) in slots {
            if keys.insert(id, frozen.key(slot)).is_some() {
                damage.push(Damage::Duplicate { id: id.0.to_string() });
            }
        }
        if !keys.keys().any(|(id, _)| *id == SYSTEM_KEY) {
            damage.push(Damage::NoSystemKey);
        }
        Ok(Self { keys, damage, derivation, locked: frozen.is_locked() })
    }

    /// Version `version` of key `id`. Lines that name no version are version 1.
    #[must_use]
    pub fn get(&self, id: u32, version: u32) -> Option<&Key> {
        self.keys.get(&(id, version))
    }

    /// Numbers and versions of all keys, ascending.
    pub fn ids(&self) -> impl Iterator<Item = (u32, u32)> {
        self.keys.keys().copied()
    }

    /// Keys that stand there twice, of which the last counts, and that key 1 is missing: the server
    /// then refuses the file.
    #[must_use]
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// How the password opened the file; `None` if it was not encrypted.
    #[must_use]
    pub const fn derivation(&self) -> Option<Derivation> {
        self.derivation
    }

    /// Whether the system keeps all keys out of swap.
    #[must_use]
    pub const fn locked(&self) -> bool {
        self.locked
    }
}

/// All lines with keys, if there is one and none is invalid.
fn key_lines(text: &[u8]) -> Result<Vec<KeyLine<'_>>, KeyringError> {
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
        invalid.get_or_insert(KeyringError::InvalidLine { line, reason });
    }
    match invalid {
        _ if found.is_empty() => Err(KeyringError::NoKeyLine),
        Some(error) => Err(error),
        None => Ok(found),
    }
}

fn opened(
    bytes: &[u8],
    password: Option<&[u8]>,
    derivation: Option<Derivation>,
) -> Result<(Zeroizing<Vec<u8>>, Derivation), KeyringError> {
    let password = password_of(password.ok_or(KeyringError::NeedsPassword)?)?;
    let salted = Salted::new(bytes, password)?;
    let found = match derivation {
        Some(derivation) => salted.open(derivation, is_text).map(|clear| (clear, derivation)),
        None => salted.search(is_text),
    };
    found.ok_or(KeyringError::WrongPassword)
}

/// The part of a password file that the server takes.
fn password_of(bytes: &[u8]) -> Result<&[u8], KeyringError> {
    let end = bytes.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')).map_or(0, |last| last.saturating_add(1));
    let password = bytes.get(..end).unwrap_or_default();
    if password.len() > MAX_PASSWORD_BYTES {
        return Err(KeyringError::PasswordTooLong { limit: MAX_PASSWORD_BYTES });
    }
    Ok(password.split(|byte| *byte == 0).next().unwrap_or_default())
}

/// Whether these are the lines of a key file, of which some may be damaged, and not what a wrong
/// password gives.
fn is_text(clear: &[u8]) -> bool {
    let control = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    let mut keys = lines(clear).filter(|(_, line)| matches!(line, Line::Key(key) if key.hex().is_ok()));
    !clear.iter().take(16).any(control) && keys.next().is_some()
}
