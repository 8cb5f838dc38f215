//! Reads packs frame by frame.

use std::{fmt, io::Read};

use agefile::{Decryptor, Identity};
use codec::hash::Hash;
use zeroize::Zeroizing;
use zstd::bulk::Decompressor;

use super::{Description, HEADER_BYTES, MAGIC, MAX_DESCRIPTION_BYTES, MAX_FRAME_BYTES};
use crate::Error;

/// A frame of a pack.
#[derive(Debug)]
pub struct Frame<'p> {
    /// Offset in the plain text of the pack.
    pub at: u64,
    /// Which parts of which file the frame contains.
    pub description: Description,
    /// The unpacked bytes; decrypted pages, if the description says so.
    pub data: &'p mut [u8],
}

impl Frame<'_> {
    /// Compares the bytes with the hash in the description. Decrypted pages must be encrypted again before.
    ///
    /// # Errors
    /// [`Error::Pack`] if they differ.
    pub fn check_hash(&self) -> Result<(), Error> {
        if Hash::compute(self.data) == self.description.hash {
            return Ok(());
        }
        Err(Error::Pack("the bytes of a frame differ from those that were packed"))
    }
}

/// Alignment of a frame's data, so that it can be written around the page cache without another copy.
const ALIGNMENT: usize = 4096;

/// Unpacks frames; has the memory for one of them.
pub(super) struct Unpacker {
    zstd: Decompressor<'static>,
    packed: Vec<u8>,
    data: Zeroizing<Vec<u8>>,
}

impl Unpacker {
    pub(super) fn new() -> Result<Self, Error> {
        let data = Zeroizing::new(vec![0; MAX_FRAME_BYTES.saturating_add(ALIGNMENT)]);
        Ok(Self { zstd: Decompressor::new()?, packed: Vec::new(), data })
    }

    /// Reads the frame at offset `at` of the pack. Also returns its length in the pack; `None` at the end.
    pub(super) fn next(&mut self, input: &mut impl Read, at: u64) -> Result<Option<(Frame<'_>, u64)>, Error> {
        let mut header = [0; HEADER_BYTES];
        let mut read = 0;
        files::fill(input, &mut header, &mut read)?;
        if read == 0 {
            return Ok(None);
        }
        let [a, b, c, d, e, f, g, h] = header;
        let (magic, length) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if read < HEADER_BYTES || magic != MAGIC || length > MAX_DESCRIPTION_BYTES {
            return Err(Error::Pack("a frame has no description"));
        }
        let mut text = vec![0; length];
        input.read_exact(&mut text)?;
        let (description, packed_bytes) = Description::parse(&text)?;
        self.packed.resize(packed_bytes, 0);
        input.read_exact(&mut self.packed)?;
        let bytes = HEADER_BYTES.saturating_add(length).saturating_add(packed_bytes) as u64;
        let skip = self.data.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        let data = self.data.get_mut(skip..skip.saturating_add(MAX_FRAME_BYTES)).unwrap_or_default();
        let unpacked = self.zstd.decompress_to_buffer(&self.packed, data);
        let unpacked = unpacked.map_err(|_| Error::Pack("a frame cannot be unpacked"))?;
        if unpacked as u64 != description.bytes() {
            return Err(Error::Pack("the length of a frame differs from its description"));
        }
        let data = data.get_mut(..unpacked).unwrap_or_default();
        Ok(Some((Frame { at, description, data }, bytes)))
    }
}

/// Reads a pack; allocates memory for one frame.
pub struct PackReader<R> {
    input: R,
    at: u64,
    unpacker: Unpacker,
}

impl<R: Read> PackReader<Decryptor<R>> {
    /// Reads an encrypted pack.
    ///
    /// # Errors
    /// [`Error::Age`].
    pub fn decrypt(input: R, identities: &[Identity]) -> Result<Self, Error> {
        Self::new(Decryptor::new(input, identities)?)
    }
}

impl<R: Read> PackReader<R> {
    /// Reads a pack that is already decrypted.
    ///
    /// # Errors
    /// [`Error::Io`] if memory cannot be allocated.
    pub fn new(input: R) -> Result<Self, Error> {
        Ok(Self { input, at: 0, unpacker: Unpacker::new()? })
    }

    /// The next frame; `None` at the end.
    ///
    /// # Errors
    /// [`Error::Pack`], [`Error::Io`].
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, Error> {
        let Some((frame, bytes)) = self.unpacker.next(&mut self.input, self.at)? else { return Ok(None) };
        self.at = self.at.saturating_add(bytes);
        Ok(Some(frame))
    }

    /// Checks that no frame is left, and returns the input.
    ///
    /// # Errors
    /// [`Error::Pack`] if there is another frame.
    pub fn finish(mut self) -> Result<R, Error> {
        match self.next_frame()? {
            None => Ok(self.input),
            Some(_) => Err(Error::Pack("it has more frames than expected")),
        }
    }
}

impl<R> fmt::Debug for PackReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackReader").field("at", &self.at).finish_non_exhaustive()
    }
}
