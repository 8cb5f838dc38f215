//! Encrypted redo log blocks of MariaDB 10.2 to 10.7: 512 bytes with a readable number, a checksum
//! over the stored bytes and, from 10.4 on, a readable key version.
//!
//! Source: docs/formats, "Redo (`ib_logfile0`)", confirmed on MariaDB 10.5; the blocks of 10.2 to 10.4 from
//! `log0crypt.cc`, not confirmed on a file.

use crate::{
    bytes::{Bytes, as_u64, put},
    crypt::{
        aes::{Block, CipherFault},
        redo::LogCipher,
    },
    ids::{KeyVersion, Lsn},
    redo::blocks::{self, BLOCK_BYTES, BLOCK_HEADER_BYTES, CHECKSUM, DATA_LENGTH, FIRST_GROUP},
};

/// Offset of the encrypted bytes, after the block number.
const BODY: usize = 4;
/// Offset of the key version.
const KEY_VERSION: usize = 504;
/// Number of different block numbers: they repeat after this many blocks.
const COUNT: u64 = 0x4000_0000;

/// Layout of the blocks of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockLayout {
    /// 10.2 and 10.3: encrypted up to the checksum; the checkpoint names the key version.
    NoKeyVersion,
    /// 10.4 to 10.7: each block names its key version.
    KeyVersion,
}

impl BlockLayout {
    /// End of the encrypted bytes.
    const fn end(self) -> usize {
        match self {
            Self::NoKeyVersion => CHECKSUM,
            Self::KeyVersion => KEY_VERSION,
        }
    }

    /// Key version of a block, if the block names it.
    #[must_use]
    pub fn key_version(self, block: &[u8]) -> Option<KeyVersion> {
        match self {
            Self::NoKeyVersion => None,
            Self::KeyVersion => block.be32(KEY_VERSION).map(KeyVersion),
        }
    }
}

/// Number of a block, from 1; `None` for a block without a number.
#[must_use]
pub fn number(block: &[u8]) -> Option<u32> {
    blocks::number(block).filter(|number| *number != 0)
}

/// LSN of the start of a block. Block numbers repeat every 512 GiB of log: of the LSNs that have this
/// number, returns the closest to `near`.
#[must_use]
pub fn block_lsn(number: u32, near: Lsn) -> Lsn {
    let block_bytes = as_u64(BLOCK_BYTES);
    let wanted = u64::from(number).saturating_sub(1) % COUNT;
    let here = near.0.checked_div(block_bytes).unwrap_or(0);
    let ahead = wanted.wrapping_sub(here) % COUNT;
    let block = if ahead > COUNT / 2 {
        here.saturating_add(ahead).checked_sub(COUNT).unwrap_or(wanted)
    } else {
        here.saturating_add(ahead)
    };
    Lsn(block.saturating_mul(block_bytes))
}

/// Encrypts and decrypts blocks whose LSN is known.
#[derive(Debug)]
pub struct MariaDbBlockCipher {
    cipher: LogCipher,
    nonce: [u8; 4],
    layout: BlockLayout,
}

impl MariaDbBlockCipher {
    /// `cipher` has the log's own key; `nonce` comes from its checkpoint.
    #[must_use]
    pub const fn new(cipher: LogCipher, nonce: [u8; 4], layout: BlockLayout) -> Self {
        Self { cipher, nonce, layout }
    }

    /// Decrypts a block in place. The checksum stays that of the encrypted block.
    ///
    /// # Errors
    /// [`CipherFault`] if it is shorter than a block.
    pub fn decrypt(&self, lsn: Lsn, block: &mut [u8]) -> Result<(), CipherFault> {
        let iv = self.iv(lsn, block);
        let body = block.get_mut(BODY..self.layout.end()).ok_or(CipherFault)?;
        self.cipher.decrypt(&iv, body)
    }

    /// Encrypts a decrypted block in place, to its original bytes.
    ///
    /// # Errors
    /// [`CipherFault`] if it is shorter than a block.
    pub fn encrypt(&self, lsn: Lsn, block: &mut [u8]) -> Result<(), CipherFault> {
        let iv = self.iv(lsn, block);
        let body = block.get_mut(BODY..self.layout.end()).ok_or(CipherFault)?;
        self.cipher.encrypt(&iv, body)
    }

    fn iv(&self, lsn: Lsn, block: &[u8]) -> Block {
        let mut iv = Block::default();
        put(&mut iv, 0, &blocks::number(block).unwrap_or_default().to_be_bytes());
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
    let field = |at: usize| block.be16(at).map(usize::from);
    let (Some(data_end), Some(group)) = (field(DATA_LENGTH), field(FIRST_GROUP)) else { return false };
    let data_fits = data_end == BLOCK_BYTES || (BLOCK_HEADER_BYTES..=CHECKSUM).contains(&data_end);
    data_fits && (group == 0 || (BLOCK_HEADER_BYTES..=data_end).contains(&group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_lsn_with_a_block_number_is_found() {
        assert_eq!(block_lsn(18, Lsn(45519)), Lsn(8704));
        let lap = 512 * COUNT;
        assert_eq!(block_lsn(18, Lsn(lap + 45519)), Lsn(lap + 8704));
        assert_eq!(block_lsn(0x4000_0000, Lsn(lap + 512)), Lsn(lap - 512));
        assert_eq!(block_lsn(3, Lsn(lap - 512)), Lsn(lap + 1024));
        assert_eq!(block_lsn(0x4000_0000, Lsn(512)), Lsn(lap - 512));
    }

    #[test]
    fn an_empty_block_has_no_number() {
        assert_eq!(number(&[0; 512]), None);
        assert_eq!(number(&[]), None);
    }
}
