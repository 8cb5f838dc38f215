//! Hashes of chunks that the sender reads, in whatever order, become hashes of files.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use crate::{
    hash::{Hash, Tree, chunks_of},
    manifest::Manifest,
    runs::Runs,
    wire::{Entry, Kind},
};

/// Chunks of the files that are read by one connection without a break: so many of each are remembered first.
const SMALL_CHUNKS: u64 = 16;

/// Filled by all connections. Files that are read more or less in order take memory for their names, and not for their chunks.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    state: Mutex<State>,
    /// Whether another list follows, so that files may grow, and it matters which chunks were read.
    more: bool,
    /// How many hashes are remembered, one by one.
    most: usize,
}

#[derive(Debug, Default)]
struct State {
    files: HashMap<usize, Read>,
    done: HashMap<usize, Hash>,
    remembered: usize,
}

/// What was read of a file.
#[derive(Debug, Default)]
pub(crate) struct Read {
    /// All that is known of it.
    pub(crate) tree: Tree,
    /// What was read now.
    pub(crate) chunks: Runs,
    /// Hashes of some of these, in no order.
    pub(crate) hashes: Vec<(u64, Hash)>,
}

impl Assembly {
    /// One that another follows, and that remembers so many hashes of chunks.
    pub(crate) fn of_a_round(most: usize) -> Self {
        Self { state: Mutex::default(), more: true, most }
    }

    /// Goes on with a file to which chunks are only added.
    pub(crate) fn go_on(&self, file: usize, tree: Tree) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.files.insert(file, Read { tree, ..Read::default() });
    }

    /// Notes the hash of a file that need not be read.
    pub(crate) fn keep(&self, file: usize, hash: Hash) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).done.insert(file, hash);
    }

    /// Notes the hash of a chunk of file number `file`. Each is read once.
    pub(crate) fn add(&self, file: usize, file_bytes: u64, chunk: u64, hash: Hash) {
        let all = chunks_of(file_bytes);
        let mut guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *guard;
        let read = state.files.entry(file).or_default();
        debug_assert!(!read.tree.has(chunk), "each part of a file is given out once");
        read.tree.add(all, chunk, hash);
        if self.more {
            read.chunks.insert(chunk);
            // What is not remembered has to be asked for, which takes as long for a small file as for much of a large one.
            let most = if all <= SMALL_CHUNKS { self.most } else { self.most / 2 };
            if state.remembered < most {
                state.remembered += 1;
                read.hashes.push((chunk, hash));
            }
        } else if let Some(hash) = read.tree.hash(all) {
            state.files.remove(&file);
            state.done.insert(file, hash);
        }
    }

    /// What was read of each file.
    pub(crate) fn into_read(self) -> HashMap<usize, Read> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).files
    }

    /// The manifest of these entries; `None` if some file was not read whole.
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
    fn a_file_is_known_when_its_last_chunk_was_read() {
        let hash_of = |assembly: &Assembly| {
            let path = RelativePath::parse(b"f").unwrap();
            let entry = Entry { path, kind: Kind::File { bytes: BYTES }, mode: 0, uid: 0, gid: 0, modified: (0, 0) };
            assembly.manifest(std::iter::once(entry)).and_then(|manifest| manifest.entries[0].1)
        };
        let [one, other] = [1, 2].map(|byte| Hash([byte; 32]));
        let assembly = Assembly::default();
        assembly.add(0, BYTES, 1, other);
        assert_eq!(hash_of(&assembly), None);
        assembly.add(0, BYTES, 0, one);
        assert_eq!(hash_of(&assembly), file_hash(&[one, other]));
        let assembly = Assembly::default();
        assembly.keep(0, one);
        assert_eq!(hash_of(&assembly), Some(one));
    }

    #[test]
    fn no_more_hashes_are_remembered_than_fit_and_small_files_come_first() {
        let assembly = Assembly::of_a_round(100);
        let large = 1 << 40;
        (0..1000).for_each(|chunk| assembly.add(0, large, chunk, Hash([1; 32])));
        (0..2).for_each(|chunk| assembly.add(1, BYTES, chunk, Hash([2; 32])));
        let mut read = assembly.into_read();
        let [large, small] = [0, 1].map(|file| read.remove(&file).unwrap());
        assert_eq!((large.hashes.len(), small.hashes.len()), (50, 2));
        assert!(large.chunks.is_all(1000) && small.tree.is_whole(2));
    }
}
