//! Reads files without filling the page cache: cached pages are read from it, others by direct I/O.

use std::{
    fs::{File, OpenOptions},
    io::{self, IoSliceMut},
    num::NonZeroU64,
    os::{
        fd::AsRawFd,
        unix::fs::{FileExt, OpenOptionsExt},
    },
    path::Path,
    sync::{
        Once, OnceLock,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use rustix::{
    fs::{Advice, OFlags, fadvise},
    io::{ReadWriteFlags, preadv2},
};

use crate::{
    ReadAt,
    read_at::{as_u64, read_up_to},
    regular::{self, Links},
};

/// Alignment of memory, offsets and lengths of direct reads: the largest block size of common disks.
const ALIGNMENT: usize = 4096;

/// A file, open for reading.
#[derive(Debug)]
pub struct Reader {
    file: File,
    /// The same file opened with `O_DIRECT`; `None` if the file system refuses.
    direct: OnceLock<Option<File>>,
    probe: CacheProbe,
}

/// Decides when to probe the page cache.
///
/// The only way to ask whether a page is cached is a read that does not wait (`RWF_NOWAIT`). Since Linux 6 such a read
/// starts read-ahead for missing pages, so probing before every run would read a cold file into the cache, in addition
/// to the direct read. Therefore a probe reads one byte, without read-ahead, and after each miss more runs are read
/// directly before the next probe.
#[derive(Debug)]
struct CacheProbe {
    without_read_ahead: Once,
    /// Runs to read directly before the next probe.
    runs_left: AtomicU32,
    /// Value of `runs_left` after the last miss.
    runs: AtomicU32,
    /// End of the run of the last miss.
    last_miss: AtomicU64,
}

/// Maximum number of runs between two probes, so that a file with a cold start and a cached rest is soon read from the
/// cache.
const MAX_RUNS: u32 = 63;

/// Memory for one read, aligned for direct I/O.
#[derive(Debug)]
pub struct Buffer {
    memory: Vec<u8>,
    capacity: usize,
}

impl Buffer {
    /// A buffer for at most `capacity` bytes.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.next_multiple_of(ALIGNMENT);
        Self { memory: vec![0; capacity.saturating_add(ALIGNMENT)], capacity }
    }

    /// The first `length` bytes.
    pub fn take(&mut self, length: usize) -> &mut [u8] {
        let skip = self.memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        let end = skip.saturating_add(length.min(self.capacity));
        self.memory.get_mut(skip..end).unwrap_or_default()
    }
}

impl Reader {
    /// Opens a file that was found in a directory. Does not follow a link that replaced it, nor wait for a pipe.
    ///
    /// # Errors
    /// Those of [`regular::open`].
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self::new(regular::open(path, Links::Refused)?))
    }

    /// Reads an open file.
    #[must_use]
    pub fn new(file: File) -> Self {
        let probe = CacheProbe {
            without_read_ahead: Once::new(),
            runs_left: AtomicU32::new(0),
            runs: AtomicU32::new(0),
            last_miss: AtomicU64::new(u64::MAX),
        };
        Self { file, direct: OnceLock::new(), probe }
    }

    /// The open file.
    #[must_use]
    pub const fn file(&self) -> &File {
        &self.file
    }

    /// Fills `buf` from the page cache only; returns the number of bytes.
    pub fn read_cached(&self, offset: u64, buf: &mut [u8]) -> usize {
        let end = offset.saturating_add(as_u64(buf.len()));
        if !self.probe_cache(end) {
            return 0;
        }
        let done = self.read_nowait(offset, buf);
        if done < buf.len() {
            self.record_miss();
        }
        done
    }

    /// Fills `buf` from disk; returns the number of bytes. `cached` is the result of
    /// [`read_cached`](Self::read_cached).
    ///
    /// # Errors
    /// Those of the system.
    pub fn read_disk(&self, offset: u64, buf: &mut [u8], cached: usize) -> io::Result<usize> {
        if cached > 0 {
            let rest = buf.get_mut(cached..).unwrap_or_default();
            let read = read_up_to(&self.file, offset.saturating_add(as_u64(cached)), rest)?;
            return Ok(cached.saturating_add(read));
        }
        if let Some(direct) = self.direct()
            && let Ok(done) = read_direct(direct, offset, buf)
        {
            self.evict_probed(offset.saturating_add(as_u64(buf.len())));
            return Ok(done);
        }
        let done = read_up_to(&self.file, offset, buf)?;
        self.evict(offset, buf.len());
        Ok(done)
    }

    /// Whether the last byte before `end` is cached. The last one, because the start of a file is often cached alone:
    /// it was read to recognise the file.
    fn probe_cache(&self, end: u64) -> bool {
        let probe = &self.probe;
        let spend = |left: u32| left.checked_sub(1);
        if probe.runs_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend).is_ok() {
            return false;
        }
        // If the advice is refused, a little more is read.
        probe.without_read_ahead.call_once(|| {
            let _ = fadvise(&self.file, 0, None, Advice::Random);
        });
        if self.read_nowait(end.saturating_sub(1), &mut [0]) == 1 {
            probe.runs.store(0, Ordering::Relaxed);
            return true;
        }
        self.record_miss();
        probe.last_miss.store(end, Ordering::Relaxed);
        false
    }

    fn record_miss(&self) {
        let runs = self.probe.runs.load(Ordering::Relaxed).saturating_mul(2).saturating_add(1).min(MAX_RUNS);
        self.probe.runs.store(runs, Ordering::Relaxed);
        self.probe.runs_left.store(runs, Ordering::Relaxed);
    }

    /// Evicts what a probe without a hit brought into the page cache.
    fn evict_probed(&self, end: u64) {
        let cleared = self.probe.last_miss.compare_exchange(end, u64::MAX, Ordering::Relaxed, Ordering::Relaxed);
        if cleared.is_ok() {
            self.evict(end.saturating_sub(as_u64(ALIGNMENT)), ALIGNMENT);
        }
    }

    fn read_nowait(&self, offset: u64, buf: &mut [u8]) -> usize {
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

    /// Opens by descriptor: the path may name another file by now, or a pipe without a writer.
    fn direct(&self) -> Option<&File> {
        let open = || {
            let flags = i32::try_from((OFlags::DIRECT | OFlags::NONBLOCK).bits()).ok()?;
            let itself = format!("/proc/self/fd/{}", self.file.as_raw_fd());
            OpenOptions::new().read(true).custom_flags(flags).open(itself).ok()
        };
        self.direct.get_or_init(open).as_ref()
    }

    /// Evicts what only this reader brought into the page cache.
    fn evict(&self, offset: u64, length: usize) {
        evict(&self.file, offset, NonZeroU64::new(as_u64(length)));
    }
}

/// Drops a range of a file from the page cache, except what is not written yet; `None`: up to the end. Refused advice
/// does no harm.
///
/// A server that writes with `O_DIRECT` can leave an older version of a page in the cache.
pub fn evict(file: &File, offset: u64, length: Option<NonZeroU64>) {
    let _ = fadvise(file, offset, length, Advice::DontNeed);
}

impl ReadAt for Reader {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        match self.read_nowait(offset, buf) {
            0 => {
                let done = FileExt::read_at(&self.file, buf, offset)?;
                self.evict(offset, done);
                Ok(done)
            }
            cached => Ok(cached),
        }
    }

    fn len(&self) -> io::Result<u64> {
        ReadAt::len(&self.file)
    }

    fn pause(&self, time: Duration) {
        self.file.pause(time);
    }
}

/// Direct reads return whole blocks; only at the end of the file fewer.
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

#[cfg(test)]
mod tests {
    use rustix::fs::{FileType, Mode};

    use super::*;

    #[test]
    fn every_reader_gives_the_same_bytes() {
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
    fn a_replacement_of_the_file_is_not_opened() {
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
