//! The key of one MySQL log, for transfer to a host that encrypts the log again.

use std::fmt;

use aws_lc_rs::digest::{SHA512, digest};
use zeroize::Zeroizing;

use super::{MySqlHeader, MySqlStream, PASSWORD_BYTES};
use crate::{
    binlog::{MAGIC_CLEAR, MAGIC_ENCRYPTED, MYSQL_HEADER_BYTES},
    bytes::Bytes,
    crypt::aes::{Aes, CipherFault},
    keys::{KeySource, MASTER_KEY_BYTES},
};

/// Key of the stream, then the first half of its counter blocks. Wiped on drop.
#[derive(Clone)]
pub struct StreamKey {
    key_and_start: Zeroizing<[u8; Self::BYTES]>,
}

impl StreamKey {
    /// Length: a key of 32 bytes and 8 bytes of the counter.
    pub const BYTES: usize = 40;

    /// The key of an encrypted log, if `keys` has the master key and the decrypted log starts with
    /// a log's magic. `log` is the start of the file. If the bytes after its header are already
    /// decrypted, the key cannot be tested and is returned untested.
    #[must_use]
    pub fn from_log(log: &[u8], keys: &dyn KeySource) -> Option<Self> {
        if !log.starts_with(MAGIC_ENCRYPTED) {
            return None;
        }
        let header = MySqlHeader::parse(log).ok()?;
        let key = Self::derive(&*header.password_of(keys)?).ok()?;
        let is_decrypted = log.range(MYSQL_HEADER_BYTES, log.len()).starts_with(MAGIC_CLEAR);
        (is_decrypted || key.decrypts(log).ok()??).then_some(key)
    }

    /// Whether the decrypted stream starts with a log's magic; `None` if the file ends with the
    /// header.
    pub(crate) fn decrypts(&self, log: &[u8]) -> Result<Option<bool>, CipherFault> {
        let Some(mut magic) = log.array_at::<4>(MYSQL_HEADER_BYTES) else { return Ok(None) };
        self.stream()?.apply(0, &mut magic)?;
        Ok(Some(magic == MAGIC_CLEAR))
    }

    /// Restores a key from [`Self::expose`].
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        Self { key_and_start: Zeroizing::new(*bytes) }
    }

    /// The secret key bytes, for sending to another host.
    #[must_use]
    pub fn expose(&self) -> &[u8; Self::BYTES] {
        &self.key_and_start
    }

    /// Derives the key: the first bytes of the password's SHA-512.
    pub(crate) fn derive(password: &[u8; PASSWORD_BYTES]) -> Result<Self, CipherFault> {
        let hash = digest(&SHA512, password);
        Ok(Self { key_and_start: Zeroizing::new(hash.as_ref().array_at(0).ok_or(CipherFault)?) })
    }

    /// Prepares encryption and decryption.
    ///
    /// # Errors
    /// [`CipherFault`], never in practice.
    pub fn stream(&self) -> Result<MySqlStream, CipherFault> {
        let (key, start) = self.key_and_start.split_at(MASTER_KEY_BYTES);
        let start = *start.first_chunk().ok_or(CipherFault)?;
        Ok(MySqlStream { key: Aes::new(key).map_err(|_| CipherFault)?, start })
    }
}

impl fmt::Debug for StreamKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StreamKey")
    }
}

impl MySqlHeader {
    /// Unwraps the password and derives the log's key, see [`Self::unwrap`].
    ///
    /// # Errors
    /// [`CipherFault`], never in practice.
    pub fn stream_key(&self, master_key: &[u8; MASTER_KEY_BYTES]) -> Result<StreamKey, CipherFault> {
        StreamKey::derive(&*self.password(master_key)?)
    }
}
