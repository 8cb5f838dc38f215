//! Reading parts of an age file.

use std::{fmt, ops::Range};

use zeroize::Zeroize;

use crate::{
    error::{Error, PayloadFault},
    file_key::PAYLOAD_NONCE_BYTES,
    header::Header,
    identity::Identity,
    stream::{CHUNK_BYTES, Chunks, ENCRYPTED_BYTES, TAG_BYTES},
};

/// Lengths as offsets in files.
const PLAIN: u64 = CHUNK_BYTES as u64;
const ENCRYPTED: u64 = ENCRYPTED_BYTES as u64;
const TAG: u64 = TAG_BYTES as u64;

/// Decrypts parts of an age file whose length is known.
///
/// A chunk is encrypted with its number and with whether it is the last one, so it is accepted only at its own place in
/// its own file. Which chunk is the last follows from the length of the file: in a file that was truncated or extended
/// the last chunk is refused, but the others are not. So the length must come from somewhere else than the file.
pub struct PartDecryptor {
    chunks: Chunks,
    /// Offset of the first chunk.
    first_at: u64,
    /// Length of the file.
    file_bytes: u64,
    /// Number of the last chunk.
    last: u64,
    /// Length of the plain text.
    plain_bytes: u64,
}

impl PartDecryptor {
    /// `begin` has the first bytes of the file, at least its header and the 16 bytes that follow; `file_bytes` is the
    /// length of the whole file.
    ///
    /// # Errors
    /// Any [`Error`] except those of reading and writing; a truncated header may mean that `begin` is too short.
    pub fn new(begin: &[u8], file_bytes: u64, identities: &[Identity]) -> Result<Self, Error> {
        let mut rest = begin;
        let file_key = Header::read(&mut rest)?.open(identities)?;
        let truncated = |chunk| Error::Payload { chunk, fault: PayloadFault::Truncated };
        let nonce: &[u8; PAYLOAD_NONCE_BYTES] = rest.first_chunk().ok_or_else(|| truncated(0))?;
        let first_at = begin.len().saturating_sub(rest.len()).saturating_add(nonce.len()) as u64;
        let payload_bytes = file_bytes.checked_sub(first_at).ok_or_else(|| truncated(0))?;
        let count = payload_bytes.div_ceil(ENCRYPTED);
        let last = count.saturating_sub(1);
        match payload_bytes.saturating_sub(last.saturating_mul(ENCRYPTED)) {
            ..TAG => return Err(truncated(last)),
            TAG if last > 0 => return Err(Error::Payload { chunk: last, fault: PayloadFault::Empty }),
            _ => {}
        }
        let plain_bytes = payload_bytes.saturating_sub(count.saturating_mul(TAG));
        let chunks = Chunks::new(file_key.payload_key(nonce)?);
        Ok(Self { chunks, first_at, file_bytes, last, plain_bytes })
    }

    /// Length of the plain text.
    #[must_use]
    pub const fn plain_bytes(&self) -> u64 {
        self.plain_bytes
    }

    /// The bytes of the file that have a part of the plain text: whole chunks. `None` if the part is empty or reaches
    /// beyond the end.
    #[must_use]
    pub fn encrypted(&self, part: &Range<u64>) -> Option<Range<u64>> {
        let (first, last) = self.numbers(part)?;
        let at = |number: u64| self.first_at.saturating_add(number.saturating_mul(ENCRYPTED));
        Some(at(first)..at(last.saturating_add(1)).min(self.file_bytes))
    }

    /// Decrypts a part of the plain text. `encrypted` has the bytes of [`Self::encrypted`]; `room` is a buffer for whole
    /// chunks. Either all of the part is authentic, or none of it is returned.
    ///
    /// # Errors
    /// [`Error::Payload`].
    pub fn decrypt<'d>(&self, part: &Range<u64>, encrypted: &[u8], room: &'d mut Vec<u8>) -> Result<&'d [u8], Error> {
        // Cleared before it may be reallocated, so that no copy of its content is left in memory.
        room.zeroize();
        let beyond = Error::Payload { chunk: self.last.saturating_add(1), fault: PayloadFault::Truncated };
        let Some((first, last)) = self.numbers(part) else { return Err(beyond) };
        let expected = self.encrypted(part).map_or(0, |range| range.end.saturating_sub(range.start));
        if encrypted.len() as u64 != expected {
            let whole = (encrypted.len() as u64).checked_div(ENCRYPTED).unwrap_or(0);
            let chunk = first.saturating_add(whole).min(last);
            return Err(Error::Payload { chunk, fault: PayloadFault::Truncated });
        }
        let count = last.saturating_sub(first).saturating_add(1);
        room.resize(encrypted.len().saturating_sub(length(count.saturating_mul(TAG))), 0);
        let chunks = encrypted.chunks(ENCRYPTED_BYTES).zip(room.chunks_mut(CHUNK_BYTES));
        for (number, (encrypted, decrypted)) in (first..).zip(chunks) {
            if self.chunks.decrypt_at(number, number == self.last, encrypted, decrypted).is_err() {
                room.zeroize();
                return Err(Error::Payload { chunk: number, fault: PayloadFault::Damaged });
            }
        }
        let skipped = length(part.start.saturating_sub(first.saturating_mul(PLAIN)));
        let end = skipped.saturating_add(length(part.end.saturating_sub(part.start)));
        room.get(skipped..end).ok_or(beyond)
    }

    /// Numbers of the first and the last chunk of a part.
    fn numbers(&self, part: &Range<u64>) -> Option<(u64, u64)> {
        let last = part.end.checked_sub(1).filter(|_| part.start < part.end && part.end <= self.plain_bytes)?;
        Some((part.start.checked_div(PLAIN)?, last.checked_div(PLAIN)?))
    }
}

/// A length in memory.
fn length(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

impl fmt::Debug for PartDecryptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PartDecryptor")
    }
}
