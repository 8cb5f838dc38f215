//! Reads one file of the source: its chunks, and the positions of its holes.

use std::{fs::File, io, os::unix::fs::FileExt, path::PathBuf};

use files::ReadAt;
use files::regular::{self, Links, NotRegular};
use files::{Buffer, Reader};
use rustix::{
    fs::{SeekFrom, seek},
    io::Errno,
};

use crate::{
    error::Error,
    hash::{CHUNK_BYTES, ChunkHasher, Hash, UnitHasher, chunk_bytes},
    plan::{Chunks, OTHER_FILE, Plan, PlannedEntry},
    wire::Segment,
};

/// Block size of direct reads.
const BLOCK_BYTES: usize = 4096;
/// Bytes read and hashed at a time.
const PIECE_BYTES: usize = 128 << 10;

/// A file of the source. Data that is not in the page cache is read directly from disk.
#[derive(Debug)]
pub struct SourceFile<'p> {
    planned: &'p PlannedEntry,
    path: PathBuf,
    from: From<'p>,
    bytes: u64,
}

/// Origin of the file's data.
#[derive(Debug)]
enum From<'p> {
    Disk(Reader),
    Memory(&'p Chunks),
}

impl<'p> SourceFile<'p> {
    /// Opens a file that must be unchanged since the plan.
    pub fn open(plan: &'p Plan, number: usize) -> Result<Self, Error> {
        let source = Self::open_in_use(plan, number)?;
        source.check()?;
        Ok(source)
    }

    /// Opens a file that may have changed since the plan.
    pub(crate) fn open_in_use(plan: &'p Plan, number: usize) -> Result<Self, Error> {
        let planned = plan.entries.get(number).ok_or(Error::Stopped)?;
        let path = plan.absolute(planned);
        let bytes = planned.file_bytes().unwrap_or_default();
        if let Some(chunks) = &planned.chunks {
            return Ok(Self { planned, bytes, path, from: From::Memory(chunks) });
        }
        // A link or a pipe that replaced the file is neither followed nor waited for.
        let file = regular::open(&path, Links::Refused).map_err(|source| match NotRegular::in_error(&source) {
            Some(_) => Error::Changed { path: path.clone(), change: OTHER_FILE },
            None => Error::Source { path: path.clone(), source },
        })?;
        let from = From::Disk(Reader::new(file));
        Ok(Self { planned, bytes, path, from })
    }

    /// Length of the file in the plan, in bytes.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Checks that the file is unchanged since the plan.
    pub fn check(&self) -> Result<(), Error> {
        let From::Disk(reader) = &self.from else { return Ok(()) };
        let metadata = reader.file().metadata();
        let metadata = metadata.map_err(|source| Error::Source { path: self.path.clone(), source })?;
        match self.planned.change(&metadata) {
            Some(change) => Err(Error::Changed { path: self.path.clone(), change }),
            None => Ok(()),
        }
    }

    /// Reads and hashes a chunk. Unlike with [`read`](Self::read), data is put into the page cache,
    /// to be read again soon.
    pub(crate) fn read_and_cache<'b>(&self, chunk: u64, buffer: &'b mut Buffer) -> Result<(&'b mut [u8], Hash), Error> {
        let wanted = chunk_bytes(self.bytes, chunk);
        let offset = chunk.saturating_mul(CHUNK_BYTES as u64);
        let room = buffer.take(wanted);
        let reader = match &self.from {
            From::Disk(reader) => reader,
            From::Memory(chunks) => {
                let bytes = copy(chunks, chunk, room)?;
                let hash = crate::hash::chunk_hash(self.bytes, chunk, bytes);
                return Ok((bytes, hash));
            }
        };
        match reader.file().read_exact_at(room, offset) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(self.shorter()),
            Err(source) => return Err(Error::Source { path: self.path.clone(), source }),
        }
        let hash = crate::hash::chunk_hash(self.bytes, chunk, room);
        Ok((room, hash))
    }

    fn shorter(&self) -> Error {
        Error::Changed { path: self.path.clone(), change: "it became shorter" }
    }

    /// Reads and hashes a chunk.
    pub fn read<'b>(&self, chunk: u64, buffer: &'b mut Buffer) -> Result<(&'b mut [u8], Hash), Error> {
        let mut hasher = ChunkHasher::new(self.bytes, chunk);
        let bytes = self.read_pieces(chunk, buffer, |piece| hasher.update(piece))?;
        Ok((bytes, hasher.finish()))
    }

    /// Reads a chunk; `hasher` is for this chunk, and gets its bytes.
    pub fn read_units<'b>(
        &self,
        chunk: u64,
        buffer: &'b mut Buffer,
        hasher: &mut UnitHasher,
    ) -> Result<&'b mut [u8], Error> {
        self.read_pieces(chunk, buffer, |piece| hasher.update(piece))
    }

    /// Reads a chunk. `hash` gets all its bytes, in pieces that are still in the processor's cache.
    fn read_pieces<'b>(
        &self,
        chunk: u64,
        buffer: &'b mut Buffer,
        mut hash: impl FnMut(&[u8]),
    ) -> Result<&'b mut [u8], Error> {
        let wanted = chunk_bytes(self.bytes, chunk);
        let reader = match &self.from {
            From::Disk(reader) => reader,
            From::Memory(chunks) => return copy(chunks, chunk, buffer.take(wanted)).inspect(|bytes| hash(bytes)),
        };
        let offset = chunk.saturating_mul(CHUNK_BYTES as u64);
        // Direct reads take whole blocks; at the end of the file they return less.
        let room = buffer.take(wanted.next_multiple_of(BLOCK_BYTES));
        let mut done = 0;
        while done < wanted {
            // Do not read beyond the end of the file: a short read has to mean that the rest is not
            // cached.
            let end = (done + PIECE_BYTES).min(wanted);
            let piece = room.get_mut(done..end).unwrap_or_default();
            let cached = reader.read_cached(offset + done as u64, piece);
            hash(piece.get(..cached).unwrap_or_default());
            done += cached;
            if done < end {
                break;
            }
        }
        if done < wanted {
            // Read the rest from disk at once, from the start of the block in which the cached part
            // ends.
            let from = done - done % BLOCK_BYTES;
            let rest = room.get_mut(from..).unwrap_or_default();
            let read = reader.read_disk(offset + from as u64, rest, 0);
            let read = read.map_err(|source| Error::Source { path: self.path.clone(), source })?;
            if from + read < wanted {
                return Err(self.shorter());
            }
            hash(room.get(done..wanted).unwrap_or_default());
        }
        Ok(room.get_mut(..wanted).unwrap_or_default())
    }

    /// The first bytes of the file, at most `most`.
    pub fn head(&self, most: usize) -> Result<Vec<u8>, Error> {
        let From::Disk(reader) = &self.from else { return Ok(Vec::new()) };
        let mut head = vec![0; most];
        let mut read = 0;
        while let Some(room) = head.get_mut(read..).filter(|room| !room.is_empty()) {
            match reader.read_at(read as u64, room) {
                Ok(0) => break,
                Ok(count) => read += count,
                Err(source) => return Err(Error::Source { path: self.path.clone(), source }),
            }
        }
        head.truncate(read);
        Ok(head)
    }

    /// The file, for reads at any offset; `None` for a stream.
    pub(crate) const fn log(&self) -> Option<&Reader> {
        match &self.from {
            From::Disk(reader) => Some(reader),
            From::Memory(_) => None,
        }
    }

    /// The parts of a chunk that are not holes; `None` if there is no hole.
    pub fn segments(&self, chunk: u64) -> Result<Option<Vec<Segment>>, Error> {
        let (true, From::Disk(reader)) = (self.planned.sparse, &self.from) else { return Ok(None) };
        let from = chunk.saturating_mul(CHUNK_BYTES as u64);
        let end = from + chunk_bytes(self.bytes, chunk) as u64;
        let unreadable = |source| Error::Source { path: self.path.clone(), source };
        let segments = segments(reader.file(), from, end).map_err(unreadable)?;
        let whole = matches!(segments.as_slice(), [only] if only.from == 0 && u64::from(only.bytes) == end - from);
        Ok((!whole).then_some(segments))
    }
}

/// Copies a chunk of a stream.
fn copy<'b>(chunks: &Chunks, chunk: u64, room: &'b mut [u8]) -> Result<&'b mut [u8], Error> {
    let came = chunks.get(&chunk).map(Vec::as_slice).unwrap_or_default();
    if came.len() != room.len() {
        return Err(Error::Stopped);
    }
    room.copy_from_slice(came);
    Ok(room)
}

fn segments(file: &File, from: u64, end: u64) -> io::Result<Vec<Segment>> {
    let mut segments = Vec::new();
    let mut at = from;
    while at < end {
        let data = match seek(file, SeekFrom::Data(at)) {
            Ok(data) => data,
            Err(Errno::NXIO) => break,
            Err(error) => return Err(error.into()),
        };
        if data >= end {
            break;
        }
        let hole = match seek(file, SeekFrom::Hole(data)) {
            Ok(hole) => hole.min(end),
            // The file just became shorter, which the read will report.
            Err(Errno::NXIO) => end,
            Err(error) => return Err(error.into()),
        };
        let relative = |location: u64| u32::try_from(location - from).unwrap_or_default();
        // In a file in use this part may just have become a hole.
        if hole > data {
            segments.push(Segment { from: relative(data), bytes: relative(hole) - relative(data) });
        }
        at = hole;
    }
    Ok(segments)
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        sync::atomic::{AtomicBool, Ordering},
    };

    use rustix::fs::{FallocateFlags, fallocate};

    use super::*;
    use crate::plan::Selection;

    /// Bytes that this thread has read from disks so far.
    fn bytes_read_from_disks() -> u64 {
        let counts = fs::read_to_string("/proc/thread-self/io").unwrap();
        counts.lines().find_map(|line| line.strip_prefix("read_bytes: ")).unwrap().parse().unwrap()
    }

    #[test]
    fn cached_data_is_not_read_from_the_disk() {
        let directory = tempfile::tempdir().unwrap();
        for bytes in [1, 4095, 4096, 4097, PIECE_BYTES + 1, 150_000, CHUNK_BYTES + 150_000] {
            let content: Vec<u8> = (0..bytes).map(|at| u8::try_from(at % 251).unwrap()).collect();
            let path = directory.path().join(bytes.to_string());
            fs::write(&path, &content).unwrap();
            File::open(&path).unwrap().sync_all().unwrap();
        }
        let plan = Plan::scan(directory.path(), &Selection::default()).unwrap();
        let mut buffer = Buffer::new(CHUNK_BYTES);
        let files = plan.entries.iter().enumerate().filter(|(_, planned)| planned.file_bytes().is_some());
        for (number, _) in files {
            let source = SourceFile::open(&plan, number).unwrap();
            let content = fs::read(&source.path).unwrap();
            let before = bytes_read_from_disks();
            for (chunk, expected) in (0_u64..).zip(content.chunks(CHUNK_BYTES)) {
                let (bytes, hash) = source.read(chunk, &mut buffer).unwrap();
                assert!(bytes == expected, "{}", source.path.display());
                assert_eq!(hash, crate::hash::chunk_hash(source.bytes, chunk, expected));
            }
            assert_eq!(bytes_read_from_disks(), before, "{}", source.path.display());
        }
    }

    #[test]
    fn holes_punched_during_the_read_leave_no_empty_segment() {
        const END: u64 = CHUNK_BYTES as u64;
        let file = tempfile::tempfile_in(".").unwrap();
        file.set_len(END).unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    for block in (0..END / 4096).step_by(8) {
                        file.write_all_at(b"data", block * 4096).unwrap();
                    }
                    for block in (0..END / 4096).step_by(8) {
                        fallocate(&file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, block * 4096, 4096)
                            .unwrap();
                    }
                }
            });
            let empty = (0..20_000).any(|_| segments(&file, 0, END).unwrap().iter().any(|part| part.bytes == 0));
            over.store(true, Ordering::Relaxed);
            assert!(!empty);
        });
    }
}
