//! Tablespaces: every page is decrypted with the available key, and its checksum, position, space
//! id and allocation are checked.
//!
//! Threads share one [`TablespaceVerifier`], made from page 0. Each thread verifies runs of pages
//! into its own [`Part`]; the parts are merged at the end.

mod allocation;
pub(crate) mod copy;
mod decryptor;
mod head;
mod judgement;
mod mariadb;
mod mysql;
mod owners;
mod part;
pub mod unreadable_page0;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use files::ReadAt;

use crate::{
    bytes::{Bytes, all_zero, as_u64, as_usize},
    crypt::mysql::TablespaceKey,
    error::ScanError,
    ids::{Lsn, PageNo, SpaceId},
    keys::KeySource,
    page::{self, header::PageHeader, layout::PAGE_NO},
    read::{fill, length},
    tablespace::{Continuation, Family, Page0, TablespaceKind},
    verify::{Check, FileReport, ReportBuilder, RequiredKey, tablespace::judgement::State},
};

pub use owners::{NoTablespaces, Owner, TablespaceLookup};
pub use part::Part;

use self::{decryptor::Decryptor, judgement::Judgement};

/// Facts for verifying a file that its own content does not give.
pub struct Options<'a> {
    /// Available keys.
    pub keys: &'a dyn KeySource,
    /// Key of a `.cfp` file next to the tablespace.
    pub export_key: Option<TablespaceKey>,
    /// Set if the file continues another one (`ibdata2`) and has no page 0 of its own: its
    /// position, and the bytes of the first file's page 0.
    pub continues: Option<(Continuation, Vec<u8>)>,
    /// Pages in the other files of the same tablespace.
    pub pages_in_other_files: u64,
    /// Newest checkpoint of the redo log, if it was read before this file: a page allocated after
    /// it may not be on disk yet.
    pub checkpoint: Option<Lsn>,
    /// A server has the file open: allocated pages may not be on disk yet.
    pub live: bool,
    /// Keys of other tablespaces, for copies of their pages in a doublewrite area.
    pub owners: &'a dyn TablespaceLookup,
}

impl<'a> Options<'a> {
    /// Options for a single file that no server has open.
    #[must_use]
    pub fn new(keys: &'a dyn KeySource) -> Self {
        Self {
            keys,
            export_key: None,
            continues: None,
            pages_in_other_files: 0,
            checkpoint: None,
            live: false,
            owners: &NoTablespaces,
        }
    }
}

/// Verifies the pages of one tablespace file.
pub struct TablespaceVerifier<'a> {
    page0: Page0,
    page_bytes: usize,
    first_page: u64,
    file_bytes: u64,
    doublewrite: [(u64, u64); 2],
    decryptor: Decryptor<'a>,
    expected: Expected,
    key: Option<RequiredKey>,
    head: ReportBuilder,
    checkpoint: Option<Lsn>,
    live: bool,
    owners: &'a dyn TablespaceLookup,
    /// Lowest LSN of the pages that the key decrypted.
    decrypted_from: AtomicU64,
    /// How many bad pages may still be read again without a change.
    rereads_left: AtomicU32,
}

/// State that page 0 requires of pages that are not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// Clear: page 0 has no encryption information.
    Clear,
    /// Encrypted, except for those that the server never encrypts.
    Encrypted,
    /// Either: undo tablespaces, and tablespaces whose encryption is in progress.
    Either,
}

/// Buffers that a thread reuses from page to page.
#[derive(Debug, Default)]
pub struct PageBuffers {
    rebuilt: Vec<u8>,
}

/// Judges a page under a scheme that is only recognised by name: its type says whether it is
/// encrypted; nothing else can be checked.
fn judge_unknown(page: &[u8]) -> Judgement {
    let encrypted = page::mysql::is_encrypted(page);
    let mut judgement = Judgement::new(if encrypted { State::Encrypted } else { State::Clear });
    if !encrypted && page.be32(PAGE_NO) != Some(0) {
        judgement.mixed();
    }
    judgement
}

/// The other tablespaces, and this one: its own doublewrite area also has copies of its own pages.
struct SelfAndOthers<'o> {
    space: SpaceId,
    this: Owner,
    others: &'o dyn TablespaceLookup,
}

impl TablespaceLookup for SelfAndOthers<'_> {
    fn owner(&self, space: SpaceId) -> Option<Owner> {
        if space == self.space { Some(self.this.clone()) } else { self.others.owner(space) }
    }

    fn owners(&self, space: SpaceId) -> Vec<Owner> {
        if space == self.space { vec![self.this.clone()] } else { self.others.owners(space) }
    }

    fn knows_all(&self) -> bool {
        self.others.knows_all()
    }
}

/// Maximum number of repeated reads of unchanged bad pages per file.
const MAX_REREADS: u32 = 64;
/// How often one bad page is read again.
const TRIES: usize = 5;

impl<'a> TablespaceVerifier<'a> {
    /// Reads page 0 and unwraps the tablespace's key.
    ///
    /// # Errors
    /// [`ScanError::EmptyFile`], [`ScanError::Page`] if page 0 cannot be parsed, [`ScanError::Io`].
    pub fn begin<R: ReadAt + ?Sized>(source: &R, options: &Options<'a>) -> Result<Self, ScanError> {
        if length(source)? == 0 {
            return Err(ScanError::EmptyFile);
        }
        let head = head::read(source, options)?;
        // The length is read after page 0, because a server first extends the file and then updates page 0.
        let file_bytes = length(source)?;
        let page_bytes = as_usize(u64::from(head.page0.physical_page_bytes)).max(1);
        let mut verifier = Self {
            doublewrite: head::doublewrite_area(source, &head)?,
            page_bytes,
            first_page: head.first_page,
            file_bytes,
            decryptor: head.decryptor,
            expected: head.expected,
            key: head.key,
            head: head.builder,
            page0: head.page0,
            checkpoint: options.checkpoint,
            live: options.live,
            owners: options.owners,
            decrypted_from: AtomicU64::new(u64::MAX),
            rereads_left: AtomicU32::new(MAX_REREADS),
        };
        verifier.size(source, options.pages_in_other_files);
        Ok(verifier)
    }

    /// Parsed page 0.
    #[must_use]
    pub const fn page0(&self) -> &Page0 {
        &self.page0
    }

    /// Bytes of a page in the file.
    #[must_use]
    pub const fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// Whole pages in the file.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.file_bytes.checked_div(as_u64(self.page_bytes)).unwrap_or(0)
    }

    /// Whether page 0 says that the pages are encrypted.
    #[must_use]
    pub const fn is_encrypted(&self) -> bool {
        self.page0.declares_encryption()
    }

    /// What is needed to judge copies of this tablespace's pages in other files.
    #[must_use]
    pub fn owner(&self) -> Owner {
        Owner {
            page_bytes: self.page_bytes,
            encrypted: self.is_encrypted(),
            key: self.decryptor.tablespace_key(),
            decrypted_from: Lsn(self.decrypted_from.load(Ordering::Relaxed)),
        }
    }

    /// Verifies whole pages, from page `first` of the file on, and decrypts them in place. A bad page
    /// is read again from `source`, since a server may have been writing it.
    pub fn verify<R: ReadAt + ?Sized>(
        &self,
        source: &R,
        first: u64,
        pages: &mut [u8],
        buffers: &mut PageBuffers,
        part: &mut Part,
    ) {
        for (index, page) in (first..).zip(pages.chunks_exact_mut(self.page_bytes)) {
            let mut judgement = self.judge(source, index, page, buffers, part);
            if judgement.is_bad() {
                judgement = self.judge_again(source, index, page, judgement, buffers, part);
            }
            self.count(index, judgement, part);
        }
    }

    /// Like [`verify`](Self::verify), but judges the given bytes alone: no page is read again.
    pub fn verify_as_read<R: ReadAt + ?Sized>(
        &self,
        source: &R,
        first: u64,
        pages: &mut [u8],
        buffers: &mut PageBuffers,
        part: &mut Part,
    ) {
        for (index, page) in (first..).zip(pages.chunks_exact_mut(self.page_bytes)) {
            let judgement = self.judge(source, index, page, buffers, part);
            self.count(index, judgement, part);
        }
    }

    /// Counts pages that an earlier run judged and that have not changed since.
    pub fn count_unchanged(&self, pages: u64, part: &mut Part) {
        part.count_unchanged(pages, self.is_encrypted());
    }

    /// Takes over the lowest LSN of decrypted pages from an earlier run.
    pub fn decrypted_from(&self, lsn: Lsn) {
        self.decrypted_from.fetch_min(lsn.0, Ordering::Relaxed);
    }

    fn count(&self, index: u64, judgement: Judgement, part: &mut Part) {
        if let Some(lsn) = judgement.decrypted_lsn {
            self.decrypted_from.fetch_min(lsn.0, Ordering::Relaxed);
        }
        part.count(index, index.saturating_mul(as_u64(self.page_bytes)), judgement);
    }

    /// Merges the parts into the report of the file.
    #[must_use]
    pub fn finish(&self, parts: impl IntoIterator<Item = Part>) -> FileReport {
        let mut whole = Part::default();
        for part in parts {
            whole.merge(part);
        }
        let mut builder = self.head.clone();
        let key = whole.conclude(self.key.clone(), as_u64(self.page_bytes), &mut builder);
        if builder.units.total < self.pages() {
            builder.find(None, None, Check::Changing, "the file became shorter while it was read");
        }
        builder.finish(key)
    }

    fn size<R: ReadAt + ?Sized>(&mut self, source: &R, pages_in_other_files: u64) {
        let page_bytes = as_u64(self.page_bytes);
        let partial = self.file_bytes.checked_rem(page_bytes).unwrap_or(0);
        let there = self.pages().saturating_add(pages_in_other_files);
        let declared = u64::from(self.page0.size_in_pages);
        // One file of a system tablespace of several files cannot be judged alone.
        let several = self.page0.space_id == SpaceId(0) && self.first_page > 0;
        if declared > there && !several && !self.is_rounded(source, declared) {
            let detail = format!("page 0 declares {declared} pages, the file has {there}");
            self.head.find(None, Some(self.file_bytes), Check::FileSize, detail);
        }
        if partial > 0 {
            let detail = format!("the last page has {partial} of {page_bytes} bytes");
            let at = self.file_bytes.saturating_sub(partial);
            self.head.find(Some(self.pages()), Some(at), Check::PartialUnit, detail);
        }
    }

    /// Whether the missing pages are free ones after the last whole block: MariaDB makes its files
    /// of whole blocks, and rounds down.
    ///
    /// Source: `fil0fil.cc` (`fil_space_extend_must_retry`), confirmed on MariaDB 11.8.
    fn is_rounded<R: ReadAt + ?Sized>(&self, source: &R, declared: u64) -> bool {
        const BLOCK_BYTES: u64 = 4096;
        let declared_bytes = declared.saturating_mul(as_u64(self.page_bytes));
        let whole_blocks = declared_bytes.saturating_sub(declared_bytes % BLOCK_BYTES);
        let mut part = Part::default();
        let mut is_free = |number| self.allocation(source, number, &mut part).is_some_and(|found| found.free);
        head::is_mariadb(self.page0.family)
            && self.file_bytes == whole_blocks
            && (self.pages()..declared).all(&mut is_free)
    }

    fn judge<R: ReadAt + ?Sized>(
        &self,
        source: &R,
        index: u64,
        page: &mut [u8],
        buffers: &mut PageBuffers,
        part: &mut Part,
    ) -> Judgement {
        let number = self.first_page.saturating_add(index);
        // This test comes before the one for zeros, because an unused doublewrite slot is allocated, too.
        if self.doublewrite.iter().any(|(from, end)| (*from..*end).contains(&number)) {
            if head::is_mariadb(self.page0.family) {
                return copy::judge(page, false, self.owners, buffers);
            }
            // The tablespace never had another key, so no copy can date from before a change of
            // key. `decrypted_from` is not used because it depends on the order in which pages are
            // verified.
            let this = Owner { decrypted_from: Lsn(0), ..self.owner() };
            let owners = SelfAndOthers { space: self.page0.space_id, this, others: self.owners };
            return copy::judge(page, true, &owners, buffers);
        }
        if all_zero(page) {
            return self.judge_zero(source, number, part);
        }
        let mut judgement = self.judge_page(number, page, buffers);
        if judgement.state == State::Empty && !judgement.is_bad() {
            return self.judge_zero(source, number, part);
        }
        if self.is_temporary() {
            judgement.tolerate_temporary();
        }
        if judgement.is_clear_in_encrypted() && self.allocation(source, number, part).is_some_and(|found| found.free) {
            judgement.tolerate_clear();
        }
        judgement
    }

    fn judge_zero<R: ReadAt + ?Sized>(&self, source: &R, number: u64, part: &mut Part) -> Judgement {
        let mut judgement = Judgement::new(State::Empty);
        if self.may_be_unwritten() {
            return judgement;
        }
        let Some(allocation) = self.allocation(source, number, part) else { return judgement };
        let written = self.checkpoint.is_none_or(|checkpoint| allocation.lsn <= checkpoint);
        if !allocation.free && written {
            judgement.bad(Check::AllocatedZero, "allocated, but every byte is zero");
        }
        judgement
    }

    fn judge_page(&self, number: u64, page: &mut [u8], buffers: &mut PageBuffers) -> Judgement {
        match (&self.decryptor, self.page0.family) {
            (Decryptor::Unknown, _) => judge_unknown(page),
            (_, Family::MySql | Family::Undetermined) => self.judge_mysql(number, page, buffers),
            (_, Family::MariaDbFullCrc32 | Family::MariaDbLegacy) => self.judge_mariadb(number, page, buffers),
        }
    }

    /// Checks that the header names the page's own position, and its own space id if readable.
    fn check_position(&self, number: u64, header: &PageHeader, space_readable: bool, judgement: &mut Judgement) {
        let expected = PageNo(u32::try_from(number).unwrap_or(u32::MAX));
        if header.page_no != expected {
            let detail = format!("the header says page {}, the position is page {expected}", header.page_no);
            judgement.bad(Check::Position, detail);
        }
        if space_readable && header.space_id != self.page0.space_id {
            let (found, expected) = (header.space_id, self.page0.space_id);
            judgement.bad(Check::SpaceId, format!("the header says tablespace {found}, this is tablespace {expected}"));
        }
    }

    /// Checks a clear page where page 0 says that pages are encrypted.
    fn check_clear(&self, judgement: &mut Judgement) {
        match self.expected {
            Expected::Clear => {}
            Expected::Either => judgement.mixed(),
            Expected::Encrypted => judgement.clear_in_encrypted(),
        }
    }

    /// Whether allocated pages may be missing on disk: temporary tablespaces are never read again,
    /// a running server writes late, and MariaDB's system tablespace has reserved pages.
    ///
    /// Source: docs/formats, "Page 0 (FSP header)", the rule and its exceptions.
    fn may_be_unwritten(&self) -> bool {
        let mariadb = head::is_mariadb(self.page0.family);
        self.live || self.is_temporary() || (mariadb && self.page0.kind == TablespaceKind::System)
    }

    const fn is_temporary(&self) -> bool {
        matches!(self.page0.kind, TablespaceKind::GlobalTemporary | TablespaceKind::SessionTemporary)
    }

    /// Reads a bad page again a few times, in case a server was writing it.
    fn judge_again<R: ReadAt + ?Sized>(
        &self,
        source: &R,
        index: u64,
        page: &mut [u8],
        first: Judgement,
        buffers: &mut PageBuffers,
        part: &mut Part,
    ) -> Judgement {
        let offset = index.saturating_mul(as_u64(self.page_bytes));
        let mut last = first;
        let mut before: Option<Vec<u8>> = None;
        let mut changed = false;
        for pause in files::page_reread_pauses(TRIES) {
            if fill(source, offset, page).map(<[u8]>::len).ok() != Some(page.len()) {
                break;
            }
            let same = before.as_deref() == Some(&*page);
            changed |= before.is_some() && !same;
            if (same && !self.take_reread()) || (before.is_none() && self.rereads_left.load(Ordering::Relaxed) == 0) {
                break;
            }
            before = Some(page.to_vec());
            last = self.judge(source, index, page, buffers, part);
            if !last.is_bad() {
                return last;
            }
            source.pause(pause);
        }
        if changed {
            last.changing();
        }
        last
    }

    fn take_reread(&self) -> bool {
        let spend = |left: u32| left.checked_sub(1);
        self.rereads_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend).is_ok()
    }
}
