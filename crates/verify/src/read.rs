//! Reading without spoiling the page cache: what is cached is used, what is not is read around
//! the cache.

use std::{
    fs::{File, OpenOptions},
    io::{self, IoSliceMut},
    os::{
        fd::AsRawFd,
        unix::fs::{FileExt, OpenOptionsExt},
    },
    path::Path,
    sync::{
        Once, OnceLock,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
};

use innodb::ReadAt;
use place::regular::{self, Links};
use rustix::{
    fs::{Advice, OFlags, fadvise},
    io::{ReadWriteFlags, preadv2},
};

/// Memory, file offsets and lengths of direct reads are multiples of this: the largest block any
/// common disk has.
const ALIGNMENT: usize = 4096;

/// One file, open for reading.
#[derive(Debug)]
pub struct Reader {
    file: File,
    /// The same file, opened to be read around the page cache; `None` if that cannot be had.
    direct: OnceLock<Option<File>>,
    look: Look,
}

/// Where to look for what is cached, and where not to.
///
/// A read that may not wait is the only way to ask what the page cache holds, and since Linux 6
/// such a read also starts reading what it did not find. Asking for every run of pages would so
/// read a whole cold file through the cache, besides reading it around the cache. So a look is at
/// one byte, without read-ahead, and the more looks in a row find nothing, the more runs are read
/// around the cache before the next.
#[derive(Debug)]
struct Look {
    without_read_ahead: Once,
    /// Runs to be read before the next look.
    runs_left: AtomicU32,
    /// What `runs_left` was set to when a look found nothing.
    runs: AtomicU32,
    /// End of the run that the last fruitless look was for.
    in_vain: AtomicU64,
}

/// Most runs between two looks, so that a file whose first part is cold and whose rest is cached
/// is soon read from the cache.
const MOST_RUNS: u32 = 63;

/// Memory for one read, aligned as direct reads need it.
#[derive(Debug)]
pub struct Buffer {
    memory: Vec<u8>,
    capacity: usize,
}

impl Buffer {
    /// For at most `capacity` bytes.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.next_multiple_of(ALIGNMENT);
        Self { memory: vec![0; capacity.saturating_add(ALIGNMENT)], capacity }
    }

    /// Room for `length` bytes.
    pub fn take(&mut self, length: usize) -> &mut [u8] {
        let skip = self.memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        let end = skip.saturating_add(length.min(self.capacity));
        self.memory.get_mut(skip..end).unwrap_or_default()
    }
}

impl Reader {
    /// Opens a file that was found in a directory: a link in its place is not followed, a pipe not waited for.
    ///
    /// # Errors
    /// Those of [`regular::open`].
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self::new(regular::open(path, Links::Refused)?))
    }

    /// Of an open file.
    #[must_use]
    pub fn new(file: File) -> Self {
        let look = Look {
            without_read_ahead: Once::new(),
            runs_left: AtomicU32::new(0),
            runs: AtomicU32::new(0),
            in_vain: AtomicU64::new(u64::MAX),
        };
        Self { file, direct: OnceLock::new(), look }
    }

    /// The file.
    #[must_use]
    pub const fn file(&self) -> &File {
        &self.file
    }

    /// Fills a run of pages from the page cache alone; returns how much of it could be filled.
    pub fn read_cached(&self, offset: u64, buf: &mut [u8]) -> usize {
        let end = offset.saturating_add(as_u64(buf.len()));
        if !self.seems_cached(end) {
            return 0;
        }
        let done = self.read_without_waiting(offset, buf);
        if done < buf.len() {
            self.found_nothing();
        }
        done
    }

    /// Fills `buf` from disk; returns how many bytes there were. `cached` is what
    /// [`read_cached`](Self::read_cached) said.
    ///
    /// # Errors
    /// Those of the system.
    pub fn read_disk(&self, offset: u64, buf: &mut [u8], cached: usize) -> io::Result<usize> {
        if cached > 0 {
            return read_all(&self.file, offset, buf, cached);
        }
        if let Some(direct) = self.direct()
            && let Ok(done) = read_direct(direct, offset, buf)
        {
            self.forget_look(offset.saturating_add(as_u64(buf.len())));
            return Ok(done);
        }
        let done = read_all(&self.file, offset, buf, 0)?;
        self.forget(offset, buf.len());
        Ok(done)
    }

    /// Whether the last byte before `end` is in the page cache. The last, because what comes before
    /// is more often there without the rest: the head of a file, which was read to recognise it.
    fn seems_cached(&self, end: u64) -> bool {
        let look = &self.look;
        let spend = |left: u32| left.checked_sub(1);
        if look.runs_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend).is_ok() {
            return false;
        }
        // Refused advice costs a little reading.
        look.without_read_ahead.call_once(|| {
            let _ = fadvise(&self.file, 0, None, Advice::Random);
        });
        if self.read_without_waiting(end.saturating_sub(1), &mut [0]) == 1 {
            look.runs.store(0, Ordering::Relaxed);
            return true;
        }
        self.found_nothing();
        look.in_vain.store(end, Ordering::Relaxed);
        false
    }

    fn found_nothing(&self) {
        let runs = self.look.runs.load(Ordering::Relaxed).saturating_mul(2).saturating_add(1).min(MOST_RUNS);
        self.look.runs.store(runs, Ordering::Relaxed);
        self.look.runs_left.store(runs, Ordering::Relaxed);
    }

    /// Takes out of the page cache what a look in vain brought in.
    fn forget_look(&self, end: u64) {
        let looked = self.look.in_vain.compare_exchange(end, u64::MAX, Ordering::Relaxed, Ordering::Relaxed);
        if looked.is_ok() {
            self.forget(end.saturating_sub(as_u64(ALIGNMENT)), ALIGNMENT);
        }
    }

    fn read_without_waiting(&self, offset: u64, buf: &mut [u8]) -> usize {
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

    /// By its descriptor: at its path may be another file by now, or a pipe that nobody writes.
    fn direct(&self) -> Option<&File> {
        let open = || {
            let flags = i32::try_from((OFlags::DIRECT | OFlags::NONBLOCK).bits()).ok()?;
            let itself = format!("/proc/self/fd/{}", self.file.as_raw_fd());
            OpenOptions::new().read(true).custom_flags(flags).open(itself).ok()
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
        match self.read_without_waiting(offset, buf) {
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
    use rustix::fs::{FileType, Mode};

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

    #[test]
    fn what_took_the_place_of_the_file_is_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("table");
        for swap in ["pipe", "link"] {
            std::fs::write(&path, vec![7; 8192]).unwrap();
            let reader = Reader::open(&path).unwrap();
            std::fs::remove_file(&path).unwrap();
            if swap == "pipe" {
                rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
            } else {
                std::fs::write(directory.path().join("secret"), vec![9; 8192]).unwrap();
                std::os::unix::fs::symlink("secret", &path).unwrap();
            }
            let mut buffer = Buffer::new(8192);
            let room = buffer.take(8192);
            assert_eq!(reader.read_disk(0, room, 0).unwrap(), 8192, "{swap}");
            assert!(room.iter().all(|byte| *byte == 7), "{swap}");
            std::fs::remove_file(&path).unwrap();
        }
    }
}
