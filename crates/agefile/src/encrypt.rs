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
    stream::{CHUNK_BYTES, Chunks, ENCRYPTED_BYTES},
};

/// A [`Write`] that encrypts to its output.
///
/// The header is written at once, then each chunk as soon as a byte beyond its 64 KiB arrives. [`finish`](Self::finish)
/// writes the last chunk: without it the file is truncated, and no reader accepts it.
#[must_use = "without finish() the file is truncated"]
pub struct Encryptor<W> {
    out: W,
    chunks: Chunks,
    /// Plain text of the current chunk, with capacity for its tag.
    chunk: Zeroizing<Vec<u8>>,
    failed: bool,
}

impl<W: Write> Encryptor<W> {
    /// Starts a file for the given recipients; each of them can open it.
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
        // Never reallocated, so that no copy of its content is left in memory.
        Ok(Self { out, chunks, chunk: Zeroizing::new(Vec::with_capacity(ENCRYPTED_BYTES)), failed: false })
    }

    /// Writes the last chunk, flushes, and returns the output.
    ///
    /// # Errors
    /// Those of the output; [`io::ErrorKind::Other`] if an earlier write failed.
    pub fn finish(mut self) -> io::Result<W> {
        self.encrypt(true)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn encrypt(&mut self, last: bool) -> io::Result<()> {
        // A failed write may have written a part of the chunk.
        if std::mem::replace(&mut self.failed, true) {
            return Err(io::Error::other("an earlier write to the age file failed"));
        }
        self.chunks.encrypt(last, &mut self.chunk).map_err(|_| Error::Crypto)?;
        self.out.write_all(&self.chunk)?;
        self.chunk.clear();
        self.failed = false;
        Ok(())
    }
}

impl<W: Write> Write for Encryptor<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A full chunk may be the last one until another byte follows.
        if !bytes.is_empty() && (self.failed || self.chunk.len() >= CHUNK_BYTES) {
            self.encrypt(false)?;
        }
        let room = CHUNK_BYTES.saturating_sub(self.chunk.len());
        let taken = bytes.split_at_checked(room).map_or(bytes, |(taken, _)| taken);
        self.chunk.extend_from_slice(taken);
        Ok(taken.len())
    }

    /// Flushes the output. Up to 64 KiB remain in the current chunk.
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W> fmt::Debug for Encryptor<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Encryptor")
    }
}
