//! Random-access reads.

use std::{fs::File, io, os::unix::fs::FileExt, thread, time::Duration};

/// A file or device that can be read at any offset.
///
/// Implemented for open files and for bytes in memory. The file's own position is neither used nor changed.
pub trait ReadAt {
    /// Reads into `buf` from `offset`, in bytes from the start. Returns the number of bytes read; 0 only at or after
    /// the end.
    ///
    /// # Errors
    /// Errors of the system.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize>;

    /// Current length in bytes, 0 for a device. A live file may grow or shrink afterwards.
    ///
    /// # Errors
    /// Errors of the system.
    fn len(&self) -> io::Result<u64>;

    /// Waits before bytes are read again that another process may be writing. The default does not wait: nobody writes
    /// to bytes in memory.
    fn pause(&self, _time: Duration) {}

    /// Whether there are no bytes.
    ///
    /// # Errors
    /// Errors of the system.
    fn is_empty(&self) -> io::Result<bool> {
        self.len().map(|len| len == 0)
    }
}

impl ReadAt for File {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        FileExt::read_at(self, buf, offset)
    }

    fn len(&self) -> io::Result<u64> {
        self.metadata().map(|metadata| metadata.len())
    }

    fn pause(&self, time: Duration) {
        thread::sleep(time);
    }
}

impl ReadAt for [u8] {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let bytes = self.get(from..).unwrap_or_default();
        let count = bytes.len().min(buf.len());
        for (to, from) in buf.iter_mut().zip(bytes) {
            *to = *from;
        }
        Ok(count)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(as_u64(<[u8]>::len(self)))
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.as_slice().read_at(offset, buf)
    }

    fn len(&self) -> io::Result<u64> {
        ReadAt::len(self.as_slice())
    }
}

impl<R: ReadAt + ?Sized> ReadAt for &R {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        (**self).read_at(offset, buf)
    }

    fn len(&self) -> io::Result<u64> {
        (**self).len()
    }

    fn pause(&self, time: Duration) {
        (**self).pause(time);
    }
}

/// A failed read.
#[derive(Debug)]
pub struct ReadError {
    /// Offset in bytes from the start of the file.
    pub offset: u64,
    /// Error of the operating system.
    pub source: io::Error,
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        error.source
    }
}

/// Fills as much of `buf` as is available from `offset`. Returns the number of bytes.
///
/// # Errors
/// Errors of the system, except interruptions.
pub fn read_up_to<R: ReadAt + ?Sized>(source: &R, offset: u64, buf: &mut [u8]) -> Result<usize, ReadError> {
    let mut done = 0_usize;
    while let Some(rest) = buf.get_mut(done..).filter(|rest| !rest.is_empty()) {
        let at = offset.saturating_add(as_u64(done));
        let wanted = rest.len();
        match source.read_at(at, rest) {
            Ok(0) => break,
            Ok(count) => done = done.saturating_add(count.min(wanted)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(ReadError { offset: at, source }),
        }
    }
    Ok(done)
}

/// Reads at most `length` bytes into a new vector.
///
/// # Errors
/// As [`read_up_to`].
pub fn read_bytes<R: ReadAt + ?Sized>(source: &R, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let read = read_up_to(source, offset, &mut bytes)?;
    bytes.truncate(read);
    Ok(bytes)
}

pub(crate) fn as_u64(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}
