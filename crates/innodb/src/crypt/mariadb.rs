//! MariaDB tablespace encryption: crypt data of page 0, page keys, and pages of both formats.
//!
//! A key of the key management plug-in never encrypts pages itself: with the vector on page 0 it
//! gives the page key, and a page's space id, page number and LSN give the vector of the page. Both
//! stay readable in the page, so encrypting a decrypted page gives identical bytes. The mode of
//! operation (CBC or CTR) is stored nowhere: [`Mode`] has to be found by trying.
//! Decryption changes only the ciphertext: key version, checksums and lengths stay. That is why
//! [`seal`] needs no result of [`open`].
//!
//! Source: docs/formats, "Crypt data on page 0", "Page encryption" of MariaDB, "Page_compressed"; both formats, both
//! modes, all page sizes and all compression algorithms confirmed on MariaDB 10.11.

use std::{fmt, ops::Range};

use crc_fast::{CrcAlgorithm::Crc32Iscsi, Digest};
use zeroize::Zeroizing;

use crate::{
    bytes::Bytes,
    crypt::{
        OpenFault,
        aes::{self, Aes, BLOCK, Block, KeyLength},
        lockstep::{Lockstep, Run},
    },
    ids::{KeyVersion, SpaceId},
    page::{
        checksum::{Checksum, classic, crc32, crc32c, zip, zip_crc32},
        decompress::{Algorithm, DecompressFault},
        header::HEADER_BYTES,
        layout::{LSN, PAGE_NO, SPACE_ID, TYPE},
        types::PageType,
    },
    tablespace::{Family, MARIADB_MAGIC, MariaDbMode, Page0},
};

/// MariaDB's crypt data on page 0 of a tablespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CryptData {
    /// 0: pages are not encrypted; 1: they are.
    pub scheme: u8,
    /// Makes the page key of this tablespace differ from that of others. Not a secret.
    pub iv: Block,
    /// Lower bound of the pages' key versions.
    pub min_key_version: KeyVersion,
    /// Number of the key.
    pub key_id: u32,
    /// The table's ENCRYPTED option.
    pub mode: MariaDbMode,
}

impl CryptData {
    /// Parses the record. `info_offset` is the offset of MySQL's encryption information, 38 bytes
    /// before it. `None` if there is no record, or its vector has a length that no server writes.
    #[must_use]
    pub fn parse(page0: &[u8], info_offset: usize) -> Option<Self> {
        const AFTER_MYSQL_INFO: usize = 38;
        let record = page0.get(info_offset.checked_add(AFTER_MYSQL_INFO)?..)?;
        let [scheme, iv_bytes] = record.strip_prefix(MARIADB_MAGIC)?.array_at(0)?;
        let [mode] = record.array_at(32)?;
        (usize::from(iv_bytes) == BLOCK).then_some(Self {
            scheme,
            iv: record.array_at(8)?,
            min_key_version: KeyVersion(record.be32(24)?),
            key_id: record.be32(28)?,
            mode: match mode {
                0 => MariaDbMode::Default,
                1 => MariaDbMode::On,
                2 => MariaDbMode::Off,
                _ => MariaDbMode::Unknown,
            },
        })
    }

    /// Parses the record on a parsed page 0 whose bytes are `bytes`.
    #[must_use]
    pub fn from_page0(bytes: &[u8], page0: &Page0) -> Option<Self> {
        Self::parse(bytes, page0.info_offset())
    }
}

/// The key of one tablespace's pages for one key version. Wiped on drop.
pub struct PageKey {
    aes: Aes,
    bytes: Zeroizing<Block>,
}

impl PageKey {
    /// Derives the page key from a key of 16, 24 or 32 bytes and the vector on page 0.
    ///
    /// # Errors
    /// [`KeyLength`] if the key has another length.
    pub fn derive(key: &[u8], space_iv: &Block) -> Result<Self, KeyLength> {
        Self::from_bytes(&*aes::derive(key, space_iv)?)
    }

    /// Restores a page key from [`expose`](Self::expose).
    ///
    /// # Errors
    /// [`KeyLength`], never in practice.
    pub fn from_bytes(bytes: &Block) -> Result<Self, KeyLength> {
        Ok(Self { aes: Aes::new(bytes)?, bytes: Zeroizing::new(*bytes) })
    }

    /// The secret key bytes, for sending to another host.
    #[must_use]
    pub fn expose(&self) -> &Block {
        &self.bytes
    }

    /// The same key, prepared for the runs of [`seal_prepare`].
    ///
    /// # Errors
    /// [`KeyLength`], never in practice.
    pub fn lockstep(&self) -> Result<Lockstep, KeyLength> {
        Lockstep::new(self.bytes.as_slice())
    }
}

impl fmt::Debug for PageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PageKey")
    }
}

/// Mode of operation (`file_key_management_encryption_algorithm`). Stored nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// `aes_cbc`, the default.
    Cbc,
    /// `aes_ctr`.
    Ctr,
}

impl Mode {
    /// Both modes, the default first.
    pub const ALL: [Self; 2] = [Self::Cbc, Self::Ctr];
}

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

impl Layout {
    /// The layout of a tablespace; `None` if it is not in a MariaDB format.
    #[must_use]
    pub const fn from_page0(page0: &Page0) -> Option<Self> {
        match page0.family {
            Family::MariaDbFullCrc32 => {
                let [.., flags] = page0.flags.0.to_be_bytes();
                Some(Self::FullCrc32 { compression: flags >> 5 })
            }
            Family::MariaDbLegacy => Some(Self::Legacy { row_compressed: page0.flags.is_row_compressed() }),
            Family::MySql | Family::Undetermined => None,
        }
    }
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
/// After a compressed page a server leaves what an earlier, longer version of the page wrote, from
/// the next file system block on. No checksum covers it and nothing reads it: seen on pages by
/// MariaDB 10.11 of both formats.
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

/// The bytes of an encrypted page that are ciphertext.
///
/// # Errors
/// [`OpenFault::NotEncrypted`], [`OpenFault::Length`].
pub fn ciphertext_range(page: &[u8], layout: Layout) -> Result<Range<usize>, OpenFault> {
    if key_version(page, layout) == KeyVersion(0) {
        return Err(OpenFault::NotEncrypted);
    }
    let range = match layout {
        Layout::FullCrc32 { .. } => FULL_CRC32_BODY..full_crc32_end(page).map_err(|_| OpenFault::Length)?,
        Layout::Legacy { .. } if is_page_compressed(page, layout) => {
            counted(page, ENCRYPTED_PAYLOAD).ok_or(OpenFault::Length)?
        }
        // Also for ROW_FORMAT=COMPRESSED, which has no trailer.
        Layout::Legacy { .. } => HEADER_BYTES..page.len().saturating_sub(TRAILER_BYTES),
    };
    if range.is_empty() { Err(OpenFault::Length) } else { Ok(range) }
}

/// Initialisation vector of a page. It uses the page number in the page, not the page's position.
fn page_iv(page: &[u8], space_id: SpaceId) -> Option<Block> {
    let parts = [space_id.0, page.be32(PAGE_NO)?].map(u32::to_le_bytes);
    let lsn = page.be64(LSN)?.to_le_bytes();
    let mut iv = [0; BLOCK];
    iv.iter_mut().zip(parts.as_flattened().iter().chain(&lsn)).for_each(|(to, from)| *to = *from);
    Some(iv)
}

/// A decrypted page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The bytes that were decrypted.
    pub range: Range<usize>,
    /// Whether the plain text passes its checks.
    pub plain: Plain,
}

/// Result of the checks on plain text, the only way to detect a wrong key or mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plain {
    /// All checks pass.
    Holds,
    /// No check fails, but the server wrote no checksum, so nothing is proven.
    NoChecksum,
    /// A check fails: wrong key, wrong mode, or damage.
    Fails(PlainFault),
}

/// The check on plain text that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlainFault {
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

/// Decrypts a page in place and checks the plain text; `image` is a buffer for a decompressed page.
///
/// A page whose checks fail is decrypted all the same: [`seal`] reverts it.
///
/// # Errors
/// [`OpenFault`]; the page is then unchanged.
pub fn open(
    page: &mut [u8],
    layout: Layout,
    mode: Mode,
    space_id: SpaceId,
    key: &PageKey,
    image: &mut Vec<u8>,
) -> Result<Opened, OpenFault> {
    let range = open_untested(page, layout, mode, space_id, key)?;
    Ok(Opened { range, plain: test_clear(page, layout, space_id, image) })
}

/// Decrypts a page in place without checks, for callers that encrypt it again and compare: checking
/// a compressed page costs many times its decryption. Returns the range that was ciphertext.
///
/// # Errors
/// [`OpenFault`]; the page is then unchanged.
pub fn open_untested(
    page: &mut [u8],
    layout: Layout,
    mode: Mode,
    space_id: SpaceId,
    key: &PageKey,
) -> Result<Range<usize>, OpenFault> {
    let range = ciphertext_range(page, layout)?;
    let iv = page_iv(page, space_id).ok_or(OpenFault::Length)?;
    let data = page.get_mut(range.clone()).ok_or(OpenFault::Length)?;
    match mode {
        Mode::Cbc => key.aes.mariadb_cbc_open(&iv, data)?,
        Mode::Ctr => key.aes.ctr(&iv, data)?,
    }
    Ok(range)
}

/// Encrypts a decrypted page in place, to the original bytes: the key version stays, the checksum
/// over the ciphertext is computed again.
///
/// # Errors
/// [`OpenFault`]; the page is then unchanged.
pub fn seal(page: &mut [u8], layout: Layout, mode: Mode, space_id: SpaceId, key: &PageKey) -> Result<(), OpenFault> {
    let range = ciphertext_range(page, layout)?;
    let iv = page_iv(page, space_id).ok_or(OpenFault::Length)?;
    let data = page.get_mut(range).ok_or(OpenFault::Length)?;
    match mode {
        Mode::Cbc => key.aes.mariadb_cbc_seal(&iv, data)?,
        Mode::Ctr => key.aes.ctr(&iv, data)?,
    }
    seal_finish(page, layout);
    Ok(())
}

/// First half of encrypting a page in [`Mode::Cbc`]: everything but the chained blocks.
/// [`PageKey::lockstep`] encrypts the returned run together with those of other pages; then
/// [`seal_finish`] follows.
///
/// # Errors
/// [`OpenFault`]; the page is then unchanged.
pub fn seal_prepare<'p>(
    page: &'p mut [u8],
    layout: Layout,
    space_id: SpaceId,
    key: &PageKey,
) -> Result<Run<'p>, OpenFault> {
    let range = ciphertext_range(page, layout)?;
    let iv = page_iv(page, space_id).ok_or(OpenFault::Length)?;
    let data = page.get_mut(range).ok_or(OpenFault::Length)?;
    let (blocks, rest) = data.as_chunks_mut::<BLOCK>();
    key.aes.mariadb_cbc_seal(&iv, rest)?;
    Ok(Run { iv, data: blocks.as_flattened_mut() })
}

/// Writes the checksum over the ciphertext of an encrypted page. Lengths in the header must fit the
/// page, which [`seal_prepare`] checks. Bytes after a compressed page stay.
pub fn seal_finish(page: &mut [u8], layout: Layout) {
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
pub fn test_clear(page: &[u8], layout: Layout, space_id: SpaceId, image: &mut Vec<u8>) -> Plain {
    if !is_page_compressed(page, layout) {
        return test_page(page, layout, space_id);
    }
    image.resize(page.len(), 0);
    match decompress(page, layout, image) {
        Ok(()) => test_image(image, page, layout, space_id),
        Err(error) => Plain::Fails(error.into()),
    }
}

/// Checks a decompressed page against the page that held it.
fn test_image(image: &[u8], page: &[u8], layout: Layout, space_id: SpaceId) -> Plain {
    let same = |from, to| image.range(from, to) == page.range(from, to);
    if !compressed_mark_holds(page, layout) {
        return Plain::Fails(PlainFault::Checksum);
    }
    if same(PAGE_NO, TYPE) { test_page(image, layout, space_id) } else { Plain::Fails(PlainFault::Image) }
}

fn test_page(page: &[u8], layout: Layout, space_id: SpaceId) -> Plain {
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
        return Plain::Fails(PlainFault::Checksum);
    }
    let low_lsn = page.be32(LSN.saturating_add(4));
    if lsn_from_end.is_some_and(|back| page.be32(page.len().saturating_sub(back)) != low_lsn) {
        return Plain::Fails(PlainFault::TrailerLsn);
    }
    match page.be32(SPACE_ID).map(SpaceId) {
        Some(found) if found != space_id => Plain::Fails(PlainFault::SpaceId(found)),
        _ if checksum == Checksum::None => Plain::NoChecksum,
        _ => Plain::Holds,
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

/// Older format: the length of the compressed bytes, then these; in encrypted pages the number of
/// the algorithm stands between.
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
/// Source: docs/formats, "Page_compressed"; confirmed on pages of all three by MariaDB 10.11.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_key() {
        let key = PageKey::derive(&[7; 32], &[9; 16]).unwrap();
        assert_eq!(format!("{key:?}"), "PageKey");
    }

    #[test]
    fn keys_have_a_length_of_aes() {
        for len in 0..40 {
            let derived = PageKey::derive(&vec![1; len], &[0; 16]);
            assert_eq!(derived.is_ok(), matches!(len, 16 | 24 | 32), "{len}");
        }
    }
}
