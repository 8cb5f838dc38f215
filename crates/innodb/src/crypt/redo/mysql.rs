//! MySQL's redo log blocks: 512 bytes, encrypted except for the header.
//!
//! The whole log has one key and initialisation vector, wrapped like a tablespace's. The zeros that
//! 8.0 writes ahead of the log's end (`innodb_log_write_ahead_size`) are encrypted like any block:
//! such a block decrypts to zeros, without a number or a checksum.
//!
//! Source: docs/formats, "Redo" of MySQL, confirmed on MySQL 9.7; the zeros on Percona Server 8.0.27.

use std::fmt;

use crate::{
    crypt::{
        aes::CipherFault,
        mysql::{PageCipher, TablespaceKey},
    },
    redo::blocks::{BLOCK_BYTES, BLOCK_HEADER_BYTES, DATA_LENGTH, ENCRYPTED},
};

/// The mark of an encrypted block, in the first byte of its data length.
const MARK: u8 = ENCRYPTED.to_be_bytes()[0];

/// Encrypts and decrypts blocks.
pub struct MySqlBlockCipher {
    cipher: PageCipher,
}

impl MySqlBlockCipher {
    /// `key` is the log's unwrapped key.
    ///
    /// # Errors
    /// [`CipherFault`], never in practice.
    pub fn new(key: &TablespaceKey) -> Result<Self, CipherFault> {
        Ok(Self { cipher: key.cipher()? })
    }

    /// Decrypts a block in place and clears its mark; its checksum is then that of the block.
    ///
    /// # Errors
    /// [`CipherFault`], never in practice.
    pub fn decrypt(&self, block: &mut [u8]) -> Result<(), CipherFault> {
        let body = block.get_mut(BLOCK_HEADER_BYTES..BLOCK_BYTES).ok_or(CipherFault)?;
        self.cipher.aes.mysql_decrypt(&self.cipher.iv, body)?;
        set_mark(block, false);
        Ok(())
    }

    /// Encrypts a decrypted block in place, to its original bytes.
    ///
    /// # Errors
    /// [`CipherFault`], never in practice.
    pub fn encrypt(&self, block: &mut [u8]) -> Result<(), CipherFault> {
        let body = block.get_mut(BLOCK_HEADER_BYTES..BLOCK_BYTES).ok_or(CipherFault)?;
        self.cipher.aes.mysql_encrypt(&self.cipher.iv, body)?;
        set_mark(block, true);
        Ok(())
    }
}

fn set_mark(block: &mut [u8], encrypted: bool) {
    if let Some(byte) = block.get_mut(DATA_LENGTH) {
        *byte = if encrypted { *byte | MARK } else { *byte & !MARK };
    }
}

impl fmt::Debug for MySqlBlockCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MySqlBlockCipher")
    }
}
