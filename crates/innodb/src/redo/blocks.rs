//! The blocks of MySQL's redo log, and of MariaDB's before 10.8: offsets of their fields, and whether a block is valid.
//!
//! A file is a header of four blocks followed by the blocks of the log. LSNs also count the bytes of block headers and
//! checksums, so a block's number follows from its LSN.
//!
//! Source: docs/formats, "Redo" of MySQL and MariaDB; `log0constants.h`. The number from the LSN confirmed on MySQL 9.7
//! and MariaDB 10.5.

use crate::{
    bytes::{Bytes, as_u64},
    ids::Lsn,
    page::checksum::crc32c,
};

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 512;
/// Bytes of a block's header: no LSN points into it.
pub const BLOCK_HEADER_BYTES: usize = 12;
/// Offset of a block's checksum, its last field.
pub const CHECKSUM: usize = 508;
/// Offset of the number of bytes in a block that are in use.
pub(crate) const DATA_LENGTH: usize = 4;
/// Bit of the field at [`DATA_LENGTH`] that marks an encrypted block: MySQL only.
pub(crate) const ENCRYPTED: u16 = 0x8000;
/// Offset of the field that says where the first record group of a block begins.
pub(crate) const FIRST_GROUP: usize = 6;
/// Mask of the bits that hold a block's number. Numbers start at 1.
pub(crate) const NUMBERS: u32 = 0x3fff_ffff;
/// Bit of a block's number that marks the first block of a write.
pub(crate) const FLUSH_BIT: u32 = 0x8000_0000;
/// Stored instead of a checksum if checksums are switched off (`innodb_log_checksums`).
const NO_CHECKSUM: u32 = 0xdead_beef;

/// Blocks of a file's header.
pub(crate) const HEADER_BLOCKS: u64 = 4;
/// Bytes of a file's header.
pub const HEADER_BYTES: usize = 4 * BLOCK_BYTES;
/// Offset of the first block after the header.
pub const BLOCKS_BEGIN: u64 = HEADER_BLOCKS * 512;
/// Offset of the flags in the header of MySQL 8.0.30 and newer.
pub(crate) const FLAGS: usize = 48;
/// The flag of a file that is full.
pub(crate) const FULL: u32 = 8;
/// Format number of MySQL 8.0.30 and newer, where each file has its own range of LSNs.
pub(crate) const FORMAT_8_0_30: u32 = 6;
/// Offset of the file's first LSN in its header, and of the LSN in a checkpoint.
pub(crate) const LSN: usize = 8;
/// Offsets of both checkpoints.
pub(crate) const CHECKPOINTS: [usize; 2] = [512, 1536];

/// Both checkpoint blocks in the header of a file.
pub(crate) fn checkpoint_blocks(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    CHECKPOINTS.into_iter().map(|at| head.range(at, at.saturating_add(BLOCK_BYTES)))
}

/// Number of the block that holds an LSN.
pub(crate) fn number_at(lsn: Lsn) -> Option<u32> {
    let block = lsn.0.checked_div(as_u64(BLOCK_BYTES))? & u64::from(NUMBERS);
    u32::try_from(block).ok()?.checked_add(1)
}

pub(crate) fn number(block: &[u8]) -> Option<u32> {
    block.be32(0).map(|number| number & !FLUSH_BIT)
}

/// Whether a block of MySQL's log is marked as encrypted.
#[must_use]
pub fn is_encrypted(block: &[u8]) -> bool {
    block.be16(DATA_LENGTH).is_some_and(|bytes| bytes & ENCRYPTED != 0)
}

/// Bytes of a block that are in use, including its header.
pub(crate) fn data_bytes(block: &[u8]) -> Option<u16> {
    block.be16(DATA_LENGTH).map(|bytes| bytes & !ENCRYPTED)
}

/// Whether the CRC-32C at the end of a block matches. With `may_lack` (`innodb_log_checksums=OFF`) a block without a
/// checksum is valid too.
#[must_use]
pub fn block_holds(block: &[u8], may_lack: bool) -> bool {
    match block.be32(CHECKSUM) {
        Some(NO_CHECKSUM) if may_lack => true,
        Some(stored) => stored == crc32c(block.range(0, CHECKSUM)),
        None => false,
    }
}
