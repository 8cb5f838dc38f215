//! The key of one MariaDB log, for transfer to a host that encrypts the log again.

use std::fmt;

use zeroize::Zeroizing;

use super::{EventMode, MariaDbEvents, NONCE_BYTES};
use crate::{
    binlog::{EVENT_HEADER_BYTES, EventHeader, FORMAT_DESCRIPTION, MAGIC_CLEAR, START_ENCRYPTION},
    bytes::{Bytes, as_usize},
    crypt::aes::KeyLength,
    ids::KeyVersion,
    keys::{KeySource, MARIADB_SYSTEM_KEY},
};

/// Key and nonce of one log. MariaDB derives no key per log: this is the key of the key file itself,
/// which decrypts everything that was ever encrypted with it. Wiped on drop.
#[derive(Clone)]
pub struct EventsKey {
    nonce: [u8; NONCE_BYTES],
    key: Zeroizing<Vec<u8>>,
}

impl EventsKey {
    /// The key of an encrypted log, if `keys` has it. `log` is the start of the file. Whether the
    /// key is the right one shows only in the decrypted events.
    #[must_use]
    pub fn from_log(log: &[u8], keys: &dyn KeySource) -> Option<Self> {
        const SCHEME: u8 = 1;
        let events = log.strip_prefix(MAGIC_CLEAR)?;
        let description = EventHeader::parse(events).filter(|event| event.kind == FORMAT_DESCRIPTION)?;
        let start = events.get(as_usize(u64::from(description.bytes))..)?;
        EventHeader::parse(start).filter(|event| event.kind == START_ENCRYPTION)?;
        let body = start.range(EVENT_HEADER_BYTES, start.len());
        let [scheme] = body.array_at(0)?;
        let (version, nonce) = (KeyVersion(body.le32(1)?), body.array_at(5)?);
        if scheme != SCHEME {
            return None;
        }
        Self::new(nonce, &keys.mariadb(MARIADB_SYSTEM_KEY, version)?).ok()
    }

    /// Restores a key from [`Self::nonce`] and [`Self::expose`].
    ///
    /// # Errors
    /// [`KeyLength`] unless the key has 16, 24 or 32 bytes.
    pub fn new(nonce: [u8; NONCE_BYTES], key: &[u8]) -> Result<Self, KeyLength> {
        if !matches!(key.len(), 16 | 24 | 32) {
            return Err(KeyLength);
        }
        Ok(Self { nonce, key: Zeroizing::new(key.to_vec()) })
    }

    /// The nonce of the log, which is no secret.
    #[must_use]
    pub const fn nonce(&self) -> &[u8; NONCE_BYTES] {
        &self.nonce
    }

    /// The secret key bytes, for sending to another host.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.key
    }

    /// Prepares encryption and decryption.
    ///
    /// # Errors
    /// [`KeyLength`], never in practice.
    pub fn events(&self, mode: EventMode) -> Result<MariaDbEvents, KeyLength> {
        MariaDbEvents::new(&self.key, self.nonce, mode)
    }
}

impl fmt::Debug for EventsKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventsKey")
    }
}
