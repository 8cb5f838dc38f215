//! What the other side has of a source that goes in more than one round.

use std::{
    collections::{BTreeMap, HashMap},
    time::SystemTime,
};

use crate::{
    hash::{Hash, chunks_of, is_same_chunk},
    path::RelativePath,
    plan::{Identity, Plan, Planned},
};

/// Files, as they are on the other side.
#[derive(Debug, Default)]
pub(super) struct Known(HashMap<RelativePath, KnownFile>);

/// A file.
#[derive(Debug)]
pub(super) struct KnownFile {
    bytes: u64,
    /// What the file was before its chunks were read; `None` if not all of them were.
    seen: Option<(Identity, SystemTime)>,
    chunks: BTreeMap<u64, Hash>,
}

impl KnownFile {
    /// Whether the other side has this chunk of the file, which now has `bytes`.
    pub(super) fn has(&self, bytes: u64, chunk: u64, hash: Hash) -> bool {
        is_same_chunk(self.bytes, bytes, chunk) && self.chunks.get(&chunk) == Some(&hash)
    }

    /// Whether the file is now what the other side has, so that it need not be read.
    pub(super) fn is_current(&self, planned: &Planned) -> bool {
        self.seen.as_ref().is_some_and(|seen| Plan::is_as_before(planned, seen))
    }

    /// Chunks with their hashes.
    pub(super) fn chunks(&self) -> impl Iterator<Item = (u64, Hash)> {
        self.chunks.iter().map(|(chunk, hash)| (*chunk, *hash))
    }
}

impl Known {
    pub(super) fn file(&self, planned: &Planned) -> Option<&KnownFile> {
        self.0.get(&planned.entry.path)
    }

    /// Notes chunks that the other side has from an earlier try.
    pub(super) fn have(&mut self, planned: &Planned, hashes: impl Iterator<Item = (u64, Hash)>) {
        let Some(bytes) = planned.file_bytes() else { return };
        let room = || KnownFile { bytes, seen: None, chunks: BTreeMap::new() };
        self.0.entry(planned.entry.path.clone()).or_insert_with(room).chunks.extend(hashes);
    }

    /// Goes on to what the other side has after a round in which these chunks were read.
    pub(super) fn after(mut self, plan: &Plan, mut read: HashMap<usize, BTreeMap<u64, Hash>>) -> Self {
        let mut now = HashMap::new();
        for (number, planned) in plan.entries.iter().enumerate() {
            let Some(bytes) = planned.file_bytes() else { continue };
            let before = self.0.remove(&planned.entry.path);
            if let Some(current) = before.as_ref().filter(|known| known.is_current(planned)) {
                debug_assert_eq!(current.bytes, bytes, "a file that is the same has the same length");
                now.extend(before.map(|known| (planned.entry.path.clone(), known)));
                continue;
            }
            let read = read.remove(&number).unwrap_or_default();
            let read_whole = read.len() as u64 == chunks_of(bytes);
            let mut chunks = before.map_or_else(BTreeMap::new, |known| {
                let counts = |(chunk, _): &(u64, Hash)| is_same_chunk(known.bytes, bytes, *chunk);
                known.chunks().filter(counts).collect()
            });
            chunks.extend(read);
            // A stream only adds to a file.
            let whole = read_whole || planned.chunks.is_some() && chunks.len() as u64 == chunks_of(bytes);
            let seen = whole.then(|| plan.identity(planned));
            now.insert(planned.entry.path.clone(), KnownFile { bytes, seen, chunks });
        }
        Self(now)
    }
}
