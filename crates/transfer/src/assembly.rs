//! Hashes of chunks, in whatever order they come, become hashes of files.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, PoisonError},
};

use crate::{
    hash::{Hash, chunks_of, file_hash},
    manifest::Manifest,
    wire::{Entry, Kind},
};

/// Filled by all connections of one side. Only files that are not over yet take memory for their
/// chunks, 33 bytes for each, unless the source is in use and another list follows.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    state: Mutex<State>,
    /// Whether the hashes of chunks are asked for when all is over.
    remember: bool,
}

#[derive(Debug, Default)]
struct State {
    open: HashMap<usize, (Vec<Option<Hash>>, u64)>,
    done: HashMap<usize, Hash>,
    /// What was there before. It counts for chunks that do not come again.
    kept: HashMap<usize, Vec<(u64, Hash)>>,
    /// What came, in order, if that is to be remembered.
    came: HashMap<usize, Vec<(u64, Hash)>>,
}

impl Assembly {
    /// One that knows the hashes of chunks to its end.
    pub(crate) fn remembering(remember: bool) -> Self {
        Self { state: Mutex::default(), remember }
    }

    /// Hashes of the chunks that are known, those that came over those that were there. It knows nothing
    /// any more then.
    pub(crate) fn take_chunks(&self) -> HashMap<usize, BTreeMap<u64, Hash>> {
        let state = std::mem::take(&mut *self.state.lock().unwrap_or_else(PoisonError::into_inner));
        let mut chunks: HashMap<usize, BTreeMap<u64, Hash>> = HashMap::new();
        for (file, hashes) in state.kept.into_iter().chain(state.came) {
            chunks.entry(file).or_default().extend(hashes);
        }
        chunks
    }

    /// Notes that chunk of file number `file` was there before.
    pub(crate) fn keep(&self, file: usize, chunk: u64, hash: Hash) {
        if let Ok(mut state) = self.state.lock() {
            state.kept.entry(file).or_default().push((chunk, hash));
        }
    }

    /// Notes the hash of a chunk of file number `file`; false if it was noted before.
    #[must_use]
    pub(crate) fn add(&self, file: usize, file_bytes: u64, chunk: u64, hash: Hash) -> bool {
        let Ok(mut state) = self.state.lock() else { return false };
        if state.done.contains_key(&file) {
            return false;
        }
        let all = chunks_of(file_bytes);
        let room = || (vec![None; usize::try_from(all).unwrap_or(usize::MAX)], all);
        let (known, missing) = state.open.entry(file).or_insert_with(room);
        let Some(place @ None) = usize::try_from(chunk).ok().and_then(|chunk| known.get_mut(chunk)) else {
            return false;
        };
        *place = Some(hash);
        *missing -= 1;
        let over = *missing == 0;
        if self.remember {
            state.came.entry(file).or_default().push((chunk, hash));
        }
        if over && let Some((hashes, _)) = state.open.remove(&file) {
            let hashes: Vec<Hash> = hashes.into_iter().flatten().collect();
            state.done.extend(file_hash(&hashes).map(|hash| (file, hash)));
        }
        true
    }

    /// Hash of a file of so many bytes; `None` if it is not over.
    pub(crate) fn hash(&self, file: usize, file_bytes: u64) -> Option<Hash> {
        self.state.lock().ok()?.hash(file, file_bytes)
    }

    /// The manifest of these entries; `None` if some file is not over.
    pub(crate) fn manifest(&self, entries: impl Iterator<Item = Entry>) -> Option<Manifest> {
        let state = self.state.lock().ok()?;
        let entries = entries.enumerate().map(|(number, entry)| match entry.kind {
            Kind::File { bytes } => Some((entry, Some(state.hash(number, bytes)?))),
            _ => Some((entry, None)),
        });
        Some(Manifest { entries: entries.collect::<Option<_>>()? })
    }
}

impl State {
    fn hash(&self, file: usize, file_bytes: u64) -> Option<Hash> {
        if let Some(hash) = self.done.get(&file) {
            return Some(*hash);
        }
        let kept = self.kept.get(&file)?;
        let mut hashes = vec![None; usize::try_from(chunks_of(file_bytes)).ok()?];
        for (chunk, hash) in kept {
            *hashes.get_mut(usize::try_from(*chunk).ok()?)? = Some(*hash);
        }
        let came = self.open.get(&file).map(|(came, _)| came.as_slice()).unwrap_or_default();
        hashes.iter_mut().zip(came).for_each(|(hash, came)| *hash = came.or(*hash));
        file_hash(&hashes.into_iter().collect::<Option<Vec<_>>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{hash::CHUNK_BYTES, path::RelativePath};

    const BYTES: u64 = 2 * CHUNK_BYTES as u64;

    fn hash_of(assembly: &Assembly) -> Option<Hash> {
        let path = RelativePath::parse(b"f").unwrap();
        let kind = Kind::File { bytes: BYTES };
        let entry = Entry { path, kind, mode: 0, uid: 0, gid: 0, modified: (0, 0) };
        assembly.manifest(std::iter::once(entry)).and_then(|manifest| manifest.entries[0].1)
    }

    #[test]
    fn what_comes_counts_more_than_what_was_there() {
        let [old, new, other] = [1, 2, 3].map(|byte| Hash([byte; 32]));
        let assembly = Assembly::default();
        assembly.keep(0, 0, old);
        assert_eq!(hash_of(&assembly), None);
        assembly.keep(0, 1, other);
        assert_eq!(hash_of(&assembly), file_hash(&[old, other]));
        assert!(assembly.add(0, BYTES, 0, new));
        assert_eq!(hash_of(&assembly), file_hash(&[new, other]));
    }

    #[test]
    fn chunks_are_remembered_if_they_are_to_be() {
        let [old, new, other] = [1, 2, 3].map(|byte| Hash([byte; 32]));
        for remember in [false, true] {
            let assembly = Assembly::remembering(remember);
            assembly.keep(4, 0, old);
            assembly.keep(4, 1, other);
            assert!(assembly.add(4, BYTES, 0, new));
            let first = if remember { new } else { old };
            assert_eq!(assembly.take_chunks(), HashMap::from([(4, BTreeMap::from([(0, first), (1, other)]))]));
        }
    }

    #[test]
    fn a_chunk_comes_once() {
        let assembly = Assembly::default();
        assert!(assembly.add(0, BYTES, 0, Hash([1; 32])));
        assert!(!assembly.add(0, BYTES, 0, Hash([2; 32])));
        assert!(assembly.add(0, BYTES, 1, Hash([3; 32])));
        assert!(!assembly.add(0, BYTES, 1, Hash([4; 32])));
        assert_eq!(hash_of(&assembly), file_hash(&[Hash([1; 32]), Hash([3; 32])]));
    }
}
