//! Verifies logs without a format number: MySQL up to 5.7.8 and MariaDB up to 10.1.

use files::ReadAt;

use super::{
    Job, Outcome,
    blocks::{BlockJudge, Blocks, Judged},
    head::mismatch,
    order::BlockState,
};
use crate::{
    bytes::{Bytes, all_zero},
    error::ScanError,
    ids::Lsn,
    redo::{
        blocks::{BLOCK_BYTES, BLOCKS_BEGIN, CHECKPOINTS, CHECKSUM, number_at},
        legacy::{CRYPT_10_1, checkpoint, checkpoint_holds, holds, is_head, sum},
    },
    verify::Check,
};

pub(super) fn verify<R: ReadAt + ?Sized>(job: &mut Job<'_, R>) -> Result<Outcome, ScanError> {
    let head = job.head;
    if !is_head(head.bytes) {
        let detail = format!("a redo log of the unknown format 0x{:08x}", head.format_id);
        job.builder.find(None, Some(0), Check::Unknown, detail);
        return Ok(Outcome::default());
    }
    if CHECKPOINTS.into_iter().any(|at| head.bytes.get(at.saturating_add(CRYPT_10_1)) == Some(&2)) {
        job.builder.find(None, None, Check::Unknown, "an encrypted redo log of MariaDB 10.1");
        return Ok(Outcome::default());
    }
    if !head.check_length(BLOCKS_BEGIN, &mut job.builder) {
        return Ok(Outcome::default());
    }
    for at in CHECKPOINTS {
        let block = head.bytes.range(at, at.saturating_add(BLOCK_BYTES));
        if !all_zero(block) && !checkpoint_holds(block) {
            let offset = crate::bytes::as_u64(at);
            job.builder.find(None, Some(offset), Check::Header, "the checksum of a checkpoint does not match");
        }
    }
    const START_LSN: usize = 4;
    let first = head.bytes.be64(START_LSN).and_then(|lsn| number_at(Lsn(lsn)));
    Blocks::new(job.source, head.file_bytes, first).walk(&mut Judge, &mut job.builder)?;
    Ok(Outcome { checkpoint_lsn: checkpoint(head.bytes), ..Outcome::default() })
}

struct Judge;

impl BlockJudge for Judge {
    fn judge(&mut self, _: u64, block: &[u8]) -> Judged {
        let number = block.be32(0).map(|number| number & 0x7fff_ffff).filter(|number| *number != 0);
        let fault = (!holds(block)).then(|| {
            let found = block.be32(CHECKSUM).unwrap_or_default();
            (Check::Checksum, mismatch("block", sum(block), found))
        });
        Judged { state: BlockState::Clear, number, fault }
    }
}
