//! Chunks of the payload: 64 KiB each but the last, sealed by number.

use aws_lc_rs::{
    aead::{Aad, LessSafeKey, Nonce},
    error::Unspecified,
};

/// Bytes in every chunk but the last, before they are sealed.
pub const CHUNK_BYTES: usize = 64 << 10;
/// Length of what authenticates a chunk.
pub(crate) const TAG_BYTES: usize = 16;
/// Length of a whole sealed chunk.
pub(crate) const SEALED_BYTES: usize = CHUNK_BYTES + TAG_BYTES;

/// Seals or opens chunks, one after the other.
pub(crate) struct Chunks {
    key: LessSafeKey,
    number: u64,
}

impl Chunks {
    pub(crate) fn new(key: LessSafeKey) -> Self {
        Self { key, number: 0 }
    }

    /// Number of the next one.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Seals the next one in place and appends its tag.
    pub(crate) fn seal(&mut self, last: bool, chunk: &mut Vec<u8>) -> Result<(), Unspecified> {
        let nonce = self.nonce(last);
        // Before anything can fail: no number is used twice.
        self.number = self.number.checked_add(1).ok_or(Unspecified)?;
        self.key.seal_in_place_append_tag(nonce, Aad::empty(), chunk)
    }

    /// Opens the next one into `opened`, which is as long as `sealed` without its tag. If that fails, what stands there has
    /// to be thrown away, and the chunk is still the next one.
    pub(crate) fn open(&mut self, last: bool, sealed: &[u8], opened: &mut [u8]) -> Result<(), Unspecified> {
        let (text, tag) = sealed.split_at_checked(opened.len()).ok_or(Unspecified)?;
        let next = self.number.checked_add(1).ok_or(Unspecified)?;
        self.key.open_separate_gather(self.nonce(last), Aad::empty(), text, tag, opened)?;
        self.number = next;
        Ok(())
    }

    /// Eleven bytes of number, big-endian, and whether it is the last chunk.
    fn nonce(&self, last: bool) -> Nonce {
        let [a, b, c, d, e, f, g, h] = self.number.to_be_bytes();
        Nonce::assume_unique_for_key([0, 0, 0, a, b, c, d, e, f, g, h, u8::from(last)])
    }
}
