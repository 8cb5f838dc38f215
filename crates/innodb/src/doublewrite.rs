//! MySQL's doublewrite files, `#ib_<page size>_<n>.dblwr` (8.0.20 and newer), and the parallel
//! doublewrite file of Percona Server 5.7 to 8.0.19, `xb_doublewrite`.
//!
//! A slot holds the page last written through it, until it is overwritten. From 8.0.23 on a slot
//! has the same bytes as the data file; before, it held the clear page even of an encrypted table.
//! Pages of ROW_FORMAT=COMPRESSED tables fill only the start of a slot.
//! Before 8.0.20, and in MariaDB, the area lies in `ibdata1`: see
//! [`TablespaceScan::doublewrite`](crate::tablespace::TablespaceScan::doublewrite).
//!
//! Source: docs/formats, "mysql.ibd, ibdata1, temporary, doublewrite".

use files::ReadAt;
use serde::{Deserialize, Serialize};

use crate::{
    bytes::{all_zero, as_u64, as_usize, bump},
    error::ScanError,
    file_suffix,
    ids::SpaceId,
    page::{header::PageHeader, layout::SERVER_PAGE_BYTES, state::PageState},
    read::{chunks, fill, length},
    server_file,
    tablespace::{CopyCounter, DoublewriteCopies, Family},
};

/// A slot that holds clear text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClearSlot {
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Tablespace the page belongs to.
    pub space_id: SpaceId,
    /// Type of the page, by name.
    pub type_name: String,
}

/// Result of reading a doublewrite file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoublewriteScan {
    /// Length of the file in bytes.
    pub file_bytes: u64,
    /// Bytes of a slot.
    pub page_bytes: u32,
    /// Whether every slot was read.
    pub complete: bool,
    /// Copies by state and tablespace.
    pub copies: DoublewriteCopies,
    /// The first clear slots.
    pub clear_slots: Vec<ClearSlot>,
}

const EVIDENCE: usize = 8;
/// Bytes read to detect the page size.
const PROBE_BYTES: usize = 1 << 20;

/// The page size in a file name like `#ib_16384_0.dblwr`; `None` for other names.
#[must_use]
pub fn page_bytes_of_name(name: &str) -> Option<u32> {
    let size = file_suffix::strip(name.strip_prefix(server_file::DOUBLEWRITE)?, file_suffix::DOUBLEWRITE)?;
    let page_bytes = size.split('_').next()?.parse().ok()?;
    SERVER_PAGE_BYTES.contains(&page_bytes).then_some(page_bytes)
}

/// Reads the slots; at most `max_bytes`, evenly spread over a longer file. Without `page_bytes` the
/// size is detected.
///
/// # Errors
/// [`ScanError::EmptyFile`], [`ScanError::Io`].
pub fn scan<R: ReadAt + ?Sized>(
    source: &R,
    page_bytes: Option<u32>,
    max_bytes: u64,
) -> Result<DoublewriteScan, ScanError> {
    let file_bytes = length(source)?;
    if file_bytes == 0 {
        return Err(ScanError::EmptyFile);
    }
    let page_bytes = slot_bytes(source, page_bytes, file_bytes)?;
    let slot_bytes = u64::from(page_bytes);
    let mut copies = CopyCounter::new(true);
    let mut clear_slots = Vec::new();
    let mut read = 0_u64;
    let mut buf = vec![0; as_usize(slot_bytes)];
    for offset in chunks(0, file_bytes, slot_bytes, max_bytes) {
        let page = fill(source, offset, &mut buf)?;
        bump(&mut read);
        let Some((PageState::Clear(_) | PageState::Mislabelled, type_name)) = copies.copy(page) else {
            continue;
        };
        if clear_slots.len() < EVIDENCE
            && let Ok(header) = PageHeader::parse(page)
        {
            clear_slots.push(ClearSlot { offset, space_id: header.space_id, type_name });
        }
    }
    Ok(DoublewriteScan {
        file_bytes,
        page_bytes,
        complete: read == file_bytes.div_ceil(slot_bytes),
        copies: copies.finish(),
        clear_slots,
    })
}

/// Size of a slot in bytes: taken from the file's name if it is there, else detected in the first used
/// part of the file. Percona Server gives each part to one buffer pool, so the first part may be unused.
pub(crate) fn slot_bytes<R: ReadAt + ?Sized>(
    source: &R,
    named: Option<u32>,
    file_bytes: u64,
) -> Result<u32, ScanError> {
    if let Some(page_bytes) = named.filter(|size| SERVER_PAGE_BYTES.contains(size)) {
        return Ok(page_bytes);
    }
    let mut buf = vec![0; PROBE_BYTES];
    let mut offset = 0;
    while offset < file_bytes {
        let bytes = fill(source, offset, &mut buf)?;
        if !all_zero(bytes) {
            return Ok(detect_page_bytes(bytes));
        }
        offset = offset.saturating_add(as_u64(PROBE_BYTES));
    }
    Ok(detect_page_bytes(&[]))
}

/// The page size with the highest share of used slots that start with a page header. If several sizes
/// have the same share, the smallest: pages of 16 KiB also give a header every 32 KiB.
fn detect_page_bytes(bytes: &[u8]) -> u32 {
    let mut best = (0, 0, 16384);
    for size in SERVER_PAGE_BYTES {
        let (headers, written) = headers(bytes, as_usize(u64::from(size)));
        // headers / written > best.0 / best.1, without division.
        let better = headers.saturating_mul(best.1) > written.saturating_mul(best.0);
        if headers > 0 && (best.1 == 0 || better) {
            best = (headers, written, size);
        }
    }
    best.2
}

fn headers(bytes: &[u8], size: usize) -> (u64, u64) {
    let mut headers = 0;
    let mut written = 0;
    for slot in bytes.chunks(size).filter(|slot| !all_zero(slot)) {
        bump(&mut written);
        if is_header(slot) {
            bump(&mut headers);
        }
    }
    (headers, written)
}

/// Whether a slot starts with a known page type and a plausible LSN.
fn is_header(slot: &[u8]) -> bool {
    PageHeader::parse(slot).is_ok_and(|header| {
        header.page_type.0 != 0
            && header.page_type.is_known(Family::MySql)
            && header.lsn.0 != 0
            && header.lsn.0 >> 56 == 0
    })
}
