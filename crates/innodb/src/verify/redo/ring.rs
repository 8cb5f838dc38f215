//! The log of MariaDB 10.8 and newer as one stream of bytes that wraps around the file.
//!
//! Source: docs/formats, "Redo (`ib_logfile0`)". That a mini-transaction continues at offset 12288 is from server
//! source, confirmed on files of MariaDB 10.11 and 11.8; testdata has no sample.

use std::time::Duration;

use files::ReadAt;

use crate::{
    bytes::{as_u64, as_usize},
    error::ScanError,
    ids::Lsn,
    read::fill,
    redo::{phys::Geometry, records::MAX_BYTES},
};

/// Bytes read at once.
const CHUNK_BYTES: usize = 1 << 20;
/// Bytes kept in memory: the longest mini-transaction and a chunk.
const WINDOW_BYTES: usize = MAX_BYTES + CHUNK_BYTES;

/// Part of the log in memory.
pub(super) struct Ring<'a, R: ?Sized> {
    source: &'a R,
    pub(super) geometry: Geometry,
    /// End of reading: one pass after the start.
    limit: u64,
    window: Vec<u8>,
    /// LSN of the window's first byte.
    begin: u64,
}

impl<'a, R: ReadAt + ?Sized> Ring<'a, R> {
    pub(super) fn new(source: &'a R, geometry: Geometry, start: Lsn) -> Self {
        let limit = start.0.saturating_add(geometry.capacity);
        Self { source, geometry, limit, window: Vec::new(), begin: start.0 }
    }

    /// Log content from an LSN on, at least `wanted` bytes unless the log has fewer. `wanted` is at
    /// most slightly above [`MAX_BYTES`].
    pub(super) fn from(&mut self, lsn: u64, wanted: usize) -> Result<&[u8], ScanError> {
        let at = lsn.checked_sub(self.begin).map_or(usize::MAX, as_usize);
        if at > self.window.len() {
            self.window.clear();
            self.begin = lsn;
        }
        let mut at = as_usize(lsn.saturating_sub(self.begin));
        while self.window.len().saturating_sub(at) < wanted {
            if at > 0 && self.window.len() >= CHUNK_BYTES {
                self.window.drain(..at);
                self.begin = lsn;
                at = 0;
            }
            if !self.read_on()? {
                break;
            }
        }
        Ok(self.window.get(at..).unwrap_or_default())
    }

    /// Discards the window, so that it is read again after a pause.
    pub(super) fn forget(&mut self, pause: Duration) {
        self.source.pause(pause);
        self.window.clear();
    }

    /// Appends the next chunk; `false` at the end.
    fn read_on(&mut self) -> Result<bool, ScanError> {
        let end = self.begin.saturating_add(as_u64(self.window.len()));
        let offset = self.geometry.offset(end);
        let file_end = self.geometry.file_bytes();
        let room = WINDOW_BYTES.saturating_add(CHUNK_BYTES).saturating_sub(self.window.len()).min(CHUNK_BYTES);
        let ahead = self.limit.saturating_sub(end).min(file_end.saturating_sub(offset)).min(as_u64(room));
        let filled = self.window.len();
        self.window.resize(filled.saturating_add(as_usize(ahead)), 0);
        let buf = self.window.get_mut(filled..).unwrap_or_default();
        let read = fill(self.source, offset, buf)?.len();
        self.window.truncate(filled.saturating_add(read));
        Ok(read > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redo::phys::HEAD_BYTES;

    #[test]
    fn reading_wraps_to_the_start_of_the_file() {
        let mut file = vec![0; HEAD_BYTES];
        file.extend(0..100_u8);
        let geometry = Geometry { first: Lsn(5000), capacity: 100 };
        let mut ring = Ring::new(file.as_slice(), geometry, Lsn(5170));
        assert_eq!(ring.from(5170, 1).unwrap()[..3], [70, 71, 72]);
        assert_eq!(ring.from(5190, 20).unwrap()[..20][8..13], [98, 99, 0, 1, 2]);
        assert_eq!(ring.from(5170, 200).unwrap().len(), 100);
    }
}
