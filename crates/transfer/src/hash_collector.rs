//! Collects the hashes of chunks, in any order, and computes the hashes of files.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use crate::{
    hash::{Hash, Tree, chunks_of},
    manifest::Manifest,
    range_set::RangeSet,
    wire::{Entry, Kind},
};

/// Maximum number of chunks of a small file. Hashes of larger files may use only half of the
/// memory.
const SMALL_CHUNKS: u64 = 16;

/// Hashes of the chunks that all connections read. The memory used by a file does not depend on the
/// number of its chunks if they are read in nearly ascending order.
#[derive(Debug, Default)]
pub(crate) struct HashCollector {
    state: Mutex<State>,
    /// Whether another list follows, so that files may grow and the chunks read must be known.
    more: bool,
    /// Maximum number of single hashes that are remembered.
    max_hashes: usize,
}

#[derive(Debug, Default)]
struct State {
    files: HashMap<usize, ReadChunks>,
    done: HashMap<usize, Hash>,
    remembered: usize,
}

/// The chunks that were read of one file.
#[derive(Debug, Default)]
pub(crate) struct ReadChunks {
    /// Hashes of all chunks known so far.
    pub(crate) tree: Tree,
    /// Chunks read in this round.
    pub(crate) chunks: RangeSet,
    /// Hashes of some of these chunks, in no order.
    pub(crate) hashes: Vec<(u64, Hash)>,
}

impl HashCollector {
    /// For a round that is followed by another; remembers up to `max_hashes` hashes of chunks.
    pub(crate) fn for_round(max_hashes: usize) -> Self {
        Self { state: Mutex::default(), more: true, max_hashes }
    }

    /// Continues a file to which chunks are only appended.
    pub(crate) fn continue_file(&self, file: usize, tree: Tree) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.files.insert(file, ReadChunks { tree, ..ReadChunks::default() });
    }

    /// Sets the hash of a file that need not be read.
    pub(crate) fn add_file(&self, file: usize, hash: Hash) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).done.insert(file, hash);
    }

    /// Adds the hash of a chunk of file number `file`. Each chunk is added once.
    pub(crate) fn add(&self, file: usize, file_bytes: u64, chunk: u64, hash: Hash) {
        let all = chunks_of(file_bytes);
        let mut guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *guard;
        let read = state.files.entry(file).or_default();
        debug_assert!(!read.tree.has(chunk), "each part of a file is given out once");
        read.tree.add(all, chunk, hash);
        if self.more {
            read.chunks.insert(chunk);
            // Hashes that are not remembered have to be queried. A query takes as long for a small
            // file as for many chunks of a large one, so small files have priority.
            let max_hashes = if all <= SMALL_CHUNKS { self.max_hashes } else { self.max_hashes / 2 };
            if state.remembered < max_hashes {
                state.remembered += 1;
                read.hashes.push((chunk, hash));
            }
        } else if let Some(hash) = read.tree.hash(all) {
            state.files.remove(&file);
            state.done.insert(file, hash);
        }
    }

    /// The chunks that were read of each file.
    pub(crate) fn into_read(self) -> HashMap<usize, ReadChunks> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).files
    }

    /// The manifest of these entries; `None` if some file was not read completely.
    pub(crate) fn manifest(&self, entries: impl Iterator<Item = Entry>) -> Option<Manifest> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = entries.enumerate().map(|(number, entry)| match entry.kind {
            Kind::File { .. } => Some((entry, Some(*state.done.get(&number)?))),
            _ => Some((entry, None)),
        });
        Some(Manifest { entries: entries.collect::<Option<_>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        hash::{CHUNK_BYTES, file_hash},
        path::RelativePath,
    };

    const BYTES: u64 = 2 * CHUNK_BYTES as u64;

    #[test]
    fn a_file_has_a_hash_once_its_last_chunk_was_read() {
        let hash_of = |hash_collector: &HashCollector| {
            let path = RelativePath::parse(b"f").unwrap();
            let entry = Entry { path, kind: Kind::File { bytes: BYTES }, mode: 0, uid: 0, gid: 0, modified: (0, 0) };
            hash_collector.manifest(std::iter::once(entry)).and_then(|manifest| manifest.entries[0].1)
        };
        let [one, other] = [1, 2].map(|byte| Hash([byte; 32]));
        let hash_collector = HashCollector::default();
        hash_collector.add(0, BYTES, 1, other);
        assert_eq!(hash_of(&hash_collector), None);
        hash_collector.add(0, BYTES, 0, one);
        assert_eq!(hash_of(&hash_collector), file_hash(&[one, other]));
        let hash_collector = HashCollector::default();
        hash_collector.add_file(0, one);
        assert_eq!(hash_of(&hash_collector), Some(one));
    }

    #[test]
    fn the_number_of_remembered_hashes_is_limited_and_small_files_come_first() {
        let hash_collector = HashCollector::for_round(100);
        let large = 1 << 40;
        (0..1000).for_each(|chunk| hash_collector.add(0, large, chunk, Hash([1; 32])));
        (0..2).for_each(|chunk| hash_collector.add(1, BYTES, chunk, Hash([2; 32])));
        let mut read = hash_collector.into_read();
        let [large, small] = [0, 1].map(|file| read.remove(&file).unwrap());
        assert_eq!((large.hashes.len(), small.hashes.len()), (50, 2));
        assert!(large.chunks.is_all(1000) && small.tree.is_whole(2));
    }
}
