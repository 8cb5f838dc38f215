//! Files that are tablespaces by name but whose page 0 is unreadable: what the other pages show.

use files::ReadAt;

use crate::{
    bytes::{Bytes, all_zero, as_u64, as_usize, bump},
    error::{Page0Fault, ScanError},
    ids::Lsn,
    page::{
        checksum,
        header::PageHeader,
        layout::{MIN_PAGE_BYTES, PAGE_NO, TYPE},
        mariadb::{self, Layout},
        mysql,
        types::PageType,
    },
    read::{fill, length},
    tablespace::{Family, Page0},
    verify::{Check, FileReport, ReportBuilder, Units},
};

/// [`PAGE_BYTES`](crate::page::layout::PAGE_BYTES) in the order to try them, the most common one first.
const PAGE_SIZES: [u64; 7] = [16384, 4096, 8192, 32768, 65536, 2048, 1024];
/// Pages read for each size.
const PAGES: u64 = 64;

/// Statistics of the pages under one page size.
#[derive(Clone, Copy, Debug, Default)]
struct PageSizeProbe {
    page_bytes: u64,
    /// Pages that name their own position.
    placed: u64,
    sound: u64,
    encrypted: u64,
    /// The lowest LSN of these pages.
    oldest: Option<Lsn>,
}

/// Facts for verifying a file that its own content does not give.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileState {
    /// A server has it open: page 0 may not be written yet.
    pub live: bool,
    /// Newest checkpoint of the redo log: later changes may not be written yet.
    pub checkpoint: Option<Lsn>,
    /// Named like a temporary tablespace, which servers recreate at every start.
    pub temporary: bool,
}

/// Verifies a file whose page 0 is lost. Without page 0 no key can decrypt encrypted pages, and clear pages count as
/// damaged. The content of a file of zeros is only in the redo log (docs/formats, "Flags and page size": MariaDB after
/// a crash). `None` if a server has written page 0 since the file was classified: it is now a normal tablespace.
///
/// # Errors
/// [`ScanError::EmptyFile`], [`ScanError::Io`].
pub fn verify<R: ReadAt + ?Sized>(source: &R, state: FileState) -> Result<Option<FileReport>, ScanError> {
    let file_bytes = length(source)?;
    if file_bytes == 0 {
        return Err(ScanError::EmptyFile);
    }
    let mut head = vec![0; as_usize(file_bytes.min(65536))];
    let unwritten = is_unwritten(fill(source, 0, &mut head)?);
    if unwritten && state.temporary {
        return Ok(Some(FileReport::without_units()));
    }
    if unwritten && is_zero(source, as_u64(head.len()), file_bytes)? {
        return Ok(Some(FileReport::unidentified(UNWRITTEN)));
    }
    let Err(reason) = Page0::parse(fill(source, 0, &mut head)?) else { return Ok(None) };
    let mut best = PageSizeProbe::default();
    for page_bytes in PAGE_SIZES {
        let probe = look(source, page_bytes, file_bytes)?;
        if probe.placed > best.placed {
            best = probe;
        }
    }
    let new = state.checkpoint.is_some_and(|checkpoint| best.oldest.is_some_and(|oldest| oldest > checkpoint));
    if is_unwritten(head.range(0, as_usize(best.page_bytes))) && (state.live || new) {
        return Ok(Some(FileReport::unidentified(UNWRITTEN)));
    }
    Ok(Some(report(best, file_bytes, &reason)))
}

const UNWRITTEN: &str = "page 0 was not written yet: the first pages of a new table can be in the redo log only";

fn report(found: PageSizeProbe, file_bytes: u64, reason: &Page0Fault) -> FileReport {
    let mut builder = ReportBuilder::default();
    if found.encrypted > 0 {
        let detail = format!("{reason}; encrypted pages follow, and their key information is lost");
        builder.bad_key_info(Some(0), detail);
    } else if found.sound > 0 {
        builder.find(Some(0), Some(0), Check::Header, format!("{reason}; sound pages follow"));
    } else if matches!(reason, Page0Fault::Short { .. }) {
        builder.find(Some(0), Some(0), Check::PartialUnit, reason.to_string());
    } else {
        return FileReport::unidentified(reason.to_string());
    }
    let total = file_bytes.checked_div(found.page_bytes).unwrap_or(0);
    builder.units = Units { total, bad: total.min(1), ..Units::default() };
    builder.finish(None)
}

fn look<R: ReadAt + ?Sized>(source: &R, page_bytes: u64, file_bytes: u64) -> Result<PageSizeProbe, ScanError> {
    let mut found = PageSizeProbe { page_bytes, ..PageSizeProbe::default() };
    let mut buf = vec![0; as_usize(page_bytes)];
    let pages = file_bytes.checked_div(page_bytes).unwrap_or(0).min(PAGES);
    for number in 1..pages {
        let page = fill(source, number.saturating_mul(page_bytes), &mut buf)?;
        let Ok(header) = PageHeader::parse(page) else { continue };
        if all_zero(page) || u64::from(header.page_no.0) != number {
            continue;
        }
        bump(&mut found.placed);
        found.oldest = found.oldest.map_or(Some(header.lsn), |oldest| Some(oldest.min(header.lsn)));
        let full_crc32 = mariadb::ciphertext_holds(page, Layout::FullCrc32 { compression: 0 });
        let legacy = header.page_type == PageType::PAGE_COMPRESSED_ENCRYPTED;
        // Compressed pages store the checksum of the page before compression.
        let compressed = matches!(header.page_type, PageType::COMPRESSED | PageType::PAGE_COMPRESSED);
        if mysql::is_encrypted(page) || legacy || (full_crc32 && header.checksum != 0) {
            bump(&mut found.encrypted);
        } else if full_crc32 || compressed || checksum::classic(page).is_ok() || checksum::zip(page).is_ok() {
            bump(&mut found.sound);
        } else if header.page_type.is_known(Family::MariaDbLegacy) && page.be32(26) != Some(0) {
            bump(&mut found.encrypted);
        }
    }
    Ok(found)
}

/// Whether page 0 was never written: zeros, or the first page that MySQL up to 5.7 creates the file with, which has
/// only number, space id and flags.
fn is_unwritten(head: &[u8]) -> bool {
    const FSP_HEADER_END: usize = 112;
    let page_0 = head.be16(TYPE) == Some(0) && head.be32(PAGE_NO) == Some(0);
    let trailers = head.range(FSP_HEADER_END, head.len()).chunks(MIN_PAGE_BYTES).map(|part| {
        // Ignores the checksum and LSN at the end of a page of any size.
        part.iter().filter(|byte| **byte != 0).count()
    });
    all_zero(head) || (page_0 && trailers.sum::<usize>() <= 8)
}

fn is_zero<R: ReadAt + ?Sized>(source: &R, from: u64, file_bytes: u64) -> Result<bool, ScanError> {
    let mut buf = vec![0; 1 << 20];
    let mut offset = from;
    while offset < file_bytes {
        let bytes = fill(source, offset, &mut buf)?;
        if bytes.is_empty() {
            break;
        }
        if !all_zero(bytes) {
            return Ok(false);
        }
        offset = offset.saturating_add(as_u64(bytes.len()));
    }
    Ok(true)
}
