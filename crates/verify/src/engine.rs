//! Runs a verification: threads take work from one queue until all files are verified.
//!
//! All threads share the work on a large tablespace, a run of pages at a time. At most the configured number of threads
//! compute; the others wait for the disk meanwhile.

use std::{
    io,
    num::NonZeroUsize,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use files::{
    Buffer, ReadAt, Reader,
    regular::{self, Links},
};
use innodb::{
    PageNo, ScanError,
    file_kind::FileKind,
    file_suffix,
    keys::KeySource,
    page::layout::MAX_PAGE_BYTES,
    server_file,
    tablespace::{Continuation, Family, Page0, TablespaceKind},
    verify::{
        Check, FileReport, ReportBuilder, Verdict,
        tablespace::{
            Options, PageBuffers, Part, TablespaceVerifier,
            unreadable_page0::{self, FileState},
        },
    },
};

use crate::{
    file_prefix::FilePrefix,
    keys::Keys,
    live::OpenFiles,
    logs, misplaced, pending_redo,
    permits::Permits,
    plan::{DetectedKind, Plan, PlannedFile, data_directory, name, reason},
    progress::Progress,
    queue::{Task, Work},
    redo_logs::RedoLogs,
    report::{FileResult, Report, Unread},
    shared_tablespace::{CHUNK_BYTES, SharedTablespace},
    verified_tablespaces::VerifiedTablespaces,
};

/// Settings of a run.
pub struct Settings<'a> {
    /// Number of threads that compute at the same time.
    pub jobs: NonZeroUsize,
    /// How much of each tablespace is read.
    pub depth: Depth,
    /// Called from any thread as the run progresses.
    pub progress: &'a (dyn Fn(&Progress) + Sync),
}

/// How much of each tablespace a run reads. Other files are always read completely.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// The whole tablespace.
    #[default]
    EveryPage,
    /// Page 0 and the first pages; all pages if none of these is encrypted although page 0 says so. For MySQL this
    /// decides whether a master key opens the file, because one tablespace key encrypts all pages. For MariaDB, where
    /// each page names a key version, it decides that only if there is a single version.
    FirstPages,
}

/// Additional threads, which wait for the disk while others compute.
const EXTRA_THREADS: usize = 2;
const EMPTY: &str = "the file is empty";
/// Number of pages that [`Depth::FirstPages`] reads; the root of the first index, page 3 or 4, is among them.
const FIRST_PAGES: u64 = 8;

/// Verifies all files of `plan`.
#[must_use]
pub fn run(plan: &Plan, keys: &Keys, settings: &Settings<'_>) -> Report {
    let run = Run::new(plan, keys, settings);
    for phase in run.phases() {
        run.work(phase);
    }
    run.into_report()
}

pub(crate) struct Run<'a> {
    pub(crate) plan: &'a Plan,
    keys: &'a Keys,
    settings: &'a Settings<'a>,
    progress: Progress,
    open_files: OpenFiles,
    redo_logs: RedoLogs,
    verified_tablespaces: VerifiedTablespaces,
    permits: Permits,
    results: Mutex<Vec<FileResult>>,
    errors: Mutex<Vec<Unread>>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(plan: &'a Plan, keys: &'a Keys, settings: &'a Settings<'a>) -> Self {
        Self {
            plan,
            keys,
            settings,
            progress: Progress::new(plan.bytes(), as_u64(plan.files.len())),
            open_files: OpenFiles::now(),
            redo_logs: RedoLogs::read(plan),
            verified_tablespaces: VerifiedTablespaces::new(keys.has_mysql()),
            permits: Permits::new(settings.jobs.get()),
            results: Mutex::default(),
            errors: Mutex::default(),
        }
    }

    /// The results of all files verified.
    pub(crate) fn into_report(self) -> Report {
        let files = self.results.into_inner().unwrap_or_default();
        let mut errors = self.errors.into_inner().unwrap_or_default();
        let failures = self.plan.failures.iter();
        errors.extend(failures.map(|(path, reason)| Unread { path: path.clone(), reason: reason.clone() }));
        errors.sort_by(|a, b| a.path.cmp(&b.path));
        let mut report = Report::new(files, errors, self.plan.others);
        report.summary.seconds = self.progress.elapsed().as_secs_f64();
        report.summary.jobs = self.settings.jobs.get();
        report.summary.keys_locked = self.keys.locked();
        report
    }

    /// The order of files. Files with copies of other files' pages come after those files, whose keys are then known:
    /// first system tablespaces, then doublewrite files, which contain copies of their pages.
    pub(crate) fn phases(&self) -> [Vec<usize>; 3] {
        let mut largest_first: Vec<usize> = (0..self.plan.files.len()).collect();
        largest_first.sort_by_key(|index| std::cmp::Reverse(self.file(*index).map_or(0, |file| file.bytes)));
        let mut phases = <[Vec<usize>; 3]>::default();
        for index in largest_first {
            let phase = match self.file(index).map(|file| file.kind) {
                Some(DetectedKind::Known(FileKind::Doublewrite)) => &mut phases[2],
                Some(DetectedKind::Known(FileKind::Tablespace)) if self.is_system(index) => &mut phases[1],
                _ => &mut phases[0],
            };
            phase.push(index);
        }
        phases
    }

    pub(crate) fn is_system(&self, index: usize) -> bool {
        let group = self.file(index).and_then(|file| self.plan.groups.get(&data_directory(&file.path)));
        group.is_some_and(|group| group.system.contains(&index))
    }

    pub(crate) fn file(&self, index: usize) -> Option<&'a PlannedFile> {
        self.plan.files.get(index)
    }

    pub(crate) fn work(&'a self, files: Vec<usize>) {
        let work = Work::new(files);
        let threads = self.settings.jobs.get().saturating_add(EXTRA_THREADS);
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| self.worker(&work));
            }
        });
    }

    fn worker(&'a self, work: &Work<'a>) {
        let mut buffer = Buffer::new(CHUNK_BYTES);
        let mut page_buffers = PageBuffers::default();
        while let Some(task) = work.next() {
            match task {
                Task::File(index) => {
                    let large = self.begin(index, &mut buffer, &mut page_buffers);
                    work.begun(large);
                }
                Task::Pages(shared, first) => self.pages(&shared, first, &mut buffer, &mut page_buffers),
            }
        }
    }

    /// Opens a file, and verifies it if it is small; returns a large tablespace.
    fn begin(
        &'a self,
        index: usize,
        buffer: &mut Buffer,
        page_buffers: &mut PageBuffers,
    ) -> Option<Arc<SharedTablespace<'a>>> {
        let file = self.file(index)?;
        let reader = match Reader::open(&file.path) {
            Ok(reader) => reader,
            Err(error) => {
                self.unread(file, &error);
                return None;
            }
        };
        match file.kind {
            DetectedKind::Known(FileKind::Tablespace) => {
                return self.tablespace(index, file, reader, buffer, page_buffers);
            }
            DetectedKind::TablespaceWithoutHeader => {
                let live = self.open_files.has(reader.file());
                let checkpoint = self.redo_logs.checkpoint(&file.path);
                let temporary = server_file::is_temporary(name(&file.path));
                match unreadable_page0::verify(&reader, FileState { live, checkpoint, temporary }).transpose() {
                    Some(report) => self.finish(file, Some(FileKind::Tablespace), None, report),
                    None => return self.tablespace(index, file, reader, buffer, page_buffers),
                }
            }
            DetectedKind::Unidentified => {
                let why = match server_file::is_incremental(name(&file.path)) {
                    true => "pages of an incremental backup, which can be verified after they are applied",
                    false if file.bytes == 0 => EMPTY,
                    false => "an unknown kind of file",
                };
                self.finish(file, None, None, Ok(FileReport::unidentified(why)));
            }
            DetectedKind::Known(kind) => {
                let live = self.open_files.has(reader.file());
                let permit = self.permits.take();
                let mut report =
                    logs::verify(kind, file, &reader, self.keys, &self.redo_logs, &self.verified_tablespaces, live);
                drop(permit);
                if let (Ok(report), Some(detail)) = (&mut report, misplaced::why_file(kind, &file.path)) {
                    report.misplace(detail);
                }
                self.finish(file, Some(kind), None, report);
            }
        }
        None
    }

    fn tablespace(
        &'a self,
        index: usize,
        file: &'a PlannedFile,
        reader: Reader,
        buffer: &mut Buffer,
        page_buffers: &mut PageBuffers,
    ) -> Option<Arc<SharedTablespace<'a>>> {
        let shared = self.begin_tablespace(index, file, reader)?;
        if self.settings.depth == Depth::FirstPages && self.first_pages(&shared, file, buffer, page_buffers) {
            return None;
        }
        match shared.verifier.pages() {
            0 => self.conclude(&shared),
            pages if pages > shared.chunk_pages() => return Some(Arc::new(shared)),
            _ => self.pages(&shared, 0, buffer, page_buffers),
        }
        None
    }

    /// Reads page 0 and the key; `None`, with the reason in the report, if the file has no pages to verify.
    pub(crate) fn begin_tablespace(
        &'a self,
        index: usize,
        file: &'a PlannedFile,
        reader: Reader,
    ) -> Option<SharedTablespace<'a>> {
        match TablespaceVerifier::begin(&reader, &self.options(index, file, &reader)) {
            Ok(verifier) => {
                let left = AtomicU64::new(verifier.pages());
                Some(SharedTablespace {
                    index,
                    reader,
                    verifier,
                    part: Mutex::default(),
                    left,
                    next: AtomicU64::new(0),
                })
            }
            Err(error) => {
                self.finish(file, Some(FileKind::Tablespace), None, Err(error));
                None
            }
        }
    }

    /// Verifies only the first pages. Returns `false` if they do not show whether the key opens the file.
    fn first_pages(
        &'a self,
        shared: &SharedTablespace<'a>,
        file: &'a PlannedFile,
        buffer: &mut Buffer,
        page_buffers: &mut PageBuffers,
    ) -> bool {
        let SharedTablespace { reader, verifier: full, .. } = shared;
        let mut options = self.options(shared.index, file, reader);
        let Some(hidden) = full.pages().checked_sub(FIRST_PAGES).filter(|hidden| *hidden > 0) else { return false };
        let bytes = FIRST_PAGES.saturating_mul(as_u64(full.page_bytes()));
        options.pages_in_other_files = options.pages_in_other_files.saturating_add(hidden);
        let Ok(verifier) = TablespaceVerifier::begin(&FilePrefix { reader, bytes }, &options) else { return false };
        let memory = buffer.take(usize::try_from(bytes).unwrap_or(0));
        let cached = reader.read_cached(0, memory);
        if !reader.read_disk(0, memory, cached).is_ok_and(|read| as_u64(read) == bytes) {
            return false;
        }
        let mut part = Part::default();
        let permit = self.permits.take();
        verifier.verify(reader, 0, memory, page_buffers, &mut part);
        drop(permit);
        let report = verifier.finish([part]);
        if verifier.is_encrypted() && report.units.encrypted == 0 {
            return false;
        }
        let page0 = verifier.page0();
        self.verified_tablespaces.add(page0.space_id, verifier.owner());
        self.advance(file.bytes);
        self.finish(file, Some(FileKind::Tablespace), Some(page0.kind), Ok(report));
        true
    }

    fn options(&'a self, index: usize, file: &PlannedFile, reader: &Reader) -> Options<'a> {
        let directory = data_directory(&file.path);
        let (continues, pages_in_other_files) = self.continuation(index, &directory);
        Options {
            keys: self.keys,
            export_key: export_key(&file.path.with_extension(file_suffix::EXPORT_KEY)),
            continues,
            pages_in_other_files,
            checkpoint: self.redo_logs.checkpoint(&file.path),
            live: self.open_files.has(reader.file()),
            owners: &self.verified_tablespaces,
        }
    }

    /// For a file of a system tablespace with several files: page 0 of the first, and the number of pages in the
    /// others.
    fn continuation(&self, index: usize, directory: &Path) -> (Option<(Continuation, Vec<u8>)>, u64) {
        let alone = (None, 0);
        let Some(group) = self.plan.groups.get(directory).filter(|group| group.system.contains(&index)) else {
            return alone;
        };
        let Some(first) = group.system.first().and_then(|first| self.file(*first)) else { return alone };
        let Some((page0, bytes)) = read_page0(first) else { return alone };
        let pages = |index: &usize| {
            let bytes = self.file(*index).map_or(0, |file| file.bytes);
            bytes.checked_div(u64::from(page0.physical_page_bytes)).unwrap_or(0)
        };
        let remote = group.system.iter().filter(|other| **other != index).map(pages).fold(0, u64::saturating_add);
        if group.system.first() == Some(&index) {
            return (None, remote);
        }
        let before = group.system.iter().take_while(|other| **other != index).map(pages).fold(0, u64::saturating_add);
        let first_page = PageNo(u32::try_from(before).unwrap_or(u32::MAX));
        (Some((Continuation { page0, first_page }, bytes)), remote)
    }

    fn pages(&'a self, shared: &SharedTablespace<'a>, first: u64, buffer: &mut Buffer, page_buffers: &mut PageBuffers) {
        let verifier = &shared.verifier;
        let count = shared.chunk_pages().min(verifier.pages().saturating_sub(first));
        let page_bytes = as_u64(verifier.page_bytes());
        let offset = first.saturating_mul(page_bytes);
        let wanted = usize::try_from(count.saturating_mul(page_bytes)).unwrap_or(0);
        let memory = buffer.take(wanted);
        let mut part = Part::default();
        let mut permit = self.permits.take();
        let cached = shared.reader.read_cached(offset, memory);
        let read = if cached == wanted {
            Ok(cached)
        } else {
            drop(permit);
            let read = shared.reader.read_disk(offset, memory, cached);
            permit = self.permits.take();
            read
        };
        match read {
            Ok(done) => {
                let whole_pages =
                    done.checked_div(verifier.page_bytes()).unwrap_or(0).saturating_mul(verifier.page_bytes());
                let pages = memory.get_mut(..whole_pages).unwrap_or_default();
                verifier.verify(&shared.reader, first, pages, page_buffers, &mut part);
            }
            Err(error) => part.unreadable(first, count, offset, &error.to_string()),
        }
        drop(permit);
        if let Ok(mut total) = shared.part.lock() {
            total.merge(part);
        }
        self.advance(as_u64(wanted));
        if shared.left.fetch_sub(count, Ordering::AcqRel) == count {
            self.conclude(shared);
        }
    }

    pub(crate) fn conclude(&self, shared: &SharedTablespace<'_>) {
        let Some(file) = self.file(shared.index) else { return };
        let part = shared.part.lock().map(|mut part| std::mem::take(&mut *part)).unwrap_or_default();
        let page0 = shared.verifier.page0();
        self.verified_tablespaces.add(page0.space_id, shared.verifier.owner());
        let kind = page0.kind;
        let mut report = shared.verifier.finish([part]);
        let bytes = shared.reader.len().unwrap_or(0);
        if pending_redo::can_explain(&report, &file.path, bytes)
            && self.has_pending_redo(file, page0.family, &shared.reader)
        {
            pending_redo::mark_unproven(&mut report);
        }
        if let Some(detail) = misplaced::why_tablespace(self.plan, shared.index, &file.path, page0) {
            report.misplace(detail);
        }
        self.finish(file, Some(FileKind::Tablespace), Some(kind), Ok(report));
    }

    /// Whether the file belongs to a MariaDB server that is running or has redo to apply.
    fn has_pending_redo(&self, file: &PlannedFile, family: Family, reader: &Reader) -> bool {
        let mariadb = matches!(family, Family::MariaDbFullCrc32 | Family::MariaDbLegacy);
        mariadb && (self.open_files.has(reader.file()) || self.redo_logs.has_newer_changes(self.plan, &file.path))
    }

    fn finish(
        &self,
        file: &PlannedFile,
        kind: Option<FileKind>,
        tablespace: Option<TablespaceKind>,
        report: Result<FileReport, ScanError>,
    ) {
        let report = match report {
            Ok(report) => report,
            Err(ScanError::Io { offset, source }) => {
                let mut builder = ReportBuilder::default();
                builder.find(None, Some(offset), Check::Read, reason(&source));
                builder.finish(None)
            }
            Err(ScanError::EmptyFile) => FileReport::unidentified(EMPTY),
            Err(error) => FileReport::unidentified(error.to_string()),
        };
        if kind != Some(FileKind::Tablespace) || report.verdict == Verdict::Unidentified {
            self.advance(file.bytes);
        }
        let mut result = FileResult::new(file.path.clone(), kind, file.bytes, report);
        result.tablespace = tablespace;
        if let Ok(mut results) = self.results.lock() {
            results.push(result);
        }
        self.progress.add_file();
        (self.settings.progress)(&self.progress);
    }

    /// Records a file that could not be read; one that a running server dropped meanwhile is ignored.
    pub(crate) fn unread(&self, file: &PlannedFile, error: &io::Error) {
        if error.kind() != io::ErrorKind::NotFound
            && let Ok(mut errors) = self.errors.lock()
        {
            errors.push(Unread { path: file.path.clone(), reason: reason(error) });
        }
        self.progress.add_file();
        self.advance(file.bytes);
    }

    pub(crate) fn advance(&self, bytes: u64) {
        self.progress.add_bytes(bytes);
        (self.settings.progress)(&self.progress);
    }
}

/// The key of an exported tablespace, from the `.cfp` file next to it.
fn export_key(path: &Path) -> Option<innodb::crypt::mysql::TablespaceKey> {
    /// A `.cfp` file has some hundred bytes.
    const MAX_BYTES: u64 = 4096;
    let bytes = regular::read(path, Links::Refused, MAX_BYTES).ok()?;
    innodb::crypt::mysql::export_key(&bytes)
}

/// Page 0 of the first file of a system tablespace, parsed and raw.
fn read_page0(file: &PlannedFile) -> Option<(Page0, Vec<u8>)> {
    let reader = Reader::open(&file.path).ok()?;
    let mut head = vec![0; MAX_PAGE_BYTES];
    let read = reader.read_at(0, &mut head).ok()?;
    head.truncate(read);
    Some((Page0::parse(&head).ok()?, head))
}

fn as_u64(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::{fs, num::NonZeroUsize};

    use super::*;

    /// MySQL creates a pool of these tablespaces at startup and writes one when a session needs it; a table always has
    /// a page 0.
    #[test]
    fn a_temporary_tablespace_that_no_session_used_has_nothing_to_verify() {
        let directory = tempfile::tempdir().expect("made");
        for name in ["temp_1.ibt", "ibtmp1", "t.ibd"] {
            fs::write(directory.path().join(name), vec![0; 5 * 16384]).expect("written");
        }
        let settings = Settings { jobs: NonZeroUsize::MIN, depth: Depth::EveryPage, progress: &|_| () };
        let report = run(&Plan::scan(&[directory.path().to_owned()]), &Keys::default(), &settings);
        let verdict = |name: &str| report.files.iter().find(|file| file.path.ends_with(name)).map(|file| file.verdict);
        assert_eq!(verdict("temp_1.ibt"), Some(Verdict::Clear));
        assert_eq!(verdict("ibtmp1"), Some(Verdict::Clear));
        assert_eq!(verdict("t.ibd"), Some(Verdict::Unidentified));
    }
}
