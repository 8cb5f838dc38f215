//! Encrypted redo log blocks of MariaDB 10.2 to 10.7: 512 bytes with a readable number, a checksum
//! over the stored bytes and, from 10.4 on, a readable key version.
//!
//! Source: formats, "Redo (`ib_logfile0`)", confirmed on MariaDB 10.5; the blocks of 10.2 to 10.4
//! from `log0crypt.cc`, not confirmed on a file.

use crate::{
    bytes::Bytes,
    crypt::{
        aes::{Block, CipherFault},
        redo::{LogCipher, put},
    },
    ids::{KeyVersion, Lsn},
};

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 512;

/// Offset of the encrypted bytes, after the block number.
const BODY: usize = 4;
/// Offset of the key version.
const KEY_VERSION: usize = 504;
const CHECKSUM: usize = 508;
/// Set on the first block of a write; not part of the number.
const FLUSH_BIT: u32 = 0x8000_0000;
/// Block numbers have 30 bits and start at 1.
const NUMBERS: u64 = 0x4000_0000;

/// Layout of the blocks of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// 10.2 and 10.3: encrypted up to the checksum; the checkpoint names the key version.
    Plain,
    /// 10.4 to 10.7: each block names its key version.
    KeyVersion,
}

impl Layout {
    /// End of the encrypted bytes.
    const fn end(self) -> usize {
        match self {
            Self::Plain => CHECKSUM,
            Self::KeyVersion => KEY_VERSION,
        }
    }

    /// Key version of a block, if the block names it.
    #[must_use]
    pub fn key_version(self, block: &[u8]) -> Option<KeyVersion> {
        match self {
            Self::Plain => None,
            Self::KeyVersion => block.be32(KEY_VERSION).map(KeyVersion),
        }
    }
}

/// Number of a block, from 1; `None` for a block without a number.
#[must_use]
pub fn number(block: &[u8]) -> Option<u32> {
    block.be32(0).map(|number| number & !FLUSH_BIT).filter(|number| *number != 0)
}

/// LSN of the start of a block: of those with this block number the closest to `near`. Numbers
/// repeat every 512 GiB of log.
#[must_use]
pub fn block_lsn(number: u32, near: Lsn) -> Lsn {
    let block_bytes = 512_u64;
    let wanted = u64::from(number).saturating_sub(1) % NUMBERS;
    let here = near.0.checked_div(block_bytes).unwrap_or(0);
    let ahead = wanted.wrapping_sub(here) % NUMBERS;
    let block = if ahead > NUMBERS / 2 {
        here.saturating_add(ahead).checked_sub(NUMBERS).unwrap_or(wanted)
    } else {
        here.saturating_add(ahead)
    };
    Lsn(block.saturating_mul(block_bytes))
}

/// Encrypts and decrypts blocks whose LSN is known.
#[derive(Debug)]
pub struct BlockCipher {
    cipher: LogCipher,
    nonce: [u8; 4],
    layout: Layout,
}

impl BlockCipher {
    /// `cipher` has the log's own key; `nonce` comes from its checkpoint.
    #[must_use]
    pub const fn new(cipher: LogCipher, nonce: [u8; 4], layout: Layout) -> Self {
        Self { cipher, nonce, layout }
    }

    /// Decrypts a block in place. The checksum stays that of the encrypted block.
    ///
    /// # Errors
    /// [`CipherFault`] if it is shorter than a block.
    pub fn open(&self, lsn: Lsn, block: &mut [u8]) -> Result<(), CipherFault> {
        let iv = self.iv(lsn, block);
        let body = block.get_mut(BODY..self.layout.end()).ok_or(CipherFault)?;
        self.cipher.open(&iv, body)
    }

    /// Encrypts a decrypted block in place, to its original bytes.
    ///
    /// # Errors
    /// [`CipherFault`] if it is shorter than a block.
    pub fn seal(&self, lsn: Lsn, block: &mut [u8]) -> Result<(), CipherFault> {
        let iv = self.iv(lsn, block);
        let body = block.get_mut(BODY..self.layout.end()).ok_or(CipherFault)?;
        self.cipher.seal(&iv, body)
    }

    fn iv(&self, lsn: Lsn, block: &[u8]) -> Block {
        let mut iv = Block::default();
        put(&mut iv, 0, &(block.be32(0).unwrap_or_default() & !FLUSH_BIT).to_be_bytes());
        put(&mut iv, 4, &self.nonce);
        put(&mut iv, 8, &lsn.0.to_be_bytes());
        iv
    }
}

/// Whether the header of a decrypted block is plausible: its data ends inside it, and the first
/// record group starts inside the data.
///
/// A block decrypted with a wrong key passes about once in 30,000 times.
#[must_use]
pub fn is_plausible(block: &[u8]) -> bool {
    const HEADER_BYTES: u16 = 12;
    const FULL: u16 = 512;
    let (Some(data_end), Some(group)) = (block.be16(BODY), block.be16(6)) else { return false };
    let data_fits = data_end == FULL || (HEADER_BYTES..=508).contains(&data_end);
    data_fits && (group == 0 || (HEADER_BYTES..=data_end).contains(&group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_position_with_that_number() {
        assert_eq!(block_lsn(18, Lsn(45519)), Lsn(8704));
        let lap = 512 * NUMBERS;
        assert_eq!(block_lsn(18, Lsn(lap + 45519)), Lsn(lap + 8704));
        assert_eq!(block_lsn(0x4000_0000, Lsn(lap + 512)), Lsn(lap - 512));
        assert_eq!(block_lsn(3, Lsn(lap - 512)), Lsn(lap + 1024));
        assert_eq!(block_lsn(0x4000_0000, Lsn(512)), Lsn(lap - 512));
    }

    #[test]
    fn no_number_in_an_empty_block() {
        assert_eq!(number(&[0; 512]), None);
        assert_eq!(number(&[]), None);
    }
}
