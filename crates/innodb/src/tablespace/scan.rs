//! Counts encrypted and clear pages of a tablespace file.

use std::collections::{BTreeMap, BTreeSet};

use files::ReadAt;
use serde::{Deserialize, Serialize};

use crate::{
    bytes::{as_u64, as_usize, bump},
    error::ScanError,
    ids::{KeyVersion, PageNo, SpaceId},
    page::{
        header::PageHeader,
        layout::{MAX_PAGE_BYTES, TRX_SYS_PAGE},
        mariadb::{self, Layout},
        state::{Judged, PageContext, PageState, has_blank_header, is_exempt, judge},
        types::{ClearClass, PageType, is_change_buffer},
    },
    read::{fill, length, spread},
    tablespace::{
        ClearPage, CopyCounter, DoublewriteCopies, Family, ForeignPage, KeyVersionPages, Page0, PageCounts,
        TablespaceKind, TablespaceScan, Truncation, doublewrite_area_of, doubtful_encryption,
    },
};

/// How much of a file to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Depth {
    /// Page 0 only.
    Head,
    /// Page 0, this many evenly spread pages, the first four after page 0 and the last two. If page
    /// 0 says that much of the file was never used, the same number again of used pages. At most
    /// 1,048,576.
    Sample(u32),
    /// Every page.
    All,
}

/// Options of a scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanOptions {
    /// The file continues another one (`ibdata2`) and has no page 0 of its own.
    pub continues: Option<Continuation>,
    /// How many clear pages with data to list as evidence, and how many without.
    pub evidence: usize,
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self { continues: None, evidence: 8 }
    }
}

/// Position of a further file (`ibdata2`) in the system tablespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Continuation {
    /// Page 0 of the first file.
    pub page0: Page0,
    /// Number of this file's first page.
    pub first_page: PageNo,
}

/// Reads a tablespace file and counts its pages.
///
/// Reads at most 1 MiB at a time. The file may be in use: a page that is being written is judged as
/// read.
///
/// # Errors
/// [`ScanError::EmptyFile`], [`ScanError::Page`] if page 0 cannot be parsed, [`ScanError::Io`].
pub fn scan<R: ReadAt + ?Sized>(source: &R, depth: Depth, options: &ScanOptions) -> Result<TablespaceScan, ScanError> {
    let file_bytes = length(source)?;
    if file_bytes == 0 {
        return Err(ScanError::EmptyFile);
    }
    let (page0, first_page) = match &options.continues {
        Some(continuation) => (continuation.page0.clone(), continuation.first_page),
        None => {
            let mut buf = vec![0; MAX_PAGE_BYTES];
            (doubtful_encryption::settle(Page0::parse_damaged(fill(source, 0, &mut buf)?)?, source), PageNo(0))
        }
    };
    let mut scanner = Scanner::new(page0, first_page, file_bytes, options.evidence);
    scanner.find_doublewrite(source)?;
    scanner.run(source, depth)?;
    Ok(scanner.finish())
}

/// Bytes read at once.
const READ_BYTES: u64 = 1 << 20;
const MAX_SAMPLE: u64 = 1 << 20;
const MAX_KEY_VERSIONS: usize = 4096;

struct Scanner {
    found: TablespaceScan,
    context: PageContext,
    page_bytes: u64,
    first_page: u64,
    evidence: usize,
    doublewrite_pages: [(u64, u64); 2],
    clear_data: Vec<ClearPage>,
    clear_structural: Vec<ClearPage>,
    key_versions: BTreeMap<KeyVersion, u64>,
    undo_pages: u64,
    index_pages: u64,
    copies: CopyCounter,
}

impl Scanner {
    fn new(page0: Page0, first_page: PageNo, file_bytes: u64, evidence: usize) -> Self {
        let page_bytes = u64::from(page0.physical_page_bytes).max(1);
        let total = file_bytes.checked_div(page_bytes).unwrap_or(0);
        let truncated = truncation(&page0, first_page, file_bytes, page_bytes);
        Self {
            context: page0.context(),
            page_bytes,
            first_page: u64::from(first_page.0),
            evidence,
            doublewrite_pages: [(0, 0); 2],
            clear_data: Vec::new(),
            clear_structural: Vec::new(),
            key_versions: BTreeMap::new(),
            undo_pages: 0,
            index_pages: 0,
            copies: CopyCounter::new(matches!(page0.family, Family::MySql | Family::Undetermined)),
            found: TablespaceScan {
                kind: page0.kind,
                page0,
                file_bytes,
                truncated,
                complete: false,
                counts: PageCounts { total, ..PageCounts::default() },
                clear_types: BTreeMap::new(),
                clear_pages: Vec::new(),
                mislabelled_pages: Vec::new(),
                key_versions: Vec::new(),
                compressed_pages: 0,
                clear_index_pages: 0,
                clear_undo_pages: 0,
                change_buffer_pages: 0,
                foreign: 0,
                foreign_pages: Vec::new(),
                doublewrite: DoublewriteCopies::default(),
            },
        }
    }

    /// Finds the doublewrite area of a system tablespace.
    fn find_doublewrite<R: ReadAt + ?Sized>(&mut self, source: &R) -> Result<(), ScanError> {
        if self.found.page0.space_id != SpaceId(0) || self.first_page != 0 {
            return Ok(());
        }
        let mut buf = vec![0; as_usize(self.page_bytes)];
        let page = fill(source, TRX_SYS_PAGE.saturating_mul(self.page_bytes), &mut buf)?;
        self.doublewrite_pages = doublewrite_area_of(page, self.found.page0.logical_page_bytes);
        Ok(())
    }

    fn run<R: ReadAt + ?Sized>(&mut self, source: &R, depth: Depth) -> Result<(), ScanError> {
        let total = self.found.counts.total;
        let sampled = match depth {
            Depth::Head => BTreeSet::from([0]),
            Depth::Sample(count) if u64::from(count) < total => {
                sample(count, total, u64::from(self.found.page0.free_limit))
            }
            Depth::Sample(_) | Depth::All => return self.all(source),
        };
        let mut buf = vec![0; as_usize(self.page_bytes)];
        for index in sampled.into_iter().filter(|index| *index < total) {
            let page = fill(source, index.saturating_mul(self.page_bytes), &mut buf)?;
            if as_u64(page.len()) == self.page_bytes {
                self.page(page, index);
            }
        }
        self.found.complete = self.found.counts.scanned == total;
        Ok(())
    }

    fn all<R: ReadAt + ?Sized>(&mut self, source: &R) -> Result<(), ScanError> {
        let total = self.found.counts.total;
        let at_once = READ_BYTES.checked_div(self.page_bytes).unwrap_or(0).max(1);
        let wanted = at_once.min(total).saturating_mul(self.page_bytes);
        let mut buf = vec![0; as_usize(wanted)];
        let mut index = 0;
        while index < total {
            let chunk = fill(source, index.saturating_mul(self.page_bytes), &mut buf)?;
            let pages = chunk.chunks_exact(as_usize(self.page_bytes));
            if pages.len() == 0 {
                // The file shrank while it was read.
                break;
            }
            for page in pages {
                if index < total {
                    self.page(page, index);
                    bump(&mut index);
                }
            }
        }
        self.found.complete = self.found.counts.scanned == total;
        Ok(())
    }

    fn page(&mut self, page: &[u8], index: u64) {
        let Ok(header) = PageHeader::parse(page) else {
            return;
        };
        bump(&mut self.found.counts.scanned);
        let position = self.first_page.saturating_add(index);
        let page_no = PageNo(u32::try_from(position).unwrap_or(u32::MAX));
        if self.doublewrite_pages.iter().any(|(from, end)| (*from..*end).contains(&position)) {
            bump(&mut self.found.counts.doublewrite);
            self.copies.copy(page);
            return;
        }
        let judged = judge(page, &header, self.context);
        if judged.state == PageState::Empty {
            bump(&mut self.found.counts.empty);
            return;
        }
        if !has_blank_header(page, &header) {
            self.foreign(&header, &judged, page_no, index);
        }
        self.types(&header, &judged);
        if let PageState::Clear(class) = judged.state {
            let remains = self.context.temporary && class == ClearClass::Data;
            if !remains
                && is_exempt(
                    &header,
                    page_no,
                    self.found.page0.space_id,
                    self.context.family,
                    self.found.page0.physical_page_bytes,
                )
            {
                bump(&mut self.found.counts.exempt);
            } else {
                self.clear(page, &header, class, page_no, index);
            }
        } else {
            self.count_unclear(page, &header, &judged, page_no, index);
        }
    }

    fn clear(&mut self, page: &[u8], header: &PageHeader, class: ClearClass, page_no: PageNo, index: u64) {
        let evidence = self.evidence_of(header, class, page_no, index);
        let count = self.found.clear_types.entry(evidence.type_name.clone());
        bump(count.or_insert(0));
        let (counter, list) = match class {
            ClearClass::Data => (&mut self.found.counts.clear_data, &mut self.clear_data),
            ClearClass::Structural => (&mut self.found.counts.clear_structural, &mut self.clear_structural),
        };
        bump(counter);
        if list.len() < self.evidence {
            list.push(evidence);
        }
        if header.page_type == PageType::UNDO {
            bump(&mut self.found.clear_undo_pages);
        }
        if header.page_type == PageType::INDEX && class == ClearClass::Data {
            bump(&mut self.found.clear_index_pages);
            if is_change_buffer(page, header.page_type) {
                bump(&mut self.found.change_buffer_pages);
            }
        }
    }

    fn count_unclear(&mut self, page: &[u8], header: &PageHeader, judged: &Judged, page_no: PageNo, index: u64) {
        let counts = &mut self.found.counts;
        match judged.state {
            PageState::Encrypted => {
                bump(&mut counts.encrypted);
                if let Some(version) = judged.key_version.filter(|_| self.names_its_key(page))
                    && (self.key_versions.len() < MAX_KEY_VERSIONS || self.key_versions.contains_key(&version))
                {
                    bump(self.key_versions.entry(version).or_insert(0));
                }
            }
            PageState::Mislabelled => {
                bump(&mut counts.mislabelled);
                let evidence = self.evidence_of(header, ClearClass::Data, page_no, index);
                if self.found.mislabelled_pages.len() < self.evidence {
                    self.found.mislabelled_pages.push(evidence);
                }
            }
            PageState::Unrecognised => bump(&mut counts.unrecognised),
            PageState::Empty | PageState::Clear(_) => {}
        }
    }

    /// Whether the key version of an encrypted page can be trusted: in the full_crc32 format a checksum covers it.
    fn names_its_key(&self, page: &[u8]) -> bool {
        let layout = Layout::FullCrc32 { compression: 0 };
        self.context.family != Family::MariaDbFullCrc32 || mariadb::ciphertext_holds(page, layout)
    }

    fn evidence_of(&self, header: &PageHeader, class: ClearClass, page_no: PageNo, index: u64) -> ClearPage {
        ClearPage {
            offset: index.saturating_mul(self.page_bytes),
            page_no,
            page_type: header.page_type.0,
            type_name: header.page_type.name(self.context.family),
            class,
        }
    }

    /// Counts a page whose header names another position or tablespace. The space id is unreadable
    /// in MariaDB's full_crc32 format if the page is encrypted or compressed.
    fn foreign(&mut self, header: &PageHeader, judged: &Judged, page_no: PageNo, index: u64) {
        if judged.state == PageState::Unrecognised {
            return;
        }
        let unreadable = self.context.family == Family::MariaDbFullCrc32
            && (judged.key_version.is_some() || header.page_type.full_crc32_compressed().is_some());
        let space_id = (!unreadable).then_some(header.space_id);
        let misplaced =
            header.page_no != page_no || space_id.is_some_and(|space_id| space_id != self.found.page0.space_id);
        if misplaced {
            bump(&mut self.found.foreign);
            if self.found.foreign_pages.len() < self.evidence {
                self.found.foreign_pages.push(ForeignPage {
                    offset: index.saturating_mul(self.page_bytes),
                    page_no: header.page_no,
                    space_id,
                });
            }
        }
    }

    /// Counts a page by its type. MySQL keeps the original type of an encrypted page at bytes 28..30.
    fn types(&mut self, header: &PageHeader, judged: &Judged) {
        if header.page_type.is_page_compressed(self.context.family) {
            bump(&mut self.found.compressed_pages);
        }
        let kept = u16::try_from((header.control >> 32) & 0xffff).unwrap_or_default();
        let original = if header.page_type == PageType::ENCRYPTED { PageType(kept) } else { header.page_type };
        match (judged.state, original) {
            (PageState::Unrecognised, _) => {}
            (_, PageType::UNDO) => bump(&mut self.undo_pages),
            (_, PageType::INDEX | PageType::RTREE) => bump(&mut self.index_pages),
            _ => {}
        }
    }

    fn finish(mut self) -> TablespaceScan {
        let found = &mut self.found;
        if found.kind == TablespaceKind::FilePerTable && self.undo_pages > 0 && self.index_pages == 0 {
            found.kind = TablespaceKind::Undo;
        }
        found.clear_pages = self.clear_data;
        found.clear_pages.append(&mut self.clear_structural);
        found.key_versions =
            self.key_versions.into_iter().map(|(version, pages)| KeyVersionPages { version, pages }).collect();
        found.doublewrite = self.copies.finish();
        self.found
    }
}

fn truncation(page0: &Page0, first_page: PageNo, file_bytes: u64, page_bytes: u64) -> Option<Truncation> {
    let whole = file_bytes.checked_div(page_bytes).unwrap_or(0);
    let partial_bytes = file_bytes.checked_rem(page_bytes).unwrap_or(0);
    // The size on page 0 covers all files of a system tablespace.
    let missing_pages = u64::from(page0.size_in_pages).saturating_sub(u64::from(first_page.0)).saturating_sub(whole);
    (missing_pages > 0 || partial_bytes > 0).then_some(Truncation { missing_pages, partial_bytes })
}

/// Page 0, the four after it, which every tablespace uses, the last two, and `count` pages evenly
/// spread over the file and again over its used part.
fn sample(count: u32, total: u64, used: u64) -> BTreeSet<u64> {
    const FIRST: u64 = 4;
    let count = u64::from(count).min(MAX_SAMPLE);
    let mut picked: BTreeSet<u64> = (0..count).map(|i| spread(i, count, total)).collect();
    if used > 0 && used < total {
        picked.extend((0..count).map(|i| spread(i, count, used)));
    }
    picked.extend(0..=FIRST);
    picked.insert(total.saturating_sub(1));
    picked.insert(total.saturating_sub(2));
    picked
}
