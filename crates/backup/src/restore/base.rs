//! Copies from an existing directory the chunks whose hash equals that in the backup.

use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

use archive::{Run, manifest::StoredFile};
use codec::hash::{CHUNK_BYTES, chunk_bytes, chunk_hash};
use files::regular::{self, Links};
use rustix::fs::copy_file_range;

/// A part of a file: its first offset, and its end.
pub(super) type Range = (u64, u64);

/// A file of the existing directory.
pub(super) struct BaseFile<'b> {
    stored: &'b StoredFile,
    file: File,
    room: Vec<u8>,
}

impl<'b> BaseFile<'b> {
    /// The file of the same path below `base`, if it can be read.
    pub(super) fn open(base: &Path, stored: &'b StoredFile) -> Option<Self> {
        let file = regular::open(&base.join(stored.entry.path.as_path()), Links::Refused).ok()?;
        Some(Self { stored, file, room: vec![0; CHUNK_BYTES] })
    }

    /// Copies chunks of a missing part into a staged file, in which the part is a hole. Returns what is still
    /// missing, and the number of bytes copied.
    ///
    /// # Errors
    /// Those of the staged file.
    pub(super) fn copy(&mut self, (from, end): Range, staged: &File) -> io::Result<(Vec<Range>, u64)> {
        let (mut missing, mut copied) = (Vec::new(), 0_u64);
        let first = from / CHUNK_BYTES as u64;
        let chunks = self.stored.chunks.iter().enumerate().skip(usize::try_from(first).unwrap_or(usize::MAX));
        for (chunk, expected) in chunks.map(|(chunk, hash)| (chunk as u64, hash)) {
            let at = chunk.saturating_mul(CHUNK_BYTES as u64);
            if at >= end {
                break;
            }
            let length = chunk_bytes(self.stored.file_bytes(), chunk);
            let range = (at, at.saturating_add(length as u64));
            let room = self.room.get_mut(..length).unwrap_or_default();
            let is_same = self.file.read_exact_at(room, at).is_ok()
                && chunk_hash(self.stored.file_bytes(), chunk, room) == *expected;
            if is_same {
                self.copy_runs(range, staged)?;
                copied = copied.saturating_add(length as u64);
            } else {
                push_range(&mut missing, range);
            }
        }
        Ok((missing, copied))
    }

    /// Copies the parts of a chunk that are not holes.
    fn copy_runs(&self, (from, end): Range, staged: &File) -> io::Result<()> {
        let first = self.stored.runs.partition_point(|run| run.end() <= from);
        let mut runs = self.stored.runs.iter().skip(first).map_while(|run| run.within(from, end));
        runs.try_for_each(|run| {
            // File systems with reflinks share the extents.
            if copy_shared(&self.file, staged, &run) {
                return Ok(());
            }
            let start = usize::try_from(run.at.saturating_sub(from)).unwrap_or(usize::MAX);
            let length = usize::try_from(run.bytes).unwrap_or(usize::MAX);
            let bytes = self.room.get(start..start.saturating_add(length)).unwrap_or_default();
            staged.write_all_at(bytes, run.at)
        })
    }
}

/// Adds a range; joins it with the last one if it continues that.
pub(super) fn push_range(ranges: &mut Vec<Range>, (from, end): Range) {
    match ranges.last_mut() {
        Some((_, last)) if *last == from => *last = end,
        _ => ranges.push((from, end)),
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
