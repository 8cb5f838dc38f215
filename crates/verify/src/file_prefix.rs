//! The beginning of a file.

use std::{io, time::Duration};

use files::{ReadAt, Reader};

/// The first bytes of a file, presented as the whole file.
pub(crate) struct FilePrefix<'a> {
    pub(crate) reader: &'a Reader,
    pub(crate) bytes: u64,
}

impl ReadAt for FilePrefix<'_> {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.bytes.saturating_sub(offset)).unwrap_or(usize::MAX);
        let length = buf.len().min(left);
        self.reader.read_at(offset, buf.get_mut(..length).unwrap_or_default())
    }

    fn len(&self) -> io::Result<u64> {
        self.reader.len().map(|bytes| bytes.min(self.bytes))
    }

    fn pause(&self, time: Duration) {
        self.reader.pause(time);
    }
}
