//! MySQL's redo log blocks: 512 bytes, of which all but the header is encrypted.
//!
//! One key and initialisation vector for the whole log, wrapped like a tablespace's.
//! What 8.0 writes ahead behind the end of the log (`innodb_log_write_ahead_size`) are zeros, which are
//! encrypted like all others: such a block opens to nothing, without a number or a checksum.
//!
//! Source: formats, "Redo" of MySQL, confirmed on MySQL 9.7; the zeros on Percona Server 8.0.27.

use std::fmt;

use crate::crypt::{
    aes::CipherFault,
    mysql::{PageCipher, TablespaceKey},
};

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 512;

/// Bytes of a block's header, which stays readable.
const HEADER_BYTES: usize = 12;
/// Where the data length and, in its highest bit, the mark of encryption stand.
const DATA_LENGTH: usize = 4;
const ENCRYPTED: u8 = 0x80;

/// Whether a block is marked as encrypted.
#[must_use]
pub fn is_encrypted(block: &[u8]) -> bool {
    block.get(DATA_LENGTH).is_some_and(|byte| byte & ENCRYPTED != 0)
}

/// Opens and seals blocks.
pub struct BlockCipher {
    cipher: PageCipher,
}

impl BlockCipher {
    /// With the log's unwrapped key.
    ///
    /// # Errors
    /// [`CipherFault`], never seen.
    pub fn new(key: &TablespaceKey) -> Result<Self, CipherFault> {
        Ok(Self { cipher: key.cipher()? })
    }

    /// Opens a block in place and takes its mark away; its checksum is then that of the block.
    ///
    /// # Errors
    /// [`CipherFault`], never seen.
    pub fn open(&self, block: &mut [u8]) -> Result<(), CipherFault> {
        let body = block.get_mut(HEADER_BYTES..BLOCK_BYTES).ok_or(CipherFault)?;
        self.cipher.aes.mysql_open(&self.cipher.iv, body)?;
        set_mark(block, false);
        Ok(())
    }

    /// Seals an opened block in place, to the bytes it was opened from.
    ///
    /// # Errors
    /// [`CipherFault`], never seen.
    pub fn seal(&self, block: &mut [u8]) -> Result<(), CipherFault> {
        let body = block.get_mut(HEADER_BYTES..BLOCK_BYTES).ok_or(CipherFault)?;
        self.cipher.aes.mysql_seal(&self.cipher.iv, body)?;
        set_mark(block, true);
        Ok(())
    }
}

fn set_mark(block: &mut [u8], encrypted: bool) {
    if let Some(byte) = block.get_mut(DATA_LENGTH) {
        *byte = if encrypted { *byte | ENCRYPTED } else { *byte & !ENCRYPTED };
    }
}

impl fmt::Debug for BlockCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BlockCipher")
    }
}
