//! Columns that MariaDB compresses.
//!
//! Source: `Field_longstr::compress` and `zlib_uncompress` of MariaDB: a byte with the method in its high half; the
//! length, big-endian, in as many bytes as its low three bits state; the stream, raw if bit 3 is set, otherwise with
//! zlib's header.

use flate2::read::{DeflateDecoder, ZlibDecoder};

use crate::{
    Fault,
    bytes::{Bytes, read_exactly},
};

const WHAT: &str = "compressed column";

/// A value of a column with `COMPRESSED`, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompressedColumn<'r> {
    stored: &'r [u8],
}

impl<'r> CompressedColumn<'r> {
    pub(crate) const fn new(stored: &'r [u8]) -> Self {
        Self { stored }
    }

    /// The bytes, as stored.
    #[must_use]
    pub const fn stored(&self) -> &'r [u8] {
        self.stored
    }

    /// The value, of at most `limit` bytes.
    ///
    /// # Errors
    /// [`Fault`] if the bytes do not decompress to the length that they give.
    pub fn decompress(&self, limit: u64) -> Result<Vec<u8>, Fault> {
        const NONE: u8 = 0;
        const ZLIB: u8 = 8;
        let mut bytes = Bytes::new(self.stored, WHAT);
        // The empty value has no bytes at all.
        if bytes.is_empty() {
            return Ok(Vec::new());
        }
        let head = bytes.u8()?;
        match head >> 4 {
            NONE => Ok(bytes.rest().to_vec()),
            ZLIB => {
                let length = bytes.big(usize::from(head & 7))?;
                if length > limit {
                    return Err(Fault::TooLarge { what: WHAT, bytes: length, limit });
                }
                let rest = bytes.rest();
                if head & 8 == 0 {
                    read_exactly(ZlibDecoder::new(rest), length, WHAT)
                } else {
                    read_exactly(DeflateDecoder::new(rest), length, WHAT)
                }
            }
            algorithm => Err(Fault::Algorithm { what: WHAT, algorithm: u64::from(algorithm) }),
        }
    }
}
