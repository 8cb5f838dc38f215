//! Frames: a type and a length before each message.
//!
//! ```text
//! 4  length of the body, at most [`MAX_BODY_BYTES`]
//! 1  type of the message
//! n  body
//! ```

use crate::{hash::CHUNK_BYTES, wire::Malformed};

/// Bytes before the body.
pub const HEADER_BYTES: usize = 5;
/// Maximum length of a body: an incompressible chunk with the description of every page in it.
pub const MAX_BODY_BYTES: usize = CHUNK_BYTES + (64 << 10);

/// Type of the message and length of the body.
///
/// # Errors
/// [`Malformed`] if the length is over the limit.
pub fn parse_header(header: [u8; HEADER_BYTES]) -> Result<(u8, usize), Malformed> {
    let [a, b, c, d, kind] = header;
    let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).map_err(|_| Malformed)?;
    if length > MAX_BODY_BYTES { Err(Malformed) } else { Ok((kind, length)) }
}

/// Encodes a frame's header.
#[must_use]
pub fn header(kind: u8, body_bytes: usize) -> [u8; HEADER_BYTES] {
    let [a, b, c, d] = u32::try_from(body_bytes).unwrap_or(u32::MAX).to_be_bytes();
    [a, b, c, d, kind]
}
