//! Writing packs.

use std::{fmt, io::Write};

use agefile::{Encryptor, Recipient};
use zeroize::Zeroizing;
use zstd::bulk::Compressor;

use super::{Description, HEADER_BYTES, MAGIC, MAX_PACKED_BYTES};
use crate::ArchiveError;

/// Compresses frames: a context and memory that are used again for each.
pub struct Packer {
    zstd: Compressor<'static>,
    /// Pages in clear text, compressed, may be in it.
    out: Zeroizing<Vec<u8>>,
}

impl Packer {
    /// With a level of zstd.
    ///
    /// # Errors
    /// [`ArchiveError::Io`] if there is no memory.
    pub fn new(level: i32) -> Result<Self, ArchiveError> {
        Ok(Self { zstd: Compressor::new(level)?, out: Zeroizing::new(vec![0; MAX_PACKED_BYTES]) })
    }
}

impl fmt::Debug for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Packer")
    }
}

/// Where a frame lies in the plain text of its pack, description included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameAt {
    /// Where it begins.
    pub at: u64,
    /// How long it is.
    pub bytes: u32,
}

/// A pack that is being written.
#[derive(Debug)]
pub struct PackWriter<W: Write> {
    out: Encryptor<W>,
    at: u64,
}

impl<W: Write> PackWriter<W> {
    /// Begins one.
    ///
    /// # Errors
    /// [`ArchiveError::Age`].
    pub fn new(out: W, recipients: &[Recipient]) -> Result<Self, ArchiveError> {
        Ok(Self { out: Encryptor::new(out, recipients)?, at: 0 })
    }

    /// Adds a frame of `data`, which is what the description is of: opened, if it says so.
    ///
    /// # Errors
    /// [`ArchiveError::Pack`] if the description is none that could be read again; [`ArchiveError::Io`] of the output.
    pub fn add(
        &mut self,
        packer: &mut Packer,
        description: &Description,
        data: &[u8],
    ) -> Result<FrameAt, ArchiveError> {
        let packed_bytes = packer.zstd.compress_to_buffer(data, packer.out.as_mut_slice())?;
        let text = description.encode(packed_bytes)?;
        let text_bytes = u32::try_from(text.len()).map_err(|_| ArchiveError::Pack("a description is too long"))?;
        self.out.write_all(&MAGIC.to_le_bytes())?;
        self.out.write_all(&text_bytes.to_le_bytes())?;
        self.out.write_all(&text)?;
        self.out.write_all(packer.out.get(..packed_bytes).unwrap_or_default())?;
        let bytes = HEADER_BYTES.saturating_add(text.len()).saturating_add(packed_bytes);
        let frame = FrameAt { at: self.at, bytes: u32::try_from(bytes).unwrap_or(u32::MAX) };
        self.at = self.at.saturating_add(bytes as u64);
        Ok(frame)
    }

    /// Bytes of plain text so far.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.at
    }

    /// Ends the pack; hands back what it was written to.
    ///
    /// # Errors
    /// [`ArchiveError::Io`].
    pub fn finish(self) -> Result<W, ArchiveError> {
        Ok(self.out.finish()?)
    }
}
