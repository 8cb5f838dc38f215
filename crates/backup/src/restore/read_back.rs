//! Verifies a restore: reads everything back from disk once, compares each MiB with the manifest, and judges every
//! page.

use std::{
    ops::Range,
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock, PoisonError, atomic::Ordering},
};

use archive::{Manifest, manifest::StoredFile};
use codec::hash::{CHUNK_BYTES, chunk_bytes, chunk_hash, chunks_of};
use files::{Buffer, Reader};
use transfer::receiver::{ParentCache, Staging};
use verify::{Keys, PageResults, PageVerifier, Report, Tablespace};

use super::{PageCounts, RestoreProgress, in_threads};
use crate::{
    Error,
    judge::{self, FileVerdict},
};

/// Chunks that one thread takes at a time.
const PART_CHUNKS: u64 = 32;

/// Reads every file back from disk, and compares each MiB with the manifest.
pub(super) fn read_back(
    staging: &Staging,
    manifest: &Manifest,
    streams: u16,
    progress: &RestoreProgress,
) -> Result<(), Error> {
    ReadBack { staging, manifest, progress, judge: None, spaces: Vec::new() }.run(streams, |_| true)
}

/// Like [`read_back`]; also judges each page with the given keys.
pub(super) fn read_back_and_judge(
    staging: &Staging,
    manifest: &Manifest,
    keys: &Keys,
    streams: u16,
    progress: &RestoreProgress,
) -> Result<(PageCounts, Report), Error> {
    let plan = verify::Plan::scan(&[staging.files_path()]);
    let settings = judge::settings(streams);
    let judge = PageVerifier::new(&plan, keys, &settings);
    judge_tablespaces(staging, manifest, &judge, streams, progress)?;
    Ok(count(judge.finish()))
}

/// Reads every file back, and judges the pages of tablespaces as they are read.
fn judge_tablespaces<'j>(
    staging: &'j Staging,
    manifest: &'j Manifest,
    judge: &'j PageVerifier<'j>,
    streams: u16,
    progress: &'j RestoreProgress,
) -> Result<(), Error> {
    let spaces = manifest.files.iter().map(|_| OnceLock::new()).collect();
    let reading = ReadBack { staging, manifest, progress, judge: Some(judge), spaces };
    // System tablespaces come last: they have copies of other tablespaces' pages, which can only be judged after these.
    let is_system = |stored: &StoredFile| judge.is_system(&staged_path(staging, stored));
    for system in [false, true] {
        reading.run(streams, |stored| is_system(stored) == system)?;
        let here = manifest.files.iter().zip(&reading.spaces).filter(|(stored, _)| is_system(stored) == system);
        here.filter_map(|(_, space)| space.get()?.as_ref()).for_each(|space| judge.conclude(space));
    }
    Ok(())
}

/// State that all threads share.
struct ReadBack<'r> {
    staging: &'r Staging,
    manifest: &'r Manifest,
    progress: &'r RestoreProgress,
    judge: Option<&'r PageVerifier<'r>>,
    /// Indexed by the number of the file.
    spaces: Vec<OnceLock<Option<Tablespace<'r>>>>,
}

/// Consecutive chunks of a file, by its number.
type ChunkRange = (usize, Range<u64>);

impl ReadBack<'_> {
    fn run(&self, streams: u16, is_here: impl Fn(&StoredFile) -> bool + Send) -> Result<(), Error> {
        let queue = Mutex::new(Some(self.parts(is_here)));
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).as_mut()?.next();
        let work = || {
            let (mut parents, mut buffer) = (self.staging.parents(), Buffer::new(CHUNK_BYTES));
            let mut judged = PageResults::default();
            while let Some(part) = next() {
                if let Err(error) = self.part(part, &mut parents, &mut buffer, &mut judged) {
                    // The other threads stop, too.
                    *queue.lock().unwrap_or_else(PoisonError::into_inner) = None;
                    return Err(error);
                }
            }
            Ok(())
        };
        in_threads(streams, &work)
    }

    fn parts(&self, is_here: impl Fn(&StoredFile) -> bool + Send) -> impl Iterator<Item = ChunkRange> + Send {
        let files = self.manifest.files.iter().enumerate();
        let files = files.filter(move |(_, stored)| stored.hash.is_some() && is_here(stored));
        files.flat_map(|(number, stored)| {
            let chunks = chunks_of(stored.file_bytes());
            let first = (0..chunks).step_by(usize::try_from(PART_CHUNKS).unwrap_or(1));
            first.map(move |first| (number, first..chunks.min(first.saturating_add(PART_CHUNKS))))
        })
    }

    fn part(
        &self,
        (number, chunks): ChunkRange,
        parents: &mut ParentCache<'_>,
        buffer: &mut Buffer,
        judged: &mut PageResults,
    ) -> Result<(), Error> {
        let Some(stored) = self.manifest.files.get(number) else { return Ok(()) };
        let path = self.staging.path_of(&stored.entry.path);
        let file = self.staging.open_file(parents, &stored.entry.path)?;
        file.sync_all().map_err(Error::io(&path, "cannot be written to disk"))?;
        // The file is to be read from the disk.
        files::evict(&file, 0, None);
        let (reader, bytes, space) = (Reader::new(file), stored.file_bytes(), self.space(number, stored));
        let expected = stored.chunks.iter_from(chunks.start);
        for (chunk, expected) in chunks.zip(expected) {
            let expected = expected.map_err(Error::Lists)?;
            let (at, length) = (chunk.saturating_mul(CHUNK_BYTES as u64), chunk_bytes(bytes, chunk));
            let room = buffer.take(length.next_multiple_of(4096));
            let read = reader.read_disk(at, room, 0).map_err(Error::io(&path, "cannot be read back"))?;
            let found = room.get(..length.min(read)).unwrap_or_default();
            if found.len() != length || chunk_hash(bytes, chunk, found) != expected {
                return Err(Error::ReadBack { path });
            }
            if let Some(space) = space {
                space.verify(at.checked_div(space.page_bytes() as u64).unwrap_or(0), found, judged);
            }
            self.progress.proven_bytes.fetch_add(length as u64, Ordering::Relaxed);
        }
        space.into_iter().for_each(|space| space.add(judged));
        Ok(())
    }

    fn space(&self, number: usize, stored: &StoredFile) -> Option<&Tablespace<'_>> {
        let (judge, space) = (self.judge?, self.spaces.get(number)?);
        space.get_or_init(|| judge.tablespace(&staged_path(self.staging, stored))).as_ref()
    }
}

/// Where the file is until the restore is committed: the path by which the plan of the verification knows it.
fn staged_path(staging: &Staging, stored: &StoredFile) -> PathBuf {
    staging.files_path().join(stored.entry.path.as_path())
}

/// Verifies every page of the files below `root` with the given keys.
pub(super) fn pages(root: &Path, keys: &Keys, streams: u16) -> (PageCounts, Report) {
    count(judge::verify(root, keys, streams, &|_| {}))
}

fn count(report: Report) -> (PageCounts, Report) {
    let (total, unread) = (report.summary.units.total, report.errors.len() as u64);
    let mut pages = PageCounts { total, unproven: unread, ..PageCounts::default() };
    for file in &report.files {
        match judge::classify(file) {
            FileVerdict::Sound | FileVerdict::OutOfOrder => {
                pages.proven = pages.proven.saturating_add(file.units.total)
            }
            FileVerdict::Damaged(bad) => {
                pages.bad = pages.bad.saturating_add(bad);
                pages.proven = pages.proven.saturating_add(file.units.total.saturating_sub(bad));
            }
            FileVerdict::Unproven(unproven) => pages.unproven = pages.unproven.saturating_add(unproven),
        }
    }
    (pages, report)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use archive::{List, manifest::Head};
    use codec::{
        entry::{Entry, Kind},
        hash::{Hash, file_hash},
        path::RelativePath,
    };

    use super::*;

    const SAMPLE: &[u8] = include_bytes!("../../../../testdata/tablespace/mariadb1011-16k-clear.ibd.zst");

    fn manifest(bytes: &[u8]) -> Manifest {
        let chunk = |(number, chunk): (u64, &[u8])| chunk_hash(bytes.len() as u64, number, chunk);
        let chunks: Vec<Hash> = (0..).zip(bytes.chunks(CHUNK_BYTES)).map(chunk).collect();
        let entry = Entry {
            path: RelativePath::parse(b"d/t.ibd").unwrap(),
            kind: Kind::File { bytes: bytes.len() as u64 },
            mode: 0o640,
            uid: 0,
            gid: 0,
            modified: (0, 0),
        };
        let (hash, chunks) = (file_hash(&chunks), chunks.into());
        let stored = StoredFile { entry, hash, head: None, chunks, runs: List::default() };
        let head = serde_json::json!({
            "schema": "", "repo": "", "host": "db1", "number": 1, "instant": "2026-11-23T01:00:00Z",
            "provider": "stopped", "root": { "mode": 0o750, "uid": 0, "gid": 0 }, "entries": 1,
        });
        let head: Head = serde_json::from_value(head).unwrap();
        Manifest { head, keys: Vec::new(), packs: Vec::new(), files: vec![stored] }
    }

    #[test]
    fn pages_are_verified_as_they_are_read_back() {
        let (directory, bytes) = (tempfile::tempdir().unwrap(), zstd::decode_all(SAMPLE).unwrap());
        let staging = Staging::open(&directory.path().join("restored"), None).unwrap();
        let (manifest, progress) = (manifest(&bytes), RestoreProgress::default());
        let staged = staged_path(&staging, &manifest.files[0]);
        fs::create_dir_all(staged.parent().unwrap()).unwrap();
        fs::write(&staged, &bytes).unwrap();
        let (plan, keys) = (verify::Plan::scan(&[staging.files_path()]), Keys::default());
        let settings = judge::settings(1);
        let judge = PageVerifier::new(&plan, &keys, &settings);
        judge_tablespaces(&staging, &manifest, &judge, 1, &progress).unwrap();
        // Whoever reads the file once more finds nothing.
        fs::remove_file(&staged).unwrap();
        let (pages, report) = count(judge.finish());
        assert_eq!((pages.proven, pages.bad, pages.unproven), ((bytes.len() / 16384) as u64, 0, 0), "{report:?}");
    }
}
