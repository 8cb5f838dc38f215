//! A store to which at most so many bytes per second are sent.

use std::{
    io::{self, Read, Seek, SeekFrom},
    thread::sleep,
};

use store::{Body, Error, Name, Put, Store};
use transfer::limit::Limiter;

/// Bytes that are sent between two pauses.
const PIECE_BYTES: usize = 64 << 10;

/// A store with a limit on what is put, over all threads.
#[derive(Debug)]
pub(crate) struct PacedStore {
    inner: Box<dyn Store>,
    limiter: Limiter,
}

impl PacedStore {
    pub(crate) fn new(inner: Box<dyn Store>, bytes_per_second: u64) -> Self {
        Self { inner, limiter: Limiter::new(bytes_per_second) }
    }
}

impl store::Wrapper for PacedStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn put_new(&self, name: &Name, body: &mut dyn Body, bytes: u64) -> Result<Put, Error> {
        let is_sent = !self.inner.reads_before_sending();
        self.inner.put_new(name, &mut PacedBody { inner: body, limiter: &self.limiter, is_sent }, bytes)
    }
}

/// The content of an object, read as slowly as it may be sent.
struct PacedBody<'b, 'l> {
    inner: &'b mut dyn Body,
    limiter: &'l Limiter,
    /// Whether what is read is sent. Otherwise the store reads it once to its end before.
    is_sent: bool,
}

impl Read for PacedBody<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(PIECE_BYTES);
        let read = self.inner.read(buffer.get_mut(..most).unwrap_or_default())?;
        if self.is_sent {
            sleep(self.limiter.reserve(read as u64).wait);
        }
        self.is_sent |= read == 0 && most > 0;
        Ok(read)
    }
}

impl Seek for PacedBody<'_, '_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::Cursor,
        time::{Duration, Instant},
    };

    use store::Directory;

    use super::*;

    const BYTES: u64 = 256 << 10;

    #[test]
    fn an_object_is_sent_at_the_rate_and_hashed_at_full_speed() {
        let content = vec![7_u8; usize::try_from(BYTES).unwrap()];
        // A second for each byte: the test would not end.
        let limiter = Limiter::new(1);
        let mut body = Cursor::new(&content);
        let mut paced = PacedBody { inner: &mut body, limiter: &limiter, is_sent: false };
        let mut read = Vec::new();
        paced.read_to_end(&mut read).unwrap();
        assert!(read == content && paced.is_sent, "what is read now is sent");

        let directory = tempfile::tempdir().unwrap();
        let store = PacedStore::new(Box::new(Directory::open(directory.path()).unwrap()), 1 << 20);
        let (name, began): (Name, _) = ("a/b".parse().unwrap(), Instant::now());
        assert_eq!(store.put_new(&name, &mut Cursor::new(&content), BYTES).unwrap(), Put::New);
        // A quarter of a second, without the first piece and what the limiter catches up.
        assert!(began.elapsed() >= Duration::from_millis(130), "{:?}", began.elapsed());
        assert_eq!(store.head(&name).unwrap(), Some(BYTES));
    }
}
