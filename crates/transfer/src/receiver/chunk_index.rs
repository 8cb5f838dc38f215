//! Hashes of the chunks that are present. The hashes of a large source do not fit into memory, so they are in an
//! unnamed file in the staging directory, which has a slot for every chunk.

use std::{
    collections::HashMap,
    fs::File,
    io,
    ops::Range,
    os::unix::fs::FileExt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{
    hash::{HASH_BYTES, Hash, Tree, chunks_of, same_chunks},
    manifest::Manifest,
    path::RelativePath,
    range_set::RangeSet,
    wire::{Entry, Kind},
};

/// Hashes that are read at once.
const BLOCK: u64 = 2048;
/// Maximum number of gaps between received chunks. Each takes 16 bytes, so without a limit the sender's order would
/// determine the memory used. 16 TiB of which a random half was received have fewer gaps. Tests use fewer.
const MAX_GAPS: usize = if cfg!(test) { 1000 } else { 4 << 20 };

/// Shared by all connections.
#[derive(Debug)]
pub(super) struct ChunkIndex {
    hashes: File,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By entry number.
    files: Vec<FileChunks>,
    /// Number of allocated slots.
    end: u64,
    /// Number of gaps in all files.
    gaps: usize,
    /// Whether the list is complete and takes no more chunks.
    closed: bool,
}

/// Slots of a file's hashes, and the chunks that have one.
#[derive(Clone, Debug, Default)]
struct FileChunks {
    from: u64,
    capacity: u64,
    /// Chunks that are present.
    present: RangeSet,
    /// Present chunks that were received for the current list.
    received: RangeSet,
}

impl FileChunks {
    const fn gaps(&self) -> usize {
        self.present.gaps() + self.received.gaps()
    }
}

impl State {
    fn allocate(&mut self, chunks: u64) -> io::Result<FileChunks> {
        let from = self.end;
        self.end =
            from.checked_add(chunks).filter(|end| end.checked_mul(HASH_BYTES as u64).is_some()).ok_or_else(full)?;
        Ok(FileChunks { from, capacity: chunks, ..FileChunks::default() })
    }

    /// Slot of the hash of a chunk.
    fn hash(&self, file: usize, chunk: u64) -> Option<u64> {
        self.files
            .get(file)
            .filter(|file_chunks| chunk < file_chunks.capacity)
            .map(|file_chunks| file_chunks.from + chunk)
    }

    /// Changes the state of a file; `None` if there is no such file.
    fn change<T>(&mut self, file: usize, change: impl FnOnce(&mut FileChunks) -> T) -> Option<T> {
        let file_chunks = self.files.get_mut(file)?;
        let gaps = self.gaps - file_chunks.gaps();
        let changed = change(file_chunks);
        self.gaps = gaps + file_chunks.gaps();
        Some(changed)
    }
}

/// The error for more hashes than any file system can hold.
fn full() -> io::Error {
    io::ErrorKind::FileTooLarge.into()
}

impl ChunkIndex {
    /// Creates the index for a list of new files. `hashes` is an empty file.
    pub(super) fn new(hashes: File, entries: &[Entry]) -> io::Result<Self> {
        let mut state = State::default();
        for entry in entries {
            let file_chunks = state.allocate(chunks(entry).unwrap_or_default())?;
            state.files.push(file_chunks);
        }
        Ok(Self { hashes, state: Mutex::new(state) })
    }

    /// Adds a chunk that may be present from an earlier transfer; replaces an earlier hash. A chunk
    /// that would need too much memory is not added and has to be sent again.
    pub(super) fn add_existing(&self, file: usize, chunk: u64, hash: Hash) -> io::Result<()> {
        if self.has_too_many_gaps() {
            return Ok(());
        }
        let Some(slot) = self.state().hash(file, chunk) else { return Ok(()) };
        self.write(slot, hash)?;
        self.present(file, chunk);
        Ok(())
    }

    /// Adds a received chunk; `false` if it was received before, or after the list was closed.
    pub(super) fn add(&self, file: usize, chunk: u64, hash: Hash) -> io::Result<bool> {
        let slot = {
            let mut state = self.state();
            let Some(slot) = state.hash(file, chunk).filter(|_| !state.closed) else { return Ok(false) };
            if state.change(file, |file| file.received.insert(chunk)) != Some(true) {
                return Ok(false);
            }
            slot
        };
        self.write(slot, hash)?;
        self.present(file, chunk);
        Ok(true)
    }

    /// Removes chunks that are not present after all.
    pub(super) fn remove(&self, file: usize, chunks: Range<u64>) {
        self.state().change(file, |file| file.present.remove(chunks));
    }

    /// Closes the list: its state is what will be committed.
    pub(super) fn close(&self) {
        self.state().closed = true;
    }

    /// Whether there are more gaps between chunks than allowed in memory.
    pub(super) fn has_too_many_gaps(&self) -> bool {
        self.state().gaps > MAX_GAPS
    }

    /// Ranges of chunks that are present, with their file numbers.
    pub(super) fn runs(&self) -> Vec<(usize, Range<u64>)> {
        let state = self.state();
        let files = state.files.iter().enumerate();
        files.flat_map(|(file, file_chunks)| file_chunks.present.iter().map(move |run| (file, run))).collect()
    }

    /// Whether some of these chunks were present before this list.
    pub(super) fn has_kept(&self, file: usize, chunks: Range<u64>) -> bool {
        let state = self.state();
        let Some(file_chunks) = state.files.get(file) else { return false };
        file_chunks.present.within(chunks).any(|run| !file_chunks.received.has_all(run))
    }

    /// Hashes of consecutive chunks; `None` if the range is empty or some are missing.
    pub(super) fn hashes(&self, file: usize, chunks: Range<u64>) -> io::Result<Option<Vec<Hash>>> {
        let from = {
            let state = self.state();
            let file_chunks = state.files.get(file);
            let here = |file_chunks: &&FileChunks| !chunks.is_empty() && file_chunks.present.has_all(chunks.clone());
            let Some(file_chunks) = file_chunks.filter(here) else { return Ok(None) };
            file_chunks.from + chunks.start
        };
        self.read(from..from + (chunks.end - chunks.start)).map(Some)
    }

    /// Hash of a complete file. `first` replaces the hash of its first chunk, if that was changed
    /// when written.
    pub(super) fn file_hash(&self, file: usize, entry: &Entry, first: Option<Hash>) -> io::Result<Option<Hash>> {
        self.hash_of(file, entry, first, &mut Block::default())
    }

    fn hash_of(&self, file: usize, entry: &Entry, first: Option<Hash>, block: &mut Block) -> io::Result<Option<Hash>> {
        let Some(all) = chunks(entry) else { return Ok(None) };
        let from = {
            let state = self.state();
            let Some(file_chunks) = state.files.get(file).filter(|file_chunks| file_chunks.present.is_all(all)) else {
                return Ok(None);
            };
            file_chunks.from
        };
        let mut tree = Tree::default();
        for chunk in 0..all {
            let received = block.hash(self, from + chunk)?;
            tree.add(all, chunk, first.filter(|_| chunk == 0).unwrap_or(received));
        }
        Ok(tree.hash(all))
    }

    /// The manifest of these entries; `None` if some file is incomplete.
    pub(super) fn manifest(&self, entries: &[Entry]) -> io::Result<Option<Manifest>> {
        let (mut block, mut listed) = (Block::default(), Vec::with_capacity(entries.len()));
        for (number, entry) in entries.iter().enumerate() {
            let hash = self.hash_of(number, entry, None, &mut block)?;
            if hash.is_none() && chunks(entry).is_some() {
                return Ok(None);
            }
            listed.push((entry.clone(), hash));
        }
        Ok(Some(Manifest { entries: listed }))
    }

    /// Creates the state for the next list: chunks stay present if they are still part of a file.
    /// Afterwards this list is closed, so late chunks for it are rejected.
    pub(super) fn next_list(&self, before: &[Entry], now: &[Entry]) -> io::Result<Self> {
        let State { end, files, .. } = std::mem::take(&mut *self.state());
        let mut state = State { end, ..State::default() };
        let slots = before.iter().zip(files);
        let mut known: HashMap<&RelativePath, (&Entry, FileChunks)> = slots
            .filter(|(entry, _)| chunks(entry).is_some())
            .map(|(entry, file_chunks)| (&entry.path, (entry, file_chunks)))
            .collect();
        let next = Self { hashes: self.hashes.try_clone()?, state: Mutex::default() };
        for entry in now {
            let all = chunks(entry).unwrap_or_default();
            let file_chunks = match known.remove(&entry.path).filter(|_| all > 0) {
                Some((before, file_chunks)) => next.next_slots(&mut state, file_chunks, before, entry)?,
                None => state.allocate(all)?,
            };
            state.gaps += file_chunks.gaps();
            state.files.push(file_chunks);
        }
        *next.state() = state;
        Ok(next)
    }

    /// Slots of a file for the next list. Hashes stay where they are, unless there are too few
    /// slots; then the file gets twice as many, since it may grow with every list.
    fn next_slots(
        &self,
        state: &mut State,
        mut file_chunks: FileChunks,
        before: &Entry,
        now: &Entry,
    ) -> io::Result<FileChunks> {
        let (Kind::File { bytes: before }, Kind::File { bytes: now }) = (&before.kind, &now.kind) else {
            return Ok(file_chunks);
        };
        file_chunks.received = RangeSet::default();
        file_chunks.present.remove(same_chunks(*before, *now)..u64::MAX);
        if chunks_of(*now) <= file_chunks.capacity {
            return Ok(file_chunks);
        }
        let mut larger = state.allocate(chunks_of(*now).checked_next_power_of_two().ok_or_else(full)?)?;
        for run in file_chunks.present.iter() {
            for chunk in run.clone().step_by(usize::try_from(BLOCK).unwrap_or(1)) {
                let end = (chunk + BLOCK).min(run.end);
                let mut bytes = vec![0; bytes_of(end - chunk)];
                self.hashes.read_exact_at(&mut bytes, offset(file_chunks.from + chunk))?;
                self.hashes.write_all_at(&bytes, offset(larger.from + chunk))?;
            }
        }
        larger.present = file_chunks.present;
        Ok(larger)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn present(&self, file: usize, chunk: u64) {
        self.state().change(file, |file| file.present.insert(chunk));
    }

    fn write(&self, slot: u64, hash: Hash) -> io::Result<()> {
        self.hashes.write_all_at(&hash.0, offset(slot))
    }

    fn read(&self, slots: Range<u64>) -> io::Result<Vec<Hash>> {
        let mut bytes = vec![0; bytes_of(slots.end - slots.start)];
        self.hashes.read_exact_at(&mut bytes, offset(slots.start))?;
        Ok(bytes.as_chunks().0.iter().copied().map(Hash).collect())
    }
}

/// Hashes that were read at once.
#[derive(Default)]
struct Block {
    from: u64,
    hashes: Vec<Hash>,
}

impl Block {
    fn hash(&mut self, chunk_index: &ChunkIndex, slot: u64) -> io::Result<Hash> {
        let known = |block: &Self| {
            let at = usize::try_from(slot.checked_sub(block.from)?).ok()?;
            block.hashes.get(at).copied()
        };
        if let Some(hash) = known(self) {
            return Ok(hash);
        }
        // The file ends after the last hash that was written.
        let mut bytes = vec![0; bytes_of(BLOCK)];
        let mut read = 0;
        while let Some(room) = bytes.get_mut(read..).filter(|room| !room.is_empty()) {
            match chunk_index.hashes.read_at(room, offset(slot) + read as u64)? {
                0 => break,
                count => read += count,
            }
        }
        bytes.truncate(read);
        (self.from, self.hashes) = (slot, bytes.as_chunks().0.iter().copied().map(Hash).collect());
        known(self).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// Number of chunks of a file; `None` for other entries.
fn chunks(entry: &Entry) -> Option<u64> {
    match entry.kind {
        Kind::File { bytes } => Some(chunks_of(bytes)),
        _ => None,
    }
}

/// Byte offset of a slot; the slot is known to be valid.
const fn offset(slot: u64) -> u64 {
    slot.saturating_mul(HASH_BYTES as u64)
}

fn bytes_of(hashes: u64) -> usize {
    usize::try_from(hashes).unwrap_or(usize::MAX).saturating_mul(HASH_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{CHUNK_BYTES, file_hash};

    const MIB: u64 = CHUNK_BYTES as u64;

    fn entry(path: &str, bytes: u64) -> Entry {
        let path = RelativePath::parse(path.as_bytes()).unwrap();
        Entry { path, kind: Kind::File { bytes }, mode: 0, uid: 0, gid: 0, modified: (0, 0) }
    }

    fn chunk_index(entries: &[Entry]) -> ChunkIndex {
        ChunkIndex::new(tempfile::tempfile().unwrap(), entries).unwrap()
    }

    const fn hash(number: u8) -> Hash {
        Hash([number; 32])
    }

    fn hash_of(chunk_index: &ChunkIndex, file: usize, entries: &[Entry]) -> Option<Hash> {
        chunk_index.file_hash(file, &entries[file], None).unwrap()
    }

    #[test]
    fn a_chunk_is_received_once_and_replaces_an_existing_one() {
        let entries = [entry("f", 2 * MIB)];
        let chunk_index = chunk_index(&entries);
        chunk_index.add_existing(0, 0, hash(1)).unwrap();
        chunk_index.add_existing(0, 0, hash(2)).unwrap();
        assert_eq!(hash_of(&chunk_index, 0, &entries), None);
        chunk_index.add_existing(0, 1, hash(3)).unwrap();
        assert_eq!(hash_of(&chunk_index, 0, &entries), file_hash(&[hash(2), hash(3)]));
        assert!(chunk_index.has_kept(0, 0..1));
        assert!(chunk_index.add(0, 0, hash(4)).unwrap());
        assert!(!chunk_index.add(0, 0, hash(5)).unwrap());
        assert!(!chunk_index.has_kept(0, 0..1) && chunk_index.has_kept(0, 0..2) && !chunk_index.has_kept(0, 2..3));
        assert!(!chunk_index.add(0, 2, hash(5)).unwrap() && !chunk_index.add(1, 0, hash(5)).unwrap());
        assert_eq!(hash_of(&chunk_index, 0, &entries), file_hash(&[hash(4), hash(3)]));
        assert_eq!(chunk_index.file_hash(0, &entries[0], Some(hash(9))).unwrap(), file_hash(&[hash(9), hash(3)]));
        assert_eq!(chunk_index.hashes(0, 0..2).unwrap(), Some(vec![hash(4), hash(3)]));
        chunk_index.remove(0, 1..2);
        assert_eq!(chunk_index.hashes(0, 0..2).unwrap(), None);
        assert_eq!((hash_of(&chunk_index, 0, &entries), chunk_index.runs()), (None, vec![(0, 0..1)]));
    }

    #[test]
    fn chunks_of_the_current_file_are_kept() {
        let before = [entry("gone", MIB), entry("grows", 3 * MIB), entry("one", MIB), entry("shrinks", 3 * MIB)];
        let chunk_index = chunk_index(&before);
        for (file, chunks) in [(0, 0..1), (1, 0..3), (2, 0..1), (3, 0..3)] {
            for chunk in chunks {
                assert!(chunk_index.add(file, chunk, hash(16 * file as u8 + chunk as u8)).unwrap());
            }
        }
        let now = [entry("grows", 5000 * MIB), entry("new", 1), entry("one", 2 * MIB), entry("shrinks", 2 * MIB - 1)];
        let next = chunk_index.next_list(&before, &now).unwrap();
        assert_eq!(next.runs(), [(0, 0..3), (3, 0..1)]);
        assert_eq!(next.hashes(0, 0..3).unwrap(), Some(vec![hash(16), hash(17), hash(18)]));
        assert_eq!(next.hashes(3, 0..1).unwrap(), Some(vec![hash(48)]));
        assert!(!chunk_index.add(1, 1, hash(7)).unwrap(), "the list before is over");
        assert!(next.add(0, 1, hash(8)).unwrap() && next.add(2, 0, hash(9)).unwrap());
        let last = next.next_list(&now, &[entry("grows", 2 * MIB)]).unwrap();
        assert_eq!(hash_of(&last, 0, &[entry("grows", 2 * MIB)]), file_hash(&[hash(16), hash(8)]));
    }

    #[test]
    fn impossible_chunks_are_not_present() {
        let entries = [entry("f", 2 * MIB), entry("g", 2 * MIB)];
        let chunk_index = chunk_index(&entries);
        (0..2).for_each(|file| (0..2).for_each(|chunk| chunk_index.add_existing(file, chunk, hash(1)).unwrap()));
        for chunks in [u64::MAX..u64::MAX, u64::MAX - 1..u64::MAX, 0..0, 1..3] {
            assert_eq!(chunk_index.hashes(1, chunks.clone()).unwrap(), None, "{chunks:?}");
        }
    }

    #[test]
    fn chunks_after_the_list_is_closed_are_refused() {
        let entries = [entry("f", MIB)];
        let chunk_index = chunk_index(&entries);
        chunk_index.add_existing(0, 0, hash(1)).unwrap();
        chunk_index.close();
        assert!(!chunk_index.add(0, 0, hash(2)).unwrap());
        assert_eq!(hash_of(&chunk_index, 0, &entries), Some(hash(1)));
    }

    #[test]
    fn the_number_of_gaps_is_limited() {
        let before = [entry("f", 1 << 40), entry("g", 1 << 40)];
        let chunk_index = chunk_index(&before);
        (0..MAX_GAPS as u64).for_each(|chunk| chunk_index.add_existing(0, 2 * chunk, hash(1)).unwrap());
        assert!(!chunk_index.has_too_many_gaps());
        for chunk in [0, 2, 4] {
            chunk_index.add_existing(1, chunk, hash(1)).unwrap();
        }
        assert!(chunk_index.has_too_many_gaps());
        chunk_index.add_existing(1, 6, hash(1)).unwrap();
        assert_eq!(chunk_index.hashes(1, 6..7).unwrap(), None, "it has to be sent again");
        chunk_index.remove(1, 0..1);
        assert!(!chunk_index.has_too_many_gaps());
        let next = chunk_index.next_list(&before, &before[1..]).unwrap();
        (0..2 * MAX_GAPS as u64).for_each(|chunk| assert!(next.add(0, chunk, hash(1)).unwrap()));
        assert!(!next.has_too_many_gaps());
        (1..MAX_GAPS as u64).for_each(|chunk| assert!(next.add(0, 4 * MAX_GAPS as u64 + 2 * chunk, hash(1)).unwrap()));
        assert!(next.has_too_many_gaps());
    }

    #[test]
    fn impossible_lengths_are_refused_or_take_no_memory() {
        let huge: Vec<Entry> = (0..3).map(|file| entry(&format!("f{file}"), i64::MAX as u64)).collect();
        let chunk_index = chunk_index(&huge);
        assert!(chunk_index.add(2, (1 << 43) - 1, hash(1)).is_err(), "no file system has files of that length");
        assert!(chunk_index.add(0, 7, hash(1)).unwrap());
        assert_eq!(chunk_index.runs(), [(0, 7..8)]);
        let all = vec![entry("f", i64::MAX as u64); 1 << 17];
        assert!(ChunkIndex::new(tempfile::tempfile().unwrap(), &all).is_err());
    }
}
