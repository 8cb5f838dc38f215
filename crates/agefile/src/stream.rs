//! Chunks of the payload: 64 KiB each except the last, encrypted with their number as nonce.

use aws_lc_rs::{
    aead::{Aad, LessSafeKey, Nonce},
    error::Unspecified,
};

/// Plain text bytes of every chunk except the last.
pub const CHUNK_BYTES: usize = 64 << 10;
/// Length of a chunk's authentication tag.
pub(crate) const TAG_BYTES: usize = 16;
/// Length of a full encrypted chunk.
pub(crate) const ENCRYPTED_BYTES: usize = CHUNK_BYTES + TAG_BYTES;

/// Encrypts or decrypts chunks in order, or decrypts single ones.
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

    /// Encrypts the next chunk in place and appends its tag.
    pub(crate) fn encrypt(&mut self, last: bool, chunk: &mut Vec<u8>) -> Result<(), Unspecified> {
        let nonce = nonce(self.number, last);
        // Counted before anything can fail, so that no number is used twice.
        self.number = self.number.checked_add(1).ok_or(Unspecified)?;
        self.key.seal_in_place_append_tag(nonce, Aad::empty(), chunk)
    }

    /// Decrypts the next chunk into `decrypted`, whose length is that of `encrypted` without its tag. On an error the
    /// content of `decrypted` must be discarded, and the number stays the same.
    pub(crate) fn decrypt(&mut self, last: bool, encrypted: &[u8], decrypted: &mut [u8]) -> Result<(), Unspecified> {
        let next = self.number.checked_add(1).ok_or(Unspecified)?;
        self.decrypt_at(self.number, last, encrypted, decrypted)?;
        self.number = next;
        Ok(())
    }

    /// Decrypts the chunk with this number, like [`Self::decrypt`].
    pub(crate) fn decrypt_at(
        &self,
        number: u64,
        last: bool,
        encrypted: &[u8],
        decrypted: &mut [u8],
    ) -> Result<(), Unspecified> {
        let (text, tag) = encrypted.split_at_checked(decrypted.len()).ok_or(Unspecified)?;
        self.key.open_separate_gather(nonce(number, last), Aad::empty(), text, tag, decrypted)
    }
}

/// The number in eleven bytes, big-endian, then 1 for the last chunk and else 0.
fn nonce(number: u64, last: bool) -> Nonce {
    let [a, b, c, d, e, f, g, h] = number.to_be_bytes();
    Nonce::assume_unique_for_key([0, 0, 0, a, b, c, d, e, f, g, h, u8::from(last)])
}
