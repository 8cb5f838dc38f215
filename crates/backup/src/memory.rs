//! How much memory runs and restores take. What is known of each part of the data, its location and its hashes, is in
//! files without a name, beside the state of the host or in the file system of the target: 16 bytes for each page of the
//! run, 36 for each part of the last backup, 32 for each MiB. In memory is what is known of each file and of each pack.
//! What that leaves of the limit is for buffers, so that many files get shorter packs, and then fewer threads.

use archive::pack::MAX_PACK_BYTES;

/// Memory that a run or a restore takes at most, as long as its lists leave room for one thread: for some 100,000 files, or
/// 500,000 packs. Whoever configures more threads than [`STREAMS`] gives it more.
const LIMIT_BYTES: u64 = 256 << 20;
/// Threads for which the limit is made.
const STREAMS: u16 = 4;
/// What a run or a restore takes besides lists and buffers: the program itself, keys, verdicts.
const FIXED_BYTES: u64 = 34 << 20;
/// What a thread of a run takes besides packs: a chunk of a file, its decrypted pages, the memory of zstd.
const THREAD_BYTES: u64 = 4 << 20;
/// What a thread of a restore takes besides a pack: a frame in three forms.
const RESTORE_THREAD_BYTES: u64 = 13 << 20;
/// Estimate for what is known of a file: path, metadata, state, verdict.
const FILE_BYTES: u64 = 2 << 10;
/// What is known of a pack while files are read: its name and length, in the last backup and in the new one, in lists that
/// may have grown to twice their length.
const PACK_BYTES: u64 = 200;
/// Length of packs if longer ones do not fit. Shorter ones cost requests, and make receipts longer: they are for servers
/// with very many files.
const SHORT_PACK_BYTES: u64 = 16 << 20;
/// Length of packs that no run goes below.
const SHORTEST_PACK_BYTES: u64 = 4 << 20;

/// What a run or a restore has in its lists.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lists {
    /// Number of files.
    pub(crate) files: u64,
    /// Number of packs.
    pub(crate) packs: u64,
}

impl Lists {
    fn bytes(self) -> u64 {
        self.files.saturating_mul(FILE_BYTES).saturating_add(self.packs.saturating_mul(PACK_BYTES))
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
    /// What fits: at most these threads and this length. Each thread has a pack, and so has each of `uploads`, which counts
    /// an upload twice if the store copies what it sends. A buffer is `margin_bytes` longer than a pack.
    pub(crate) fn fitting(self, lists: Lists, uploads: u16, margin_bytes: u64) -> Self {
        let buffer_bytes = |pack_bytes: u64| pack_bytes.saturating_add(margin_bytes);
        let remaining = lists.remaining(self.streams, buffer_bytes(self.pack_bytes).saturating_add(THREAD_BYTES));
        let fits = |wanted: &Self| {
            let packs =
                u64::from(wanted.streams.saturating_add(uploads)).saturating_mul(buffer_bytes(wanted.pack_bytes));
            packs.saturating_add(u64::from(wanted.streams).saturating_mul(THREAD_BYTES)) <= remaining
        };
        let short = Self { pack_bytes: self.pack_bytes.min(SHORT_PACK_BYTES), ..self };
        let fewer = (self.streams.min(2)..self.streams).rev().map(|streams| Self { streams, ..short });
        let two = Self { streams: self.streams.min(2), ..short };
        let shorter = std::iter::successors(Some(two), |wanted| {
            let pack_bytes = wanted.pack_bytes / 2;
            (pack_bytes >= SHORTEST_PACK_BYTES).then_some(Self { pack_bytes, ..two })
        });
        let last = Self { streams: 1, pack_bytes: self.pack_bytes.min(SHORTEST_PACK_BYTES) };
        let mut wanted = [self, short].into_iter().chain(fewer).chain(shorter).chain([last]);
        // If the lists alone take too much, a slow run with many objects is no use, either.
        wanted.find(fits).unwrap_or(self)
    }
}

/// Threads of a restore that fit, at most `streams`; all of them if not even one does. `pack_bytes` is the length of the
/// longest pack.
pub(crate) fn restore_streams(streams: u16, pack_bytes: u64, lists: Lists) -> u16 {
    let each_bytes = pack_bytes.min(MAX_PACK_BYTES).saturating_add(RESTORE_THREAD_BYTES);
    let fitting = lists.remaining(streams, each_bytes).checked_div(each_bytes).unwrap_or(0);
    match u16::try_from(fitting).unwrap_or(u16::MAX) {
        0 => streams.max(1),
        fitting => fitting.min(streams),
    }
}

/// How much memory tests take.
#[cfg(test)]
pub(crate) mod peak {
    use std::{env, fs, process::Command};

    /// Length of the data, in GiB, for the process of a test that runs alone.
    const ALONE: &str = "SEALANT_TEST_ALONE_GIB";
    const GROWN: &str = "grown by kB: ";
    /// Length of the data to compare with, in GiB. Buffers such as that of zstd have their full length there.
    const SMALL_GIB: u64 = 8;

    /// Length of the data of tests that measure, in GiB.
    pub(crate) fn scale_gib() -> u64 {
        env::var("SEALANT_SCALE_GIB").map_or(128, |text| text.parse().unwrap())
    }

    /// Does the work of a test of this crate in processes of its own, for [`SMALL_GIB`] and for [`scale_gib`]. Returns how many
    /// bytes of memory the second one took more than the first.
    #[allow(clippy::print_stdout, reason = "for the process that compares, and for `make scale`")]
    pub(crate) fn growth(test: &str, work: impl FnOnce(u64)) -> u64 {
        if let Ok(gib) = env::var(ALONE) {
            let before = kilobytes("VmRSS:");
            work(gib.parse().unwrap());
            println!("{GROWN}{}", kilobytes("VmHWM:").saturating_sub(before));
            return 0;
        }
        let [small, large] = [SMALL_GIB, scale_gib()].map(|gib| alone(test, gib));
        println!("{test}: {small} kB for {SMALL_GIB} GiB, {large} kB for {} GiB", scale_gib());
        large.saturating_sub(small) << 10
    }

    fn alone(test: &str, gib: u64) -> u64 {
        let mut again = Command::new(env::current_exe().unwrap());
        let output = again.args([test, "--exact", "--nocapture"]).env(ALONE, gib.to_string()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        let grown = text.lines().find_map(|line| line.split_once(GROWN)).unwrap().1;
        grown.trim().parse().unwrap()
    }

    /// A field of proc_pid_status(5).
    fn kilobytes(field: &str) -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let text = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        text.trim().trim_end_matches("kB").trim().parse().unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;
    const WANTED: Buffers = Buffers { streams: 4, pack_bytes: 32 << 20 };

    /// Lists of a backup of this many bytes that do not compress, in a thousand files.
    fn lists(bytes: u64) -> Lists {
        Lists { files: 1000, packs: bytes.div_ceil(32 << 20) }
    }

    fn files(files: u64) -> Lists {
        Lists { files, packs: 1000 }
    }

    fn taken(buffers: Buffers, lists: Lists) -> u64 {
        let packs = u64::from(buffers.streams + 2) * (buffers.pack_bytes + (1 << 20));
        FIXED_BYTES + lists.bytes() + packs + u64::from(buffers.streams) * THREAD_BYTES
    }

    #[test]
    fn a_run_stays_within_the_limit_as_its_lists_grow() {
        assert_eq!(WANTED.fitting(lists(GIB), 2, 1 << 20), WANTED);
        let mut before = WANTED;
        let terabytes = [1, 10 * 1024, 20 * 1024].map(|gib| lists(gib * GIB));
        let counts = [1000, 10_000, 50_000, 70_000, 80_000, 100_000];
        for lists in terabytes.into_iter().chain(counts.map(files)) {
            let fitting = WANTED.fitting(lists, 2, 1 << 20);
            assert!(taken(fitting, lists) <= LIMIT_BYTES, "{lists:?}: {fitting:?}");
            assert!(fitting.streams >= 2 || lists.files > 90_000, "{lists:?}: {fitting:?}");
        }
        for files in counts.map(files) {
            let fitting = WANTED.fitting(files, 2, 1 << 20);
            assert!(fitting.pack_bytes <= before.pack_bytes, "{files:?}: {fitting:?}");
            before = fitting;
        }
        assert_eq!(WANTED.fitting(files(1 << 20), 2, 1 << 20), WANTED, "no buffers fit");
        let copied = WANTED.fitting(lists(GIB), 4, 1 << 20);
        assert!(copied.streams >= 2 && copied.pack_bytes < WANTED.pack_bytes, "a store that copies packs: {copied:?}");
        let short = Buffers { streams: 1, pack_bytes: 4 << 20 };
        assert_eq!(short.fitting(lists(GIB), 2, 1 << 20), short);
        let many = Buffers { streams: 16, ..WANTED };
        assert_eq!(many.fitting(lists(GIB), 2, 1 << 20), many, "more threads were asked for");
    }

    #[test]
    fn a_restore_uses_fewer_threads_as_its_lists_grow() {
        let threads = |streams: u16, lists: Lists| restore_streams(streams, MAX_PACK_BYTES, lists);
        assert_eq!(threads(4, lists(GIB)), 4);
        assert_eq!(threads(1, lists(GIB)), 1);
        assert_eq!(threads(16, lists(GIB)), 16);
        assert_eq!(threads(4, lists(10 << 40)), 3);
        assert_eq!(threads(4, files(50_000)), 2);
        assert_eq!(threads(4, files(80_000)), 1);
        assert_eq!(restore_streams(4, 4 << 20, files(100_000)), 1, "of a run over as many files");
        assert_eq!(threads(4, files(1 << 20)), 4, "not even one fits");
    }
}
