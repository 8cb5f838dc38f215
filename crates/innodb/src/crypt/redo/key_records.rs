//! Records in MySQL's redo log that write a wrapped key to page 0. Crash recovery applies them,
//! whatever the page holds at that point.
//!
//! A server writes the whole encryption information as one string when it creates or encrypts a
//! tablespace and when it rotates the master key. Strings are logged unchanged, so the search looks
//! for their magic and the uuid after it in the concatenated contents of the blocks.
//!
//! Source: docs/formats, "Redo" of MySQL; `fsp0fsp.cc` (`fsp_header_write_encryption`) writes one string.

use files::ReadAt;

use crate::{
    bytes::{Bytes, all_zero, as_u64},
    crypt::redo::mysql::MySqlBlockCipher,
    error::ScanError,
    ids::Lsn,
    read::{fill, length},
    redo::{
        blocks::{
            BLOCK_BYTES, BLOCK_HEADER_BYTES, BLOCKS_BEGIN, CHECKSUM, DATA_LENGTH, HEADER_BYTES, block_holds,
            is_encrypted, number, number_at,
        },
        mysql_start_lsn,
    },
    tablespace::{Encryption, MySqlMagic},
};

/// Searches the files of one log, in the order of their first LSNs.
#[derive(Debug)]
pub struct KeyRecords<'c> {
    cipher: Option<&'c MySqlBlockCipher>,
    checkpoint: Lsn,
    /// The last bytes searched, which may hold the start of a string.
    tail: Vec<u8>,
}

/// Bytes of the encryption information up to the end of the uuid.
const NAMES_BYTES: usize = 3 + 8 + 36;
const READ_BYTES: usize = 256 << 10;

impl<'c> KeyRecords<'c> {
    /// Changes before `checkpoint`, the newest of all files, are already on the pages and are
    /// skipped. `cipher` decrypts encrypted blocks.
    #[must_use]
    pub const fn new(checkpoint: Lsn, cipher: Option<&'c MySqlBlockCipher>) -> Self {
        Self { cipher, checkpoint, tail: Vec::new() }
    }

    /// Whether recovery from this file could write a wrapped key. Files of servers before 8.0.30,
    /// which form a ring, are searched completely. An encrypted block that cannot be decrypted
    /// counts as if it had such a record. `alive` is called regularly during the search.
    ///
    /// # Errors
    /// [`ScanError::Io`].
    pub fn search<R: ReadAt + ?Sized>(&mut self, log: &R, alive: &mut dyn FnMut()) -> Result<bool, ScanError> {
        let file_bytes = length(log)?;
        let mut head = vec![0; HEADER_BYTES];
        let start = mysql_start_lsn(fill(log, 0, &mut head)?);
        let block_bytes = as_u64(BLOCK_BYTES);
        let skipped = start.map_or(0, |start| self.checkpoint.0.saturating_sub(start.0)).checked_div(block_bytes);
        let first = skipped.unwrap_or(0).saturating_mul(block_bytes);
        let mut offset = BLOCKS_BEGIN.saturating_add(first);
        let mut lsn = start.map(|start| start.0.saturating_add(first));
        let mut buffer = vec![0; READ_BYTES];
        while offset < file_bytes {
            alive();
            let bytes = fill(log, offset, &mut buffer)?;
            for block in bytes.as_chunks::<BLOCK_BYTES>().0 {
                match self.block(block, lsn) {
                    Found::Nothing => {}
                    Found::End if lsn.is_some() => return Ok(false),
                    Found::End => self.tail.clear(),
                    Found::Key => return Ok(true),
                }
                lsn = lsn.map(|lsn| lsn.saturating_add(block_bytes));
            }
            offset = offset.saturating_add(as_u64(READ_BYTES));
        }
        Ok(false)
    }

    fn block(&mut self, block: &[u8; BLOCK_BYTES], lsn: Option<u64>) -> Found {
        let mut block = *block;
        let number = number(&block);
        if all_zero(&block) || lsn.is_some_and(|lsn| number != number_at(Lsn(lsn))) {
            return Found::End;
        }
        if is_encrypted(&block) {
            match self.cipher {
                Some(cipher) if cipher.decrypt(&mut block).is_ok() => {}
                _ => return Found::Key,
            }
            if all_zero(&block) {
                return Found::End;
            }
            if !block_holds(&block, false) {
                return Found::Key;
            }
        }
        let end = usize::from(block.be16(DATA_LENGTH).unwrap_or_default()).min(CHECKSUM);
        self.tail.extend(block.range(BLOCK_HEADER_BYTES, end));
        let found = self.tail.windows(NAMES_BYTES).any(is_information);
        let done = self.tail.len().saturating_sub(NAMES_BYTES);
        self.tail.drain(..done);
        if found { Found::Key } else { Found::Nothing }
    }
}

enum Found {
    Nothing,
    /// A block of an earlier pass over the file: the log ends before it.
    End,
    Key,
}

fn is_information(bytes: &[u8]) -> bool {
    bytes.starts_with(b"lC")
        && Encryption::mysql_names(bytes)
            .is_some_and(|(magic, _, server_uuid)| magic != MySqlMagic::V1 && server_uuid.is_some())
}
