//! Whether blocks are where their numbers say.
//!
//! A block's number follows from its log sequence number, so it grows by one from block to block
//! of the same lap. Two series can meet in one file: the newest lap, and behind its end an older
//! one. What interrupts a series that goes on afterwards is damage: a block of another place, or
//! one that was wiped.
//!
//! Source: formats, "Redo" (`BE4@0 number`); the number from the LSN confirmed on MySQL 9.7 and
//! MariaDB 10.5.

use crate::{
    bytes::bump,
    verify::{Check, MAX_FINDINGS, Tally, Units},
};

/// How a block lies on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lie {
    Empty,
    Clear,
    Encrypted,
}

/// A sound block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) unit: u64,
    pub(super) lie: Lie,
    pub(super) number: Option<u32>,
}

/// Numbers have 30 bits.
pub(super) const NUMBERS: u32 = 0x3fff_ffff;
/// Blocks of the header.
pub(super) const FIRST_UNIT: u64 = 4;

impl Place {
    /// Number of the first block of the series that the block belongs to, less one.
    fn series(&self) -> Option<u32> {
        self.number.map(|number| number.wrapping_sub(1).wrapping_sub(index(self.unit)) & NUMBERS)
    }
}

/// Blocks so far.
pub(super) struct Order {
    newest: Option<u32>,
    older: Option<u32>,
    /// Blocks since the newest series was interrupted.
    held: Held,
    /// Blocks since the older series was interrupted.
    held_in_older: Held,
    last: Option<u64>,
}

impl Order {
    /// `first` is the number of the first block of the newest series, as the header has it.
    pub(super) fn new(first: Option<u32>) -> Self {
        let newest = first.map(|first| first.wrapping_sub(1) & NUMBERS);
        Self { newest, older: None, held: Held::default(), held_in_older: Held::default(), last: None }
    }

    /// Takes the next block. `now` reads the number that a block has by now.
    pub(super) fn place(&mut self, place: Place, tally: &mut Tally, now: impl Fn(u64) -> Option<u32>) {
        let series = place.series();
        match series {
            Some(series) if series == *self.newest.get_or_insert(series) => {
                let mut held = std::mem::take(&mut self.held);
                held.append(std::mem::take(&mut self.held_in_older));
                held.damaged(series, tally, now);
                self.older = None;
                self.last = Some(place.unit);
                count(&mut tally.units, place.lie, 1);
            }
            Some(series) if series == *self.older.get_or_insert(series) => {
                std::mem::take(&mut self.held_in_older).damaged(series, tally, now);
                self.held.push(place);
            }
            _ if self.older.is_some() => self.held_in_older.push(place),
            _ => self.held.push(place),
        }
    }

    /// The end of the file: what is behind the newest series is no damage. Returns the last block
    /// of that series.
    pub(super) fn finish(self, tally: &mut Tally) -> Option<u64> {
        tally.units.add(&self.held.units);
        tally.units.add(&self.held_in_older.units);
        self.last
    }
}

fn count(units: &mut Units, lie: Lie, blocks: u64) {
    let counter = match lie {
        Lie::Empty => &mut units.empty,
        Lie::Clear => &mut units.clear,
        Lie::Encrypted => &mut units.encrypted,
    };
    *counter = counter.saturating_add(blocks);
}

/// Blocks that are damage if the series goes on behind them.
#[derive(Default)]
struct Held {
    /// By how they lie; `total` stays 0, they are counted there already.
    units: Units,
    first: Vec<Place>,
    beyond: u64,
}

impl Held {
    fn push(&mut self, place: Place) {
        count(&mut self.units, place.lie, 1);
        if self.first.len() < MAX_FINDINGS {
            self.first.push(place);
        } else {
            bump(&mut self.beyond);
        }
    }

    fn append(&mut self, other: Self) {
        self.units.add(&other.units);
        self.first.extend(other.first);
        self.beyond = self.beyond.saturating_add(other.beyond);
    }

    fn damaged(self, series: u32, tally: &mut Tally, now: impl Fn(u64) -> Option<u32>) {
        let Some(first) = self.first.first() else { return };
        // The server may have written them after they were read.
        if now(first.unit) == Some(expected(first.unit, series)) {
            let offset = first.unit.saturating_mul(512);
            tally.units.add(&self.units);
            tally.find(Some(first.unit), Some(offset), Check::Changing, "the log was written while it was read");
            return;
        }
        let Units { encrypted, clear, empty, .. } = self.units;
        tally.units.bad = tally.units.bad.saturating_add(encrypted).saturating_add(clear).saturating_add(empty);
        for place in &self.first {
            let offset = place.unit.saturating_mul(512);
            let expected = expected(place.unit, series);
            let (check, found) = match place.number {
                Some(found) => (Check::Position, format!("block number {found}")),
                None => (Check::AllocatedZero, "an empty block".to_owned()),
            };
            tally.find(Some(place.unit), Some(offset), check, format!("{found} where number {expected} must be"));
        }
        tally.leave_out(self.beyond);
    }
}

/// Number that belongs to a place in a series.
fn expected(unit: u64, series: u32) -> u32 {
    (series.wrapping_add(index(unit)) & NUMBERS).saturating_add(1)
}

/// Blocks between the header and a block, as far as numbers tell them apart.
fn index(unit: u64) -> u32 {
    u32::try_from(unit.saturating_sub(FIRST_UNIT) & u64::from(NUMBERS)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers by position; 0 is an empty block.
    fn bad(first: Option<u32>, numbers: &[u32]) -> (u64, Option<u64>) {
        let mut tally = Tally::default();
        let mut order = Order::new(first);
        for (unit, number) in (4..).zip(numbers) {
            let number = Some(*number).filter(|number| *number != 0);
            let lie = if number.is_some() { Lie::Clear } else { Lie::Empty };
            order.place(Place { unit, lie, number }, &mut tally, |_| None);
        }
        let last = order.finish(&mut tally);
        let units = tally.units;
        assert_eq!(units.clear + units.empty + units.bad, numbers.len() as u64);
        assert_eq!(tally.is_damaged(), units.bad > 0);
        (units.bad, last)
    }

    #[test]
    fn older_laps_and_zeros_behind_the_end_are_no_damage() {
        assert_eq!(bad(Some(10), &[10, 11, 12, 3, 4, 5]), (0, Some(6)));
        assert_eq!(bad(Some(10), &[10, 11, 0, 0]), (0, Some(5)));
        assert_eq!(bad(Some(10), &[10, 11, 2, 3, 0, 0]), (0, Some(5)));
        assert_eq!(bad(Some(10), &[1, 2, 3]), (0, None));
        assert_eq!(bad(None, &[7, 8, 9]), (0, Some(6)));
        assert_eq!(bad(Some(NUMBERS), &[NUMBERS, NUMBERS + 1, 1, 2]), (0, Some(7)));
    }

    #[test]
    fn what_interrupts_a_series_is_damage() {
        assert_eq!(bad(Some(10), &[10, 12, 11, 13]), (2, Some(7)));
        assert_eq!(bad(Some(10), &[12, 11, 10, 13]), (2, Some(7)));
        assert_eq!(bad(Some(10), &[0, 11]), (1, Some(5)));
        assert_eq!(bad(Some(10), &[10, 3, 4, 0, 14]), (3, Some(8)));
        assert_eq!(bad(Some(10), &[10, 3, 0, 5, 6]), (1, Some(4)), "in the older lap");
    }

    #[test]
    fn a_block_written_meanwhile_is_no_damage() {
        let mut tally = Tally::default();
        let mut order = Order::new(Some(10));
        for (unit, number) in [(4, 10), (5, 3), (6, 12)] {
            let place = Place { unit, lie: Lie::Clear, number: Some(number) };
            order.place(place, &mut tally, |_| Some(11));
        }
        order.finish(&mut tally);
        assert!(!tally.is_damaged());
        assert_eq!(tally.units.clear, 3);
    }
}
