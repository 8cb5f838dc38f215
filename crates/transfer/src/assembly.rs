//! Hashes of chunks, in whatever order they come, become hashes of files.

use std::{collections::HashMap, sync::Mutex};

use crate::{
    hash::{Hash, chunks_of, file_hash},
    manifest::Manifest,
    wire::{Entry, Kind},
};

/// Filled by all connections of one side. Only files that are not over yet take memory for their
/// chunks: 33 bytes for each.
#[derive(Debug, Default)]
pub(crate) struct Assembly(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    open: HashMap<usize, (Vec<Option<Hash>>, u64)>,
    done: HashMap<usize, Hash>,
}

impl Assembly {
    /// Notes the hash of a chunk of file number `file`.
    pub(crate) fn add(&self, file: usize, file_bytes: u64, chunk: u64, hash: Hash) {
        let Ok(mut state) = self.0.lock() else { return };
        if state.done.contains_key(&file) {
            return;
        }
        let all = chunks_of(file_bytes);
        let room = || (vec![None; usize::try_from(all).unwrap_or(usize::MAX)], all);
        let (known, missing) = state.open.entry(file).or_insert_with(room);
        let place = usize::try_from(chunk).ok().and_then(|chunk| known.get_mut(chunk));
        if place.is_some_and(|place| place.replace(hash).is_none()) {
            *missing -= 1;
        }
        if *missing == 0
            && let Some((hashes, _)) = state.open.remove(&file)
        {
            let hashes: Vec<Hash> = hashes.into_iter().flatten().collect();
            state.done.extend(file_hash(&hashes).map(|hash| (file, hash)));
        }
    }

    /// The manifest of these entries; `None` if some file is not over.
    pub(crate) fn manifest(&self, entries: impl Iterator<Item = Entry>) -> Option<Manifest> {
        let state = self.0.lock().ok()?;
        let entries = entries.enumerate().map(|(number, entry)| match entry.kind {
            Kind::File { .. } => Some((entry, Some(*state.done.get(&number)?))),
            _ => Some((entry, None)),
        });
        Some(Manifest { entries: entries.collect::<Option<_>>()? })
    }
}
