//! The key of a tablespace: wrapped in page 0 or in an export file, and unwrapped.

use std::fmt;

use zeroize::Zeroizing;

use super::page::{PageCipher, PageEncryptor};
use crate::{
    bytes::Bytes,
    crypt::{
        aes::{Aes, BLOCK, CipherFault},
        multi_buffer::MultiBufferCbc,
    },
    ids::MasterKeyId,
    keys::{KeySource, MASTER_KEY_BYTES, MasterKey, master_key_name},
    page::checksum::crc32c,
    tablespace::{Encryption, MySqlMagic},
};

/// Bytes of a tablespace's key and initialisation vector.
const KEY_AND_IV_BYTES: usize = 64;

/// The encryption information of page 0 or of a redo log's header, with the key still wrapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrappedKey {
    /// Version of the information.
    pub magic: MySqlMagic,
    /// Number of the master key; 0 is the public bootstrap key.
    pub master_key_id: MasterKeyId,
    /// Server uuid in the master key's name. `None` in `lCA`, and if it is not a uuid (damage).
    pub server_uuid: Option<String>,
    wrapped: [u8; KEY_AND_IV_BYTES],
    checksum: u32,
}

/// Why a key cannot be unwrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnwrapFault {
    /// No key store was given.
    #[error("no keyring was given")]
    NoStore,
    /// The keyring has no key of that name.
    #[error("the keyring has no such key")]
    Missing,
    /// The checksum of the unwrapped key does not match: wrong master key.
    #[error("the master key does not unwrap it")]
    Wrong,
    /// The cipher library failed.
    #[error(transparent)]
    Cipher(#[from] CipherFault),
}

impl WrappedKey {
    /// Parses the information; `info` starts with the magic.
    #[must_use]
    pub fn parse(info: &[u8]) -> Option<Self> {
        let (magic, master_key_id, server_uuid) = Encryption::mysql_names(info)?;
        let at = wrapped_at(info, magic)?;
        let wrapped = info.array_at(at)?;
        let checksum = info.be32(at.checked_add(KEY_AND_IV_BYTES)?)?;
        Some(Self { magic, master_key_id, server_uuid, wrapped, checksum })
    }

    /// Wraps `key` with another master key, in place. `info` must have a version that names the server
    /// of its master key. The magic stays, and so does the checksum, which is that of the clear key.
    ///
    /// # Errors
    /// [`CipherFault`], never in practice with information that [`Self::parse`] accepts; `info` is then
    /// unchanged.
    pub(crate) fn rewrap(info: &mut [u8], key: &TablespaceKey, master: &MasterKey) -> Result<(), CipherFault> {
        let (magic, ..) = Encryption::mysql_names(info).ok_or(CipherFault)?;
        let at = wrapped_at(info, magic).ok_or(CipherFault)?;
        let mut wrapped = *key.key_and_iv;
        Aes::new(master.key.as_slice()).map_err(|_| CipherFault)?.ecb_encrypt(&mut wrapped)?;
        let uuid_at = at.checked_sub(UUID_BYTES).ok_or(CipherFault)?;
        let end = at.checked_add(KEY_AND_IV_BYTES).ok_or(CipherFault)?;
        let room = info.get_mut(MASTER_KEY_ID..end).ok_or(CipherFault)?;
        let (number, room) = room.split_first_chunk_mut().ok_or(CipherFault)?;
        *number = master.number.to_be_bytes();
        let names = room.get_mut(uuid_at.saturating_sub(MASTER_KEY_ID + 4)..).unwrap_or_default();
        let bytes = master.server_uuid.as_bytes().iter().take(UUID_BYTES).chain(&wrapped);
        names.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        Ok(())
    }

    /// The wrapped key and initialisation vector, as they are stored.
    pub(crate) const fn bytes(&self) -> &[u8] {
        self.wrapped.as_slice()
    }

    /// CRC-32C of the clear key and initialisation vector, stored in the clear. Wrapping the same
    /// key again keeps it; two keys share one with a probability of 2⁻³².
    #[must_use]
    pub const fn key_checksum(&self) -> u32 {
        self.checksum
    }

    /// Name of the master key in the keyring. `lCA` does not record the server, so the name has `*`
    /// instead. Empty for the bootstrap key, which is in no keyring.
    #[must_use]
    pub fn master_key_name(&self) -> String {
        match (self.is_bootstrap(), self.magic, &self.server_uuid) {
            (true, ..) => String::new(),
            (_, MySqlMagic::V1, _) => master_key_name("*", self.master_key_id),
            (_, _, Some(uuid)) => master_key_name(uuid, self.master_key_id),
            (_, _, None) => master_key_name("?", self.master_key_id),
        }
    }

    /// Whether it is wrapped with the public key that servers use before they have a keyring.
    ///
    /// Source: docs/formats, "Encryption info on page 0", from server source; not confirmed on a file.
    #[must_use]
    pub const fn is_bootstrap(&self) -> bool {
        self.master_key_id.0 == 0
    }

    /// Unwraps the key with the master key that the information names.
    ///
    /// # Errors
    /// [`UnwrapFault`].
    pub fn unwrap(&self, keys: &dyn KeySource) -> Result<TablespaceKey, UnwrapFault> {
        if self.is_bootstrap() {
            let mut master = [0; MASTER_KEY_BYTES];
            master.iter_mut().zip(BOOTSTRAP_KEY).for_each(|(to, from)| *to = *from);
            return self.unwrap_with(&master);
        }
        if let Some(inside) = keys.unwrapped(&self.wrapped).and_then(|key| Some(Zeroizing::new(*key.first_chunk()?))) {
            return self.checked(inside);
        }
        if !keys.has_mysql() {
            return Err(UnwrapFault::NoStore);
        }
        if self.magic == MySqlMagic::V1 {
            return self.unwrap_by_number(keys);
        }
        let master = keys.mysql(&self.master_key_name()).ok_or(UnwrapFault::Missing)?;
        self.unwrap_with(&master)
    }

    /// Tries every server's master key of that number.
    fn unwrap_by_number(&self, keys: &dyn KeySource) -> Result<TablespaceKey, UnwrapFault> {
        let candidates = keys.mysql_numbered(self.master_key_id);
        let mut failure = UnwrapFault::Missing;
        for master in candidates {
            match self.unwrap_with(&master) {
                Err(error) => failure = error,
                decrypted => return decrypted,
            }
        }
        Err(failure)
    }

    /// Unwraps the key with `master`.
    ///
    /// # Errors
    /// [`UnwrapFault::Wrong`] if the checksum of the key does not match.
    pub fn unwrap_with(&self, master: &[u8; MASTER_KEY_BYTES]) -> Result<TablespaceKey, UnwrapFault> {
        let mut inside = Zeroizing::new(self.wrapped);
        Aes::new(master).map_err(|_| CipherFault)?.ecb_decrypt(inside.as_mut_slice())?;
        self.checked(inside)
    }

    /// The key, if its checksum is that in the information.
    fn checked(&self, inside: Zeroizing<[u8; KEY_AND_IV_BYTES]>) -> Result<TablespaceKey, UnwrapFault> {
        if crc32c(inside.as_slice()) != self.checksum {
            return Err(UnwrapFault::Wrong);
        }
        Ok(TablespaceKey { key_and_iv: inside })
    }
}

/// Offset of the wrapped key in the information.
fn wrapped_at(info: &[u8], magic: MySqlMagic) -> Option<usize> {
    let mut at = MASTER_KEY_ID.checked_add(4)?;
    // Some versions stored the id of the master key in 8 bytes.
    if magic != MySqlMagic::V3 && info.be32(at)? == 0 {
        at = at.checked_add(4)?;
    }
    if magic != MySqlMagic::V1 {
        at = at.checked_add(UUID_BYTES)?;
    }
    Some(at)
}

/// Offset of the master key's number in the information.
const MASTER_KEY_ID: usize = 3;
const UUID_BYTES: usize = 36;
const BOOTSTRAP_KEY: &[u8] = b"DefaultMasterKey";

/// Key and initialisation vector of one tablespace, or of the redo log. Wiped on drop.
#[derive(Clone)]
pub struct TablespaceKey {
    key_and_iv: Zeroizing<[u8; KEY_AND_IV_BYTES]>,
}

impl TablespaceKey {
    /// From a key and an initialisation vector of 32 bytes each, as an export file stores them.
    #[must_use]
    pub fn from_parts(key: &[u8; 32], iv: &[u8; 32]) -> Self {
        let mut key_and_iv = Zeroizing::new([0; KEY_AND_IV_BYTES]);
        key_and_iv.iter_mut().zip(key.iter().chain(iv)).for_each(|(to, from)| *to = *from);
        Self { key_and_iv }
    }

    /// The secret key and initialisation vector, for sending to another host.
    #[must_use]
    pub fn expose(&self) -> (&[u8; MASTER_KEY_BYTES], &[u8; MASTER_KEY_BYTES]) {
        let (parts, _) = self.key_and_iv.as_chunks::<MASTER_KEY_BYTES>();
        let [key, iv] = parts.first_chunk().unwrap_or(&[[0; MASTER_KEY_BYTES]; 2]);
        (key, iv)
    }

    /// Key, then initialisation vector.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.key_and_iv.as_slice()
    }

    /// Prepares encryption and decryption.
    ///
    /// # Errors
    /// [`CipherFault`], never in practice.
    pub fn cipher(&self) -> Result<PageCipher, CipherFault> {
        let (key, iv) = self.key_and_iv.split_at(MASTER_KEY_BYTES);
        // Servers use only the first half of the stored vector; confirmed on testdata.
        let iv = *iv.first_chunk::<BLOCK>().ok_or(CipherFault)?;
        Ok(PageCipher { aes: Aes::new(key).map_err(|_| CipherFault)?, iv })
    }

    /// Prepares the encryption of many pages together.
    ///
    /// # Errors
    /// [`CipherFault`], never in practice.
    pub fn encryptor(&self) -> Result<PageEncryptor, CipherFault> {
        let (key, iv) = self.key_and_iv.split_at(MASTER_KEY_BYTES);
        let iv = *iv.first_chunk::<BLOCK>().ok_or(CipherFault)?;
        Ok(PageEncryptor { cipher: MultiBufferCbc::new(key).map_err(|_| CipherFault)?, iv })
    }

    /// Whether page 0 holds this key, wrapped.
    #[must_use]
    pub fn is_inside(&self, wrapped: &WrappedKey) -> bool {
        crc32c(self.key_and_iv.as_slice()) == wrapped.checksum
    }
}

impl fmt::Debug for TablespaceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TablespaceKey")
    }
}

/// The key of an exported tablespace, from the `.cfp` file next to its `.ibd`. It needs no keyring.
///
/// Source: docs/formats, "Transfer key", confirmed on MySQL 9.7.
#[must_use]
pub fn export_key(file: &[u8]) -> Option<TablespaceKey> {
    const TRANSFER_KEY: usize = 4;
    const WRAPPED: usize = 36;
    if file.len() != 100 || file.be32(0) != Some(32) {
        return None;
    }
    let transfer = Zeroizing::new(file.array_at::<MASTER_KEY_BYTES>(TRANSFER_KEY)?);
    let mut key_and_iv = Zeroizing::new(file.array_at::<KEY_AND_IV_BYTES>(WRAPPED)?);
    Aes::new(transfer.as_slice()).ok()?.ecb_decrypt(key_and_iv.as_mut_slice()).ok()?;
    Some(TablespaceKey { key_and_iv })
}

/// Whether the server was encrypting or decrypting the tablespace when it wrote page 0.
///
/// Source: docs/formats, "Encryption info on page 0": one byte after the information and the space for the dictionary;
/// from server source, not confirmed on a file.
pub(crate) fn operation_in_progress(page0: &[u8], info_at: usize) -> bool {
    const PROGRESS: usize = 123;
    page0.get(info_at.saturating_add(PROGRESS)).is_some_and(|byte| matches!(byte, 1 | 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_key() {
        let key = TablespaceKey::from_parts(&[7; 32], &[9; 32]);
        assert_eq!(format!("{key:?} {:?}", key.cipher().unwrap()), "TablespaceKey PageCipher");
    }
}
