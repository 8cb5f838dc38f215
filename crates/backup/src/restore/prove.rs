//! Proves a restore: reads everything back from disk, and verifies every page.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use archive::{Manifest, manifest::Stored};
use codec::hash::{CHUNK_BYTES, chunk_bytes, chunk_hash, chunks_of};
use files::{Buffer, Reader};
use rustix::fs::{Advice, fadvise};
use transfer::receiver::{ParentCache, Staging};
use verify::Keys;

use super::{Pages, Progress, in_parallel};
use crate::{
    BackupError,
    judge::{self, FileVerdict},
};

/// Reads every file back from disk, and compares each MiB with the manifest.
pub(super) fn read_back(
    staging: &Staging,
    manifest: &Manifest,
    streams: u16,
    progress: &Progress,
) -> Result<(), BackupError> {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(false);
    let work = || {
        let (mut parents, mut buffer) = (staging.parents(), Buffer::new(CHUNK_BYTES));
        while let Some(stored) = manifest.files.get(next.fetch_add(1, Ordering::Relaxed)) {
            if *failed.lock().unwrap_or_else(PoisonError::into_inner) {
                return Ok(());
            }
            if stored.hash.is_some()
                && let Err(error) = compare(staging, &mut parents, stored, &mut buffer, progress)
            {
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = true;
                return Err(error);
            }
        }
        Ok(())
    };
    in_parallel(streams, &work)
}

fn compare(
    staging: &Staging,
    parents: &mut ParentCache<'_>,
    stored: &Stored,
    buffer: &mut Buffer,
    progress: &Progress,
) -> Result<(), BackupError> {
    let path = staging.path_of(&stored.entry.path);
    let file = staging.open_file(parents, &stored.entry.path)?;
    file.sync_all().map_err(BackupError::io(&path, "cannot be written to disk"))?;
    // Drop the page cache, so that the file is read from disk.
    let _ = fadvise(&file, 0, None, Advice::DontNeed);
    let (reader, bytes) = (Reader::new(file), stored.file_bytes());
    for (chunk, expected) in (0..chunks_of(bytes)).zip(&stored.chunks) {
        let length = chunk_bytes(bytes, chunk);
        let room = buffer.take(length.next_multiple_of(4096));
        let read = reader.read_disk(chunk.saturating_mul(CHUNK_BYTES as u64), room, 0);
        let read = read.map_err(BackupError::io(&path, "cannot be read back"))?;
        let found = room.get(..length.min(read)).unwrap_or_default();
        if found.len() != length || chunk_hash(bytes, chunk, found) != *expected {
            return Err(BackupError::ReadBack { path });
        }
        progress.proven_bytes.fetch_add(length as u64, Ordering::Relaxed);
    }
    Ok(())
}

/// Verifies every page of the staged files with the given keys.
pub(super) fn pages(staging: &Staging, keys: &Keys, streams: u16) -> (Pages, verify::Report) {
    let report = judge::verify(&staging.files_path(), keys, streams, &|_| {});
    let mut pages = Pages { unproven: report.errors.len() as u64, ..Pages::default() };
    for file in &report.files {
        match judge::classify(file) {
            FileVerdict::Sound => pages.proven = pages.proven.saturating_add(file.units.total),
            FileVerdict::Damaged(bad) => {
                pages.bad = pages.bad.saturating_add(bad);
                pages.proven = pages.proven.saturating_add(file.units.total.saturating_sub(bad));
            }
            FileVerdict::Unproven(unproven) => pages.unproven = pages.unproven.saturating_add(unproven),
        }
    }
    (pages, report)
}
