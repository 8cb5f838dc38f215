//! One direction of a connection: its first bytes in order, and the number of all bytes.

use std::collections::BTreeMap;

/// Number of bytes kept of each direction: enough for a login and the commands that start replication.
pub(crate) const KEPT_BYTES: usize = 8192;

/// Maximum number of segments kept while an earlier one is missing.
const MAX_WAITING: usize = 16;

/// Maximum number of segment starts kept, for a connection whose beginning was not captured.
const MAX_STARTS: usize = 32;

/// Offset of a segment from which on missing bytes at the start are given up: they will not arrive any more.
const HOPELESS_BYTES: u32 = 4 << 20;

#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// Sequence number of the first byte; `None` before the first segment.
    base: Option<u32>,
    /// Whether `bytes` begins with the first byte of the connection.
    from_start: bool,
    /// Sequence number after the newest byte.
    next: u32,
    bytes: Vec<u8>,
    /// Offsets in `bytes` where segments began.
    starts: Vec<usize>,
    /// Segments after a gap, by their offset.
    waiting: BTreeMap<usize, Vec<u8>>,
    /// Set when no further byte is kept.
    is_closed: bool,
    seen_bytes: u64,
}

impl Stream {
    /// Starts the stream at this sequence number, the one after a SYN.
    pub(crate) fn open(&mut self, sequence: u32) {
        if self.base.is_none() {
            self.base = Some(sequence);
            self.next = sequence;
            self.from_start = true;
        }
    }

    /// Adds a segment. Returns by how many bytes the memory in use has grown.
    pub(crate) fn push(&mut self, sequence: u32, payload: &[u8], wire_bytes: u32) -> usize {
        if wire_bytes == 0 {
            return 0;
        }
        let base = *self.base.get_or_insert(sequence);
        if self.seen_bytes == 0 && !self.from_start {
            self.next = sequence;
        }
        self.count(sequence, wire_bytes);
        let before = self.held_bytes();
        self.keep(sequence.wrapping_sub(base), payload);
        self.held_bytes().saturating_sub(before)
    }

    /// The first bytes in order, up to the first gap.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Offsets where segments began: where a message may begin.
    pub(crate) fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// Whether [`Self::bytes`] begins where the connection began.
    pub(crate) const fn is_from_start(&self) -> bool {
        self.from_start
    }

    /// Number of bytes on the wire; retransmissions are not counted.
    pub(crate) const fn seen_bytes(&self) -> u64 {
        self.seen_bytes
    }

    /// Sequence number of the first byte, if there was a segment.
    pub(crate) const fn base(&self) -> Option<u32> {
        self.base
    }

    /// Number of bytes up to the newest one: more than [`Self::seen_bytes`] if segments are missing or out of order.
    pub(crate) fn reach(&self) -> u64 {
        let distance = self.base.map_or(0, |base| self.next.wrapping_sub(base));
        self.seen_bytes.max(u64::from(distance))
    }

    /// Whether no further byte will be kept.
    pub(crate) const fn is_full(&self) -> bool {
        self.is_closed
    }

    /// Number of bytes in memory.
    pub(crate) fn held_bytes(&self) -> usize {
        self.waiting.values().map(Vec::len).fold(self.bytes.len(), usize::saturating_add)
    }

    /// Releases the bytes, and keeps no further ones.
    pub(crate) fn release(&mut self) {
        self.is_closed = true;
        self.bytes = Vec::new();
        self.starts = Vec::new();
        self.waiting = BTreeMap::new();
    }

    /// Counts the bytes after the newest one so far. Sequence numbers are compared modulo 2^32 (RFC 9293).
    fn count(&mut self, sequence: u32, wire_bytes: u32) {
        let end = sequence.wrapping_add(wire_bytes);
        let beyond = end.wrapping_sub(self.next);
        if beyond < 1 << 31 {
            self.seen_bytes = self.seen_bytes.saturating_add(u64::from(beyond.min(wire_bytes)));
            self.next = end;
        }
    }

    fn keep(&mut self, offset: u32, payload: &[u8]) {
        let is_old = offset >= 1 << 31;
        if self.is_closed || is_old {
            return;
        }
        if offset > HOPELESS_BYTES {
            self.is_closed = true;
            self.waiting = BTreeMap::new();
            return;
        }
        let Ok(offset) = usize::try_from(offset) else { return };
        let Some(room) = KEPT_BYTES.checked_sub(offset) else { return };
        let payload = payload.get(..room).unwrap_or(payload);
        if offset <= self.bytes.len() {
            self.append(offset, payload);
            self.take_waiting();
        } else if !payload.is_empty() && (self.waiting.len() < MAX_WAITING || self.waiting.contains_key(&offset)) {
            let waiting = self.waiting.entry(offset).or_default();
            if waiting.len() < payload.len() {
                *waiting = payload.to_vec();
            }
        }
        if self.bytes.len() >= KEPT_BYTES {
            self.is_closed = true;
            self.waiting = BTreeMap::new();
        }
    }

    fn append(&mut self, offset: usize, payload: &[u8]) {
        let known = self.bytes.len().saturating_sub(offset);
        let Some(new) = payload.get(known..).filter(|new| !new.is_empty()) else { return };
        if known == 0 && self.starts.len() < MAX_STARTS {
            self.starts.push(offset);
        }
        self.bytes.extend_from_slice(new);
    }

    fn take_waiting(&mut self) {
        while let Some(entry) = self.waiting.first_entry().filter(|entry| *entry.key() <= self.bytes.len()) {
            let (offset, payload) = entry.remove_entry();
            self.append(offset, &payload);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn push(stream: &mut Stream, sequence: u32, payload: &[u8]) {
        stream.push(sequence, payload, u32::try_from(payload.len()).unwrap());
    }

    #[test]
    fn segments_are_put_in_order_and_counted_once() {
        let mut stream = Stream::default();
        stream.open(u32::MAX);
        push(&mut stream, u32::MAX, b"ab");
        push(&mut stream, 3, b"ef");
        push(&mut stream, u32::MAX, b"abc");
        assert_eq!(stream.bytes(), b"abc");
        push(&mut stream, 2, b"de");
        push(&mut stream, 3, b"ef");
        assert_eq!((stream.bytes(), stream.starts()), (&b"abcdef"[..], &[0, 3][..]));
        assert!(stream.is_from_start());
    }

    #[test]
    fn of_two_segments_that_wait_at_one_place_the_longer_is_kept() {
        let mut stream = Stream::default();
        stream.open(0);
        for payload in [&b"c"[..], b"cde", b"cd"] {
            push(&mut stream, 2, payload);
        }
        assert_eq!((stream.seen_bytes(), stream.reach()), (3, 5));
        push(&mut stream, 0, b"ab");
        assert_eq!((stream.bytes(), stream.reach()), (&b"abcde"[..], 5));
    }

    #[test]
    fn a_connection_may_be_joined_in_the_middle() {
        let mut stream = Stream::default();
        push(&mut stream, 4_000_000_000, b"abc");
        push(&mut stream, 3_999_999_990, b"older");
        push(&mut stream, 4_000_000_003, b"d");
        assert_eq!((stream.bytes(), stream.seen_bytes()), (&b"abcd"[..], 4));
        assert!(!stream.is_from_start());
    }

    #[test]
    fn a_byte_that_was_not_captured_ends_what_is_known() {
        let mut stream = Stream::default();
        stream.open(0);
        stream.push(0, b"ab", 4);
        push(&mut stream, 4, b"ef");
        assert_eq!((stream.bytes(), stream.seen_bytes()), (&b"ab"[..], 6));
    }

    #[test]
    fn more_than_four_gigabytes_are_counted() {
        let mut stream = Stream::default();
        stream.open(0);
        let step = 1 << 20;
        for number in 0..5000_u32 {
            stream.push(number.wrapping_mul(step), &[7; 100], step);
        }
        assert_eq!(stream.seen_bytes(), 5000 << 20);
        assert_eq!(stream.bytes().len(), 100);
    }

    proptest! {
        #[test]
        fn any_order_with_repetitions_gives_the_same_bytes(
            data in proptest::collection::vec(any::<u8>(), 1..300), base: u32, order in proptest::collection::vec(any::<prop::sample::Index>(), 0..40)
        ) {
            let pieces: Vec<(usize, &[u8])> = data.chunks(20).enumerate().map(|(at, piece)| (at * 20, piece)).collect();
            let mut stream = Stream::default();
            stream.open(base);
            let in_order = pieces.iter();
            for (at, piece) in order.iter().map(|index| index.get(&pieces)).chain(in_order) {
                push(&mut stream, base.wrapping_add(u32::try_from(*at).unwrap()), piece);
            }
            prop_assert_eq!(stream.bytes(), &data[..]);
        }

        #[test]
        fn memory_is_bounded(segments: Vec<(u32, Vec<u8>, u32)>) {
            let mut stream = Stream::default();
            for (sequence, payload, more) in segments {
                stream.push(sequence, &payload, more.saturating_add(u32::try_from(payload.len()).unwrap()));
                prop_assert!(stream.held_bytes() <= KEPT_BYTES * (MAX_WAITING + 1));
            }
        }
    }
}
