//! Tablespaces: every page opened with the key at hand, and its checksum, position, place and
//! presence checked.
//!
//! One [`TablespaceVerifier`] serves many threads: it is made from page 0, each thread verifies
//! runs of pages into its own [`Part`], and the parts are put together at the end.

mod allocation;
pub(crate) mod copy;
mod head;
pub mod headless;
mod judgement;
mod mariadb;
mod mysql;
mod part;

use std::{
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    time::Duration,
};

use crate::{
    bytes::{Bytes, all_zero, as_u64, as_usize},
    crypt::{self, mysql::TablespaceKey},
    error::ScanError,
    ids::{Lsn, PageNo, SpaceId},
    keys::KeySource,
    page::header::PageHeader,
    read::{ReadAt, fill, length},
    tablespace::{Continuation, Family, Page0, TablespaceKind},
    verify::{Check, FileReport, KeyAsked, Tally, tablespace::judgement::State},
};

pub use copy::{NoOwners, Owner, Owners};
pub use part::Part;

use self::{head::Opener, judgement::Judgement};

/// What else is known besides the file itself.
pub struct Options<'a> {
    /// Keys at hand.
    pub keys: &'a dyn KeySource,
    /// Key of a `.cfp` file beside the tablespace.
    pub export_key: Option<TablespaceKey>,
    /// The file continues another one (`ibdata2`) and has no page 0 of its own: that of the first,
    /// as bytes too.
    pub continues: Option<(Continuation, Vec<u8>)>,
    /// Pages in the other files of the same tablespace.
    pub pages_elsewhere: u64,
    /// Newest checkpoint of the redo log, if it was read before this file: an allocation written
    /// after it need not be on disk yet.
    pub checkpoint: Option<Lsn>,
    /// A server has the file open: pages it has allocated need not be on disk yet.
    pub live: bool,
    /// Keys of other tablespaces, for copies of their pages in a doublewrite area.
    pub owners: &'a dyn Owners,
}

impl<'a> Options<'a> {
    /// Nothing but the keys: a whole file that no server has open.
    #[must_use]
    pub fn new(keys: &'a dyn KeySource) -> Self {
        Self {
            keys,
            export_key: None,
            continues: None,
            pages_elsewhere: 0,
            checkpoint: None,
            live: false,
            owners: &NoOwners,
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
    opener: Opener<'a>,
    expected: Expected,
    key: Option<KeyAsked>,
    head: Tally,
    checkpoint: Option<Lsn>,
    live: bool,
    owners: &'a dyn Owners,
    /// Lowest page LSN among the pages that the key opened.
    opened_from: AtomicU64,
    /// How often a bad page is still read again although it did not change.
    patience: AtomicU32,
}

/// What a page that is not empty has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// Page 0 says nothing of encryption.
    Clear,
    /// Encrypted, but for those that the server never encrypts.
    Encrypted,
    /// Either: undo tablespaces, and tablespaces whose encryption is under way.
    Either,
}

/// Memory a thread reuses from page to page.
#[derive(Debug, Default)]
pub struct Scratch {
    rebuilt: Vec<u8>,
}

/// A page under a scheme that only its name is known of: its type says whether it is encrypted, and
/// no check of it is known.
fn judge_unknown(page: &[u8]) -> Judgement {
    let sealed = crypt::mysql::is_encrypted(page);
    let mut judgement = Judgement::new(if sealed { State::Encrypted } else { State::Clear });
    if !sealed && page.be32(PAGE_NO) != Some(0) {
        judgement.mixed();
    }
    judgement
}

/// Where a page's number stands.
const PAGE_NO: usize = 4;

/// A tablespace with a doublewrite area of its own, whose copies are of its own pages too.
struct OwnAndOthers<'o> {
    space: SpaceId,
    own: Owner,
    others: &'o dyn Owners,
}

impl Owners for OwnAndOthers<'_> {
    fn owner(&self, space: SpaceId) -> Option<Owner> {
        if space == self.space { Some(self.own.clone()) } else { self.others.owner(space) }
    }

    fn owners(&self, space: SpaceId) -> Vec<Owner> {
        if space == self.space { vec![self.own.clone()] } else { self.others.owners(space) }
    }

    fn knows_all(&self) -> bool {
        self.others.knows_all()
    }
}

/// Bad pages of a file that stay the same are read again at most this often in all.
const PATIENCE: u32 = 64;
/// How often one bad page is read again.
const TRIES: u32 = 5;

impl<'a> TablespaceVerifier<'a> {
    /// Reads page 0 and unwraps the tablespace's key.
    ///
    /// # Errors
    /// [`ScanError::EmptyFile`], [`ScanError::Page`] if page 0 cannot be understood,
    /// [`ScanError::Io`].
    pub fn begin<R: ReadAt + ?Sized>(source: &R, options: &Options<'a>) -> Result<Self, ScanError> {
        if length(source)? == 0 {
            return Err(ScanError::EmptyFile);
        }
        let head = head::read(source, options)?;
        // After page 0: a server makes the file longer first and says so on page 0 then.
        let file_bytes = length(source)?;
        let page_bytes = as_usize(u64::from(head.page0.physical_page_bytes)).max(1);
        let mut verifier = Self {
            doublewrite: head::doublewrite_area(source, &head)?,
            page_bytes,
            first_page: head.first_page,
            file_bytes,
            opener: head.opener,
            expected: head.expected,
            key: head.key,
            head: head.tally,
            page0: head.page0,
            checkpoint: options.checkpoint,
            live: options.live,
            owners: options.owners,
            opened_from: AtomicU64::new(u64::MAX),
            patience: AtomicU32::new(PATIENCE),
        };
        verifier.size(source, options.pages_elsewhere);
        Ok(verifier)
    }

    /// Page 0.
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

    /// What copies of this tablespace's pages elsewhere are judged by.
    #[must_use]
    pub fn owner(&self) -> Owner {
        Owner {
            page_bytes: self.page_bytes,
            encrypted: self.is_encrypted(),
            key: self.opener.tablespace_key(),
            opened_from: Lsn(self.opened_from.load(Ordering::Relaxed)),
        }
    }

    /// Verifies whole pages, the first of which is page `first` of the file. They are opened in
    /// place. `source` is read again where a page is bad, since a server may have been writing it.
    pub fn verify<R: ReadAt + ?Sized>(
        &self,
        source: &R,
        first: u64,
        pages: &mut [u8],
        scratch: &mut Scratch,
        part: &mut Part,
    ) {
        let at = |index: u64| index.saturating_mul(as_u64(self.page_bytes));
        for (index, page) in (first..).zip(pages.chunks_exact_mut(self.page_bytes)) {
            let mut judgement = self.judge(source, index, page, scratch, part);
            if judgement.is_bad() {
                judgement = self.judge_again(source, index, page, judgement, scratch, part);
            }
            if let Some(lsn) = judgement.opened_lsn {
                self.opened_from.fetch_min(lsn.0, Ordering::Relaxed);
            }
            part.count(index, at(index), judgement);
        }
    }

    /// Puts the parts together.
    #[must_use]
    pub fn finish(&self, parts: impl IntoIterator<Item = Part>) -> FileReport {
        let mut whole = Part::default();
        for part in parts {
            whole.merge(part);
        }
        let mut tally = self.head.clone();
        let key = whole.conclude(self.key.clone(), as_u64(self.page_bytes), &mut tally);
        if tally.units.total < self.pages() {
            tally.find(None, None, Check::Changing, "the file became shorter while it was read");
        }
        tally.finish(key)
    }

    fn size<R: ReadAt + ?Sized>(&mut self, source: &R, pages_elsewhere: u64) {
        let page_bytes = as_u64(self.page_bytes);
        let partial = self.file_bytes.checked_rem(page_bytes).unwrap_or(0);
        let there = self.pages().saturating_add(pages_elsewhere);
        let declared = u64::from(self.page0.size_in_pages);
        // A file of a system tablespace of several, alone, cannot be judged.
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

    /// Whether the pages that are missing are free ones behind the last whole block: MariaDB makes its
    /// files of whole blocks, and rounds down.
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
        scratch: &mut Scratch,
        part: &mut Part,
    ) -> Judgement {
        let number = self.first_page.saturating_add(index);
        // Before the test for zeros: a slot that was never used is allocated too.
        if self.doublewrite.iter().any(|(from, end)| (*from..*end).contains(&number)) {
            if head::is_mariadb(self.page0.family) {
                return copy::judge(page, false, self.owners, scratch);
            }
            // Its own key is the only one it ever had, so that no copy is of before a change of key; and what was
            // opened until now depends on which pages had their turn first.
            let own = Owner { opened_from: Lsn(0), ..self.owner() };
            let owners = OwnAndOthers { space: self.page0.space_id, own, others: self.owners };
            return copy::judge(page, true, &owners, scratch);
        }
        if all_zero(page) {
            return self.judge_zero(source, number, part);
        }
        let mut judgement = self.judge_page(number, page, scratch);
        if judgement.state == State::Empty && !judgement.is_bad() {
            return self.judge_zero(source, number, part);
        }
        if self.is_temporary() {
            judgement.forgive_temporary();
        }
        if judgement.is_clear_in_encrypted() && self.allocation(source, number, part).is_some_and(|found| found.free) {
            judgement.forgive_clear();
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

    fn judge_page(&self, number: u64, page: &mut [u8], scratch: &mut Scratch) -> Judgement {
        match (&self.opener, self.page0.family) {
            (Opener::Unknown, _) => judge_unknown(page),
            (_, Family::MySql | Family::Undetermined) => self.judge_mysql(number, page, scratch),
            (_, Family::MariaDbFullCrc32 | Family::MariaDbLegacy) => self.judge_mariadb(number, page, scratch),
        }
    }

    /// The header names the page's own position, and its tablespace where that is readable.
    fn check_place(&self, number: u64, header: &PageHeader, space_readable: bool, judgement: &mut Judgement) {
        let expected = PageNo(u32::try_from(number).unwrap_or(u32::MAX));
        if header.page_no != expected {
            let detail = format!("the header says page {}, the position is page {expected}", header.page_no);
            judgement.bad(Check::Position, detail);
        }
        if space_readable && header.space_id != self.page0.space_id {
            let (found, own) = (header.space_id, self.page0.space_id);
            judgement.bad(Check::SpaceId, format!("the header says tablespace {found}, this is tablespace {own}"));
        }
    }

    /// A page in the clear, where page 0 says that pages are encrypted.
    fn check_clear(&self, judgement: &mut Judgement) {
        match self.expected {
            Expected::Clear => {}
            Expected::Either => judgement.mixed(),
            Expected::Encrypted => judgement.clear_in_encrypted(),
        }
    }

    /// Whether allocated pages need not be on disk: temporary tablespaces are never used again, a
    /// running server writes late, and MariaDB's system tablespace keeps reserved pages.
    ///
    /// Source: formats, "Page 0 (FSP header)", the rule and its exceptions.
    fn may_be_unwritten(&self) -> bool {
        let mariadb = head::is_mariadb(self.page0.family);
        self.live || self.is_temporary() || (mariadb && self.page0.kind == TablespaceKind::System)
    }

    const fn is_temporary(&self) -> bool {
        matches!(self.page0.kind, TablespaceKind::GlobalTemporary | TablespaceKind::SessionTemporary)
    }

    /// Reads a bad page again a few times, in case it was caught while a server wrote it.
    fn judge_again<R: ReadAt + ?Sized>(
        &self,
        source: &R,
        index: u64,
        page: &mut [u8],
        first: Judgement,
        scratch: &mut Scratch,
        part: &mut Part,
    ) -> Judgement {
        let offset = index.saturating_mul(as_u64(self.page_bytes));
        let mut last = first;
        let mut before: Option<Vec<u8>> = None;
        let mut changed = false;
        for attempt in 0..TRIES {
            if fill(source, offset, page).map(<[u8]>::len).ok() != Some(page.len()) {
                break;
            }
            let same = before.as_deref() == Some(&*page);
            changed |= before.is_some() && !same;
            if (same && !self.spend_patience()) || (before.is_none() && self.patience.load(Ordering::Relaxed) == 0) {
                break;
            }
            before = Some(page.to_vec());
            last = self.judge(source, index, page, scratch, part);
            if !last.is_bad() {
                return last;
            }
            std::thread::sleep(Duration::from_millis(1 << attempt));
        }
        if changed {
            last.changing();
        }
        last
    }

    fn spend_patience(&self) -> bool {
        let spend = |left: u32| left.checked_sub(1);
        self.patience.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend).is_ok()
    }
}
