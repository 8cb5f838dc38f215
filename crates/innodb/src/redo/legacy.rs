//! Logs of MySQL up to 5.7.8 and MariaDB up to 10.1, which have no format number: the first four
//! bytes are zero.
//!
//! Source: `log0recv.cc` of MariaDB (`recv_log_recover_pre_10_2`); confirmed on files of MySQL 5.6,
//! of which testdata has no sample.

use crate::{
    bytes::{Bytes, all_zero},
    ids::Lsn,
    page::checksum::fold,
    redo::blocks::{BLOCK_BYTES, CHECKSUM, HEADER_BYTES, LSN, block_holds, checkpoint_blocks},
};

/// Offset of the first checksum of a checkpoint; the second follows.
const CHECKPOINT_SUM: usize = 288;
/// Offset of the encryption mark of MariaDB 10.1 in a checkpoint.
pub(crate) const CRYPT_10_1: usize = 20 + 32 * 9;

/// Whether the first bytes of a file are the header of such a log: no format number, and a
/// checkpoint or a block that only this format has.
pub(crate) fn is_head(bytes: &[u8]) -> bool {
    let first = bytes.range(HEADER_BYTES, HEADER_BYTES.saturating_add(BLOCK_BYTES));
    let block = first.len() == BLOCK_BYTES && !all_zero(first) && holds(first);
    bytes.be32(0) == Some(0) && !all_zero(bytes.range(0, 16)) && (block || checkpoint(bytes).is_some())
}

/// The newer of both checkpoints.
pub(crate) fn checkpoint(bytes: &[u8]) -> Option<Lsn> {
    let sound =
        checkpoint_blocks(bytes).filter(|block| !all_zero(block.range(0, CHECKPOINT_SUM)) && checkpoint_holds(block));
    sound.filter_map(|block| block.be64(LSN)).max().map(Lsn)
}

pub(crate) fn checkpoint_holds(block: &[u8]) -> bool {
    let second = CHECKPOINT_SUM.saturating_add(4);
    block.be32(CHECKPOINT_SUM) == Some(fold(block.range(0, CHECKPOINT_SUM)))
        && block.be32(second) == Some(fold(block.range(8, second)))
}

/// Whether the block's original checksum matches, or the CRC-32C that Percona Server and MariaDB
/// offer.
pub(crate) fn holds(block: &[u8]) -> bool {
    block.be32(CHECKSUM) == Some(sum(block)) || block_holds(block, true)
}

/// The block checksum used before CRC-32C.
pub(crate) fn sum(block: &[u8]) -> u32 {
    let mut shift = 0_u32;
    block.range(0, CHECKSUM).iter().fold(1_u32, |sum, byte| {
        let byte = u32::from(*byte);
        let next = (sum & 0x7fff_ffff).wrapping_add(byte).wrapping_add(byte << shift);
        shift = if shift == 24 { 0 } else { shift.saturating_add(1) };
        next
    })
}
