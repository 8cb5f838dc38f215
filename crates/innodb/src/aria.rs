//! Aria tables and their log (MariaDB).
//!
//! Only ROW_FORMAT=PAGE tables can be encrypted, and only those made while `aria_encrypt_tables` was on; `aria_log.*`
//! is never encrypted.
//!
//! Source: docs/formats, "Aria"; header fields and page layout confirmed on MariaDB 10.11 in testdata (head and index
//! pages; blob pages from `ma_blockrec.h`), bitmap interval from `ma_bitmap.c` (`_ma_bitmap_init`).

pub mod layout;

use files::ReadAt;
use serde::{Deserialize, Serialize};

use crate::{
    bytes::{Bytes, all_zero, as_usize, bump},
    error::ScanError,
    ids::KeyVersion,
    randomness::{MIN_BYTES, looks_random},
    read::{chunks, fill, length},
};

use self::layout::PageLayout;

/// How rows are stored (`enum data_file_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowFormat {
    /// FIXED: cannot be encrypted.
    Fixed,
    /// DYNAMIC: cannot be encrypted.
    Dynamic,
    /// Packed by aria_pack: cannot be encrypted.
    Packed,
    /// PAGE: the only format that can be encrypted.
    Page,
    /// No data file.
    None,
    /// Not a known value: the header is damaged.
    Unknown,
}

/// Header of an index file (`.MAI`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AriaTable {
    /// Whether the table was created encrypted.
    pub encrypted: bool,
    /// How rows are stored.
    pub row_format: RowFormat,
    /// Page size of index files and PAGE data files, in bytes.
    pub block_bytes: u32,
    /// Whether changes are logged (in the clear) in `aria_log.*`.
    pub transactional: bool,
    /// Bytes of the header.
    pub header_bytes: u32,
}

/// Pages of a data or index file. `scanned` is the sum of all others but `total`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AriaCounts {
    /// Pages in the file (DYNAMIC and FIXED data files: windows of 8 KiB).
    pub total: u64,
    /// Pages read.
    pub scanned: u64,
    /// Encrypted.
    pub encrypted: u64,
    /// Clear with content.
    pub clear: u64,
    /// All zero, or without rows.
    pub empty: u64,
    /// The header names a key version, but the body is clear text.
    pub mislabelled: u64,
    /// Never encrypted: bitmap pages, and the header of an index file.
    pub exempt: u64,
    /// Damaged: pages of an encrypted table whose readable fields are invalid.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unrecognised: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What a data or index file looks like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AriaScan {
    /// Length of the file in bytes.
    pub file_bytes: u64,
    /// `true` if every page was read.
    pub complete: bool,
    /// Page counts by state.
    pub counts: AriaCounts,
    /// Lowest and highest key version of encrypted pages.
    pub key_versions: Option<(KeyVersion, KeyVersion)>,
    /// Offsets of the first clear pages, in bytes.
    pub clear_offsets: Vec<u64>,
}

pub(crate) const TABLE_MAGIC: &[u8] = b"\xfe\xfe\x09";
const LOG_MAGIC: &[u8] = b"\xfe\xfe\x0b\x01MARIALOG";
const EVIDENCE: usize = 8;

/// Parses the header of an index file (`.MAI`). `head` needs at most 4 KiB.
#[must_use]
pub fn recognise_table(head: &[u8]) -> Option<AriaTable> {
    if !head.starts_with(TABLE_MAGIC) {
        return None;
    }
    let header_bytes = u32::from(head.be16(6)?);
    let base = usize::from(head.be16(12)?);
    let options = head.be16(base.checked_add(90)?)?;
    let block_bytes = u32::from(head.be16(base.checked_add(100)?)?);
    let [transactional] = head.array_at(base.checked_add(106)?)?;
    let [row_format] = head.array_at(22)?;
    Some(AriaTable {
        encrypted: options & 1 != 0,
        row_format: match row_format {
            0 => RowFormat::Fixed,
            1 => RowFormat::Dynamic,
            2 => RowFormat::Packed,
            3 => RowFormat::Page,
            4 => RowFormat::None,
            _ => RowFormat::Unknown,
        },
        block_bytes: if block_bytes.is_power_of_two() && block_bytes >= 1024 {
            block_bytes
        } else {
            DEFAULT_BLOCK_BYTES
        },
        transactional: transactional != 0,
        header_bytes,
    })
}

/// Whether this is an `aria_log.*` file, which has row changes of every Aria table and is never encrypted.
#[must_use]
pub fn is_log(head: &[u8]) -> bool {
    head.starts_with(LOG_MAGIC)
}

const DEFAULT_BLOCK_BYTES: u32 = 8192;

/// Counts the pages of a data file (`.MAD`). Reads at most `max_bytes`, evenly spread over a longer
/// file.
///
/// # Errors
/// [`ScanError::EmptyFile`], [`ScanError::Io`].
pub fn scan_data<R: ReadAt + ?Sized>(source: &R, table: &AriaTable, max_bytes: u64) -> Result<AriaScan, ScanError> {
    let paged = table.row_format == RowFormat::Page;
    let bitmap_every = bitmap_interval(table.block_bytes);
    scan(source, table.block_bytes, max_bytes, |page, number| {
        if all_zero(page) {
            Page::Empty
        } else if !paged {
            Page::Clear
        } else if number.checked_rem(bitmap_every) == Some(0) {
            Page::Exempt
        } else {
            data_page(page, table.encrypted)
        }
    })
}

/// Counts the pages of an index file (`.MAI`), which hold the keys of its indexes.
///
/// # Errors
/// [`ScanError::EmptyFile`], [`ScanError::Io`].
pub fn scan_index<R: ReadAt + ?Sized>(source: &R, table: &AriaTable, max_bytes: u64) -> Result<AriaScan, ScanError> {
    let header_pages = u64::from(table.header_bytes.div_ceil(table.block_bytes.max(1)));
    scan(source, table.block_bytes, max_bytes, |page, number| {
        if number < header_pages {
            Page::Exempt
        } else if all_zero(page) {
            Page::Empty
        } else {
            index_page(page, table)
        }
    })
}

enum Page {
    Empty,
    Exempt,
    Clear,
    Encrypted(KeyVersion),
    Mislabelled,
    Unrecognised,
}

impl Page {
    /// Reclassifies a page that looks encrypted but whose readable fields are invalid: no server wrote it.
    fn unless_damaged(self, is_page: bool) -> Self {
        if matches!(self, Self::Encrypted(_)) && !is_page { Self::Unrecognised } else { self }
    }
}

fn scan<R: ReadAt + ?Sized>(
    source: &R,
    block_bytes: u32,
    max_bytes: u64,
    judge: impl Fn(&[u8], u64) -> Page,
) -> Result<AriaScan, ScanError> {
    let file_bytes = length(source)?;
    if file_bytes == 0 {
        return Err(ScanError::EmptyFile);
    }
    let page_bytes = u64::from(block_bytes.max(1));
    let mut found = AriaScan {
        file_bytes,
        complete: false,
        counts: AriaCounts { total: file_bytes.div_ceil(page_bytes), ..AriaCounts::default() },
        key_versions: None,
        clear_offsets: Vec::new(),
    };
    let mut buf = vec![0; as_usize(page_bytes)];
    for offset in chunks(0, file_bytes, page_bytes, max_bytes) {
        let page = fill(source, offset, &mut buf)?;
        found.count(&judge(page, offset.checked_div(page_bytes).unwrap_or(0)), offset);
    }
    found.complete = found.counts.scanned == found.counts.total;
    Ok(found)
}

impl AriaScan {
    fn count(&mut self, page: &Page, offset: u64) {
        let counts = &mut self.counts;
        bump(&mut counts.scanned);
        match page {
            Page::Empty => bump(&mut counts.empty),
            Page::Exempt => bump(&mut counts.exempt),
            Page::Unrecognised => bump(&mut counts.unrecognised),
            Page::Encrypted(version) => {
                bump(&mut counts.encrypted);
                let (low, high) = self.key_versions.unwrap_or((*version, *version));
                self.key_versions = Some((low.min(*version), high.max(*version)));
            }
            Page::Clear | Page::Mislabelled => {
                if matches!(page, Page::Clear) {
                    bump(&mut counts.clear);
                } else {
                    bump(&mut counts.mislabelled);
                }
                if self.clear_offsets.len() < EVIDENCE {
                    self.clear_offsets.push(offset);
                }
            }
        }
    }
}

/// A data page of a PAGE table: type at byte 7; key version at byte 12 of head and tail
/// pages and 8 of blob pages, present only in tables made encrypted.
fn data_page(page: &[u8], encrypted: bool) -> Page {
    const BLOB: u8 = 3;
    const ALLOCATED: [u8; 3] = [1, 2, BLOB];
    let [flags] = page.array_at(7).unwrap_or_default();
    let page_type = flags & 7;
    if !encrypted {
        return if ALLOCATED.contains(&page_type) { Page::Clear } else { Page::Empty };
    }
    let version_at: usize = if page_type == BLOB { 8 } else { 12 };
    let body = page.range(version_at.saturating_add(4), page.len().saturating_sub(4));
    judge(page.le32(version_at), body).unless_damaged(PageLayout::is_data_header(page))
}

/// An index page: key version at byte 13 (transactional) or 7, then key number, flag and the bytes
/// used. The bytes after those are leftover server memory and are not judged.
fn index_page(page: &[u8], table: &AriaTable) -> Page {
    let version_at: usize = if table.transactional { 13 } else { 7 };
    if !table.encrypted {
        return Page::Clear;
    }
    let is_page = PageLayout::index(page, table).is_some_and(|layout| layout.is_index_header(page));
    let used = if is_page { usize::from(page.be16(version_at.saturating_add(6)).unwrap_or(0)) } else { page.len() };
    let body = page.range(version_at.saturating_add(8), used);
    judge(page.le32(version_at), body).unless_damaged(is_page)
}

fn judge(version: Option<u32>, body: &[u8]) -> Page {
    match version {
        None | Some(0) if all_zero(body) => Page::Empty,
        None | Some(0) => Page::Clear,
        // A torn write leaves the remaining bytes of the page as they were, so only the first bytes are judged.
        Some(_) if looks_random(body.range(0, MIN_BYTES.max(body.len() / 8))) == Some(false) => Page::Mislabelled,
        Some(version) => Page::Encrypted(KeyVersion(version)),
    }
}

/// Pages from one bitmap page to the next. A bitmap page has 3 bits for each page it covers, in
/// whole groups of 6 bytes (16 pages); its last 4 bytes are a checksum.
pub(crate) fn bitmap_interval(block_bytes: u32) -> u64 {
    let groups = block_bytes.saturating_sub(4) / 6;
    u64::from(groups).saturating_mul(16).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bitmap_interval_of_8k_blocks_is_known() {
        assert_eq!(bitmap_interval(8192), 21825);
    }
}
