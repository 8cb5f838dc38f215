//! How much memory runs and restores take. Their lists of hashes and parts grow with the data; what remains of the limit
//! is for buffers, so that more data gets shorter packs, and then fewer threads.

use archive::{Run, pack::MAX_PACK_BYTES};
use codec::hash::HASH_BYTES;

/// Memory that a run or a restore takes at most, as long as its lists leave room for two threads. Whoever configures more threads than [`STREAMS`] gives it more.
const LIMIT_BYTES: u64 = 256 << 20;
/// Threads for which the limit is made.
const STREAMS: u16 = 4;
/// What a run or a restore takes besides lists and buffers: the program itself, keys, verdicts.
const FIXED_BYTES: u64 = 34 << 20;
/// What a thread of a run takes besides packs: a chunk of a file, its decrypted pages, the memory of zstd.
const THREAD_BYTES: u64 = 4 << 20;
/// What a thread of a restore takes: a pack, a frame in three forms.
const RESTORE_THREAD_BYTES: u64 = MAX_PACK_BYTES + (13 << 20);
/// Estimate for what is known of a file: path, metadata, state, verdict.
const FILE_BYTES: u64 = 2 << 10;
/// Length of packs if longer ones do not fit. Still shorter ones would cost requests, and make receipts longer.
const SHORT_PACK_BYTES: u64 = 16 << 20;

/// What a run or a restore has in its lists.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lists {
    /// Number of files.
    pub(crate) files: u64,
    /// Number of chunks whose hash is kept.
    pub(crate) chunks: u64,
    /// Number of parts of files.
    pub(crate) runs: u64,
}

impl Lists {
    fn bytes(self) -> u64 {
        let each = |count: u64, bytes: usize| count.saturating_mul(bytes as u64);
        self.files
            .saturating_mul(FILE_BYTES)
            .saturating_add(each(self.chunks, HASH_BYTES))
            .saturating_add(each(self.runs, size_of::<Run>()))
    }

    /// What remains for `streams` threads; one more than there are by default may take `each_bytes`.
    fn remaining(self, streams: u16, each_bytes: u64) -> u64 {
        let more = u64::from(streams.saturating_sub(STREAMS)).saturating_mul(each_bytes);
        LIMIT_BYTES.saturating_add(more).saturating_sub(FIXED_BYTES).saturating_sub(self.bytes())
    }
}

/// Threads of a run, and length of its packs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buffers {
    pub(crate) streams: u16,
    pub(crate) pack_bytes: u64,
}

impl Buffers {
    /// What fits: at most these threads and this length. Each thread has a pack, as has each of `uploads`; a buffer is
    /// `margin_bytes` longer than a pack.
    pub(crate) fn fitting(self, lists: Lists, uploads: u16, margin_bytes: u64) -> Self {
        let buffer_bytes = |pack_bytes: u64| pack_bytes.saturating_add(margin_bytes);
        let remaining = lists.remaining(self.streams, buffer_bytes(self.pack_bytes).saturating_add(THREAD_BYTES));
        let fits = |wanted: &Self| {
            let packs =
                u64::from(wanted.streams.saturating_add(uploads)).saturating_mul(buffer_bytes(wanted.pack_bytes));
            packs.saturating_add(u64::from(wanted.streams).saturating_mul(THREAD_BYTES)) <= remaining
        };
        let shorter = (self.pack_bytes > SHORT_PACK_BYTES).then_some(SHORT_PACK_BYTES);
        let fewer = (self.streams.min(2)..self.streams).rev();
        let short = shorter.unwrap_or(self.pack_bytes);
        let mut wanted = std::iter::once(self)
            .chain(shorter.map(|pack_bytes| Self { pack_bytes, ..self }))
            .chain(fewer.map(|streams| Self { streams, pack_bytes: short }));
        // If the lists alone take too much, a slow run with many objects is no use, either.
        wanted.find(fits).unwrap_or(self)
    }
}

/// Threads of a restore that fit, at most `streams`; all of them if not even one does.
pub(crate) fn restore_streams(streams: u16, lists: Lists) -> u16 {
    let fitting = lists.remaining(streams, RESTORE_THREAD_BYTES).checked_div(RESTORE_THREAD_BYTES).unwrap_or(0);
    match u16::try_from(fitting).unwrap_or(u16::MAX) {
        0 => streams.max(1),
        fitting => fitting.min(streams),
    }
}

#[cfg(test)]
mod tests {
    use codec::hash::chunks_of;

    use super::*;

    const GIB: u64 = 1 << 30;
    const WANTED: Buffers = Buffers { streams: 4, pack_bytes: 32 << 20 };

    /// Lists of a full backup of this many bytes.
    fn lists(bytes: u64) -> Lists {
        Lists { files: 1000, chunks: chunks_of(bytes), runs: chunks_of(bytes) }
    }

    fn taken(buffers: Buffers, lists: Lists) -> u64 {
        let packs = u64::from(buffers.streams + 2) * (buffers.pack_bytes + (1 << 20));
        FIXED_BYTES + lists.bytes() + packs + u64::from(buffers.streams) * THREAD_BYTES
    }

    #[test]
    fn a_run_stays_within_the_limit_as_its_lists_grow() {
        assert_eq!(WANTED.fitting(lists(GIB), 2, 1 << 20), WANTED);
        let mut before = WANTED;
        for gib in [1, 10, 50, 100, 500, 1024, 2000] {
            let lists = lists(gib * GIB);
            let fitting = WANTED.fitting(lists, 2, 1 << 20);
            assert!(taken(fitting, lists) <= LIMIT_BYTES, "{gib} GiB: {fitting:?}");
            assert!(fitting.streams >= 2, "{gib} GiB: {fitting:?}");
            assert!(fitting.pack_bytes <= before.pack_bytes, "{gib} GiB: {fitting:?}");
            before = fitting;
        }
        assert_eq!(WANTED.fitting(lists(100 << 40), 2, 1 << 20), WANTED, "no buffers fit");
        let short = Buffers { streams: 1, pack_bytes: 4 << 20 };
        assert_eq!(short.fitting(lists(GIB), 2, 1 << 20), short);
        let many = Buffers { streams: 16, ..WANTED };
        assert_eq!(many.fitting(lists(GIB), 2, 1 << 20), many, "more threads were asked for");
    }

    #[test]
    fn a_restore_uses_fewer_threads_as_its_lists_grow() {
        assert_eq!(restore_streams(4, lists(GIB)), 4);
        assert_eq!(restore_streams(1, lists(GIB)), 1);
        assert_eq!(restore_streams(16, lists(GIB)), 16);
        let of = |gib: u64| restore_streams(4, lists(gib * GIB));
        assert!(of(1024) < 4 && of(1024) >= 2, "{}", of(1024));
        assert_eq!(of(1 << 20), 4, "not even one fits");
    }
}
