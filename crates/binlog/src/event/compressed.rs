//! Events that MariaDB compresses (`log_bin_compress`).
//!
//! Source: `binlog_buf_compress` of MariaDB's `log_event.cc`: a byte with the algorithm in bits 4 to 6 and the width of
//! the length in bits 0 to 2, the length big-endian, zlib's stream.

use flate2::read::ZlibDecoder;

use crate::{
    Fault,
    bytes::{Bytes, read_exactly},
};

/// Decompresses to the length that the bytes announce. Memory grows only with the output.
pub(crate) fn decompress(compressed: &[u8], what: &'static str, limit: u64) -> Result<Vec<u8>, Fault> {
    const ZLIB: u8 = 0;
    let mut bytes = Bytes::new(compressed, what);
    let head = bytes.u8()?;
    let (algorithm, width) = ((head >> 4) & 7, head & 7);
    if head & 0x80 == 0 || !(1..=4).contains(&width) {
        return Err(bytes.malformed());
    }
    if algorithm != ZLIB {
        return Err(Fault::Algorithm { what, algorithm: u64::from(algorithm) });
    }
    let length = bytes.big(usize::from(width))?;
    if length > limit {
        return Err(Fault::TooLarge { what, bytes: length, limit });
    }
    read_exactly(ZlibDecoder::new(bytes.rest()), length, what)
}
