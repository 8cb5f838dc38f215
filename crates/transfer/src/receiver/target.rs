//! Writes one file of the target. Large files bypass the page cache.
//!
//! Received data will not be read again soon, and filling the page cache with it costs more than
//! everything else a receiver does (measured: two thirds of its time) and evicts data of other
//! programs. A small file goes through the cache: the system then places and writes many of them at
//! once, while direct writes would wait for the disk each (measured, 20,000 files of 100 kB: a
//! third of the time, and 900 disk writes instead of 40,000).

use std::{
    cell::Cell,
    fs::File,
    io::{self, ErrorKind, IoSlice},
    ops::Range,
    os::unix::fs::FileExt,
    sync::atomic::{AtomicBool, Ordering},
};

use files::Buffer;
use rustix::{
    fs::{FallocateFlags, fallocate},
    io::{Errno, ReadWriteFlags, pwritev2},
};

use crate::{
    error::Error,
    hash::{CHUNK_BYTES, chunks_of},
    receiver::{parent_cache::ParentCache, staging::Staging},
    wire::{Chunk, Codec, Entry, Segment},
};

/// Alignment of buffers, offsets and lengths of direct writes.
pub(super) const ALIGNMENT: usize = 4096;

/// Files up to this size are written through the page cache.
const SMALL_BYTES: u64 = 256 << 10;

/// Files up to this size stay in the page cache until the system writes them, many at once: where
/// disk writes are limited in number, more writes cost more than the cache.
const TINY_BYTES: u64 = 32 << 10;

/// Write flag: the system starts to write the cached data and drops it afterwards. Reused memory
/// costs less than new memory (measured: two thirds of the time if a hypervisor provides it), and
/// data of other programs stays cached. `RWF_DONTCACHE` of Linux 6.14.
const DONTCACHE: ReadWriteFlags = ReadWriteFlags::from_bits_retain(0x80);

/// Chunks for which space is allocated at once: what this program sends on one connection in
/// sequence.
const PREALLOCATED_CHUNKS: u64 = 16;
const ROOM_BYTES: u64 = PREALLOCATED_CHUNKS * CHUNK_BYTES as u64;

/// A staged file, open for writing.
#[derive(Debug)]
pub struct TargetFile {
    file: File,
    /// The same file, opened for direct writes.
    direct: Option<File>,
    bytes: u64,
    /// Whether it may hold data of an earlier transfer, or allocated space where a hole belongs.
    used: Cell<bool>,
    /// Whether it has holes, so that space is allocated for received data only.
    sparse: Cell<bool>,
    /// Whether chunks in the same group as the current one are kept from an earlier transfer or list. They may have
    /// holes, so space is allocated for received data only.
    kept: Cell<bool>,
    /// Start and end of the part whose space was allocated last.
    allocated: Cell<(u64, u64)>,
}

/// Set once the file system refused direct writes, so that they are not tried again.
static DIRECT_IO_UNSUPPORTED: AtomicBool = AtomicBool::new(false);

/// Whether the kernel or the file system does not support [`DONTCACHE`].
static DONTCACHE_UNSUPPORTED: AtomicBool = AtomicBool::new(false);

impl TargetFile {
    /// Opens the file of an entry of `bytes` to write parts of it. Everything else stays a hole.
    ///
    /// # Errors
    /// [`Error`].
    pub fn open(staging: &Staging, parents: &mut ParentCache<'_>, entry: &Entry, bytes: u64) -> Result<Self, Error> {
        let file = staging.open_file(parents, &entry.path)?;
        let wanted = bytes > SMALL_BYTES && !DIRECT_IO_UNSUPPORTED.load(Ordering::Relaxed);
        let direct = if wanted { Staging::open_file_directly(parents, &entry.path).ok() } else { None };
        let [used, kept] = [Cell::new(false), Cell::new(false)];
        Ok(Self { file, direct, bytes, used, sparse: Cell::new(true), kept, allocated: Cell::default() })
    }

    /// Allocates space for `bytes()` from `from` on, all of which will be written; nothing if `from` is in the part that
    /// was allocated last. [`write_at`](Self::write_at) then need not allocate space for each write: every call waits
    /// until the direct writes of other threads to the file have ended.
    pub fn allocate(&self, from: u64, bytes: impl FnOnce() -> u64) {
        let (start, end) = self.allocated.get();
        if self.direct.is_some() && !(start..end).contains(&from) {
            let bytes = bytes();
            let _ = fallocate(&self.file, FallocateFlags::KEEP_SIZE, from, bytes);
            self.allocated.set((from, from.saturating_add(bytes)));
        }
    }

    /// Opens the file of an entry of this length to write its chunks, and creates it if it has only one chunk.
    /// `resumed`: it may have data of an earlier transfer.
    pub(super) fn open_for_chunks(
        staging: &Staging,
        parents: &mut ParentCache<'_>,
        entry: &Entry,
        bytes: u64,
        resumed: bool,
    ) -> Result<Self, Error> {
        let mut target = Self::open(staging, parents, entry, bytes)?;
        if chunks_of(bytes) == 1 {
            let sized = target.file.set_len(bytes);
            sized.map_err(|source| Error::Target {
                path: staging.path_of(&entry.path),
                doing: "cannot be created",
                source,
            })?;
        }
        (target.used, target.sparse) = (Cell::new(resumed), Cell::new(false));
        Ok(target)
    }

    /// Writes a chunk. Holes stay holes; allocated zeros are allocated without being written.
    /// `kept`: some chunks are present and will not be sent again. `spare` is a buffer for
    /// unaligned data.
    pub(super) fn write(
        &self,
        chunk: &Chunk<'_>,
        bytes: &[u8],
        kept: impl Fn(Range<u64>) -> bool,
        spare: &mut Buffer,
    ) -> io::Result<()> {
        let offset = chunk.number.saturating_mul(CHUNK_BYTES as u64);
        let first = chunk.number - chunk.number % PREALLOCATED_CHUNKS;
        self.kept.set(kept(first..first + PREALLOCATED_CHUNKS));
        match &chunk.segments {
            _ if bytes.is_empty() => Ok(()),
            Some(segments) => self.write_parts(offset, segments, bytes, spare),
            None if chunk.codec == Codec::Zeros => {
                let flags = FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE;
                match fallocate(&self.file, flags, offset, bytes.len() as u64) {
                    Ok(()) => Ok(()),
                    Err(error) => supported(error).and_then(|()| self.write_at(offset, bytes, spare)),
                }
            }
            None => self.write_at(offset, bytes, spare),
        }
    }

    fn write_parts(&self, offset: u64, segments: &[Segment], bytes: &[u8], spare: &mut Buffer) -> io::Result<()> {
        self.sparse.set(true);
        self.allocated.take();
        if self.used.get() {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            if let Err(error) = fallocate(&self.file, flags, offset, bytes.len() as u64) {
                supported(error)?;
                return self.write_at(offset, bytes, spare);
            }
        }
        segments.iter().try_for_each(|segment| {
            let (from, count) = (segment.from as usize, segment.bytes as usize);
            let part = bytes.get(from..from + count).unwrap_or_default();
            self.write_at(offset + u64::from(segment.from), part, spare)
        })
    }

    /// Writes a part of the file. `spare` is a buffer for unaligned data, of at least as many bytes.
    ///
    /// # Errors
    /// Those of the system.
    pub fn write_at(&self, offset: u64, bytes: &[u8], spare: &mut Buffer) -> io::Result<()> {
        let Some(direct) = &self.direct else { return self.write_cached(bytes, offset) };
        let end = offset + bytes.len() as u64;
        let has_whole_blocks = bytes.len().is_multiple_of(ALIGNMENT);
        if !offset.is_multiple_of(ALIGNMENT as u64) || !(has_whole_blocks || end == self.bytes) {
            return self.file.write_all_at(bytes, offset);
        }
        self.preallocate(offset, bytes.len() as u64);
        let aligned = bytes.as_ptr().align_offset(ALIGNMENT) == 0;
        let written = if has_whole_blocks && aligned {
            direct.write_all_at(bytes, offset)
        } else {
            // The end of a file is written as a whole block, and the file is truncated to its
            // length afterwards.
            let room = spare.take(bytes.len().next_multiple_of(ALIGNMENT));
            let (front, rest) = room.split_at_mut(bytes.len());
            front.copy_from_slice(bytes);
            rest.fill(0);
            let written = direct.write_all_at(room, offset);
            if has_whole_blocks { written } else { written.and_then(|()| self.file.set_len(self.bytes)) }
        };
        match written {
            // The disk has larger blocks, or the file system does not support direct writes.
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                DIRECT_IO_UNSUPPORTED.store(true, Ordering::Relaxed);
                self.file.write_all_at(bytes, offset)
            }
            other => other,
        }
    }
}

impl TargetFile {
    /// Writes through the page cache; all but tiny files are dropped from it afterwards.
    fn write_cached(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while self.bytes > TINY_BYTES && done < bytes.len() && !DONTCACHE_UNSUPPORTED.load(Ordering::Relaxed) {
            let rest = [IoSlice::new(bytes.get(done..).unwrap_or_default())];
            match pwritev2(&self.file, &rest, offset + done as u64, DONTCACHE) {
                Ok(0) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                    DONTCACHE_UNSUPPORTED.store(true, Ordering::Relaxed);
                }
                Ok(count) => done += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.file.write_all_at(bytes.get(done..).unwrap_or_default(), offset + done as u64)
    }

    /// Allocates space: writes into holes wait for each other, writes into allocated space run in
    /// parallel. Failure is ignored. Many chunks at once, because each call waits for the file
    /// system's journal (measured: one call per chunk takes half as long as the writes themselves).
    fn preallocate(&self, offset: u64, bytes: u64) {
        let (start, end) = self.allocated.get();
        if start <= offset && offset.saturating_add(bytes) <= end {
            return;
        }
        if self.sparse.get() || self.kept.get() {
            let _ = fallocate(&self.file, FallocateFlags::KEEP_SIZE, offset, bytes);
        } else {
            let from = offset - offset % ROOM_BYTES;
            self.allocated.set((from, from + ROOM_BYTES));
            let _ = fallocate(&self.file, FallocateFlags::KEEP_SIZE, from, ROOM_BYTES.min(self.bytes - from));
            self.used.set(true);
        }
    }
}

/// Treats an operation that the file system does not support as successful.
fn supported(error: Errno) -> io::Result<()> {
    if matches!(error, Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) { Ok(()) } else { Err(error.into()) }
}
