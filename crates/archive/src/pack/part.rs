//! Reads some frames of an encrypted pack without the rest of it.

use std::{fmt, ops::Range};

use agefile::{Identity, PartDecryptor};
use zeroize::Zeroizing;

use super::reader::{Frame, Unpacker};
use crate::Error;

/// A pack of which some ranges are read.
///
/// The hash of the pack cannot be verified. Each byte returned is authentic for the key in the pack's header, at its
/// place in the pack; but whoever knows a recipient could have written another pack. So the data must be compared with
/// signed hashes before it is used.
pub struct PartialPack {
    age: PartDecryptor,
    unpacker: Unpacker,
    /// Decrypted chunks.
    chunks: Zeroizing<Vec<u8>>,
}

impl PartialPack {
    /// `begin` has the first bytes of the pack, `bytes` is its length.
    ///
    /// # Errors
    /// [`Error::Age`], also if `begin` does not have the whole header; [`Error::Io`] if memory cannot be allocated.
    pub fn new(begin: &[u8], bytes: u64, identities: &[Identity]) -> Result<Self, Error> {
        let age = PartDecryptor::new(begin, bytes, identities)?;
        Ok(Self { age, unpacker: Unpacker::new()?, chunks: Zeroizing::new(Vec::new()) })
    }

    /// The bytes of the pack that have a range of its plain text.
    ///
    /// # Errors
    /// [`Error::Pack`] if the range is empty or reaches beyond the end.
    pub fn encrypted(&self, range: &Range<u64>) -> Result<Range<u64>, Error> {
        self.age.encrypted(range).ok_or(Error::Pack("it is too short for the frames that the manifest names"))
    }

    /// Decrypts a range of the plain text, in which frames are. `encrypted` has the bytes of [`Self::encrypted`].
    ///
    /// # Errors
    /// [`Error::Age`].
    pub fn decrypt(&mut self, range: &Range<u64>, encrypted: &[u8]) -> Result<FrameRange<'_>, Error> {
        let plain = self.age.decrypt(range, encrypted, &mut self.chunks)?;
        Ok(FrameRange { begin: range.start, plain, unpacker: &mut self.unpacker })
    }
}

impl fmt::Debug for PartialPack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartialPack").field("age", &self.age).finish_non_exhaustive()
    }
}

/// A decrypted range of a pack.
pub struct FrameRange<'p> {
    begin: u64,
    plain: &'p [u8],
    unpacker: &'p mut Unpacker,
}

impl FrameRange<'_> {
    /// The frame at this offset of the pack's plain text, of this length.
    ///
    /// # Errors
    /// [`Error::Pack`] if no such frame is there; [`Error::Io`] if it is cut off.
    pub fn frame(&mut self, at: u64, bytes: u32) -> Result<Frame<'_>, Error> {
        let missing = || Error::Pack("a frame that the manifest names is missing");
        let from = at.checked_sub(self.begin).and_then(|from| usize::try_from(from).ok()).ok_or_else(missing)?;
        let end = usize::try_from(bytes).map_or(usize::MAX, |bytes| from.saturating_add(bytes));
        let mut packed = self.plain.get(from..end).ok_or_else(missing)?;
        match self.unpacker.next(&mut packed, at)? {
            Some((frame, found)) if found == u64::from(bytes) => Ok(frame),
            _ => Err(missing()),
        }
    }
}

impl fmt::Debug for FrameRange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameRange").field("begin", &self.begin).finish_non_exhaustive()
    }
}
