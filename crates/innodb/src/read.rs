//! Random-access reads.

use std::{fs::File, io, os::unix::fs::FileExt};

use crate::{bytes::as_u64, error::ScanError};

/// A file that can be read at any offset.
///
/// Implemented for open files and for bytes in memory. The file position of an open file is neither
/// used nor changed.
pub trait ReadAt {
    /// Reads into `buf` from `offset` (bytes from the start); returns how many bytes
    /// were read, 0 only at or after the end.
    ///
    /// # Errors
    /// Any error of the operating system.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize>;

    /// Current length in bytes; a live file may grow or shrink afterwards.
    ///
    /// # Errors
    /// Any error of the operating system.
    fn len(&self) -> io::Result<u64>;

    /// Whether there are no bytes.
    ///
    /// # Errors
    /// Any error of the operating system.
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
}

/// Fills as much of `buf` as the file has from `offset` on; returns the bytes read.
pub(crate) fn fill<'b, R: ReadAt + ?Sized>(source: &R, offset: u64, buf: &'b mut [u8]) -> Result<&'b [u8], ScanError> {
    let mut done = 0_usize;
    while let Some(rest) = buf.get_mut(done..).filter(|rest| !rest.is_empty()) {
        let at = offset.saturating_add(as_u64(done));
        let wanted = rest.len();
        match source.read_at(at, rest) {
            Ok(0) => break,
            Ok(count) => done = done.saturating_add(count.min(wanted)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(ScanError::Io { offset: at, source }),
        }
    }
    Ok(buf.get(..done).unwrap_or_default())
}

/// Length of the file in bytes.
pub(crate) fn length<R: ReadAt + ?Sized>(source: &R) -> Result<u64, ScanError> {
    source.len().map_err(|source| ScanError::Io { offset: 0, source })
}

/// Offsets of the chunks to read so that at most `max_bytes` of `[from, len)` are read: all chunks
/// in order if they fit, else evenly spread chunks, including the first and the last.
pub(crate) fn chunks(from: u64, len: u64, chunk_bytes: u64, max_bytes: u64) -> impl Iterator<Item = u64> {
    let chunk_bytes = chunk_bytes.max(1);
    let total = len.saturating_sub(from).div_ceil(chunk_bytes);
    let count = total.min(max_bytes.checked_div(chunk_bytes).unwrap_or(0).max(1));
    (0..count).map(move |i| from.saturating_add(spread(i, count, total).saturating_mul(chunk_bytes)))
}

/// The `i`-th of `count` numbers spread evenly over `0..total`, both ends included.
pub(crate) fn spread(i: u64, count: u64, total: u64) -> u64 {
    let last = u128::from(total.saturating_sub(1));
    let steps = u128::from(count.saturating_sub(1)).max(1);
    let position = u128::from(i).saturating_mul(last).checked_div(steps);
    position.and_then(|position| u64::try_from(position).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_chunks_include_first_and_last() {
        let offsets: Vec<u64> = chunks(100, 1100, 10, 50).collect();
        assert_eq!(offsets.len(), 5);
        assert_eq!(offsets.first(), Some(&100));
        assert_eq!(offsets.last(), Some(&1090));
    }

    #[test]
    fn all_chunks_in_order_when_they_fit() {
        assert_eq!(chunks(0, 25, 10, 1000).collect::<Vec<_>>(), [0, 10, 20]);
        assert_eq!(chunks(30, 25, 10, 1000).count(), 0);
    }
}
