//! Copies from an existing directory the chunks whose hash equals that in the backup.

use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

use archive::{Run, manifest::StoredFile};
use codec::hash::{CHUNK_BYTES, Hash, chunk_bytes, chunk_hash};
use files::regular::{self, Links};
use rustix::fs::copy_file_range;

/// A file of the existing directory.
pub(super) struct BaseFile {
    /// Length of the file in the backup.
    bytes: u64,
    file: File,
    room: Vec<u8>,
}

impl BaseFile {
    /// The file of the same path below `base`, if it can be read.
    pub(super) fn open(base: &Path, stored: &StoredFile) -> Option<Self> {
        let file = regular::open(&base.join(stored.entry.path.as_path()), Links::Refused).ok()?;
        Some(Self { bytes: stored.file_bytes(), file, room: vec![0; CHUNK_BYTES] })
    }

    /// Copies a chunk into a staged file, in which it is a hole, if it has the hash that the backup has. `runs` are those
    /// of the chunk. Returns the number of its bytes; 0 if it was not copied.
    ///
    /// # Errors
    /// Those of the staged file.
    pub(super) fn copy(&mut self, chunk: u64, expected: Hash, runs: &[Run], staged: &File) -> io::Result<u64> {
        let (at, length) = (chunk.saturating_mul(CHUNK_BYTES as u64), chunk_bytes(self.bytes, chunk));
        let room = self.room.get_mut(..length).unwrap_or_default();
        let read = self.file.read_exact_at(room, at);
        if read.is_err() || chunk_hash(self.bytes, chunk, room) != expected {
            return Ok(0);
        }
        let end = at.saturating_add(length as u64);
        runs.iter().filter_map(|run| run.within(at, end)).try_for_each(|run| self.copy_run(at, &run, staged))?;
        Ok(length as u64)
    }

    /// Copies a part of the chunk at `from`.
    fn copy_run(&self, from: u64, run: &Run, staged: &File) -> io::Result<()> {
        // File systems with reflinks share the extents.
        if copy_shared(&self.file, staged, run) {
            return Ok(());
        }
        let start = usize::try_from(run.at.saturating_sub(from)).unwrap_or(usize::MAX);
        let length = usize::try_from(run.bytes).unwrap_or(usize::MAX);
        staged.write_all_at(self.room.get(start..start.saturating_add(length)).unwrap_or_default(), run.at)
    }
}

/// Copies a part with `copy_file_range`, which shares extents if possible. Returns `false` if it did not copy
/// everything.
fn copy_shared(from: &File, to: &File, run: &Run) -> bool {
    let (mut source, mut target) = (run.at, run.at);
    let end = run.end();
    while source < end {
        let left = usize::try_from(end.saturating_sub(source)).unwrap_or(usize::MAX);
        match copy_file_range(from, Some(&mut source), to, Some(&mut target), left) {
            Ok(1..) => {}
            _ => return false,
        }
    }
    true
}
