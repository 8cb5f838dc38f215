//! Which ranges of a pack a restore reads, if it does not read the whole pack.

use std::ops::Range;

/// Bytes at the beginning of a pack that are read for its header: enough for 160 recipients. A header has 168 bytes for
/// one recipient, and 98 for each further one.
pub(super) const HEAD_BYTES: u64 = 16 << 10;
/// Bytes that a store delivers in the time that it needs to begin another answer: versitygw on the same host needed 0.4
/// to 1.6 ms for a range of 4 KiB, and 19 ms for 32 MiB. Neighbouring ranges are read as one if fewer bytes are between
/// them.
const REQUEST_BYTES: u64 = 1 << 20;

/// The ranges of a pack's plain text that have these frames, which are sorted: offset and length of each. `None` if it is
/// better to read the whole pack, of `pack_bytes` bytes: it needs one request, and its hash shows that it is sound.
pub(super) fn ranges(pack_bytes: u64, frames: impl Iterator<Item = (u64, u32)>) -> Option<Vec<Range<u64>>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for (at, bytes) in frames {
        // Only a manifest has the lengths of frames, not a salvaged list of files.
        let end = at.checked_add(u64::from(bytes)).filter(|_| bytes > 0)?;
        match ranges.last_mut() {
            Some(last) if at.saturating_sub(last.end) < REQUEST_BYTES => last.end = last.end.max(end),
            _ => ranges.push(at..end),
        }
    }
    // The header is one more request.
    let requests = (ranges.len() as u64).saturating_add(1);
    let cost = requests.saturating_mul(REQUEST_BYTES).saturating_add(bytes_of(&ranges));
    (cost <= pack_bytes / 2).then_some(ranges)
}

/// Number of bytes to read, about.
pub(super) fn bytes_of(ranges: &[Range<u64>]) -> u64 {
    let lengths = ranges.iter().map(|range| range.end.saturating_sub(range.start));
    lengths.fold(HEAD_BYTES, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const PACK: u64 = 32 * MIB;

    /// Frames of 400 KiB at these places, in MiB.
    fn at(places: &[u64]) -> Option<Vec<Range<u64>>> {
        ranges(PACK, places.iter().map(|place| (place * MIB, 400 << 10)))
    }

    #[test]
    fn little_of_a_pack_is_read_in_ranges() {
        let range = |from: u64, last: u64| from * MIB..last * MIB + (400 << 10);
        assert_eq!(at(&[3]), Some(vec![range(3, 3)]));
        assert_eq!(at(&[0, 20, 31]), Some(vec![range(0, 0), range(20, 20), range(31, 31)]));
        // Between the first two are 624 KiB.
        assert_eq!(at(&[4, 5, 9]), Some(vec![range(4, 5), range(9, 9)]));
        assert_eq!(at(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]), Some(vec![range(0, 12)]));
    }

    #[test]
    fn much_of_a_pack_is_read_as_a_whole() {
        let all: Vec<u64> = (0..32).collect();
        assert_eq!(at(&all), None);
        assert_eq!(at(&all[..15]), None, "nearly half of it");
        let scattered: Vec<u64> = all.iter().copied().step_by(2).collect();
        assert_eq!(at(&scattered), None, "many requests");
        assert_eq!(ranges(4 * MIB - 1, [(0, 1)].into_iter()), None, "a small pack");
        assert!(ranges(5 * MIB, [(0, 1)].into_iter()).is_some());
        assert_eq!(ranges(PACK, [(0, 0)].into_iter()), None, "the length of the frame is not known");
        assert_eq!(ranges(PACK, [(u64::MAX, 1)].into_iter()), None);
    }
}
