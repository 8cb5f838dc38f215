//! AES in the modes the servers use: whole blocks without padding, and each server's treatment of
//! the bytes after the last whole block.
//!
//! Source: docs/formats, "Page encryption" of MySQL and MariaDB.

use std::fmt;

use aws_lc_rs::{
    cipher::{
        AES_128, AES_192, AES_256, Algorithm, DecryptingKey, DecryptionContext, EncryptingKey, EncryptionContext,
        UnboundCipherKey,
    },
    iv::FixedLength,
};
use zeroize::Zeroizing;

/// Bytes of an AES block.
pub const BLOCK: usize = 16;

/// An AES key of 16, 24 or 32 bytes, expanded once per mode of operation.
///
/// Key material is wiped on drop; `Debug` shows nothing of it.
pub struct Aes {
    cbc_decrypt: DecryptingKey,
    cbc_encrypt: EncryptingKey,
    ctr: EncryptingKey,
    ecb_decrypt: DecryptingKey,
    ecb_encrypt: EncryptingKey,
}

/// The key has none of the lengths of AES keys: 16, 24 or 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a key of 128, 192 or 256 bits")]
pub struct KeyLength;

/// Derives a MariaDB key: encrypts a stored block with the key from the key file.
///
/// # Errors
/// [`KeyLength`] unless the key has 16, 24 or 32 bytes.
pub(crate) fn derive(key: &[u8], stored: &Block) -> Result<Zeroizing<Block>, KeyLength> {
    let mut derived = Zeroizing::new(*stored);
    Aes::new(key)?.ecb_encrypt(derived.as_mut_slice()).map_err(|_| KeyLength)?;
    Ok(derived)
}

impl Aes {
    /// Expands a key.
    ///
    /// # Errors
    /// [`KeyLength`] unless the key has 16, 24 or 32 bytes.
    pub fn new(key: &[u8]) -> Result<Self, KeyLength> {
        let algorithm: &'static Algorithm = match key.len() {
            16 => &AES_128,
            24 => &AES_192,
            32 => &AES_256,
            _ => return Err(KeyLength),
        };
        let unbound = || UnboundCipherKey::new(algorithm, key).map_err(|_| KeyLength);
        Ok(Self {
            cbc_decrypt: DecryptingKey::cbc(unbound()?).map_err(|_| KeyLength)?,
            cbc_encrypt: EncryptingKey::cbc(unbound()?).map_err(|_| KeyLength)?,
            ctr: EncryptingKey::ctr(unbound()?).map_err(|_| KeyLength)?,
            ecb_decrypt: DecryptingKey::ecb(unbound()?).map_err(|_| KeyLength)?,
            ecb_encrypt: EncryptingKey::ecb(unbound()?).map_err(|_| KeyLength)?,
        })
    }
}

/// The cipher library refused the length of its input. These functions always pass a valid one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the cipher refused its input")]
pub struct CipherFault;

/// One AES block, also used for initialisation vectors.
pub type Block = [u8; BLOCK];

impl Aes {
    /// Decrypts the whole blocks of `data` in CBC mode; bytes after the last whole block stay.
    ///
    /// # Errors
    /// [`CipherFault`], never in practice.
    pub fn cbc_decrypt(&self, iv: &Block, data: &mut [u8]) -> Result<(), CipherFault> {
        match whole_blocks(data) {
            [] => Ok(()),
            blocks => {
                let context = DecryptionContext::Iv128(FixedLength::from(*iv));
                self.cbc_decrypt.decrypt(blocks, context).map(drop).map_err(|_| CipherFault)
            }
        }
    }

    /// Encrypts the whole blocks of `data` in CBC mode; bytes after the last whole block stay.
    ///
    /// # Errors
    /// [`CipherFault`], never in practice.
    pub fn cbc_encrypt(&self, iv: &Block, data: &mut [u8]) -> Result<(), CipherFault> {
        match whole_blocks(data) {
            [] => Ok(()),
            blocks => {
                let context = EncryptionContext::Iv128(FixedLength::from(*iv));
                self.cbc_encrypt.less_safe_encrypt(blocks, context).map(drop).map_err(|_| CipherFault)
            }
        }
    }

    /// Encrypts or decrypts `data` of any length in CTR mode; `counter` is one big-endian number.
    ///
    /// # Errors
    /// [`CipherFault`], never in practice.
    pub fn ctr(&self, counter: &Block, data: &mut [u8]) -> Result<(), CipherFault> {
        let context = EncryptionContext::Iv128(FixedLength::from(*counter));
        self.ctr.less_safe_encrypt(data, context).map(drop).map_err(|_| CipherFault)
    }

    /// Decrypts whole blocks in ECB mode, as used for wrapped keys.
    ///
    /// # Errors
    /// [`CipherFault`] if the length of `data` is not a multiple of 16 bytes.
    pub fn ecb_decrypt(&self, data: &mut [u8]) -> Result<(), CipherFault> {
        self.ecb_decrypt.decrypt(data, DecryptionContext::None).map(drop).map_err(|_| CipherFault)
    }

    /// Encrypts whole blocks in ECB mode.
    ///
    /// # Errors
    /// [`CipherFault`] if the length of `data` is not a multiple of 16 bytes.
    pub fn ecb_encrypt(&self, data: &mut [u8]) -> Result<(), CipherFault> {
        self.ecb_encrypt.encrypt(data).map(drop).map_err(|_| CipherFault)
    }

    /// Decrypts `data` as MySQL does: whole blocks in CBC mode; if bytes are left over, the last 32
    /// bytes are decrypted a second time, overlapping. If `data` has fewer than 32 bytes, the
    /// left-over ones stay as they are.
    ///
    /// Source: docs/formats, "Page encryption" of MySQL.
    ///
    /// # Errors
    /// [`CipherFault`], never in practice.
    pub fn mysql_decrypt(&self, iv: &Block, data: &mut [u8]) -> Result<(), CipherFault> {
        if let Some(tail) = overlapping_tail(data) {
            self.cbc_decrypt(iv, tail)?;
        }
        self.cbc_decrypt(iv, data)
    }

    /// Encrypts `data` as MySQL does, see [`Self::mysql_decrypt`].
    ///
    /// # Errors
    /// [`CipherFault`], never in practice.
    pub fn mysql_encrypt(&self, iv: &Block, data: &mut [u8]) -> Result<(), CipherFault> {
        self.cbc_encrypt(iv, data)?;
        match overlapping_tail(data) {
            Some(tail) => self.cbc_encrypt(iv, tail),
            None => Ok(()),
        }
    }

    /// Decrypts `data` as MariaDB does in `aes_cbc`: whole blocks in CBC mode; left-over bytes are
    /// masked with the encrypted initialisation vector.
    ///
    /// Source: docs/formats, "Page encryption" of MariaDB.
    ///
    /// # Errors
    /// [`CipherFault`], never in practice.
    pub fn mariadb_cbc_decrypt(&self, iv: &Block, data: &mut [u8]) -> Result<(), CipherFault> {
        self.mask_rest(iv, data)?;
        self.cbc_decrypt(iv, data)
    }

    /// Encrypts `data` as MariaDB does in `aes_cbc`, see [`Self::mariadb_cbc_decrypt`].
    ///
    /// # Errors
    /// [`CipherFault`], never in practice.
    pub fn mariadb_cbc_encrypt(&self, iv: &Block, data: &mut [u8]) -> Result<(), CipherFault> {
        self.mask_rest(iv, data)?;
        self.cbc_encrypt(iv, data)
    }

    fn mask_rest(&self, iv: &Block, data: &mut [u8]) -> Result<(), CipherFault> {
        let (_, rest) = data.as_chunks_mut::<BLOCK>();
        if rest.is_empty() {
            return Ok(());
        }
        let mut mask = *iv;
        self.ecb_encrypt(&mut mask)?;
        rest.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
        Ok(())
    }
}

fn whole_blocks(data: &mut [u8]) -> &mut [u8] {
    let (blocks, _) = data.as_chunks_mut::<BLOCK>();
    blocks.as_flattened_mut()
}

/// The last 32 bytes, if `data` does not end with a whole block.
fn overlapping_tail(data: &mut [u8]) -> Option<&mut [u8]> {
    let from = data.len().checked_sub(2 * BLOCK)?;
    if data.len().is_multiple_of(BLOCK) { None } else { data.get_mut(from..) }
}

impl fmt::Debug for Aes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Aes")
    }
}
