//! Pages with MySQL's page compression (`COMPRESSION='zlib'` or `'lz4'`), type 14 once opened.
//!
//! Source: formats, "Page compression"; versions 1 and 2, zlib and lz4 confirmed on MySQL 8.0 and
//! 9.7. The compressed page has no checksum of its own: that of the rebuilt page decides.

use flate2::{Decompress, FlushDecompress, Status};

use crate::{
    bytes::{Bytes, as_usize},
    page::header::HEADER_BYTES,
};

/// Why a page cannot be rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RebuildError {
    /// A length in the header does not fit the page.
    #[error("the compressed length does not fit the page")]
    Length,
    /// The number of the algorithm is not known.
    #[error("unknown compression algorithm {0}")]
    Algorithm(u8),
    /// The bytes cannot be decompressed to a whole page.
    #[error("the page cannot be decompressed")]
    Corrupt,
}

/// Bytes of compressed data in a page of type 14 or 16.
pub(crate) fn compressed_bytes(page: &[u8]) -> Option<usize> {
    page.be16(32).map(|count| as_usize(u64::from(count)))
}

/// Rebuilds the page that was compressed into `rebuilt`, which has the same length.
///
/// # Errors
/// [`RebuildError`]; what is in `rebuilt` then means nothing.
pub fn rebuild_mysql(page: &[u8], rebuilt: &mut [u8]) -> Result<(), RebuildError> {
    let payload = compressed_bytes(page).ok_or(RebuildError::Length)?;
    let end = HEADER_BYTES.checked_add(payload).ok_or(RebuildError::Length)?;
    let payload = page.get(HEADER_BYTES..end).ok_or(RebuildError::Length)?;
    let original = page.be16(30).map(|count| as_usize(u64::from(count))).ok_or(RebuildError::Length)?;
    let (header, body) = rebuilt.split_at_mut_checked(HEADER_BYTES).ok_or(RebuildError::Length)?;
    if original != body.len() {
        return Err(RebuildError::Length);
    }
    let restored = match page.get(27) {
        Some(1) => inflate(payload, body),
        Some(2) => lz4_flex::block::decompress_into(payload, body).is_ok_and(|count| count == original),
        algorithm => return Err(RebuildError::Algorithm(algorithm.copied().unwrap_or_default())),
    };
    if !restored {
        return Err(RebuildError::Corrupt);
    }
    header.iter_mut().zip(page).for_each(|(to, from)| *to = *from);
    if let (Some(page_type), Some(control)) = (page.get(28..30), header.get_mut(24..34)) {
        control.fill(0);
        control.iter_mut().zip(page_type).for_each(|(to, from)| *to = *from);
    }
    Ok(())
}

/// Decompresses zlib data that must fill `out` exactly.
fn inflate(payload: &[u8], out: &mut [u8]) -> bool {
    let mut stream = Decompress::new(true);
    let wanted = out.len();
    let status = stream.decompress(payload, out, FlushDecompress::Finish);
    matches!(status, Ok(Status::StreamEnd)) && usize::try_from(stream.total_out()).is_ok_and(|count| count == wanted)
}
