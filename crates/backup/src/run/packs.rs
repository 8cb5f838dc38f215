//! Packs of a run, and where in them the parts of each file are.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError, atomic::Ordering},
};

use archive::{Digest, Manifest, Run as FileRun, names, receipt::Object};
use codec::hash::Hash;

use super::{Progress, gather::Placed};
use crate::{BackupError, Config, Repository, repository::name};

/// What all threads put.
#[derive(Debug)]
pub(super) struct Packs<'r> {
    repository: &'r Repository,
    host: &'r str,
    gathered: Mutex<Gathered>,
}

/// What was put.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// Those of the last backup, and behind them the new ones.
    pub(super) packs: Vec<Object>,
    /// How many are of the last backup.
    pub(super) old: usize,
    pub(super) files: BTreeMap<usize, Parts>,
    /// Keys of MariaDB that pages need: id and version.
    pub(super) keys: BTreeSet<(u32, u32)>,
}

/// What is known of a file.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) chunks: BTreeMap<u64, Vec<Hash>>,
    pub(super) runs: Vec<FileRun>,
}

impl<'r> Packs<'r> {
    pub(super) fn new(repository: &'r Repository, config: &'r Config, base: Option<&Manifest>) -> Self {
        let packs = base.map(|base| base.packs.clone()).unwrap_or_default();
        let keys = base.into_iter().flat_map(|base| &base.keys).map(|key| (key.id, key.version)).collect();
        let gathered = Gathered { old: packs.len(), packs, keys, ..Gathered::default() };
        Self { repository, host: &config.host, gathered: Mutex::new(gathered) }
    }

    /// Puts a pack, and notes what is in it.
    pub(super) fn put(&self, bytes: &[u8], placed: Vec<Placed>, progress: &Progress) -> Result<(), BackupError> {
        let pack = Object { sha256: Digest::of(bytes), bytes: bytes.len() as u64 };
        let object = name(&names::pack(self.host, &pack.sha256))?;
        self.repository.store().put_new(&object, &mut &*bytes, pack.bytes)?;
        progress.stored_bytes.fetch_add(pack.bytes, Ordering::Relaxed);
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        let number = u32::try_from(gathered.packs.len()).map_err(|_| BackupError::Stopped)?;
        gathered.packs.push(pack);
        for Placed { file, extents, frame } in placed {
            let runs = &mut gathered.files.entry(file).or_default().runs;
            let mut offset = 0_u32;
            for extent in extents {
                let (at, bytes) = (extent.at, extent.bytes);
                runs.push(FileRun { at, bytes, pack: number, offset, frame_at: frame.at, frame_bytes: frame.bytes });
                offset = offset.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
            }
        }
        Ok(())
    }

    /// Notes hashes of chunks of a file from `first` on, and parts of it that are where they were.
    pub(super) fn add(&self, file: usize, first: u64, chunks: &[Hash], kept: Vec<FileRun>) {
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = gathered.files.entry(file).or_default();
        parts.chunks.insert(first, chunks.to_vec());
        parts.runs.extend(kept);
    }

    /// Notes a key that pages need.
    pub(super) fn needs(&self, id: u32, version: u32) {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner).keys.insert((id, version));
    }

    pub(super) fn into_gathered(self) -> Gathered {
        self.gathered.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Parts {
    /// Everything in order.
    pub(super) fn into_order(mut self) -> (Vec<Hash>, Vec<FileRun>) {
        self.runs.sort_unstable_by_key(|run| run.at);
        let mut runs = Vec::new();
        self.runs.into_iter().for_each(|run| push(&mut runs, run));
        (self.chunks.into_values().flatten().collect(), runs)
    }
}

/// Adds a part, as one with the last if it goes on there.
pub(super) fn push(runs: &mut Vec<FileRun>, run: FileRun) {
    match runs.last_mut() {
        Some(last) if last.is_followed_by(&run) => last.bytes = last.bytes.saturating_add(run.bytes),
        _ => runs.push(run),
    }
}
