//! Reading without spoiling the page cache: what is cached is used, what is not is read around
//! the cache.

use std::{
    fs::{File, OpenOptions},
    io::{self, IoSliceMut},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
    sync::OnceLock,
};

use innodb::ReadAt;
use rustix::{
    fs::{Advice, OFlags, fadvise},
    io::{ReadWriteFlags, preadv2},
};

/// Memory, file offsets and lengths of direct reads are multiples of this: the largest block any
/// common disk has.
const ALIGNMENT: usize = 4096;

/// One file, open for reading.
#[derive(Debug)]
pub(crate) struct Reader {
    file: File,
    path: Box<Path>,
    /// The same file, opened to be read around the page cache; `None` if that cannot be had.
    direct: OnceLock<Option<File>>,
}

/// Memory for one read, aligned as direct reads need it.
#[derive(Debug)]
pub(crate) struct Buffer {
    memory: Vec<u8>,
    capacity: usize,
}

impl Buffer {
    /// For at most `capacity` bytes.
    pub(crate) fn new(capacity: usize) -> Self {
        let capacity = capacity.next_multiple_of(ALIGNMENT);
        Self { memory: vec![0; capacity.saturating_add(ALIGNMENT)], capacity }
    }

    /// Room for `length` bytes.
    pub(crate) fn take(&mut self, length: usize) -> &mut [u8] {
        let skip = self.memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        let end = skip.saturating_add(length.min(self.capacity));
        self.memory.get_mut(skip..end).unwrap_or_default()
    }
}

impl Reader {
    /// Opens a file.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::open(path)?, path: path.into(), direct: OnceLock::new() })
    }

    pub(crate) const fn file(&self) -> &File {
        &self.file
    }

    /// Whether `buf` could be filled from the page cache alone; if not, how much of it is filled.
    pub(crate) fn read_cached(&self, offset: u64, buf: &mut [u8]) -> usize {
        let mut done = 0;
        while let Some(rest) = buf.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let at = offset.saturating_add(as_u64(done));
            match preadv2(&self.file, &mut [IoSliceMut::new(rest)], at, ReadWriteFlags::NOWAIT) {
                Ok(count) if count > 0 => done = done.saturating_add(count),
                _ => break,
            }
        }
        done
    }

    /// Fills `buf` from disk; returns how many bytes there were. `cached` is what
    /// [`read_cached`](Self::read_cached) said.
    pub(crate) fn read_disk(&self, offset: u64, buf: &mut [u8], cached: usize) -> io::Result<usize> {
        if cached > 0 {
            return read_all(&self.file, offset, buf, cached);
        }
        if let Some(direct) = self.direct()
            && let Ok(done) = read_direct(direct, offset, buf)
        {
            return Ok(done);
        }
        let done = read_all(&self.file, offset, buf, 0)?;
        self.forget(offset, buf.len());
        Ok(done)
    }

    fn direct(&self) -> Option<&File> {
        let open = || {
            let flags = i32::try_from(OFlags::DIRECT.bits()).ok()?;
            OpenOptions::new().read(true).custom_flags(flags).open(&self.path).ok()
        };
        self.direct.get_or_init(open).as_ref()
    }

    /// Takes what was read only here out of the page cache. Refused advice costs nothing.
    fn forget(&self, offset: u64, length: usize) {
        let length = std::num::NonZeroU64::new(as_u64(length));
        let _ = fadvise(&self.file, offset, length, Advice::DontNeed);
    }
}

impl ReadAt for Reader {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        match self.read_cached(offset, buf) {
            0 => {
                let done = FileExt::read_at(&self.file, buf, offset)?;
                self.forget(offset, done);
                Ok(done)
            }
            cached => Ok(cached),
        }
    }

    fn len(&self) -> io::Result<u64> {
        self.file.metadata().map(|metadata| metadata.len())
    }
}

/// Direct reads take whole blocks: the end of a file may come short, anything else is a refusal.
fn read_direct(file: &File, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
    let aligned = buf.len().is_multiple_of(ALIGNMENT) && offset.is_multiple_of(as_u64(ALIGNMENT));
    if !aligned {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut done = 0;
    while let Some(rest) = buf.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match FileExt::read_at(file, rest, offset.saturating_add(as_u64(done))) {
            Ok(0) => break,
            Ok(count) => done = done.saturating_add(count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if !done.is_multiple_of(ALIGNMENT) {
            break;
        }
    }
    Ok(done)
}

fn read_all(file: &File, offset: u64, buf: &mut [u8], mut done: usize) -> io::Result<usize> {
    while let Some(rest) = buf.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match FileExt::read_at(file, rest, offset.saturating_add(as_u64(done))) {
            Ok(0) => break,
            Ok(count) => done = done.saturating_add(count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

pub(crate) fn as_u64(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_reading_gives_the_same_bytes() {
        let bytes: Vec<u8> = (0..20_000_u32).flat_map(u32::to_le_bytes).collect();
        let file = tempfile::NamedTempFile::new_in(".").unwrap();
        std::fs::write(file.path(), &bytes).unwrap();
        let reader = Reader::open(file.path()).unwrap();
        let mut buffer = Buffer::new(1 << 17);
        for (offset, length) in [(0, 4096), (4096, 8192), (0, 1 << 17), (77824, 4096), (100, 300)] {
            let from = usize::try_from(offset).unwrap();
            let expected = &bytes[from..bytes.len().min(from + length)];
            let room = buffer.take(length);
            assert_eq!(reader.read_disk(offset, room, 0).unwrap(), expected.len());
            assert_eq!(&room[..expected.len()], expected);
            let room = buffer.take(length);
            room.fill(0);
            let cached = reader.read_cached(offset, room);
            assert_eq!(reader.read_disk(offset, room, cached).unwrap(), expected.len());
            assert_eq!(&room[..expected.len()], expected);
        }
    }
}
