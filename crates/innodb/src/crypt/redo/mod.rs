//! Redo logs: MySQL's and MariaDB's blocks, and MariaDB's mini-transactions.
//!
//! Source: docs/formats, "Redo" of MySQL and of MariaDB.

pub mod key_records;
pub mod mariadb_blocks;
pub mod mariadb_encrypted;
pub mod mariadb_phys;
pub mod mysql;
pub mod run;

use std::fmt;

use zeroize::Zeroizing;

use crate::{
    bytes::Bytes,
    crypt::{
        aes::{self, Aes, Block, CipherFault, KeyLength},
        mariadb::Mode,
    },
    ids::KeyVersion,
    keys::MARIADB_SYSTEM_KEY,
};

/// How a MariaDB log names its key: in the file's header (10.8 and newer) or in each checkpoint
/// (10.2 to 10.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogKeyInfo {
    /// Number of the key in the key file, always 1.
    pub key_id: u32,
    /// Version of the key; blocks of 10.4 to 10.7 name their own.
    pub key_version: KeyVersion,
    /// Encrypting this block with the key gives the key of the log.
    pub message: Block,
    /// Part of each block's initialisation vector; not used for mini-transactions.
    pub nonce: [u8; 4],
}

impl LogKeyInfo {
    /// Parses the first block of a file of 10.8 and newer; `None` if the log is not encrypted.
    #[must_use]
    pub fn from_header(header: &[u8]) -> Option<Self> {
        let key_id = header.be32(48).filter(|id| *id != 0)?;
        let (key_version, message) = (KeyVersion(header.be32(52)?), header.array_at(56)?);
        Some(Self { key_id, key_version, message, nonce: header.array_at(72)? })
    }

    /// Parses a checkpoint block of 10.2 to 10.7.
    #[must_use]
    pub fn from_checkpoint(checkpoint: &[u8]) -> Option<Self> {
        let (key_version, message) = (KeyVersion(checkpoint.be32(32)?), checkpoint.array_at(40)?);
        Some(Self { key_id: MARIADB_SYSTEM_KEY, key_version, message, nonce: checkpoint.array_at(36)? })
    }
}

/// The log's own key in one mode: AES-128, whatever the length of the key in the key file.
///
/// No log stores the mode. testdata has no sample in `aes_ctr`. That mode is confirmed for the newest
/// format on files of MariaDB 10.11 and 11.8, and not confirmed for the older formats.
pub struct LogCipher {
    aes: Aes,
    mode: Mode,
}

/// The log's own key, for transfer to a host that encrypts the log again. Wiped on drop.
#[derive(Clone)]
pub struct LogKey(Zeroizing<Block>);

impl LogKey {
    /// Derives the key from the key of the key file and the log's message.
    ///
    /// # Errors
    /// [`KeyLength`] unless the key has 16, 24 or 32 bytes.
    pub fn derive(key: &[u8], message: &Block) -> Result<Self, KeyLength> {
        aes::derive(key, message).map(Self)
    }

    /// Restores a key from [`Self::expose`].
    #[must_use]
    pub fn from_bytes(bytes: &Block) -> Self {
        Self(Zeroizing::new(*bytes))
    }

    /// The secret key bytes, for sending to another host.
    #[must_use]
    pub fn expose(&self) -> &Block {
        &self.0
    }

    /// Prepares encryption and decryption.
    ///
    /// # Errors
    /// [`KeyLength`], never in practice.
    pub fn cipher(&self, mode: Mode) -> Result<LogCipher, KeyLength> {
        Ok(LogCipher { aes: Aes::new(self.0.as_slice())?, mode })
    }
}

impl fmt::Debug for LogKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LogKey")
    }
}

impl LogCipher {
    /// Derives the log's key from the key of the key file and the log's message.
    ///
    /// # Errors
    /// [`KeyLength`] unless the key has 16, 24 or 32 bytes.
    pub fn new(key: &[u8], message: &Block, mode: Mode) -> Result<Self, KeyLength> {
        LogKey::derive(key, message)?.cipher(mode)
    }

    fn decrypt(&self, iv: &Block, data: &mut [u8]) -> Result<(), CipherFault> {
        match self.mode {
            Mode::Cbc => self.aes.mariadb_cbc_decrypt(iv, data),
            Mode::Ctr => self.aes.ctr(iv, data),
        }
    }

    fn encrypt(&self, iv: &Block, data: &mut [u8]) -> Result<(), CipherFault> {
        match self.mode {
            Mode::Cbc => self.aes.mariadb_cbc_encrypt(iv, data),
            Mode::Ctr => self.aes.ctr(iv, data),
        }
    }
}

impl fmt::Debug for LogCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LogCipher({:?})", self.mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_key() {
        let cipher = LogCipher::new(&[7; 32], &[9; 16], Mode::Cbc).unwrap();
        assert_eq!(format!("{cipher:?}"), "LogCipher(Cbc)");
    }

    #[test]
    fn a_log_without_a_key_has_no_information() {
        assert_eq!(LogKeyInfo::from_header(&[0; 512]), None);
        assert_eq!(LogKeyInfo::from_header(&[1; 60]), None);
    }
}
