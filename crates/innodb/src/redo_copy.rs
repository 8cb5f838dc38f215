//! The redo log of a running MySQL (8.0.30 and newer), copied from a checkpoint up to an LSN.
//!
//! The log is a series of files, each with a header and a range of blocks of 512 bytes. Blocks before the last one are
//! written once; the last one is rewritten as it fills. Recovery treats the copy like the log of a server that crashed
//! at its end: only one file's header has the checkpoint, and the last block is empty after the end.
//!
//! Source: docs/formats, "Redo" of MySQL; `log0recv.cc` (`recv_find_max_checkpoint`, `recv_scan_log_recs`). MySQL 9.7
//! and 8.0.33 recovered copies made this way, clear and encrypted.

use std::fmt;

use thiserror::Error;

use crate::{
    bytes::{Bytes, all_zero, as_u64, put},
    crypt::{
        aes::CipherFault,
        mysql::{TablespaceKey, UnwrapFault, WrappedKey},
        redo::mysql::MySqlBlockCipher,
    },
    ids::Lsn,
    keys::KeySource,
    page::checksum::crc32c,
    redo::{
        blocks::{
            BLOCK_BYTES, BLOCK_HEADER_BYTES, BLOCKS_BEGIN, CHECKPOINTS, CHECKSUM, DATA_LENGTH, FIRST_GROUP, FLAGS,
            FULL, HEADER_BYTES, LSN, block_holds, checkpoint_blocks, data_bytes, is_encrypted, number, number_at,
        },
        checkpoint_lsn, mysql_start_lsn,
    },
    verify::redo::key_info,
};

/// Why a log cannot be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RedoCopyFault {
    /// The file's header is of another format, or damaged.
    #[error("{0}")]
    Header(&'static str),
    /// A block is encrypted, and its key is not available.
    #[error("a block at LSN {0} is encrypted, and the log's key is not known")]
    Encrypted(Lsn),
    /// The key that the header names cannot be unwrapped.
    #[error("the key of the redo log cannot be used: {0}")]
    Key(UnwrapFault),
    /// The end of the copy is inside a record group.
    #[error("LSN {0} is no end of a group of records")]
    Boundary(Lsn),
    /// The block has not been written yet, or is damaged.
    #[error("the block at LSN {0} is not there, or damaged")]
    Unwritten(Lsn),
}

/// The parsed header of a redo log file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    bytes: Vec<u8>,
    start: Lsn,
}

impl Head {
    /// Parses the first [`HEADER_BYTES`] of a file.
    ///
    /// # Errors
    /// [`RedoCopyFault::Header`] if it is not of MySQL 8.0.30 or newer, if a checksum does not match, or if the server
    /// wrote the file without redo logging.
    pub fn parse(bytes: &[u8]) -> Result<Self, RedoCopyFault> {
        let bytes = bytes.get(..HEADER_BYTES).ok_or(RedoCopyFault::Header("it is shorter than its header"))?;
        let start = mysql_start_lsn(bytes).ok_or(RedoCopyFault::Header("it is not of MySQL 8.0.30 or newer"))?;
        let is_sound = |block: &[u8]| block_holds(block, false);
        let is_damaged = |block: &[u8]| !is_sound(block) && !all_zero(block);
        if !is_sound(bytes.range(0, BLOCK_BYTES)) || checkpoint_blocks(bytes).any(is_damaged) {
            return Err(RedoCopyFault::Header("a checksum of its header does not match"));
        }
        if bytes.be32(FLAGS).is_none_or(|flags| flags & !FULL != 0) {
            return Err(RedoCopyFault::Header("it was written without redo logging, or is not initialised"));
        }
        Ok(Self { bytes: bytes.to_vec(), start })
    }

    /// LSN of the first byte after the header.
    #[must_use]
    pub const fn start(&self) -> Lsn {
        self.start
    }

    /// LSN of the first byte after a file of this length.
    #[must_use]
    pub const fn end(&self, file_bytes: u64) -> Lsn {
        Lsn(self.start.0.saturating_add(file_bytes.saturating_sub(BLOCKS_BEGIN)))
    }

    /// The newest checkpoint.
    #[must_use]
    pub fn checkpoint(&self) -> Option<Lsn> {
        checkpoint_lsn(&self.bytes)
    }

    /// The header of a file of the copy. Recovery begins at `checkpoint`, if the header has one.
    #[must_use]
    pub fn of_copy(&self, checkpoint: &CopyCheckpoint, is_last: bool) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let flags = if is_last { 0 } else { FULL };
        put(&mut bytes, FLAGS, &flags.to_be_bytes());
        update_checksum(bytes.get_mut(..BLOCK_BYTES).unwrap_or_default());
        for at in CHECKPOINTS {
            let block = bytes.get_mut(at..at.saturating_add(BLOCK_BYTES)).unwrap_or_default();
            match checkpoint {
                CopyCheckpoint::AsRead => {}
                CopyCheckpoint::None => block.fill(0),
                CopyCheckpoint::At(lsn) => {
                    block.fill(0);
                    put(block, LSN, &lsn.0.to_be_bytes());
                    update_checksum(block);
                }
            }
        }
        bytes
    }

    fn wrapped_key(&self) -> Option<WrappedKey> {
        key_info(&self.bytes).map(|info| info.key)
    }
}

/// The checkpoint for the header of a file of the copy. Recovery begins at the only checkpoint in all files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyCheckpoint {
    /// Keep the checkpoints of the original file.
    AsRead,
    /// Write no checkpoint: another file has it.
    None,
    /// Write a checkpoint at this LSN.
    At(Lsn),
}

/// The blocks of a log, with the log's key if it has one.
pub struct Blocks {
    cipher: Result<MySqlBlockCipher, UnwrapFault>,
}

impl Blocks {
    /// `head` is the header of the file with the log's newest checkpoint, which names the log's key. Without that key
    /// only clear blocks can be read.
    #[must_use]
    pub fn new(head: &Head, keys: &dyn KeySource) -> Self {
        let wrapped = head.wrapped_key().ok_or(UnwrapFault::NoStore);
        let key = wrapped.and_then(|wrapped| wrapped.unwrap(keys));
        Self { cipher: key.and_then(|key: TablespaceKey| Ok(MySqlBlockCipher::new(&key)?)) }
    }

    /// Whether encrypted blocks can be read.
    #[must_use]
    pub fn has_key(&self) -> bool {
        self.cipher.is_ok()
    }

    /// Checks that `block` is the complete block at `lsn`.
    ///
    /// # Errors
    /// [`RedoCopyFault::Unwritten`], [`RedoCopyFault::Encrypted`].
    pub fn check_full(&self, block: &[u8; BLOCK_BYTES], lsn: Lsn) -> Result<(), RedoCopyFault> {
        let decrypted = self.decrypt(block, lsn)?;
        if data_bytes(&decrypted).map(usize::from) == Some(BLOCK_BYTES) {
            Ok(())
        } else {
            Err(RedoCopyFault::Unwritten(lsn))
        }
    }

    /// The block that contains the log's end, cleared after the end. `lsn` is that of the block.
    ///
    /// # Errors
    /// [`RedoCopyFault::Boundary`] if the end is inside a record group; others as [`check_full`](Self::check_full).
    pub fn cut(&self, block: &[u8; BLOCK_BYTES], lsn: Lsn, end: Lsn) -> Result<[u8; BLOCK_BYTES], RedoCopyFault> {
        let mut decrypted = self.decrypt(block, lsn)?;
        let kept = end.0.saturating_sub(lsn.0);
        if kept < as_u64(BLOCK_HEADER_BYTES) || kept >= as_u64(CHECKSUM) {
            return Err(RedoCopyFault::Boundary(end));
        }
        if data_bytes(&decrypted).is_none_or(|bytes| u64::from(bytes) < kept) {
            return Err(RedoCopyFault::Unwritten(lsn));
        }
        if decrypted.be16(FIRST_GROUP).is_some_and(|first| u64::from(first) > kept) {
            return Err(RedoCopyFault::Boundary(end));
        }
        let data = u16::try_from(kept).unwrap_or_default();
        put(&mut decrypted, DATA_LENGTH, &data.to_be_bytes());
        let from = usize::from(data);
        decrypted.get_mut(from..CHECKSUM).unwrap_or_default().fill(0);
        update_checksum(&mut decrypted);
        if is_encrypted(block) {
            self.cipher(lsn)?.encrypt(&mut decrypted).map_err(|CipherFault| RedoCopyFault::Encrypted(lsn))?;
        }
        Ok(decrypted)
    }

    fn cipher(&self, lsn: Lsn) -> Result<&MySqlBlockCipher, RedoCopyFault> {
        self.cipher.as_ref().map_err(|error| match error {
            UnwrapFault::NoStore => RedoCopyFault::Encrypted(lsn),
            error => RedoCopyFault::Key(*error),
        })
    }

    /// Decrypts a block if necessary, and checks it.
    fn decrypt(&self, block: &[u8; BLOCK_BYTES], lsn: Lsn) -> Result<[u8; BLOCK_BYTES], RedoCopyFault> {
        let mut decrypted = *block;
        if number(block) != number_at(lsn) {
            return Err(RedoCopyFault::Unwritten(lsn));
        }
        if is_encrypted(block) {
            self.cipher(lsn)?.decrypt(&mut decrypted).map_err(|CipherFault| RedoCopyFault::Unwritten(lsn))?;
        }
        if block_holds(&decrypted, false) { Ok(decrypted) } else { Err(RedoCopyFault::Unwritten(lsn)) }
    }
}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocks").field("has_key", &self.has_key()).finish()
    }
}

/// Writes the checksum at the end of a block.
fn update_checksum(block: &mut [u8]) {
    let sum = crc32c(block.range(0, CHECKSUM));
    put(block, CHECKSUM, &sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::NoKeys;

    const START: u64 = 1 << 20;

    fn head(flags: u32) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES];
        put(&mut bytes, 0, &6_u32.to_be_bytes());
        put(&mut bytes, 8, &START.to_be_bytes());
        put(&mut bytes, 16, b"MySQL 9.7.4");
        put(&mut bytes, FLAGS, &flags.to_be_bytes());
        update_checksum(&mut bytes[..BLOCK_BYTES]);
        put(&mut bytes, 512 + 8, &(START + 600).to_be_bytes());
        update_checksum(&mut bytes[512..1024]);
        bytes
    }

    fn block(lsn: u64, data: u16, first_group: u16) -> [u8; BLOCK_BYTES] {
        let mut block = [7; BLOCK_BYTES];
        put(&mut block, 0, &number_at(Lsn(lsn)).unwrap().to_be_bytes());
        put(&mut block, DATA_LENGTH, &data.to_be_bytes());
        put(&mut block, FIRST_GROUP, &first_group.to_be_bytes());
        block[usize::from(data).min(CHECKSUM)..CHECKSUM].fill(0);
        update_checksum(&mut block);
        block
    }

    fn blocks(cipher: Option<MySqlBlockCipher>) -> Blocks {
        Blocks { cipher: cipher.ok_or(UnwrapFault::NoStore) }
    }

    fn cipher() -> MySqlBlockCipher {
        MySqlBlockCipher::new(&TablespaceKey::from_parts(&[3; 32], &[4; 32])).unwrap()
    }

    #[test]
    fn a_copy_has_one_checkpoint_and_one_file_that_is_not_full() {
        let read = Head::parse(&head(FULL)).unwrap();
        assert_eq!((read.start(), read.checkpoint()), (Lsn(START), Some(Lsn(START + 600))));
        assert_eq!(read.end(2048 + 1024), Lsn(START + 1024));
        let last = Head::parse(&read.of_copy(&CopyCheckpoint::None, true)).unwrap();
        assert_eq!((last.checkpoint(), last.bytes.be32(FLAGS)), (None, Some(0)));
        let first = Head::parse(&read.of_copy(&CopyCheckpoint::AsRead, false)).unwrap();
        assert_eq!((first.checkpoint(), first.bytes.be32(FLAGS)), (Some(Lsn(START + 600)), Some(FULL)));
        let other = Head::parse(&read.of_copy(&CopyCheckpoint::At(Lsn(START + 700)), false)).unwrap();
        assert_eq!(other.checkpoint(), Some(Lsn(START + 700)));
        assert!(!Blocks::new(&read, &NoKeys).has_key());
    }

    #[test]
    fn unsupported_headers_are_refused() {
        let mut torn = head(0);
        torn[520] ^= 1;
        let mut older = head(0);
        put(&mut older, 0, &5_u32.to_be_bytes());
        update_checksum(&mut older[..BLOCK_BYTES]);
        for bytes in [torn, older, head(1), head(2), head(4), vec![0; HEADER_BYTES], vec![0; 600]] {
            assert!(matches!(Head::parse(&bytes), Err(RedoCopyFault::Header(_))));
        }
    }

    #[test]
    fn a_block_is_cut_at_the_end() {
        let lsn = Lsn(START + 512);
        let clear = block(lsn.0, 400, 40);
        let cut = blocks(None).cut(&clear, lsn, Lsn(lsn.0 + 100)).unwrap();
        assert_eq!((data_bytes(&cut), &cut[12..100], &cut[100..CHECKSUM]), (Some(100), &clear[12..100], &[0; 408][..]));
        assert!(block_holds(&cut, false));
        let mut encrypted = clear;
        cipher().encrypt(&mut encrypted).unwrap();
        assert_eq!(blocks(None).cut(&encrypted, lsn, Lsn(lsn.0 + 100)), Err(RedoCopyFault::Encrypted(lsn)));
        let mut decrypted = blocks(Some(cipher())).cut(&encrypted, lsn, Lsn(lsn.0 + 100)).unwrap();
        assert!(is_encrypted(&decrypted));
        cipher().decrypt(&mut decrypted).unwrap();
        assert_eq!(decrypted, cut);
    }

    #[test]
    fn an_end_outside_the_records_is_refused() {
        let lsn = Lsn(START);
        let cut = |data, first, end| blocks(None).cut(&block(lsn.0, data, first), lsn, Lsn(lsn.0 + end));
        assert_eq!(cut(400, 40, 39), Err(RedoCopyFault::Boundary(Lsn(lsn.0 + 39))));
        assert!(cut(400, 40, 40).is_ok() && cut(512, 0, 507).is_ok());
        assert_eq!(cut(400, 40, 11), Err(RedoCopyFault::Boundary(Lsn(lsn.0 + 11))));
        assert_eq!(cut(400, 40, 508), Err(RedoCopyFault::Boundary(Lsn(lsn.0 + 508))));
        assert_eq!(cut(99, 40, 100), Err(RedoCopyFault::Unwritten(lsn)));
    }

    #[test]
    fn only_the_complete_block_at_its_lsn_is_accepted() {
        let lsn = Lsn(START);
        let full = block(lsn.0, 512, 12);
        assert_eq!(blocks(None).check_full(&full, lsn), Ok(()));
        assert_eq!(blocks(None).check_full(&full, Lsn(START + 512)), Err(RedoCopyFault::Unwritten(Lsn(START + 512))));
        let mut torn = full;
        torn[300] ^= 1;
        for block in [torn, block(lsn.0, 511, 12), [0; BLOCK_BYTES]] {
            assert_eq!(blocks(None).check_full(&block, lsn), Err(RedoCopyFault::Unwritten(lsn)));
        }
    }
}
