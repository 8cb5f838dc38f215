//! Packs of a run, and the location of each file's parts in them.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Cursor,
    sync::{Mutex, PoisonError, atomic::Ordering},
};

use archive::{Digest, Manifest, Run as FileRun, names, receipt::Object};
use codec::hash::Hash;

use super::{
    RunProgress,
    frames::PackedPart,
    journal::{Attempts, Journal},
};
use crate::{Config, Error, Repository, repository::name};

/// Packs stored by all threads.
#[derive(Debug)]
pub(super) struct Packs<'r> {
    repository: &'r Repository,
    host: &'r str,
    journal: Journal,
    stored: Mutex<StoredPacks>,
}

/// Result of all threads.
#[derive(Debug, Default)]
pub(super) struct StoredPacks {
    /// Packs of the last backup, followed by those of runs without a receipt, and by the new ones.
    pub(super) packs: Vec<Object>,
    /// Number of packs from the last backup.
    pub(super) old: usize,
    pub(super) files: BTreeMap<usize, Parts>,
    /// MariaDB keys that pages need: id and version.
    pub(super) keys: BTreeSet<(u32, u32)>,
}

/// Hashes and locations of a file.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) chunks: BTreeMap<u64, Vec<Hash>>,
    pub(super) runs: Vec<FileRun>,
}

impl<'r> Packs<'r> {
    pub(super) fn new(
        repository: &'r Repository,
        config: &'r Config,
        base: Option<&Manifest>,
        attempts: &Attempts,
        journal: Journal,
    ) -> Self {
        let mut packs = base.map(|base| base.packs.clone()).unwrap_or_default();
        let old = packs.len();
        packs.extend(&attempts.packs);
        let keys = base.into_iter().flat_map(|base| &base.keys).map(|key| (key.id, key.version));
        let keys = keys.chain(attempts.keys.iter().copied()).collect();
        let stored = StoredPacks { old, packs, keys, ..StoredPacks::default() };
        Self { repository, host: &config.host, journal, stored: Mutex::new(stored) }
    }

    /// Stores a pack, and records its contents.
    pub(super) fn put(&self, bytes: &[u8], parts: Vec<PackedPart>, progress: &RunProgress) -> Result<(), Error> {
        let pack = Object { sha256: Digest::compute(bytes), bytes: bytes.len() as u64 };
        let object = name(&names::pack(self.host, &pack.sha256))?;
        self.repository.store().put_new(&object, &mut Cursor::new(bytes), pack.bytes)?;
        progress.stored_bytes.fetch_add(pack.bytes, Ordering::Relaxed);
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        let number = u32::try_from(stored.packs.len()).map_err(|_| Error::Stopped)?;
        self.journal.add(pack, &stored.keys, &parts)?;
        stored.packs.push(pack);
        for PackedPart { file, extents, frame } in parts {
            let runs = &mut stored.files.entry(file).or_default().runs;
            let mut offset = 0_u32;
            for extent in extents {
                let (at, bytes) = (extent.at, extent.bytes);
                runs.push(FileRun { at, bytes, pack: number, offset, frame_at: frame.at, frame_bytes: frame.bytes });
                offset = offset.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
            }
        }
        Ok(())
    }

    /// Records the chunk hashes of a file from chunk `first` on, and the parts that did not change.
    pub(super) fn add(&self, file: usize, first: u64, chunks: &[Hash], kept: Vec<FileRun>) {
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = stored.files.entry(file).or_default();
        parts.chunks.insert(first, chunks.to_vec());
        parts.runs.extend(kept);
    }

    /// Records a key that pages need.
    pub(super) fn needs(&self, id: u32, version: u32) {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).keys.insert((id, version));
    }

    pub(super) fn into_stored(self) -> StoredPacks {
        self.stored.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Parts {
    /// Hashes and locations, in file order.
    pub(super) fn into_order(mut self) -> (Vec<Hash>, Vec<FileRun>) {
        self.runs.sort_unstable_by_key(|run| run.at);
        self.runs.dedup_by(|next, last| join(last, next));
        self.runs.shrink_to_fit();
        (self.chunks.into_values().flatten().collect(), self.runs)
    }
}

/// Adds a part; joins it with the last one if it continues it.
pub(super) fn push(runs: &mut Vec<FileRun>, run: FileRun) {
    if !runs.last_mut().is_some_and(|last| join(last, &run)) {
        runs.push(run);
    }
}

/// Adds a part to the one before it, if it continues that; returns whether it does.
fn join(last: &mut FileRun, next: &FileRun) -> bool {
    let joins = last.is_followed_by(next);
    if joins {
        last.bytes = last.bytes.saturating_add(next.bytes);
    }
    joins
}
