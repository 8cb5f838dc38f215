//! Verifies tablespaces from pages that the caller reads: a backup reads each page once, and stores the bytes that were
//! verified.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Mutex,
};

use files::Reader;
use innodb::{
    Lsn,
    file_kind::FileKind,
    verify::tablespace::{PageBuffers, Part},
};

use crate::{
    engine::{Run, Settings},
    keys::Keys,
    plan::{DetectedKind, Plan},
    report::Report,
    shared_tablespace::SharedTablespace,
};

/// Verifies tablespaces whose pages the caller reads, and then all other files.
///
/// 1. [`tablespace`](Self::tablespace) opens every file; those of system tablespaces only after all others are
///    concluded;
/// 2. [`Tablespace::verify`] verifies its pages, in any order and on any thread;
/// 3. [`conclude`](Self::conclude);
/// 4. [`finish`](Self::finish) reads the files that are not tablespaces.
pub struct PageVerifier<'a> {
    run: Run<'a>,
    /// Indices in the plan, by path.
    index: BTreeMap<&'a Path, usize>,
    begun: Mutex<BTreeSet<usize>>,
}

/// A tablespace whose pages the caller reads.
pub struct Tablespace<'a> {
    shared: SharedTablespace<'a>,
}

/// Results of one thread for pages of one tablespace, with its buffers.
#[derive(Debug, Default)]
pub struct PageResults {
    part: Part,
    page_buffers: PageBuffers,
    page: Vec<u8>,
}

impl<'a> PageVerifier<'a> {
    /// For the files of a plan.
    #[must_use]
    pub fn new(plan: &'a Plan, keys: &'a Keys, settings: &'a Settings<'a>) -> Self {
        let index = plan.files.iter().enumerate().map(|(index, file)| (file.path.as_path(), index)).collect();
        Self { run: Run::new(plan, keys, settings), index, begun: Mutex::default() }
    }

    /// Whether the file belongs to a system tablespace, which has copies of other tablespaces' pages.
    #[must_use]
    pub fn is_system(&self, path: &Path) -> bool {
        self.index.get(path).is_some_and(|index| self.run.is_system(*index))
    }

    /// Reads page 0 of a tablespace. `None` for any other file, and for one that has no pages to verify.
    pub fn tablespace(&'a self, path: &Path) -> Option<Tablespace<'a>> {
        let index = *self.index.get(path)?;
        let file = self.run.file(index).filter(|file| file.kind == DetectedKind::Known(FileKind::Tablespace))?;
        if let Ok(mut begun) = self.begun.lock() {
            begun.insert(index);
        }
        match Reader::open(&file.path) {
            Ok(reader) => self.run.begin_tablespace(index, file, reader).map(|shared| Tablespace { shared }),
            Err(error) => {
                self.run.unread(file, &error);
                None
            }
        }
    }

    /// Records the result for a whole tablespace, after its last page. From then on its key opens copies of its pages
    /// in other files.
    pub fn conclude(&self, tablespace: &Tablespace<'_>) {
        self.run.conclude(&tablespace.shared);
    }

    /// Verifies all other files.
    #[must_use]
    pub fn finish(self) -> Report {
        let begun = self.begun.into_inner().unwrap_or_default();
        let run = self.run;
        for mut phase in run.phases() {
            phase.retain(|index| !begun.contains(index));
            run.work(phase);
        }
        run.into_report()
    }
}

impl Tablespace<'_> {
    /// Bytes of a page.
    #[must_use]
    pub const fn page_bytes(&self) -> usize {
        self.shared.verifier.page_bytes()
    }

    /// Whole pages in the file.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.shared.verifier.pages()
    }

    /// Sets the lowest LSN of the pages that the key decrypted in an earlier run.
    pub fn decrypted_from(&self, lsn: Lsn) {
        self.shared.verifier.decrypted_from(lsn);
    }

    /// The lowest LSN of the pages that the key decrypted.
    #[must_use]
    pub fn lowest_decrypted(&self) -> Lsn {
        self.shared.verifier.owner().decrypted_from
    }

    /// Verifies whole pages; the first is page `first` of the file.
    pub fn verify(&self, first: u64, pages: &[u8], results: &mut PageResults) {
        let PageResults { part, page_buffers, page } = results;
        // One page at a time: its copy stays in the processor's first cache.
        for (number, original) in (first..).zip(pages.chunks_exact(self.page_bytes())) {
            page.clear();
            page.extend(original);
            self.shared.verifier.verify_as_read(&self.shared.reader, number, page, page_buffers, part);
        }
    }

    /// Counts pages that were verified in an earlier run and have not changed since.
    pub fn count_unchanged(&self, pages: u64, results: &mut PageResults) {
        self.shared.verifier.count_unchanged(pages, &mut results.part);
    }

    /// Adds the results of a thread.
    pub fn add(&self, results: &mut PageResults) {
        if let Ok(mut total) = self.shared.part.lock() {
            total.merge(std::mem::take(&mut results.part));
        }
    }
}
