//! Aria tables: every page decrypts, and its checksum matches.
//!
//! A page's checksum is seeded with its number, so it also proves the page's position. Not proven:
//!
//! - the header of an index file;
//! - pages of clear tables made with `PAGE_CHECKSUM=0`: they have no checksum, so only their header is
//!   judged;
//! - data files of other row formats than PAGE, which have no pages;
//! - the bytes after the used ones in index pages;
//! - `aria_log.*`, which is never encrypted.
//!
//! Source: docs/formats, "Aria"; the header's state, bitmap and the values stored instead of a checksum from
//! `ma_open.c`, `ma_bitmap.c` and `ma_pagecrc.c`, confirmed on tables that MariaDB 10.11 and 11.8 wrote.

mod decryption;
mod header;

use files::ReadAt;

pub use self::header::AriaHeader;
use crate::{
    aria::{bitmap_interval, layout::PageLayout},
    bytes::{Bytes, all_zero, as_u64, as_usize, bump},
    error::ScanError,
    keys::KeySource,
    read::{fill, length},
    verify::{
        Check, FileReport, ReportBuilder,
        aria::{
            decryption::{Decryption, EncryptedPage},
            header::DISAGREEMENT,
        },
    },
};

/// Verifies the pages of a data file (`.MAD`).
///
/// # Errors
/// [`ScanError::Io`].
pub fn verify_data<R: ReadAt + ?Sized>(
    source: &R,
    header: &AriaHeader,
    keys: &dyn KeySource,
) -> Result<FileReport, ScanError> {
    let mut builder = ReportBuilder::default();
    if header.disagreement {
        // The fault is in the index file, not in this one.
        builder.find(None, None, Check::Unknown, format!("the header of its index file is damaged: {DISAGREEMENT}"));
    } else {
        header.judge_key_info(&mut builder);
    }
    let mut pages = Pages::new(source, header, keys, builder)?;
    pages.expect(header.data_bytes);
    if header.has_pages() {
        let every = bitmap_interval(header.table.block_bytes);
        pages.judge_all(0, |number| if number.checked_rem(every) == Some(0) { Role::Bitmap } else { Role::Data })?;
    } else {
        pages.windows();
    }
    pages.finish(false)
}

/// Verifies the pages of an index file (`.MAI`).
///
/// # Errors
/// [`ScanError::Io`].
pub fn verify_index<R: ReadAt + ?Sized>(
    source: &R,
    header: &AriaHeader,
    keys: &dyn KeySource,
) -> Result<FileReport, ScanError> {
    let mut builder = ReportBuilder::default();
    header.judge(&mut builder);
    let mut pages = Pages::new(source, header, keys, builder)?;
    pages.expect(header.index_bytes);
    let block_bytes = header.table.block_bytes.max(1);
    let first = u64::from(header.table.header_bytes.div_ceil(block_bytes));
    pages.judge_all(first, |_| Role::Index)?;
    pages.finish(true)
}

/// Role of a page, by its position.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Bitmap,
    Data,
    Index,
}

/// Result of judging a page.
enum Judged {
    Empty,
    Clear,
    /// Encrypted; [`Decryption`] records what it says about the key.
    Encrypted,
    Bad(Check, String),
}

struct Pages<'s, R: ?Sized> {
    source: &'s R,
    header: &'s AriaHeader,
    file_bytes: u64,
    builder: ReportBuilder,
    decryption: Decryption<'s>,
    /// The bitmap page before the current page, if its checksum holds.
    bitmap: Vec<u8>,
    bitmap_no: u64,
}

/// Bytes read at a time.
const BATCH_BYTES: usize = 1 << 20;
/// How often a bad page is read: a server may be writing it.
const ATTEMPTS: u32 = 4;

impl<'s, R: ReadAt + ?Sized> Pages<'s, R> {
    fn new(
        source: &'s R,
        header: &'s AriaHeader,
        keys: &'s dyn KeySource,
        builder: ReportBuilder,
    ) -> Result<Self, ScanError> {
        Ok(Self {
            source,
            header,
            file_bytes: length(source)?,
            builder,
            decryption: Decryption::new(header.crypt, header.temporary, &header.proven, keys),
            bitmap: Vec::new(),
            bitmap_no: 0,
        })
    }

    fn block_bytes(&self) -> usize {
        as_usize(u64::from(self.header.table.block_bytes.max(1)))
    }

    /// Compares the file's length with the one in the header of a closed table. A partial page is
    /// reported for any table that has pages.
    fn expect(&mut self, min_bytes: u64) {
        if self.header.closed && self.file_bytes < min_bytes {
            let detail = format!("the table has {min_bytes} bytes, the file {}", self.file_bytes);
            self.builder.find(None, Some(self.file_bytes), Check::FileSize, detail);
        }
    }

    /// Counts data files without pages in windows of 8 KiB.
    fn windows(&mut self) {
        let windows = self.file_bytes.div_ceil(8192);
        self.builder.units.total = windows;
        self.builder.units.clear = windows;
    }

    fn judge_all(&mut self, first: u64, role: impl Fn(u64) -> Role) -> Result<(), ScanError> {
        let block_bytes = self.block_bytes();
        let batch_bytes = BATCH_BYTES.max(block_bytes);
        let mut buf = vec![0; batch_bytes];
        let mut number = 0_u64;
        loop {
            let offset = number.saturating_mul(as_u64(block_bytes));
            let batch = fill(self.source, offset, &mut buf)?.len();
            let batch = buf.get_mut(..batch).unwrap_or_default();
            let mut chunks = batch.chunks_exact_mut(block_bytes);
            for page in chunks.by_ref() {
                if number < first {
                    self.count(number, Judged::Clear);
                } else {
                    self.judge_until_stable(number, role(number), page)?;
                }
                bump(&mut number);
            }
            let rest = chunks.into_remainder();
            if !rest.is_empty() {
                let detail = format!("{} bytes of a page of {block_bytes}", rest.len());
                let offset = number.saturating_mul(as_u64(block_bytes));
                self.builder.find(Some(number), Some(offset), Check::PartialUnit, detail);
            }
            if batch.len() < batch_bytes {
                return Ok(());
            }
        }
    }

    /// Judges a page. A bad page is read again; it is not damage if it changes.
    fn judge_until_stable(&mut self, number: u64, role: Role, page: &mut [u8]) -> Result<(), ScanError> {
        let offset = number.saturating_mul(as_u64(page.len()));
        for _ in 0..ATTEMPTS {
            let before = page.to_vec();
            match self.judge(number, role, page) {
                Judged::Bad(check, detail) => {
                    let again = fill(self.source, offset, page)?;
                    if again == before {
                        self.count(number, Judged::Bad(check, detail));
                        return Ok(());
                    }
                }
                judged => {
                    self.count(number, judged);
                    return Ok(());
                }
            }
        }
        self.builder.find(Some(number), Some(offset), Check::Changing, "the page changes while it is read");
        self.count(number, Judged::Clear);
        Ok(())
    }

    fn count(&mut self, number: u64, judged: Judged) {
        let units = &mut self.builder.units;
        bump(&mut units.total);
        match judged {
            Judged::Empty => bump(&mut units.empty),
            Judged::Clear => bump(&mut units.clear),
            Judged::Encrypted => bump(&mut units.encrypted),
            Judged::Bad(check, detail) => {
                bump(&mut units.bad);
                let offset = number.saturating_mul(as_u64(self.block_bytes()));
                self.builder.find(Some(number), Some(offset), check, detail);
            }
        }
    }

    fn judge(&mut self, number: u64, role: Role, page: &[u8]) -> Judged {
        if all_zero(page) {
            return self.judge_zero(number, role);
        }
        let page_no = low(number);
        let Some(layout) = self.layout(role, page) else {
            return Judged::Bad(Check::Length, "uses more bytes than it has, or none".to_owned());
        };
        if self.header.table.encrypted && role != Role::Bitmap {
            let is_page = is_page(role, &layout, page);
            return self.decryption.decrypt(&EncryptedPage { number, page_no, layout: &layout, bytes: page, is_page });
        }
        let judged = self.judge_clear(role, page_no, &layout, page);
        if role == Role::Bitmap {
            self.bitmap = if matches!(judged, Judged::Clear) { page.to_vec() } else { Vec::new() };
            self.bitmap_no = number;
        }
        judged
    }

    fn layout(&self, role: Role, page: &[u8]) -> Option<PageLayout> {
        match role {
            Role::Bitmap => Some(PageLayout::bitmap(page)),
            Role::Data => Some(PageLayout::data(page, self.header.table.encrypted)),
            Role::Index => PageLayout::index(page, &self.header.table),
        }
    }

    /// Judges a page that is not encrypted. Tables without checksums store one of two values instead, and bitmap pages
    /// can do so in any table. Source: `ma_pagecrc.c`.
    fn judge_clear(&self, role: Role, page_no: u32, layout: &PageLayout, page: &[u8]) -> Judged {
        const NONE_IN_BITMAP: u32 = 0xffff_fffe;
        const NONE_IN_PAGE: u32 = 0xffff_ffff;
        let temporary = self.header.temporary && !self.header.table.encrypted;
        let stored = PageLayout::stored_checksum(page);
        let computed = layout.checksum(page_no, page);
        let without = match role {
            Role::Bitmap => stored == NONE_IN_BITMAP,
            Role::Data | Role::Index => stored == NONE_IN_PAGE && !self.header.page_checksums,
        };
        if without && !is_page(role, layout, page) {
            return Judged::Bad(Check::Header, "its fields are not those of a page".to_owned());
        }
        if without || stored == computed || temporary {
            return Judged::Clear;
        }
        Judged::Bad(Check::Checksum, format!("checksum is {stored:08x}, expected {computed:08x}"))
    }

    /// Judges an all-zero page. In a closed table only unused pages may be zero.
    fn judge_zero(&mut self, number: u64, role: Role) -> Judged {
        let in_use = match role {
            Role::Bitmap => {
                self.bitmap.clear();
                // The bitmap is written before the pages it describes.
                number.saturating_add(1).saturating_mul(as_u64(self.block_bytes())) < self.header.data_bytes
            }
            Role::Data => self.in_use(number),
            Role::Index => number.saturating_mul(as_u64(self.block_bytes())) < self.header.index_bytes,
        };
        if in_use && self.header.closed {
            return Judged::Bad(Check::AllocatedZero, "in use, but all zero".to_owned());
        }
        Judged::Empty
    }

    /// Whether the bitmap marks a page as in use: three bits for each page after the bitmap page, little-endian; 0 is
    /// unused. Source: `ma_bitmap.c` (`_ma_bitmap_get_page_bits`).
    fn in_use(&self, number: u64) -> bool {
        let bits = number.saturating_sub(self.bitmap_no).saturating_sub(1).saturating_mul(3);
        let pair = self.bitmap.le16(as_usize(bits >> 3)).unwrap_or(0);
        (pair >> (bits & 7)) & 7 != 0
    }

    fn finish(mut self, of_index: bool) -> Result<FileReport, ScanError> {
        let block_bytes = as_u64(self.block_bytes());
        self.retry_doubtful(of_index)?;
        self.try_places(of_index)?;
        let key = self.decryption.conclude(&mut self.builder, block_bytes);
        Ok(self.builder.finish(key))
    }

    fn retry_doubtful(&mut self, of_index: bool) -> Result<(), ScanError> {
        let mut buf = vec![0; self.block_bytes()];
        for number in self.decryption.doubtful() {
            let Some((layout, page)) = self.again(number, of_index, &mut buf)? else { continue };
            if let Some(judged) = self.decryption.retry(low(number), &layout, page) {
                let units = &mut self.builder.units;
                units.total = units.total.saturating_sub(1);
                units.encrypted = units.encrypted.saturating_sub(1);
                self.count(number, judged);
            }
        }
        Ok(())
    }

    fn try_places(&mut self, of_index: bool) -> Result<(), ScanError> {
        let mut buf = vec![0; self.block_bytes()];
        for number in self.decryption.not_decrypted() {
            if let Some((layout, page)) = self.again(number, of_index, &mut buf)? {
                self.decryption.try_other_pages(&layout, page);
            }
        }
        Ok(())
    }

    /// Reads a page again, to see whether a server was writing it.
    fn again<'b>(
        &self,
        number: u64,
        of_index: bool,
        buf: &'b mut [u8],
    ) -> Result<Option<(PageLayout, &'b [u8])>, ScanError> {
        let page: &[u8] = fill(self.source, number.saturating_mul(as_u64(self.block_bytes())), buf)?;
        let layout = self.layout(if of_index { Role::Index } else { Role::Data }, page);
        Ok(layout.map(|layout| (layout, page)))
    }
}

/// Whether the readable fields at the start of a page are valid.
fn is_page(role: Role, layout: &PageLayout, page: &[u8]) -> bool {
    match role {
        Role::Bitmap => true,
        Role::Data => PageLayout::is_data_header(page),
        Role::Index => layout.is_index_header(page),
    }
}

/// The page number in checksums and initialisation vectors: as in the server, only its low 32 bits.
fn low(number: u64) -> u32 {
    u32::try_from(number & 0xffff_ffff).unwrap_or(0)
}
