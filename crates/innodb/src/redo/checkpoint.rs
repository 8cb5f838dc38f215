//! The newest checkpoint in a file's header, without reading the log.

use crate::{
    bytes::{Bytes, as_usize},
    ids::Lsn,
    page::checksum::crc32c,
    redo::{RedoFormat, blocks, legacy, phys::Checkpoint, recognise},
};

/// The newest valid checkpoint in `head`, the first [`HEAD_BYTES`](crate::verify::redo::HEAD_BYTES) of a file.
///
/// Changes before it are in the data files. Source: docs/formats, "Redo" of MySQL and of MariaDB.
#[must_use]
pub fn checkpoint_lsn(head: &[u8]) -> Option<Lsn> {
    let Some(format) = recognise(head) else { return legacy::checkpoint(head) };
    match format {
        RedoFormat::MySql | RedoFormat::MariaDbBlocks => {
            newest(head, blocks::CHECKPOINTS, blocks::LSN, blocks::CHECKSUM)
        }
        RedoFormat::MariaDbPhys | RedoFormat::MariaDbEncrypted => {
            newest(head, Checkpoint::OFFSETS.map(as_usize), 0, Checkpoint::CHECKSUM)
        }
        RedoFormat::Blank | RedoFormat::Unknown => None,
    }
}

/// LSN of the start of a file of MySQL 8.0.30 and newer.
///
/// Source: docs/formats, "Redo" of MySQL. Each file starts where the previous one ends, seen on 9.7.
#[must_use]
pub fn mysql_start_lsn(head: &[u8]) -> Option<Lsn> {
    let many = recognise(head) == Some(RedoFormat::MySql) && head.be32(0) == Some(blocks::FORMAT_8_0_30);
    head.be64(blocks::LSN).filter(|_| many).map(Lsn)
}

fn newest(head: &[u8], offsets: [usize; 2], lsn_at: usize, sum_at: usize) -> Option<Lsn> {
    let sound = offsets.into_iter().filter_map(|at| {
        let block = head.range(at, at.saturating_add(blocks::BLOCK_BYTES));
        let holds = block.be32(sum_at) == Some(crc32c(block.range(0, sum_at)));
        block.be64(lsn_at).filter(|lsn| holds && *lsn != 0).map(Lsn)
    });
    sound.max()
}
