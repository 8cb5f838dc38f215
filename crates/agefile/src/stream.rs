//! Chunks of the payload: 64 KiB each except the last, sealed with their number as nonce.

use aws_lc_rs::{
    aead::{Aad, LessSafeKey, Nonce},
    error::Unspecified,
};

/// Plain text bytes of every chunk except the last.
pub const CHUNK_BYTES: usize = 64 << 10;
/// Length of a chunk's authentication tag.
pub(crate) const TAG_BYTES: usize = 16;
/// Length of a full sealed chunk.
pub(crate) const SEALED_BYTES: usize = CHUNK_BYTES + TAG_BYTES;

/// Seals or opens chunks in order.
pub(crate) struct Chunks {
    key: LessSafeKey,
    number: u64,
}

impl Chunks {
    pub(crate) fn new(key: LessSafeKey) -> Self {
        Self { key, number: 0 }
    }

    /// Number of the next chunk.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Seals the next chunk in place and appends its tag.
    pub(crate) fn seal(&mut self, last: bool, chunk: &mut Vec<u8>) -> Result<(), Unspecified> {
        let nonce = self.nonce(last);
        // Counted before anything can fail, so that no number is used twice.
        self.number = self.number.checked_add(1).ok_or(Unspecified)?;
        self.key.seal_in_place_append_tag(nonce, Aad::empty(), chunk)
    }

    /// Opens the next chunk into `opened`, whose length is that of `sealed` without its tag. On an error the content of
    /// `opened` must be discarded, and the number stays the same.
    pub(crate) fn open(&mut self, last: bool, sealed: &[u8], opened: &mut [u8]) -> Result<(), Unspecified> {
        let (text, tag) = sealed.split_at_checked(opened.len()).ok_or(Unspecified)?;
        let next = self.number.checked_add(1).ok_or(Unspecified)?;
        self.key.open_separate_gather(self.nonce(last), Aad::empty(), text, tag, opened)?;
        self.number = next;
        Ok(())
    }

    /// The number in eleven bytes, big-endian, then 1 for the last chunk and else 0.
    fn nonce(&self, last: bool) -> Nonce {
        let [a, b, c, d, e, f, g, h] = self.number.to_be_bytes();
        Nonce::assume_unique_for_key([0, 0, 0, a, b, c, d, e, f, g, h, u8::from(last)])
    }
}
