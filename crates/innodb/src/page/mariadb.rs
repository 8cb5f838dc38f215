//! Pages of MariaDB as they are stored: key version, checksum over the stored bytes, and the compressed image.
//!
//! Source: docs/formats, "Page encryption" of MariaDB, "Page_compressed"; both formats, all page sizes and all
//! compression algorithms confirmed on MariaDB 10.11.

use std::ops::Range;

use crc_fast::{CrcAlgorithm::Crc32Iscsi, Digest};

use crate::{
    bytes::Bytes,
    ids::{KeyVersion, SpaceId},
    page::{
        checksum::{Checksum, classic, crc32, crc32c, zip, zip_crc32},
        decompress::{Algorithm, DecompressFault},
        layout::{HEADER_BYTES, LSN, PAGE_NO, SPACE_ID, TYPE},
        types::PageType,
    },
};

/// Page layout of a tablespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// The full_crc32 format.
    FullCrc32 {
        /// Number of the compression algorithm in the tablespace's flags, 0 for none; the pages do
        /// not repeat it.
        compression: u8,
    },
    /// The older format.
    Legacy {
        /// ROW_FORMAT=COMPRESSED: pages have another checksum and no trailer.
        row_compressed: bool,
    },
}

/// Result of the checks on plain text, the only way to detect a wrong key or mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaintextCheck {
    /// All checks pass.
    Holds,
    /// No check fails, but the server wrote no checksum, so nothing is proven.
    NoChecksum,
    /// A check fails: wrong key, wrong mode, or damage.
    Fails(PlaintextFault),
}

/// The check on plain text that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlaintextFault {
    /// Checksum of the page.
    #[error("the checksum of the page does not match")]
    Checksum,
    /// The LSN in the trailer differs from the one in the header.
    #[error("the LSN in the page trailer differs from that in the header")]
    TrailerLsn,
    /// The header has the space id of another tablespace.
    #[error("the page header has the space id {0} of another tablespace")]
    SpaceId(SpaceId),
    /// The compressed image differs from the page header in the page number, a sibling or the LSN.
    #[error("the compressed image has another page number, sibling or LSN than the page header")]
    Image,
    /// The compressed image cannot be decompressed.
    #[error(transparent)]
    Decompress(#[from] DecompressFault),
}

/// Older format: offset of the key version; the checksum of the ciphertext follows it.
const KEY_VERSION: usize = 26;
const POST_ENCRYPTION_CHECKSUM: usize = 30;
/// Bytes of the checksum at the end of full_crc32 pages, and of the trailer of older ones.
const FULL_CRC32_BYTES: usize = 4;
const TRAILER_BYTES: usize = 8;
/// full_crc32: offset at which encryption and compression start.
const FULL_CRC32_BODY: usize = 26;

/// The key version a page is encrypted with; 0 if it is clear.
///
/// In the older format page 0 (whose bytes here are the flush LSN in `ibdata1`) and R-tree pages (which keep their
/// split sequence number here) are never encrypted. The rule for R-tree pages is from server source (docs/formats,
/// "Page encryption"), not confirmed on a file.
#[must_use]
pub fn key_version(page: &[u8], layout: Layout) -> KeyVersion {
    let at = match (layout, page_type(page)) {
        (Layout::FullCrc32 { .. }, _) => 0,
        (Layout::Legacy { .. }, PageType::FSP_HDR | PageType::RTREE) => return KeyVersion(0),
        (Layout::Legacy { .. }, _) => KEY_VERSION,
    };
    KeyVersion(page.be32(at).unwrap_or_default())
}

/// Whether a page holds the compressed image of a page.
#[must_use]
pub fn is_page_compressed(page: &[u8], layout: Layout) -> bool {
    match layout {
        Layout::FullCrc32 { .. } => page_type(page).full_crc32_compressed().is_some(),
        Layout::Legacy { row_compressed: true } => false,
        Layout::Legacy { row_compressed: false } => {
            matches!(page_type(page), PageType::PAGE_COMPRESSED | PageType::PAGE_COMPRESSED_ENCRYPTED)
        }
    }
}

/// Whether the checksum over the stored bytes of a page matches, which needs no key. Applies to every page of
/// full_crc32, and to encrypted pages of the older format.
///
/// After a compressed page, from the next file system block on, the file keeps bytes of an earlier,
/// longer version of the page. No checksum covers them and nothing reads them: seen on pages of both
/// formats by MariaDB 10.11.
///
/// The server does not check the checksum of pages of type 37401, but writes it, over the page with
/// zeros after the compressed bytes. It is checked here, because nothing else covers the header of
/// those pages. Every page by MariaDB 10.11 passes. Servers before 10.1.25 could write another
/// checksum here, which counts as damage: from server source, not confirmed on a file.
#[must_use]
pub fn ciphertext_holds(page: &[u8], layout: Layout) -> bool {
    let (at, sum) = match layout {
        Layout::FullCrc32 { .. } => match full_crc32_end(page) {
            Ok(end) => (end, crc32c(page.range(0, end))),
            Err(_) => return false,
        },
        Layout::Legacy { .. } => (POST_ENCRYPTION_CHECKSUM, post_encryption_checksum(page, layout)),
    };
    page.be32(at) == Some(sum) && compressed_mark_holds(page, layout)
}

/// Whether a compressed page of the older format has the constant that it stores instead of a
/// checksum. Nothing else covers it.
fn compressed_mark_holds(page: &[u8], layout: Layout) -> bool {
    const NO_CHECKSUM: u32 = 0xdead_beef;
    let marked = matches!(layout, Layout::Legacy { .. }) && is_page_compressed(page, layout);
    !marked || page.be32(0) == Some(NO_CHECKSUM)
}

fn post_encryption_checksum(page: &[u8], layout: Layout) -> u32 {
    match counted(page, ENCRYPTED_PAYLOAD).filter(|_| is_page_compressed(page, layout)) {
        Some(payload) => crc32_before_zeros(page, payload.end),
        None if matches!(layout, Layout::Legacy { row_compressed: true }) => zip_crc32(page),
        None => crc32(page),
    }
}

/// CRC-32 of a page of the older format with zeros from `end` on.
fn crc32_before_zeros(page: &[u8], end: usize) -> u32 {
    const ZEROS: [u8; 256] = [0; 256];
    let trailer = page.len().saturating_sub(TRAILER_BYTES);
    let mut digest = Digest::new(Crc32Iscsi);
    digest.update(page.range(HEADER_BYTES, end.min(trailer)));
    let mut left = trailer.saturating_sub(end);
    while left > 0 {
        let step = ZEROS.get(..left).unwrap_or(&ZEROS);
        digest.update(step);
        left = left.saturating_sub(step.len());
    }
    crc32c(page.range(PAGE_NO, KEY_VERSION)) ^ u32::try_from(digest.finalize() & 0xffff_ffff).unwrap_or_default()
}

/// Offset of the checksum of a full_crc32 page: at its end, or for a compressed page at the end of
/// its stored bytes, which are always fewer than a page.
fn full_crc32_end(page: &[u8]) -> Result<usize, DecompressFault> {
    let stored = match page_type(page).full_crc32_compressed() {
        None => Some(page.len()),
        Some(units) => usize::from(units).checked_mul(256).filter(|stored| *stored < page.len()),
    };
    let end = stored.and_then(|stored| stored.checked_sub(FULL_CRC32_BYTES));
    end.filter(|end| *end > FULL_CRC32_BODY).ok_or(DecompressFault::Length)
}

fn page_type(page: &[u8]) -> PageType {
    PageType(page.be16(TYPE).unwrap_or_default())
}

/// The ciphertext of an encrypted page; `None` if a length in its header does not fit the page.
pub(crate) fn ciphertext_range(page: &[u8], layout: Layout) -> Option<Range<usize>> {
    let range = match layout {
        Layout::FullCrc32 { .. } => FULL_CRC32_BODY..full_crc32_end(page).ok()?,
        Layout::Legacy { .. } if is_page_compressed(page, layout) => counted(page, ENCRYPTED_PAYLOAD)?,
        // Also for ROW_FORMAT=COMPRESSED, which has no trailer.
        Layout::Legacy { .. } => HEADER_BYTES..page.len().saturating_sub(TRAILER_BYTES),
    };
    (!range.is_empty()).then_some(range)
}

/// Writes the checksum over the ciphertext of an encrypted page whose lengths fit it. Bytes after a compressed page
/// stay.
pub(crate) fn update_ciphertext_checksum(page: &mut [u8], layout: Layout) {
    let (at, sum) = match (layout, full_crc32_end(page)) {
        (Layout::Legacy { .. }, _) => (POST_ENCRYPTION_CHECKSUM, post_encryption_checksum(page, layout)),
        (Layout::FullCrc32 { .. }, Ok(end)) => (end, crc32c(page.range(0, end))),
        (Layout::FullCrc32 { .. }, Err(_)) => return,
    };
    if let Some(stored) = page.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<4>()) {
        *stored = sum.to_be_bytes();
    }
}

/// Checks a readable page: decrypted, or compressed and never encrypted. The checksum over a clear
/// full_crc32 page is checked by [`ciphertext_holds`] instead.
#[must_use]
pub fn check_plaintext(page: &[u8], layout: Layout, space_id: SpaceId, image: &mut Vec<u8>) -> PlaintextCheck {
    if !is_page_compressed(page, layout) {
        return test_page(page, layout, space_id);
    }
    image.resize(page.len(), 0);
    match decompress(page, layout, image) {
        Ok(()) => test_image(image, page, layout, space_id),
        Err(error) => PlaintextCheck::Fails(error.into()),
    }
}

/// Checks a decompressed page against the page that held it.
fn test_image(image: &[u8], page: &[u8], layout: Layout, space_id: SpaceId) -> PlaintextCheck {
    let same = |from, to| image.range(from, to) == page.range(from, to);
    if !compressed_mark_holds(page, layout) {
        return PlaintextCheck::Fails(PlaintextFault::Checksum);
    }
    if same(PAGE_NO, TYPE) { test_page(image, layout, space_id) } else { PlaintextCheck::Fails(PlaintextFault::Image) }
}

fn test_page(page: &[u8], layout: Layout, space_id: SpaceId) -> PlaintextCheck {
    let lsn_from_end = match layout {
        Layout::FullCrc32 { .. } => Some(8),
        Layout::Legacy { row_compressed: false } => Some(4),
        Layout::Legacy { row_compressed: true } => None,
    };
    let checksum = match layout {
        Layout::FullCrc32 { .. } => Checksum::FullCrc32,
        Layout::Legacy { row_compressed: false } => classic(page),
        Layout::Legacy { row_compressed: true } => zip(page),
    };
    if !checksum.is_ok() {
        return PlaintextCheck::Fails(PlaintextFault::Checksum);
    }
    let low_lsn = page.be32(LSN.saturating_add(4));
    if lsn_from_end.is_some_and(|back| page.be32(page.len().saturating_sub(back)) != low_lsn) {
        return PlaintextCheck::Fails(PlaintextFault::TrailerLsn);
    }
    match page.be32(SPACE_ID).map(SpaceId) {
        Some(found) if found != space_id => PlaintextCheck::Fails(PlaintextFault::SpaceId(found)),
        _ if checksum == Checksum::None => PlaintextCheck::NoChecksum,
        _ => PlaintextCheck::Holds,
    }
}

/// Decompresses the image in a clear or decrypted page into `image`, which has the length of the
/// page. The image of a full_crc32 page has zeros instead of a checksum.
///
/// # Errors
/// [`DecompressFault`]; `image` then has undefined contents.
pub fn decompress(page: &[u8], layout: Layout, image: &mut [u8]) -> Result<(), DecompressFault> {
    let (algorithm, payload) = match layout {
        Layout::FullCrc32 { compression } => {
            let algorithm = Algorithm::from_number(u64::from(compression))?;
            (algorithm, FULL_CRC32_BODY..full_crc32_payload_end(page, algorithm)?)
        }
        Layout::Legacy { .. } if page_type(page) == PageType::PAGE_COMPRESSED => {
            let algorithm = page.be64(KEY_VERSION).ok_or(DecompressFault::Length)?;
            (Algorithm::from_number(algorithm)?, counted(page, CLEAR_PAYLOAD).ok_or(DecompressFault::Length)?)
        }
        Layout::Legacy { .. } => {
            let algorithm = page.be16(CLEAR_PAYLOAD).ok_or(DecompressFault::Length)?;
            let payload = counted(page, ENCRYPTED_PAYLOAD).ok_or(DecompressFault::Length)?;
            (Algorithm::from_number(u64::from(algorithm))?, payload)
        }
    };
    algorithm.decompress(page.get(payload).ok_or(DecompressFault::Length)?, image)
}

/// Older format: offset of the length of the compressed bytes. The bytes follow it; in encrypted
/// pages the number of the algorithm is between.
const PAYLOAD_BYTES: usize = 38;
const CLEAR_PAYLOAD: usize = 40;
const ENCRYPTED_PAYLOAD: usize = 42;

/// Range of the compressed bytes of a page of the older format; `from` is their start.
fn counted(page: &[u8], from: usize) -> Option<Range<usize>> {
    let end = from.checked_add(usize::from(page.be16(PAYLOAD_BYTES)?))?;
    (end > from && end <= page.len()).then_some(from..end)
}

/// End of the compressed bytes of a full_crc32 page. For algorithms that need the exact end, the
/// last byte before the checksum says how many of the last 256 bytes are used, itself and the
/// checksum included; 0 means all.
///
/// Source: docs/formats, "Page_compressed"; confirmed on pages by MariaDB 10.11 with each of the three algorithms.
fn full_crc32_payload_end(page: &[u8], algorithm: Algorithm) -> Result<usize, DecompressFault> {
    let stored_end = full_crc32_end(page)?;
    if !algorithm.needs_exact_length() {
        return Ok(stored_end);
    }
    let last = stored_end.checked_sub(1).ok_or(DecompressFault::Length)?;
    let unused = match page.get(last) {
        None | Some(0) => 0,
        Some(count) => 256_usize.saturating_sub(usize::from(*count)),
    };
    last.checked_sub(unused).filter(|end| *end > FULL_CRC32_BODY).ok_or(DecompressFault::Length)
}
