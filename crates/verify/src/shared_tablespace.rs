//! A tablespace whose pages several threads verify, a run of pages at a time.

use std::sync::{Mutex, atomic::AtomicU64};

use files::Reader;
use innodb::verify::tablespace::{Part, TablespaceVerifier};

/// Bytes that are read and verified at a time: few enough to stay in a core's cache in between.
pub(crate) const CHUNK_BYTES: usize = 1 << 20;

/// A large tablespace that several threads verify.
pub(crate) struct SharedTablespace<'a> {
    pub(crate) index: usize,
    pub(crate) reader: Reader,
    pub(crate) verifier: TablespaceVerifier<'a>,
    pub(crate) part: Mutex<Part>,
    /// Number of pages that are not verified yet.
    pub(crate) left: AtomicU64,
    /// The first page that no thread has taken yet.
    pub(crate) next: AtomicU64,
}

impl SharedTablespace<'_> {
    /// Pages that a thread takes at a time.
    pub(crate) fn chunk_pages(&self) -> u64 {
        let pages = CHUNK_BYTES.checked_div(self.verifier.page_bytes()).unwrap_or(0);
        u64::try_from(pages).unwrap_or(u64::MAX).max(1)
    }
}
