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
    stream::{CHUNK_BYTES, Chunks, SEALED_BYTES, TAG_BYTES},
};

/// Room for most headers; whole chunks are read past it.
const HEADER_BUFFER_BYTES: usize = 4 << 10;

/// Decrypts what is read through it.
///
/// The file is whole only if it has been read to its end without an error: each chunk is authenticated before any of its
/// bytes is handed out, but that no chunk is missing shows at the end. Errors of the file come as [`io::Error`] of kind
/// [`InvalidData`](ErrorKind::InvalidData) around an [`Error`], again and again.
pub struct Decryptor<R> {
    input: BufReader<R>,
    chunks: Chunks,
    /// A sealed chunk, and the byte behind it that shows it is not the last one.
    sealed: Vec<u8>,
    held: usize,
    opened: Zeroizing<Vec<u8>>,
    /// What of `opened` has been handed out.
    given: usize,
    next: Next,
}

/// What comes behind the chunk that is opened.
#[derive(Clone, Copy)]
enum Next {
    Chunk,
    End,
    Fault { chunk: u64, fault: PayloadFault },
}

impl<R: Read> Decryptor<R> {
    /// Reads the header, and opens it with the first of the identities that can.
    ///
    /// # Errors
    /// Any [`Error`] but those of writing.
    pub fn new(input: R, identities: &[Identity]) -> Result<Self, Error> {
        let mut input = BufReader::with_capacity(HEADER_BUFFER_BYTES, input);
        let file_key = Header::read(&mut input)?.open(identities)?;
        Self::of(input, &file_key)
    }

    /// With what stands behind the header.
    pub(crate) fn of(mut input: BufReader<R>, file_key: &FileKey) -> Result<Self, Error> {
        let mut nonce = [0; PAYLOAD_NONCE_BYTES];
        input.read_exact(&mut nonce).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Error::Payload { chunk: 0, fault: PayloadFault::Truncated },
            _ => Error::Read(error),
        })?;
        Ok(Self {
            input,
            chunks: Chunks::new(file_key.payload_key(&nonce)?),
            sealed: vec![0; SEALED_BYTES.saturating_add(1)],
            held: 0,
            // It never grows: no copy of what is in it is left behind.
            opened: Zeroizing::new(Vec::with_capacity(CHUNK_BYTES)),
            given: 0,
            next: Next::Chunk,
        })
    }

    /// Opens the next chunk, and finds out what comes behind it.
    fn open_next(&mut self) -> io::Result<()> {
        self.fill()?;
        let (given, chunk) = (self.held.min(SEALED_BYTES), self.chunks.number());
        let last = self.held <= SEALED_BYTES;
        self.opened.clear();
        self.given = 0;
        self.next = if given < TAG_BYTES {
            Next::Fault { chunk, fault: PayloadFault::Truncated }
        } else if self.open(last, given) {
            if last { Next::End } else { Next::Chunk }
        } else if given == SEALED_BYTES && self.open(!last, given) {
            // It is authentic, so it may be read; but something is gone behind it, or came.
            let fault = if last { PayloadFault::Truncated } else { PayloadFault::Trailing };
            Next::Fault { chunk: chunk.saturating_add(1), fault }
        } else {
            Next::Fault { chunk, fault: PayloadFault::Damaged }
        };
        if matches!(self.next, Next::End) && self.opened.is_empty() && chunk > 0 {
            self.next = Next::Fault { chunk, fault: PayloadFault::Empty };
        }
        self.sealed.copy_within(given..self.held, 0);
        self.held = self.held.saturating_sub(given);
        Ok(())
    }

    /// Whether that many sealed bytes open; if not, nothing of them stays.
    fn open(&mut self, last: bool, sealed_bytes: usize) -> bool {
        let sealed = self.sealed.get(..sealed_bytes).unwrap_or_default();
        self.opened.resize(sealed_bytes.saturating_sub(TAG_BYTES), 0);
        let opened = self.chunks.open(last, sealed, &mut self.opened).is_ok();
        if !opened {
            self.opened.zeroize();
        }
        opened
    }

    /// Reads until a chunk and a byte are there, or the input ends.
    fn fill(&mut self) -> io::Result<()> {
        while let Some(room @ [_, ..]) = self.sealed.get_mut(self.held..) {
            match self.input.read(room) {
                Ok(0) => break,
                Ok(read) => self.held = self.held.saturating_add(read),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl<R: Read> BufRead for Decryptor<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.given >= self.opened.len() {
            match self.next {
                Next::Chunk => self.open_next()?,
                Next::End => break,
                Next::Fault { chunk, fault } => return Err(Error::Payload { chunk, fault }.into()),
            }
        }
        Ok(self.opened.get(self.given..).unwrap_or_default())
    }

    fn consume(&mut self, bytes: usize) {
        self.given = self.given.saturating_add(bytes).min(self.opened.len());
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
