//! Tracks what the receiver already has of a source that is sent in several rounds or attempts.
//!
//! The set of chunks that the receiver has is always complete. Their hashes are kept as far as they fit into memory;
//! the others are queried from the receiver when the chunks are read here.

use std::{collections::HashMap, ops::Range, time::SystemTime};

use crate::{
    hash::{Hash, Tree, chunks_of, is_same_chunk, same_chunks},
    hash_collector::ReadChunks,
    path::RelativePath,
    plan::{Identity, Plan, PlannedEntry},
    range_set::RangeSet,
};

/// Maximum number of hashes in memory, of 40 bytes each. Few in tests, so that the receiver is
/// queried.
const MAX_HASHES: usize = if cfg!(test) { 8 } else { 128 << 10 };

/// State of the files at the receiver.
#[derive(Debug, Default)]
pub(super) struct PeerFiles {
    files: HashMap<RelativePath, PeerFile>,
    /// Number of hashes in memory.
    hashes: usize,
}

/// State of a file at the receiver.
#[derive(Debug)]
pub(super) struct PeerFile {
    bytes: u64,
    /// Identity of the file before its chunks were read; `None` if not all of them were.
    seen: Option<(Identity, SystemTime)>,
    /// Hashes of what was read, if the receiver has the same.
    tree: Tree,
    /// Chunks that the receiver has.
    chunks: RangeSet,
    /// Hashes of some of these, in ascending order.
    hashes: Vec<(u64, Hash)>,
}

impl PeerFile {
    fn new(bytes: u64) -> Self {
        Self { bytes, seen: None, tree: Tree::default(), chunks: RangeSet::default(), hashes: Vec::new() }
    }

    /// Hash of the receiver's chunk, if known.
    fn hash(&self, chunk: u64) -> Option<Hash> {
        let location = self.hashes.binary_search_by_key(&chunk, |(chunk, _)| *chunk).ok()?;
        self.hashes.get(location).map(|(_, hash)| *hash)
    }

    /// Whether the receiver certainly has this chunk of the file, which now has `bytes`.
    pub(super) fn has(&self, bytes: u64, chunk: u64, hash: Hash) -> bool {
        is_same_chunk(self.bytes, bytes, chunk) && self.hash(chunk) == Some(hash)
    }

    /// Chunks of a range that the receiver has, but whose hashes have to be queried.
    pub(super) fn unknown(&self, bytes: u64, chunks: Range<u64>) -> RangeSet {
        let mut unknown = RangeSet::default();
        for chunk in self.chunks.within(chunks).flatten() {
            if is_same_chunk(self.bytes, bytes, chunk) && self.hash(chunk).is_none() {
                unknown.insert(chunk);
            }
        }
        unknown
    }

    /// Whether the receiver has the current file, so that it need not be read.
    pub(super) fn is_current(&self, planned: &PlannedEntry) -> bool {
        self.seen.as_ref().is_some_and(|seen| Plan::is_unchanged_since(planned, seen))
    }

    /// Hash of the file, if it was read completely.
    pub(super) fn whole(&self) -> Option<Hash> {
        self.tree.hash(chunks_of(self.bytes))
    }

    /// The state after this part of the current file was read and sent.
    fn after(before: Option<Self>, bytes: u64, mut read: ReadChunks) -> Self {
        read.hashes.sort_unstable_by_key(|(chunk, _)| *chunk);
        let mut now = Self { bytes, seen: None, tree: read.tree, chunks: read.chunks, hashes: read.hashes };
        let Some(before) = before else { return now };
        let same = same_chunks(before.bytes, bytes);
        let counts = |chunk: u64| chunk < same && !now.chunks.contains(chunk);
        let kept: Vec<_> = before.hashes.iter().copied().filter(|(chunk, _)| counts(*chunk)).collect();
        before.chunks.within(0..same).for_each(|run| now.chunks.extend(run));
        if !kept.is_empty() {
            now.hashes.extend(kept);
            now.hashes.sort_unstable_by_key(|(chunk, _)| *chunk);
        }
        now
    }
}

impl PeerFiles {
    pub(super) fn file(&self, planned: &PlannedEntry) -> Option<&PeerFile> {
        self.files.get(&planned.entry.path)
    }

    /// Number of hashes that may still be kept.
    pub(super) const fn room(&self) -> usize {
        MAX_HASHES.saturating_sub(self.hashes)
    }

    /// Adds chunks that the receiver has from an earlier attempt, in ascending order.
    pub(super) fn add(&mut self, planned: &PlannedEntry, first: u64, hashes: &[Hash]) {
        let Some(bytes) = planned.file_bytes() else { return };
        let room = self.room();
        let file = self.files.entry(planned.entry.path.clone()).or_insert_with(|| PeerFile::new(bytes));
        file.chunks.extend(first..first + hashes.len() as u64);
        // Searching needs ascending order.
        if file.hashes.last().is_none_or(|(last, _)| *last < first) {
            let before = file.hashes.len();
            file.hashes.extend((first..).zip(hashes.iter().copied()).take(room));
            self.hashes += file.hashes.len() - before;
        }
    }

    /// Hashes of a file of a stream, which only grows.
    pub(super) fn take_tree(&mut self, planned: &PlannedEntry) -> Option<Tree> {
        planned.chunks.as_ref()?;
        self.files.get_mut(&planned.entry.path).map(|file| std::mem::take(&mut file.tree))
    }

    /// The receiver's state after a round that read these chunks.
    pub(super) fn after(mut self, plan: &Plan, mut read: HashMap<usize, ReadChunks>, current: &[bool]) -> Self {
        let mut now = Self::default();
        for (number, planned) in plan.entries.iter().enumerate() {
            let Some(bytes) = planned.file_bytes() else { continue };
            let before = self.files.remove(&planned.entry.path);
            let file = match (before, read.remove(&number)) {
                (Some(before), _) if current.get(number) == Some(&true) => before,
                (before, read) => {
                    let mut file = PeerFile::after(before, bytes, read.unwrap_or_default());
                    file.seen = file.tree.is_whole(chunks_of(bytes)).then(|| plan.identity(planned));
                    file
                }
            };
            now.hashes += file.hashes.len();
            now.files.insert(planned.entry.path.clone(), file);
        }
        now
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, File},
        net::{IpAddr, Ipv4Addr, SocketAddr},
        os::unix::fs::{FileExt, MetadataExt},
        path::Path,
        thread,
        time::Duration,
    };

    use ::codec::compression::CompressionLevel;

    use super::*;
    use crate::{
        codec::level::Compression,
        hash::{CHUNK_BYTES, chunk_bytes, chunk_hash},
        journal::Journal,
        plan::Selection,
        progress::{Progress, load},
        receiver::{ReceiveSettings, Receiver, Trust},
        sender::{Destination, SendSettings, SentRound, Session, Source},
    };

    const MIB: u64 = CHUNK_BYTES as u64;

    fn plan(root: &Path) -> Plan {
        Plan::scan(root, &Selection::default()).unwrap()
    }

    /// Sends several rounds, with changes by `change` in between, to a receiver that commits at the
    /// end.
    fn sent(root: &Path, into: &Path, rounds: usize, change: impl Fn(usize)) -> (Vec<SentRound>, u64) {
        let (listen, timeout) = (SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0), Duration::from_secs(20));
        let settings = ReceiveSettings {
            into: into.to_owned(),
            listen,
            advertise: Vec::new(),
            streams: 4,
            expiry: timeout,
            timeout,
            owner: None,
            allow: Vec::new(),
            restart: false,
            rekey: None,
        };
        let receiver = Receiver::bind(settings, &Trust::Pairing).unwrap();
        let destination = Destination::Paired(receiver.code().unwrap().clone());
        let settings = SendSettings {
            streams: 2,
            compression: Compression::Fixed(CompressionLevel::None),
            bandwidth: None,
            suite: None,
            key_file_keys: crate::sender::KeyFileKeys::Keep,
            timeout,
        };
        let progress = Progress::default();
        let done = thread::scope(|scope| {
            let receiving = scope.spawn(|| receiver.run(&Progress::default()));
            let mut session = Session::open(&destination, &settings, &progress).unwrap();
            let done = (0..rounds).map(|round| {
                change(round);
                let source = if round + 1 == rounds { Source::Static } else { Source::InUse };
                session.round(&plan(root), None, source).unwrap()
            });
            let done = done.collect();
            session.finish().unwrap();
            receiving.join().unwrap().unwrap();
            done
        });
        for planned in plan(root).entries.iter().filter(|planned| planned.file_bytes().is_some()) {
            let [sent, came] = [root, into].map(|root| fs::read(root.join(planned.entry.path.as_path())).unwrap());
            assert!(sent == came, "{}", planned.entry.path);
        }
        (done, load(&progress.kept_bytes))
    }

    fn fill(path: &Path, bytes: u64) -> Vec<u8> {
        let bytes: Vec<u8> = (0..bytes).map(|at| (at % 251 + at / MIB) as u8).collect();
        fs::write(path, &bytes).unwrap();
        bytes
    }

    fn change_chunk(path: &Path, chunk: u64) {
        File::options().write(true).open(path).unwrap().write_all_at(b"otherwise", chunk * MIB + 7).unwrap();
    }

    /// Staged files and journal of an earlier attempt.
    fn earlier_attempt(into: &Path) -> (std::path::PathBuf, Journal) {
        let staged = into.join(".sealant-staging/files");
        fs::create_dir_all(&staged).unwrap();
        let journal = into.join(".sealant-staging/journal");
        (staged, Journal::new(File::options().create(true).append(true).open(journal).unwrap()))
    }

    #[test]
    fn hashes_of_an_earlier_attempt_are_queried_if_not_in_memory() {
        let directory = tempfile::tempdir().unwrap();
        let [root, into] = ["source", "into"].map(|name| directory.path().join(name));
        fs::create_dir(&root).unwrap();
        let (staged, journal) = earlier_attempt(&into);
        for (name, length) in [("large", 40 * MIB + 9), ("more", 20 * MIB), ("small", MIB + 1)] {
            let bytes = fill(&root.join(name), length);
            fs::write(staged.join(name), &bytes).unwrap();
            let path = RelativePath::parse(name.as_bytes()).unwrap();
            // All chunks but one, which is missing in the journal.
            for chunk in (0..chunks_of(length)).filter(|chunk| (name, *chunk) != ("more", 19)) {
                let bytes = &bytes[(chunk * MIB) as usize..][..chunk_bytes(length, chunk)];
                journal.add(&path, chunk, chunk_hash(length, chunk, bytes)).unwrap();
            }
        }
        // One chunk was not written, one changed since.
        change_chunk(&staged.join("large"), 3);
        change_chunk(&root.join("large"), 37);
        let (rounds, kept) = sent(&root, &into, 1, |_| {});
        assert_eq!((rounds[0].sent_bytes, kept), (3 * MIB, 58 * MIB + 10));
    }

    #[test]
    fn holes_of_an_earlier_attempt_stay_holes() {
        let directory = tempfile::tempdir().unwrap();
        let [root, into] = ["source", "into"].map(|name| directory.path().join(name));
        fs::create_dir(&root).unwrap();
        let (staged, journal) = earlier_attempt(&into);
        let source = File::create(root.join("f")).unwrap();
        source.set_len(20 * MIB).unwrap();
        for chunk in [15, 18] {
            source.write_all_at(&[7; CHUNK_BYTES], chunk * MIB).unwrap();
        }
        File::create(staged.join("f")).unwrap().set_len(20 * MIB).unwrap();
        let path = RelativePath::parse(b"f").unwrap();
        for chunk in 0..15 {
            journal.add(&path, chunk, chunk_hash(20 * MIB, chunk, &[0; CHUNK_BYTES])).unwrap();
        }
        let (rounds, _) = sent(&root, &into, 1, |_| {});
        assert_eq!(rounds[0].sent_bytes, 5 * MIB);
        let taken = into.join("f").metadata().unwrap().blocks() * 512;
        assert!(taken <= 3 * MIB, "{taken} bytes");
    }

    #[test]
    fn hashes_of_an_earlier_round_are_queried_if_not_in_memory() {
        let directory = tempfile::tempdir().unwrap();
        let [root, into] = ["source", "into"].map(|name| directory.path().join(name));
        fs::create_dir(&root).unwrap();
        for (name, length) in [("large", 40 * MIB + 9), ("shrinks", 20 * MIB), ("small", MIB + 1)] {
            fill(&root.join(name), length);
        }
        let (rounds, _) = sent(&root, &into, 3, |round| match round {
            1 => change_chunk(&root.join("large"), 37),
            // The last chunk of each is new, since it is longer than any chunk before.
            2 => ["large", "shrinks"].into_iter().zip([41 * MIB, 18 * MIB + 5]).for_each(|(name, length)| {
                File::options().write(true).open(root.join(name)).unwrap().set_len(length).unwrap();
            }),
            _ => {}
        });
        let sent: Vec<u64> = rounds.iter().map(|round| round.sent_bytes).collect();
        assert_eq!(sent, [61 * MIB + 10, MIB, MIB + 5]);
    }

    #[test]
    fn the_number_of_hashes_in_memory_is_limited() {
        let directory = tempfile::tempdir().unwrap();
        File::create(directory.path().join("f")).unwrap().set_len(1 << 40).unwrap();
        let (plan, mut known) = (plan(directory.path()), PeerFiles::default());
        for first in (0..1 << 20).step_by(1 << 14) {
            known.add(&plan.entries[0], first, &vec![Hash([1; 32]); 1 << 14]);
        }
        let file = known.file(&plan.entries[0]).unwrap();
        assert_eq!((file.hashes.len(), known.room()), (MAX_HASHES, 0));
        assert!(file.hashes.capacity() <= 2 * MAX_HASHES && file.chunks.is_all(1 << 20));
        assert_eq!(file.unknown(1 << 40, 0..100).iter().next(), Some(MAX_HASHES as u64..100));
    }
}
