//! Writing an age file.

use std::{
    fmt,
    io::{self, Write},
};

use zeroize::Zeroizing;

use crate::{
    error::Error,
    file_key::{FileKey, PAYLOAD_NONCE_BYTES},
    header,
    recipient::Recipient,
    stream::{CHUNK_BYTES, Chunks, SEALED_BYTES},
};

/// Encrypts what is written to it.
///
/// The header goes out at once, then a chunk whenever 64 KiB and a byte have come. [`finish`](Self::finish) writes the last
/// chunk: a file without it is truncated, and is not opened to its end by anybody.
#[must_use = "without finish() the file is truncated"]
pub struct Encryptor<W> {
    out: W,
    chunks: Chunks,
    /// What is not sealed yet; room for its tag is there.
    chunk: Zeroizing<Vec<u8>>,
    failed: bool,
}

impl<W: Write> Encryptor<W> {
    /// Begins a file that any of the recipients can open.
    ///
    /// # Errors
    /// [`Error::NoRecipient`], [`Error::TooManyRecipients`], [`Error::Write`], [`Error::Crypto`].
    pub fn new(mut out: W, recipients: &[Recipient]) -> Result<Self, Error> {
        let file_key = FileKey::generate()?;
        let mut begin = header::write(&file_key, recipients)?;
        let mut nonce = [0; PAYLOAD_NONCE_BYTES];
        aws_lc_rs::rand::fill(&mut nonce)?;
        begin.extend_from_slice(&nonce);
        out.write_all(&begin).map_err(Error::Write)?;
        let chunks = Chunks::new(file_key.payload_key(&nonce)?);
        // It never grows: no copy of what is in it is left behind.
        Ok(Self { out, chunks, chunk: Zeroizing::new(Vec::with_capacity(SEALED_BYTES)), failed: false })
    }

    /// Writes the last chunk, and hands back what it was written to, flushed.
    ///
    /// # Errors
    /// Of the output; or [`io::ErrorKind::Other`] if an earlier write has failed.
    pub fn finish(mut self) -> io::Result<W> {
        self.seal(true)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn seal(&mut self, last: bool) -> io::Result<()> {
        // Nobody knows how much of the failed write is there.
        if std::mem::replace(&mut self.failed, true) {
            return Err(io::Error::other("an earlier write to the age file failed"));
        }
        self.chunks.seal(last, &mut self.chunk).map_err(|_| Error::Crypto)?;
        self.out.write_all(&self.chunk)?;
        self.chunk.clear();
        self.failed = false;
        Ok(())
    }
}

impl<W: Write> Write for Encryptor<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Only a byte behind a full chunk shows that it is not the last one.
        if !bytes.is_empty() && (self.failed || self.chunk.len() >= CHUNK_BYTES) {
            self.seal(false)?;
        }
        let room = CHUNK_BYTES.saturating_sub(self.chunk.len());
        let taken = bytes.split_at_checked(room).map_or(bytes, |(taken, _)| taken);
        self.chunk.extend_from_slice(taken);
        Ok(taken.len())
    }

    /// Flushes the output; up to 64 KiB stay here until more comes.
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W> fmt::Debug for Encryptor<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Encryptor")
    }
}
