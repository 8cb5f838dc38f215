//! Reading an age file.

use std::{
    fmt,
    io::{self, BufRead, BufReader, ErrorKind, Read},
};

use zeroize::{Zeroize, Zeroizing};

use crate::{
    error::{Error, PayloadFault},
    file_key::{FileKey, PAYLOAD_NONCE_BYTES},
    header::Header,
    identity::Identity,
    stream::{CHUNK_BYTES, Chunks, ENCRYPTED_BYTES, TAG_BYTES},
};

/// Enough for most headers; the payload is read in whole chunks.
const HEADER_BUFFER_BYTES: usize = 4 << 10;

/// A [`Read`] that decrypts its input.
///
/// Each chunk is authenticated before any of its bytes is returned, but a missing chunk shows only at the end: the
/// plain text is complete only if the file was read to its end without an error. Errors of the file are an
/// [`io::Error`] of kind [`InvalidData`](ErrorKind::InvalidData) around an [`Error`]; further reads return the same
/// error.
pub struct Decryptor<R> {
    input: BufReader<R>,
    chunks: Chunks,
    /// An encrypted chunk, and the first byte of the next, which shows that this one is not the last.
    encrypted: Vec<u8>,
    filled: usize,
    decrypted: Zeroizing<Vec<u8>>,
    /// How many bytes of `decrypted` have been returned.
    consumed: usize,
    next: Next,
}

/// What follows the chunk in `decrypted`.
#[derive(Clone, Copy)]
enum Next {
    Chunk,
    End,
    Fault { chunk: u64, fault: PayloadFault },
}

impl<R: Read> Decryptor<R> {
    /// Reads the header, and decrypts it with the first identity that fits.
    ///
    /// # Errors
    /// Any [`Error`] except those of writing.
    pub fn new(input: R, identities: &[Identity]) -> Result<Self, Error> {
        let mut input = BufReader::with_capacity(HEADER_BUFFER_BYTES, input);
        let file_key = Header::read(&mut input)?.open(identities)?;
        Self::from_file_key(input, &file_key)
    }

    /// `input` is positioned after the header.
    pub(crate) fn from_file_key(mut input: BufReader<R>, file_key: &FileKey) -> Result<Self, Error> {
        let mut nonce = [0; PAYLOAD_NONCE_BYTES];
        input.read_exact(&mut nonce).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Error::Payload { chunk: 0, fault: PayloadFault::Truncated },
            _ => Error::Read(error),
        })?;
        Ok(Self {
            input,
            chunks: Chunks::new(file_key.payload_key(&nonce)?),
            encrypted: vec![0; ENCRYPTED_BYTES.saturating_add(1)],
            filled: 0,
            // Never reallocated, so that no copy of its content is left in memory.
            decrypted: Zeroizing::new(Vec::with_capacity(CHUNK_BYTES)),
            consumed: 0,
            next: Next::Chunk,
        })
    }

    /// Decrypts the next chunk, and looks for what follows it.
    fn decrypt_next(&mut self) -> io::Result<()> {
        files::fill(&mut self.input, &mut self.encrypted, &mut self.filled)?;
        let (encrypted_bytes, chunk) = (self.filled.min(ENCRYPTED_BYTES), self.chunks.number());
        let last = self.filled <= ENCRYPTED_BYTES;
        self.consumed = 0;
        self.next = if encrypted_bytes < TAG_BYTES {
            self.decrypted.clear();
            Next::Fault { chunk, fault: PayloadFault::Truncated }
        } else if self.decrypt(last, encrypted_bytes) {
            if last { Next::End } else { Next::Chunk }
        } else if encrypted_bytes == ENCRYPTED_BYTES && self.decrypt(!last, encrypted_bytes) {
            // The chunk is authentic and may be read, but chunks after it are missing or were appended.
            let fault = if last { PayloadFault::Truncated } else { PayloadFault::Trailing };
            Next::Fault { chunk: chunk.saturating_add(1), fault }
        } else {
            Next::Fault { chunk, fault: PayloadFault::Damaged }
        };
        if matches!(self.next, Next::End) && self.decrypted.is_empty() && chunk > 0 {
            self.next = Next::Fault { chunk, fault: PayloadFault::Empty };
        }
        self.encrypted.copy_within(encrypted_bytes..self.filled, 0);
        self.filled = self.filled.saturating_sub(encrypted_bytes);
        Ok(())
    }

    /// Decrypts a chunk of `encrypted_bytes` bytes; returns false and clears the buffer if it is not authentic.
    fn decrypt(&mut self, last: bool, encrypted_bytes: usize) -> bool {
        let encrypted = self.encrypted.get(..encrypted_bytes).unwrap_or_default();
        // The former content is overwritten, so it need not become zero.
        self.decrypted.resize(encrypted_bytes.saturating_sub(TAG_BYTES), 0);
        let is_authentic = self.chunks.decrypt(last, encrypted, &mut self.decrypted).is_ok();
        if !is_authentic {
            self.decrypted.zeroize();
        }
        is_authentic
    }
}

impl<R: Read> BufRead for Decryptor<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.consumed >= self.decrypted.len() {
            match self.next {
                Next::Chunk => self.decrypt_next()?,
                Next::End => break,
                Next::Fault { chunk, fault } => return Err(Error::Payload { chunk, fault }.into()),
            }
        }
        Ok(self.decrypted.get(self.consumed..).unwrap_or_default())
    }

    fn consume(&mut self, bytes: usize) {
        self.consumed = self.consumed.saturating_add(bytes).min(self.decrypted.len());
    }
}

impl<R: Read> Read for Decryptor<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl<R> fmt::Debug for Decryptor<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decryptor")
    }
}
