//! Checks that blocks are where their numbers say.
//!
//! A block's number follows from its LSN, so it grows by one from block to block of the same pass
//! over the file. Two series can meet in one file: the newest pass, and after its end an older one.
//! Blocks that interrupt a series which continues afterwards are damage: blocks of another
//! position, or erased ones.
//!
//! Source: docs/formats, "Redo" (the number is BE4@0 of a block); the number from the LSN confirmed on MySQL 9.7 and
//! MariaDB 10.5.

use crate::{
    bytes::{as_u64, bump},
    redo::blocks::{BLOCK_BYTES, HEADER_BLOCKS, NUMBERS},
    verify::{Check, MAX_FINDINGS, ReportBuilder, Units},
};

/// State of a valid block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockState {
    Empty,
    Clear,
    Encrypted,
}

/// A valid block.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberedBlock {
    pub(super) unit: u64,
    pub(super) state: BlockState,
    pub(super) number: Option<u32>,
}

impl NumberedBlock {
    /// Number of the first block of the series that the block belongs to, minus one.
    fn series(&self) -> Option<u32> {
        self.number.map(|number| number.wrapping_sub(1).wrapping_sub(index(self.unit)) & NUMBERS)
    }
}

/// Order of the blocks so far.
pub(super) struct Order {
    newest: Option<u32>,
    older: Option<u32>,
    /// Blocks since the newest series was interrupted.
    pending: PendingBlocks,
    /// Blocks since the older series was interrupted.
    pending_in_older: PendingBlocks,
    last: Option<u64>,
}

impl Order {
    /// `first` is the number of the first block of the newest series, from the header.
    pub(super) fn new(first: Option<u32>) -> Self {
        let newest = first.map(|first| first.wrapping_sub(1) & NUMBERS);
        Self {
            newest,
            older: None,
            pending: PendingBlocks::default(),
            pending_in_older: PendingBlocks::default(),
            last: None,
        }
    }

    /// Adds the next block. `current_number` reads the current number of a block.
    pub(super) fn push(
        &mut self,
        block: NumberedBlock,
        builder: &mut ReportBuilder,
        current_number: impl Fn(u64) -> Option<u32>,
    ) {
        let series = block.series();
        match series {
            Some(series) if series == *self.newest.get_or_insert(series) => {
                let mut pending = std::mem::take(&mut self.pending);
                pending.append(std::mem::take(&mut self.pending_in_older));
                pending.damaged(series, builder, current_number);
                self.older = None;
                self.last = Some(block.unit);
                count(&mut builder.units, block.state, 1);
            }
            Some(series) if series == *self.older.get_or_insert(series) => {
                std::mem::take(&mut self.pending_in_older).damaged(series, builder, current_number);
                self.pending.push(block);
            }
            _ if self.older.is_some() => self.pending_in_older.push(block),
            _ => self.pending.push(block),
        }
    }

    /// Ends the file: blocks after the newest series are not damage. Returns the last block of that
    /// series.
    pub(super) fn finish(self, builder: &mut ReportBuilder) -> Option<u64> {
        builder.units.add(&self.pending.units);
        builder.units.add(&self.pending_in_older.units);
        self.last
    }
}

fn count(units: &mut Units, state: BlockState, blocks: u64) {
    let counter = match state {
        BlockState::Empty => &mut units.empty,
        BlockState::Clear => &mut units.clear,
        BlockState::Encrypted => &mut units.encrypted,
    };
    *counter = counter.saturating_add(blocks);
}

/// Blocks that are damage if the series continues after them.
#[derive(Default)]
struct PendingBlocks {
    /// Counts by state; `total` stays 0, because the blocks are already counted there.
    units: Units,
    first: Vec<NumberedBlock>,
    beyond: u64,
}

impl PendingBlocks {
    fn push(&mut self, block: NumberedBlock) {
        count(&mut self.units, block.state, 1);
        if self.first.len() < MAX_FINDINGS {
            self.first.push(block);
        } else {
            bump(&mut self.beyond);
        }
    }

    fn append(&mut self, other: Self) {
        self.units.add(&other.units);
        self.first.extend(other.first);
        self.beyond = self.beyond.saturating_add(other.beyond);
    }

    fn damaged(self, series: u32, builder: &mut ReportBuilder, current_number: impl Fn(u64) -> Option<u32>) {
        let Some(first) = self.first.first() else { return };
        // The server may have written them after they were read.
        if current_number(first.unit) == Some(expected(first.unit, series)) {
            let offset = first.unit.saturating_mul(as_u64(BLOCK_BYTES));
            builder.units.add(&self.units);
            builder.find(Some(first.unit), Some(offset), Check::Changing, "the log was written while it was read");
            return;
        }
        let Units { encrypted, clear, empty, .. } = self.units;
        builder.units.bad = builder.units.bad.saturating_add(encrypted).saturating_add(clear).saturating_add(empty);
        for block in &self.first {
            let offset = block.unit.saturating_mul(as_u64(BLOCK_BYTES));
            let expected = expected(block.unit, series);
            let (check, found) = match block.number {
                Some(found) => (Check::Position, format!("block number {found}")),
                None => (Check::AllocatedZero, "an empty block".to_owned()),
            };
            builder.find(Some(block.unit), Some(offset), check, format!("{found} where number {expected} must be"));
        }
        builder.leave_out(self.beyond);
    }
}

/// The number that a position has in a series.
fn expected(unit: u64, series: u32) -> u32 {
    (series.wrapping_add(index(unit)) & NUMBERS).saturating_add(1)
}

/// Blocks between the header and a block, modulo the range of numbers.
fn index(unit: u64) -> u32 {
    u32::try_from(unit.saturating_sub(HEADER_BLOCKS) & u64::from(NUMBERS)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Block numbers by position; 0 is an empty block.
    fn damaged_and_last(first: Option<u32>, numbers: &[u32]) -> (u64, Option<u64>) {
        let mut builder = ReportBuilder::default();
        let mut order = Order::new(first);
        for (unit, number) in (4..).zip(numbers) {
            let number = Some(*number).filter(|number| *number != 0);
            let state = if number.is_some() { BlockState::Clear } else { BlockState::Empty };
            order.push(NumberedBlock { unit, state, number }, &mut builder, |_| None);
        }
        let last = order.finish(&mut builder);
        let units = builder.units;
        assert_eq!(units.clear + units.empty + units.bad, numbers.len() as u64);
        assert_eq!(builder.is_damaged(), units.bad > 0);
        (units.bad, last)
    }

    #[test]
    fn older_passes_and_zeros_after_the_end_are_no_damage() {
        assert_eq!(damaged_and_last(Some(10), &[10, 11, 12, 3, 4, 5]), (0, Some(6)));
        assert_eq!(damaged_and_last(Some(10), &[10, 11, 0, 0]), (0, Some(5)));
        assert_eq!(damaged_and_last(Some(10), &[10, 11, 2, 3, 0, 0]), (0, Some(5)));
        assert_eq!(damaged_and_last(Some(10), &[1, 2, 3]), (0, None));
        assert_eq!(damaged_and_last(None, &[7, 8, 9]), (0, Some(6)));
        assert_eq!(damaged_and_last(Some(NUMBERS), &[NUMBERS, NUMBERS + 1, 1, 2]), (0, Some(7)));
    }

    #[test]
    fn blocks_that_interrupt_a_series_are_damage() {
        assert_eq!(damaged_and_last(Some(10), &[10, 12, 11, 13]), (2, Some(7)));
        assert_eq!(damaged_and_last(Some(10), &[12, 11, 10, 13]), (2, Some(7)));
        assert_eq!(damaged_and_last(Some(10), &[0, 11]), (1, Some(5)));
        assert_eq!(damaged_and_last(Some(10), &[10, 3, 4, 0, 14]), (3, Some(8)));
        assert_eq!(damaged_and_last(Some(10), &[10, 3, 0, 5, 6]), (1, Some(4)), "in the older lap");
    }

    #[test]
    fn a_block_written_meanwhile_is_no_damage() {
        let mut builder = ReportBuilder::default();
        let mut order = Order::new(Some(10));
        for (unit, number) in [(4, 10), (5, 3), (6, 12)] {
            let block = NumberedBlock { unit, state: BlockState::Clear, number: Some(number) };
            order.push(block, &mut builder, |_| Some(11));
        }
        order.finish(&mut builder);
        assert!(!builder.is_damaged());
        assert_eq!(builder.units.clear, 3);
    }
}
