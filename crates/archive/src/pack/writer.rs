//! Writes packs.

use std::{
    fmt,
    io::{self, Write},
};

use agefile::{Encryptor, Recipient};
use zeroize::Zeroizing;
use zstd::{
    bulk::Compressor,
    zstd_safe::{CParameter, ParamSwitch},
};

use super::{Description, HEADER_BYTES, MAGIC, MAX_PACKED_BYTES};
use crate::Error;

/// How hard frames are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Fewer matches are searched than at zstd's level 1, which takes about a third longer. Pages of numbers get some
    /// hundredths larger, those of text a tenth (docs/benchmarks.md).
    Fast,
    /// A level of zstd.
    Level(i32),
}

/// Table of positions, as a power of two: 32 KiB, which fit the processor's first cache. Level 1 has 64 KiB.
const HASH_LOG: u32 = 13;
/// Enlarges the steps of the search from two bytes to four; at each, two positions are looked up.
const TARGET_LENGTH: u32 = 3;

impl Compression {
    fn compressor(self) -> io::Result<Compressor<'static>> {
        let Self::Level(level) = self else { return fast() };
        Compressor::new(level)
    }
}

/// Level 1 with larger steps. zstd's negative levels have them, too, but store literals as they are, while Huffman codes
/// are most of what makes pages smaller.
fn fast() -> io::Result<Compressor<'static>> {
    let mut zstd = Compressor::new(1)?;
    zstd.set_parameter(CParameter::HashLog(HASH_LOG))?;
    zstd.set_parameter(CParameter::TargetLength(TARGET_LENGTH))?;
    zstd.set_parameter(CParameter::LiteralCompressionMode(ParamSwitch::Enable))?;
    Ok(zstd)
}

/// Compresses frames; reuses its context and buffer.
pub struct Packer {
    zstd: Compressor<'static>,
    /// Buffer of compressed pages in clear text.
    out: Zeroizing<Vec<u8>>,
}

impl Packer {
    /// Compresses every frame in the same way.
    ///
    /// # Errors
    /// [`Error::Io`] if memory cannot be allocated.
    pub fn new(compression: Compression) -> Result<Self, Error> {
        Ok(Self { zstd: compression.compressor()?, out: Zeroizing::new(vec![0; MAX_PACKED_BYTES]) })
    }
}

impl fmt::Debug for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Packer")
    }
}

/// Location of a packed frame in the plain text of its pack, description included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameAt {
    /// Offset in bytes.
    pub at: u64,
    /// Length in bytes.
    pub bytes: u32,
}

/// A pack that is being written.
#[derive(Debug)]
pub struct PackWriter<W: Write> {
    out: Encryptor<W>,
    at: u64,
}

impl<W: Write> PackWriter<W> {
    /// Starts a pack for these recipients.
    ///
    /// # Errors
    /// [`Error::Age`].
    pub fn new(out: W, recipients: &[Recipient]) -> Result<Self, Error> {
        Ok(Self { out: Encryptor::new(out, recipients)?, at: 0 })
    }

    /// Adds a frame. `data` has the bytes of the parts in the description, with decrypted pages if it has
    /// [`Description::decrypted`].
    ///
    /// # Errors
    /// [`Error::Pack`] if no reader would accept the description; [`Error::Io`] from the output.
    pub fn add(&mut self, packer: &mut Packer, description: &Description, data: &[u8]) -> Result<FrameAt, Error> {
        let packed_bytes = packer.zstd.compress_to_buffer(data, packer.out.as_mut_slice())?;
        let text = description.encode(packed_bytes)?;
        let text_bytes = u32::try_from(text.len()).map_err(|_| Error::Pack("a description is too long"))?;
        self.out.write_all(&MAGIC.to_le_bytes())?;
        self.out.write_all(&text_bytes.to_le_bytes())?;
        self.out.write_all(&text)?;
        self.out.write_all(packer.out.get(..packed_bytes).unwrap_or_default())?;
        let bytes = HEADER_BYTES.saturating_add(text.len()).saturating_add(packed_bytes);
        let frame = FrameAt { at: self.at, bytes: u32::try_from(bytes).unwrap_or(u32::MAX) };
        self.at = self.at.saturating_add(bytes as u64);
        Ok(frame)
    }

    /// Bytes of plain text written so far.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.at
    }

    /// Completes the pack, and returns the output.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn finish(self) -> Result<W, Error> {
        Ok(self.out.finish()?)
    }
}
