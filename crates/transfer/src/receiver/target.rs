//! One file of the target: large ones are written around the page cache.
//!
//! What is received will not be read again soon, and filling the page cache with it costs more than
//! everything else a receiver does (measured: two thirds of its time), besides pushing out what other
//! programs need. A small file goes through the cache: the system then places and writes many of them at once, where each
//! would wait for the disk by itself (measured, 20,000 files of 100 kB: a third of the time, and 900 writes to the disk
//! instead of 40,000).

use std::{
    cell::Cell,
    fs::File,
    io::{self, ErrorKind, IoSlice},
    ops::Range,
    os::unix::fs::FileExt,
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::{
    fs::{FallocateFlags, fallocate},
    io::{Errno, ReadWriteFlags, pwritev2},
};
use verify::read::Buffer;

use crate::{
    error::TransferError,
    hash::{CHUNK_BYTES, chunks_of},
    receiver::{folder::Folder, staging::Staging},
    wire::{Chunk, Codec, Entry, Segment},
};

/// Memory, offsets and lengths of direct writes are multiples of this.
pub(super) const ALIGNMENT: usize = 4096;

/// Files that are no larger are written through the page cache.
const SMALL_BYTES: u64 = 256 << 10;

/// Files that are no larger stay there until the system writes them, many at once: on disks that count writes, more of them
/// cost more than what the cache does.
const TINY_BYTES: u64 = 32 << 10;

/// The system begins to write what was put into the page cache, and takes it out of there when it is written: memory that is
/// used again costs less than new memory (measured: two thirds of the time, if that comes from a hypervisor), and other
/// programs' stays. `RWF_DONTCACHE` of Linux 6.14.
const PASSING: ReadWriteFlags = ReadWriteFlags::from_bits_retain(0x80);

/// Room is made for so many chunks at once: what this program sends on one connection without a break.
const ROOM_CHUNKS: u64 = 16;
const ROOM_BYTES: u64 = ROOM_CHUNKS * CHUNK_BYTES as u64;

/// A staged file, open for writing.
#[derive(Debug)]
pub(super) struct TargetFile {
    file: File,
    /// The same file, opened to be written around the page cache.
    direct: Option<File>,
    bytes: u64,
    /// Whether it may hold bytes of an earlier try, or room for bytes where a hole belongs.
    used: Cell<bool>,
    /// Whether it has holes, so that room is made for nothing but what comes.
    sparse: Cell<bool>,
    /// The same of what is around the chunk that is written: what is there from before may be holes.
    kept: Cell<bool>,
    /// What room was made for last.
    room: Cell<Option<u64>>,
}

/// Whether the file system refused direct writes, so that no other file is tried.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Whether the system or the file system does not know [`PASSING`].
static NOT_PASSING: AtomicBool = AtomicBool::new(false);

impl TargetFile {
    /// Opens the file of an entry of so many bytes, and makes it if it comes in one chunk. `resumed` says that it may hold
    /// bytes of an earlier try.
    pub(super) fn open(
        staging: &Staging,
        folder: &mut Folder<'_>,
        entry: &Entry,
        bytes: u64,
        resumed: bool,
    ) -> Result<Self, TransferError> {
        let file = staging.open_file(folder, &entry.path)?;
        let comes_whole = chunks_of(bytes) == 1;
        let wanted = bytes > SMALL_BYTES && !REFUSED.load(Ordering::Relaxed);
        let direct = if wanted { Staging::open_file_directly(folder, &entry.path).ok() } else { None };
        if comes_whole {
            let sized = file.set_len(bytes);
            sized.map_err(|source| TransferError::Target {
                path: staging.place(&entry.path),
                doing: "cannot be made",
                source,
            })?;
        }
        let used = Cell::new(resumed);
        Ok(Self { file, direct, bytes, used, sparse: Cell::new(false), kept: Cell::new(false), room: Cell::new(None) })
    }

    /// Writes a chunk; holes stay holes, and zeros that were allocated are allocated without being
    /// written. `kept` says whether chunks are there that do not come again; `spare` is memory for what is not aligned.
    pub(super) fn write(
        &self,
        chunk: &Chunk<'_>,
        bytes: &[u8],
        kept: impl Fn(Range<u64>) -> bool,
        spare: &mut Buffer,
    ) -> io::Result<()> {
        let offset = chunk.number.saturating_mul(CHUNK_BYTES as u64);
        let first = chunk.number - chunk.number % ROOM_CHUNKS;
        self.kept.set(kept(first..first + ROOM_CHUNKS));
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

    fn write_at(&self, offset: u64, bytes: &[u8], spare: &mut Buffer) -> io::Result<()> {
        let Some(direct) = &self.direct else { return self.write_cached(bytes, offset) };
        let end = offset + bytes.len() as u64;
        let whole = bytes.len().is_multiple_of(ALIGNMENT);
        if !offset.is_multiple_of(ALIGNMENT as u64) || !(whole || end == self.bytes) {
            return self.file.write_all_at(bytes, offset);
        }
        self.make_room(offset, bytes.len() as u64);
        let aligned = bytes.as_ptr().align_offset(ALIGNMENT) == 0;
        let written = if whole && aligned {
            direct.write_all_at(bytes, offset)
        } else {
            // The end of a file is written as a whole block, and the file is cut to its length again.
            let room = spare.take(bytes.len().next_multiple_of(ALIGNMENT));
            let (front, rest) = room.split_at_mut(bytes.len());
            front.copy_from_slice(bytes);
            rest.fill(0);
            let written = direct.write_all_at(room, offset);
            if whole { written } else { written.and_then(|()| self.file.set_len(self.bytes)) }
        };
        match written {
            // The disk has larger blocks, or the file system cannot do it.
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                REFUSED.store(true, Ordering::Relaxed);
                self.file.write_all_at(bytes, offset)
            }
            other => other,
        }
    }
}

impl TargetFile {
    /// Writes through the page cache; what is not tiny only passes through it.
    fn write_cached(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while self.bytes > TINY_BYTES && done < bytes.len() && !NOT_PASSING.load(Ordering::Relaxed) {
            let rest = [IoSlice::new(bytes.get(done..).unwrap_or_default())];
            match pwritev2(&self.file, &rest, offset + done as u64, PASSING) {
                Ok(0) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                    NOT_PASSING.store(true, Ordering::Relaxed);
                }
                Ok(count) => done += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.file.write_all_at(bytes.get(done..).unwrap_or_default(), offset + done as u64)
    }

    /// Writes into holes wait for one another; into allocated space they go on side by side. What refuses
    /// this is written to all the same. Many chunks at once: each call waits for the file system's
    /// journal (measured: half as long as the writes themselves, if there is one for each).
    fn make_room(&self, offset: u64, bytes: u64) {
        let number = offset / ROOM_BYTES;
        if self.sparse.get() || self.kept.get() {
            let _ = fallocate(&self.file, FallocateFlags::KEEP_SIZE, offset, bytes);
        } else if self.room.replace(Some(number)) != Some(number) {
            let from = number * ROOM_BYTES;
            let _ = fallocate(&self.file, FallocateFlags::KEEP_SIZE, from, ROOM_BYTES.min(self.bytes - from));
            self.used.set(true);
        }
    }
}

/// File systems that cannot do something are written to instead.
fn supported(error: Errno) -> io::Result<()> {
    if matches!(error, Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) { Ok(()) } else { Err(error.into()) }
}
