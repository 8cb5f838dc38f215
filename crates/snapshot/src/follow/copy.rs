//! Copies files while their server has them open.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io,
    num::NonZeroU64,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use files::{
    read_up_to,
    regular::{self, Links},
};
use rustix::fs::{Advice, fadvise};

use innodb::file_suffix;
use innodb::{keys::KeySource, tablespace::Page0};

use super::{
    pages::{Page, PageFormat},
    version::Version,
};
use crate::{Error, attributes, progress::CopyProgress};

/// Bytes read at once; a multiple of every page size.
const BUFFER_BYTES: usize = 1 << 20;
/// Number of times a page with a wrong checksum is read again.
const REREADS: usize = 50;
/// Number of damaged pages that get all [`REREADS`]; later ones get [`FEW_REREADS`].
const FULL_REREAD_PAGES: u64 = 64;
const FEW_REREADS: usize = 5;

/// One file to copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// Path to read.
    pub(super) from: PathBuf,
    /// Target path, relative to the copy's data directory.
    pub(super) to: PathBuf,
}

impl Item {
    /// Reads until the buffer is full or the file ends.
    fn read(&self, file: &File, offset: u64, buf: &mut [u8]) -> Result<usize, Error> {
        read_up_to(file, offset, buf).map_err(|error| Error::copying(&self.from)(error.source))
    }
}

/// What was copied, counted by all threads.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) files: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) reread_pages: AtomicU64,
    /// Pages that were read twice with the same result and cannot be checked: the key or checksum is missing.
    pub(super) unproven_pages: AtomicU64,
    /// Bytes of the binary log that its last copy has added.
    pub(super) last_log_bytes: AtomicU64,
    /// Time of the first wait for the first page of a new tablespace.
    waiting_since: OnceLock<Instant>,
    /// LSN of the newest change of a page, and the file of the page.
    newest: Mutex<(u64, PathBuf)>,
    /// Damaged pages of the original: path and page number.
    pub(super) damaged: Mutex<Vec<(PathBuf, u64)>>,
}

impl Counts {
    /// Refuses pages that are newer than the end of the log: the copy would not recover.
    pub(super) fn check_newest(&self, end: u64) -> Result<(), Error> {
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if newest.0 <= end { Ok(()) } else { Err(Error::NewerPage { path: newest.1.clone(), newest: newest.0, end }) }
    }

    fn add_newest(&self, lsn: u64, path: &Path) {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if lsn > newest.0 {
            *newest = (lsn, path.to_owned());
        }
    }
}

/// The server whose pages are copied.
#[derive(Clone, Copy)]
pub(super) enum PagesOf<'a> {
    MariaDb,
    /// Encrypted pages of MySQL can only be checked with their keys.
    MySql(&'a dyn KeySource),
}

/// Copies files into a directory.
pub(super) struct Copier<'a> {
    pub(super) root: &'a Path,
    /// Page size for files whose first page does not state it.
    pub(super) page_bytes: usize,
    pub(super) pages_of: PagesOf<'a>,
    pub(super) counts: &'a Counts,
    pub(super) progress: &'a CopyProgress,
    /// Set when any thread has failed.
    pub(super) stop: &'a AtomicBool,
}

impl Copier<'_> {
    /// Copies files on several threads; page by page if `pages`. Returns the version of each copied file in the order
    /// of `items`, `None` for files that do not exist.
    pub(super) fn copy_all(&self, items: &[Item], pages: bool, threads: usize) -> Result<Vec<Option<Version>>, Error> {
        let (next, versions) = (AtomicU64::new(0), Mutex::new(vec![None; items.len()]));
        let work = || {
            loop {
                let number = usize::try_from(next.fetch_add(1, Ordering::Relaxed)).unwrap_or(usize::MAX);
                let Some(item) = items.get(number) else { return Ok(()) };
                let version = self.copy(item, pages).inspect_err(|_| self.stop.store(true, Ordering::Relaxed))?;
                if let Some(slot) = versions.lock().unwrap_or_else(PoisonError::into_inner).get_mut(number) {
                    *slot = version;
                }
            }
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..threads.clamp(1, items.len().max(1))).map(|_| scope.spawn(work)).collect();
            // Report the first error, not `Stopped` of the threads that it ended.
            let ended = workers.into_iter().map(|worker| worker.join().unwrap_or(Err(Error::Stopped)));
            let mut failed: Vec<Error> = ended.filter_map(Result::err).collect();
            failed.sort_by_key(|error| matches!(error, Error::Stopped));
            failed.into_iter().next().map_or(Ok(()), Err)
        })?;
        Ok(versions.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Copies one file; `None` if it no longer exists.
    fn copy(&self, item: &Item, pages: bool) -> Result<Option<Version>, Error> {
        let from = match regular::open(&item.from, Links::Followed) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(Error::copying(&item.from))?,
        };
        // The server may write with O_DIRECT, which can leave an older version in the page cache.
        let _ = fadvise(&from, 0, None, Advice::DontNeed);
        let like = from.metadata().map_err(Error::copying(&item.from))?;
        let to = self.create(&item.to)?;
        let format = if pages { self.format(&from, item)? } else { None };
        let bytes = match format {
            Some((format, page_bytes)) => self.copy_pages(item, &from, &to, &format, page_bytes)?,
            None => self.copy_bytes(item, &from, &to)?,
        };
        self.finish(&item.to, &to, &like, bytes)?;
        self.counts.files.fetch_add(1, Ordering::Relaxed);
        Ok(Some(Version::from_metadata(&like)))
    }

    /// Creates a file in the copy, replacing an existing one.
    pub(super) fn create(&self, to: &Path) -> Result<File, Error> {
        let path = self.root.join(to);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::copying(&path)(error)),
            _ => {}
        }
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).map_err(Error::copying(directory))?;
        }
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path);
        file.map_err(Error::copying(&path))
    }

    /// Sets the length of a file, and the owner and mode of the original.
    pub(super) fn finish(&self, to: &Path, file: &File, like: &Metadata, bytes: u64) -> Result<(), Error> {
        let path = self.root.join(to);
        file.set_len(bytes).and_then(|()| attributes::copy_to(file, like)).map_err(Error::copying(&path))
    }

    fn format(&self, from: &File, item: &Item) -> Result<Option<(PageFormat, usize)>, Error> {
        let head = self.head(from, item)?;
        Ok(match self.pages_of {
            PagesOf::MariaDb => PageFormat::of_mariadb(&head, self.page_bytes),
            PagesOf::MySql(keys) => Some(PageFormat::of_mysql(&head, self.page_bytes, keys)),
        })
    }

    /// Reads the beginning of a file. The first page of a new MySQL tablespace, which has its key, may reach the disk
    /// after other pages, so this waits for it for a short time.
    fn head(&self, from: &File, item: &Item) -> Result<Vec<u8>, Error> {
        const PAUSE: Duration = Duration::from_millis(50);
        /// Limit for all files together: a server without other work writes them within two seconds.
        const LIMIT: Duration = Duration::from_secs(5);
        loop {
            let mut head = vec![0; 65536];
            let filled = item.read(from, 0, &mut head)?;
            head.truncate(filled);
            let is_table = file_suffix::has(&item.to, file_suffix::TABLESPACE);
            let is_mysql = matches!(self.pages_of, PagesOf::MySql(_));
            let is_ready = !is_mysql || !is_table || Page0::parse(&head).is_ok();
            if is_ready || self.counts.waiting_since.get_or_init(Instant::now).elapsed() >= LIMIT {
                return Ok(head);
            }
            thread::sleep(PAUSE);
            let _ = fadvise(from, 0, None, Advice::DontNeed);
        }
    }

    fn copy_pages(
        &self,
        item: &Item,
        from: &File,
        to: &File,
        format: &PageFormat,
        page_bytes: usize,
    ) -> Result<u64, Error> {
        let (mut chunk, mut image, mut offset, mut newest) = (vec![0; BUFFER_BYTES], Vec::new(), 0_u64, 0);
        loop {
            self.check_stopped()?;
            let filled = item.read(from, offset, &mut chunk)?;
            let chunk = chunk.get_mut(..filled).unwrap_or_default();
            let mut second = None;
            let pages = (0_u64..).zip(chunk.chunks_mut(page_bytes));
            for (index, page) in pages.filter(|(_, page)| format.can_judge(page, page_bytes)) {
                let (within, judged) = (index * page_bytes as u64, format.judge(page, &mut image));
                let sound = match judged {
                    Page::Whole => true,
                    Page::Unproven if self.is_same_again(item, from, offset, within, page, &mut second)? => {
                        self.counts.unproven_pages.fetch_add(1, Ordering::Relaxed);
                        true
                    }
                    _ => self.read_again(item, from, offset + within, page, (format, page_bytes), &mut image)?,
                };
                if sound {
                    newest = format.newest_lsn(page, &mut image).max(newest);
                }
            }
            self.write(&item.to, to, offset, chunk)?;
            offset += filled as u64;
            if filled < BUFFER_BYTES {
                self.counts.add_newest(newest, &item.to);
                return Ok(offset);
            }
        }
    }

    /// Whether a second read of a page that cannot be checked returns the same bytes. `second` caches the second read
    /// of its chunk.
    fn is_same_again(
        &self,
        item: &Item,
        from: &File,
        offset: u64,
        within: u64,
        page: &[u8],
        second: &mut Option<Vec<u8>>,
    ) -> Result<bool, Error> {
        let again = match second {
            Some(again) => again,
            None => {
                thread::sleep(Duration::from_millis(1));
                let _ = fadvise(from, offset, NonZeroU64::new(BUFFER_BYTES as u64), Advice::DontNeed);
                let mut again = vec![0; BUFFER_BYTES];
                let filled = item.read(from, offset, &mut again)?;
                again.truncate(filled);
                second.insert(again)
            }
        };
        let at = usize::try_from(within).unwrap_or(usize::MAX);
        Ok(again.get(at..).and_then(|rest| rest.get(..page.len())) == Some(page))
    }

    fn copy_bytes(&self, item: &Item, from: &File, to: &File) -> Result<u64, Error> {
        let (mut chunk, mut offset) = (vec![0; BUFFER_BYTES], 0_u64);
        loop {
            self.check_stopped()?;
            let filled = item.read(from, offset, &mut chunk)?;
            self.write(&item.to, to, offset, chunk.get(..filled).unwrap_or_default())?;
            offset += filled as u64;
            if filled < BUFFER_BYTES {
                return Ok(offset);
            }
        }
    }

    /// Reads a page until its checksum is right. Returns `false` if the bytes stay the same and the checksum stays
    /// wrong: the page of the original is damaged.
    fn read_again(
        &self,
        item: &Item,
        from: &File,
        at: u64,
        page: &mut [u8],
        (format, page_bytes): (&PageFormat, usize),
        image: &mut Vec<u8>,
    ) -> Result<bool, Error> {
        self.counts.reread_pages.fetch_add(1, Ordering::Relaxed);
        let damaged = || self.counts.damaged.lock().unwrap_or_else(PoisonError::into_inner);
        let rereads = if (damaged().len() as u64) < FULL_REREAD_PAGES { REREADS } else { FEW_REREADS };
        let mut same = false;
        for pause in files::page_reread_pauses(rereads) {
            self.check_stopped()?;
            thread::sleep(pause);
            let before = page.to_vec();
            let _ = fadvise(from, at, NonZeroU64::new(page.len() as u64), Advice::DontNeed);
            if item.read(from, at, page)? < page.len() {
                // The file was truncated in the meantime; the log has the change.
                page.fill(0);
                return Ok(true);
            }
            same = *page == *before;
            match format.judge(page, image) {
                Page::Whole => return Ok(true),
                Page::Unproven if same => {
                    self.counts.unproven_pages.fetch_add(1, Ordering::Relaxed);
                    return Ok(true);
                }
                Page::Unproven | Page::Torn => {}
            }
        }
        let number = at / page_bytes as u64;
        if !same {
            return Err(Error::Changing { path: item.from.clone(), page: number });
        }
        damaged().push((item.to.clone(), number));
        Ok(false)
    }

    /// Writes only blocks that are not zero, so that the rest stays a hole.
    fn write(&self, path: &Path, to: &File, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        const BLOCK_BYTES: usize = 64 << 10;
        for (index, block) in (0_u64..).zip(bytes.chunks(BLOCK_BYTES)) {
            if block.iter().any(|byte| *byte != 0) {
                let written = to.write_all_at(block, offset + index * BLOCK_BYTES as u64);
                written.map_err(|source| Error::Copy { path: self.root.join(path), source })?;
            }
        }
        self.counts.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.progress.add(bytes.len() as u64);
        Ok(())
    }

    fn check_stopped(&self) -> Result<(), Error> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use innodb::page::checksum::{Checksum, update_checksum};

    use super::*;

    /// A new file of MariaDB with `KEY_BLOCK_SIZE=8` whose first page is not on disk yet, and whose last page is torn.
    #[test]
    fn the_last_small_page_of_a_new_file_is_judged() {
        let directory = tempfile::tempdir().unwrap();
        let mut page = vec![5; 8192];
        page[26..34].fill(0);
        page[24..26].copy_from_slice(&17855_u16.to_be_bytes());
        update_checksum(&mut page, Checksum::ZipCrc32);
        let whole = [&vec![0; 8192][..], &page, &page].concat();
        let mut torn = whole.clone();
        torn[20000..].fill(7);
        for (bytes, damaged) in [(&whole, Vec::new()), (&torn, vec![(PathBuf::from("t.ibd"), 1)])] {
            let (from, root) = (directory.path().join("from"), directory.path().join("to"));
            fs::write(&from, bytes).unwrap();
            let (counts, stop) = (Counts::default(), AtomicBool::new(false));
            let pages_of = PagesOf::MariaDb;
            let progress = &CopyProgress::default();
            let copier = Copier { root: &root, page_bytes: 16384, pages_of, counts: &counts, progress, stop: &stop };
            copier.copy_all(&[Item { from, to: "t.ibd".into() }], true, 1).unwrap();
            assert_eq!(fs::read(root.join("t.ibd")).unwrap(), *bytes);
            assert_eq!(counts.reread_pages.into_inner(), damaged.len() as u64);
            assert_eq!(counts.damaged.into_inner().unwrap(), damaged);
        }
    }
}
