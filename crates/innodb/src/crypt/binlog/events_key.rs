//! The key of one MariaDB log, for one who hands it to where the log is sealed again.

use std::fmt;

use zeroize::Zeroizing;

use super::{EventMode, MariaDbEvents, NONCE_BYTES};
use crate::{
    binlog::{EVENT_HEADER_BYTES, EventHeader, FORMAT_DESCRIPTION, MAGIC_CLEAR, START_ENCRYPTION},
    bytes::{Bytes, as_usize},
    crypt::aes::KeyLength,
    ids::KeyVersion,
    keys::KeySource,
};

/// Key and nonce of a log. The key is that of the key file itself, which opens all that it was ever
/// used for: MariaDB derives none for the log. Wiped on drop.
#[derive(Clone)]
pub struct EventsKey {
    nonce: [u8; NONCE_BYTES],
    key: Zeroizing<Vec<u8>>,
}

impl EventsKey {
    /// Number in the key file of the key for logs.
    const KEY_ID: u32 = 1;

    /// The key of an encrypted log, from the beginning of the file, if the key source has it. Whether
    /// it opens anything shows in the events.
    #[must_use]
    pub fn of(log: &[u8], keys: &dyn KeySource) -> Option<Self> {
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
        Self::new(nonce, &keys.mariadb(Self::KEY_ID, version)?).ok()
    }

    /// From the parts that [`Self::nonce`] and [`Self::expose`] gave.
    ///
    /// # Errors
    /// [`KeyLength`] if the key has not 16, 24 or 32 bytes.
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

    /// The key, for one who sends it where it is needed.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.key
    }

    /// Ready to open and seal.
    ///
    /// # Errors
    /// [`KeyLength`], never seen.
    pub fn events(&self, mode: EventMode) -> Result<MariaDbEvents, KeyLength> {
        MariaDbEvents::new(&self.key, self.nonce, mode)
    }
}

impl fmt::Debug for EventsKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventsKey")
    }
}
