//! Where headers are read from.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// A device, a file or memory that can be read at any offset.
pub trait ReadAt {
    /// Reads into `buf` from `offset` (bytes from the start); returns how many bytes were read, 0 only at or
    /// after the end.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize>;
}

impl ReadAt for File {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        FileExt::read_at(self, buf, offset)
    }
}

impl ReadAt for [u8] {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|from| self.get(from..)).unwrap_or_default();
        let count = rest.len().min(buf.len());
        buf.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        Ok(count)
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.as_slice().read_at(offset, buf)
    }
}

impl<R: ReadAt + ?Sized> ReadAt for &R {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        (**self).read_at(offset, buf)
    }
}

/// As much of `length` bytes from `offset` as there is.
pub(crate) fn read_up_to(source: &dyn ReadAt, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match source.read_at(offset.saturating_add(u64::try_from(filled).unwrap_or(u64::MAX)), rest) {
            Ok(0) => break,
            Ok(count) => filled = filled.saturating_add(count).min(length),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
