//! Packs of a run, and the location of each file's parts in them.

use std::{
    collections::BTreeSet,
    io::Cursor,
    sync::{Mutex, PoisonError, atomic::Ordering},
};

use archive::{Digest, Manifest, Run as FileRun, names, receipt::Object};
use codec::hash::Hash;

use super::{
    RunProgress,
    contents::Contents,
    files::{FilePlan, Files},
    frames::PackedPart,
    journal::{Attempts, Journal},
};
use crate::{Config, Error, Repository, repository::name};

/// Packs stored by all threads.
pub(super) struct Packs<'r> {
    repository: &'r Repository,
    host: &'r str,
    journal: Journal,
    files: &'r Files,
    contents: Contents,
    stored: Mutex<StoredPacks>,
}

/// Result of all threads.
#[derive(Debug)]
pub(super) struct StoredPacks {
    /// Packs of the last backup, followed by those of runs without a receipt, and by the new ones.
    pub(super) packs: Vec<Object>,
    /// Number of packs from the last backup.
    pub(super) old: usize,
    /// MariaDB keys that pages need: id and version.
    pub(super) keys: BTreeSet<(u32, u32)>,
}

impl<'r> Packs<'r> {
    pub(super) fn new(
        repository: &'r Repository,
        config: &'r Config,
        base: Option<&Manifest>,
        attempts: &Attempts,
        journal: Journal,
        (files, contents): (&'r Files, Contents),
    ) -> Self {
        let mut packs = base.map(|base| base.packs.clone()).unwrap_or_default();
        let old = packs.len();
        packs.extend(&attempts.packs);
        let keys = base.into_iter().flat_map(|base| &base.keys).map(|key| (key.id, key.version));
        let keys = keys.chain(attempts.keys.iter().copied()).collect();
        let stored = Mutex::new(StoredPacks { packs, old, keys });
        Self { repository, host: &config.host, journal, files, contents, stored }
    }

    /// Stores a pack, and records its contents.
    pub(super) fn put(&self, bytes: &[u8], parts: Vec<PackedPart>, progress: &RunProgress) -> Result<(), Error> {
        let pack = Object { sha256: Digest::compute(bytes), bytes: bytes.len() as u64 };
        let object = name(&names::pack(self.host, &pack.sha256))?;
        self.repository.store().put_new(&object, &mut Cursor::new(bytes), pack.bytes)?;
        progress.stored_bytes.fetch_add(pack.bytes, Ordering::Relaxed);
        let number = {
            let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
            let number = u32::try_from(stored.packs.len()).map_err(|_| Error::Stopped)?;
            self.journal.add(pack, &stored.keys, &parts)?;
            stored.packs.push(pack);
            number
        };
        for PackedPart { file, extents, frame } in parts {
            let file = self.files.get(file).ok_or(Error::Stopped)?;
            let mut offset = 0_u32;
            for extent in extents {
                let (at, bytes) = (extent.at, extent.bytes);
                let run = FileRun { at, bytes, pack: number, offset, frame_at: frame.at, frame_bytes: frame.bytes };
                self.contents.put_run(file, &run).map_err(Error::Lists)?;
                offset = offset.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
            }
        }
        Ok(())
    }

    /// Records the chunk hashes of a file from chunk `first` on, and the parts that did not change.
    pub(super) fn add(&self, file: &FilePlan, first: u64, chunks: &[Hash], kept: &[FileRun]) -> Result<(), Error> {
        let added = self.contents.put_chunks(file, first, chunks);
        added.and_then(|()| kept.iter().try_for_each(|run| self.contents.put_run(file, run))).map_err(Error::Lists)
    }

    /// Records a key that pages need.
    pub(super) fn needs(&self, id: u32, version: u32) {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).keys.insert((id, version));
    }

    pub(super) fn into_stored(self) -> (StoredPacks, Contents) {
        (self.stored.into_inner().unwrap_or_else(PoisonError::into_inner), self.contents)
    }
}
