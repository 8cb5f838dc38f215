//! Reads a log of 512-byte blocks from the first to the last.

use std::time::Duration;

use files::ReadAt;

use super::{
    order::{BlockState, NumberedBlock, Order},
    runs::Runs,
};
use crate::{
    bytes::{Bytes, all_zero, as_u64, bump},
    error::ScanError,
    page::checksum::crc32c,
    read::fill,
    redo::blocks::{BLOCK_BYTES, BLOCKS_BEGIN, CHECKSUM},
    verify::{Check, ReportBuilder},
};

/// Bytes read at once.
const CHUNK_BYTES: u64 = 1 << 20;
/// Blocks that are read again if they look damaged, because a running server may be writing them.
const REREADS: u32 = 64;

/// How a format judges a block.
pub(super) trait BlockJudge {
    /// Judges a block that is not empty. `unit` counts from the start of the file.
    fn judge(&mut self, unit: u64, block: &[u8]) -> Judged;
}

/// Result of judging a block.
pub(super) struct Judged {
    pub(super) state: BlockState,
    /// Number in the block's header, from 1; `None` if it has none.
    pub(super) number: Option<u32>,
    /// Failed check and message.
    pub(super) fault: Option<(Check, String)>,
}

/// All blocks after the header.
pub(super) struct Blocks<'a, R: ?Sized> {
    source: &'a R,
    file_bytes: u64,
    order: Order,
    runs: Runs,
    rereads: u32,
}

impl<'a, R: ReadAt + ?Sized> Blocks<'a, R> {
    /// `first` is the number that the first block after the header must have, if known.
    pub(super) fn new(source: &'a R, file_bytes: u64, first: Option<u32>) -> Self {
        Self { source, file_bytes, order: Order::new(first), runs: Runs::default(), rereads: REREADS }
    }

    /// Reads and judges all blocks. Returns the last one whose number matches its position, counted
    /// from the start of the file.
    pub(super) fn walk(
        mut self,
        judge: &mut dyn BlockJudge,
        builder: &mut ReportBuilder,
    ) -> Result<Option<u64>, ScanError> {
        let mut buf = vec![0; crate::bytes::as_usize(CHUNK_BYTES)];
        let mut offset = BLOCKS_BEGIN;
        while offset < self.file_bytes {
            let bytes = fill(self.source, offset, &mut buf)?;
            if bytes.len() < BLOCK_BYTES {
                break;
            }
            for (index, block) in bytes.as_chunks::<BLOCK_BYTES>().0.iter().enumerate() {
                let at = offset.saturating_add(as_u64(index).saturating_mul(as_u64(BLOCK_BYTES)));
                self.block(at, block, judge, builder)?;
            }
            offset = offset.saturating_add(CHUNK_BYTES);
        }
        self.runs.finish(builder);
        Ok(self.order.finish(builder))
    }

    fn block(
        &mut self,
        offset: u64,
        block: &[u8; BLOCK_BYTES],
        judge: &mut dyn BlockJudge,
        builder: &mut ReportBuilder,
    ) -> Result<(), ScanError> {
        bump(&mut builder.units.total);
        let unit = offset.checked_div(as_u64(BLOCK_BYTES)).unwrap_or(0);
        let mut judged = judged(unit, block, judge);
        if judged.fault.is_some()
            && let Some(newer) = self.again(offset, block)?
        {
            judged = self::judged(unit, &newer, judge);
        }
        self.runs.push(unit, judged.fault.is_none().then_some(judged.state));
        match judged.fault {
            Some((check, detail)) => {
                bump(&mut builder.units.bad);
                builder.find(Some(unit), Some(offset), check, detail);
            }
            None => {
                let block = NumberedBlock { unit, state: judged.state, number: judged.number };
                let source = self.source;
                self.order.push(block, builder, |unit| current_number(source, unit));
            }
        }
        Ok(())
    }

    /// Reads the block again; `None` if it did not change.
    fn again(&mut self, offset: u64, block: &[u8; BLOCK_BYTES]) -> Result<Option<[u8; BLOCK_BYTES]>, ScanError> {
        let Some(left) = self.rereads.checked_sub(1) else { return Ok(None) };
        self.rereads = left;
        let mut now = [0; BLOCK_BYTES];
        for pause in [1, 4] {
            self.source.pause(Duration::from_millis(pause));
            if fill(self.source, offset, &mut now)?.len() == BLOCK_BYTES && now != *block {
                return Ok(Some(now));
            }
        }
        Ok(None)
    }
}

fn judged(unit: u64, block: &[u8; BLOCK_BYTES], judge: &mut dyn BlockJudge) -> Judged {
    if !all_zero(block.range(0, CHECKSUM)) {
        return judge.judge(unit, block);
    }
    // Zeros with a checksum of other content are the remains of a damaged block.
    let stored = block.be32(CHECKSUM).unwrap_or_default();
    let expected = crc32c(block.range(0, CHECKSUM));
    let fault = (stored != 0 && stored != expected)
        .then(|| (Check::Checksum, super::head::mismatch("block", expected, stored)));
    Judged { state: BlockState::Empty, number: None, fault }
}

/// Current number of a block; the highest bit is not part of it.
fn current_number<R: ReadAt + ?Sized>(source: &R, unit: u64) -> Option<u32> {
    let mut block = [0; 4];
    let offset = unit.saturating_mul(as_u64(BLOCK_BYTES));
    let bytes = fill(source, offset, &mut block).ok()?;
    bytes.be32(0).map(|number| number & 0x7fff_ffff)
}
