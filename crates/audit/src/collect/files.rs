//! Walks the server's directories and recognises every file.
//!
//! One thread lists directories, a few others open and read files; directories are kept open only while their files are
//! read, so that thousands of schemas do not exhaust descriptors. Links are not followed: exactly the listed files are
//! opened.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use files::ReadAt;
use files::regular::NotRegular;
use innodb::server_file;
use innodb::tablespace::{Continuation, Depth, ScanOptions};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, openat, readlinkat, statat};
use rustix::io::Errno;

use super::content::{Candidate, HEAD_BYTES, ReadBudget, recognise};
use super::roots::{Extent, ScanRoot};
use super::view::{View, open_at};
use super::{Limits, Progress};
use crate::facts::files::{Content, DirectoryFact, FileFact, Root};
use crate::facts::host::Role;

/// Maximum depth below a root; schemas are one deep, backups a few.
const MAX_DEPTH: u32 = 16;
/// Length of the queue of files.
const QUEUE: usize = 256;

/// Parameters of a walk.
pub(super) struct Walk<'a> {
    pub(super) view: &'a View,
    pub(super) scan_roots: &'a [ScanRoot],
    /// Whether every page and block is read.
    pub(super) deep: bool,
    /// The server's user: only its files in a shared temporary directory count.
    pub(super) server_uid: Option<u32>,
    pub(super) limits: &'a Limits,
    pub(super) progress: Option<&'a dyn Fn(Progress)>,
}

/// Result of a walk.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) roots: Vec<Root>,
    pub(super) files: Vec<FileFact>,
    /// The directories of trees, and those that contain the other paths.
    pub(super) directories: Vec<DirectoryFact>,
    pub(super) bytes_read: u64,
    /// Directories inside a root on another device than their parent.
    pub(super) mounts: Vec<(PathBuf, Role)>,
    /// What was left out because of a limit.
    pub(super) left_out: Vec<String>,
}

/// A file to open and read.
struct Job {
    dir: Arc<OwnedFd>,
    name: OsString,
    path: PathBuf,
    below: PathBuf,
    role: Role,
    log: Option<&'static str>,
    stat: Stat,
}

/// Walks all roots.
pub(super) fn walk(walk: &Walk<'_>) -> Found {
    let budget = ReadBudget::new(walk.deep, walk.limits.special_bytes);
    let bytes = AtomicU64::new(0);
    let (jobs, queue) = sync_channel::<Job>(QUEUE);
    let queue = Mutex::new(queue);
    let (results, done) = channel();
    let mut found = Found::default();
    std::thread::scope(|scope| {
        for _ in 0..walk.limits.readers.max(1) {
            let (queue, results, budget, bytes) = (&queue, results.clone(), &budget, &bytes);
            scope.spawn(move || read_all(queue, &results, budget, bytes));
        }
        drop(results);
        let mut lister = Lister { walk, jobs, done, seen: BTreeSet::new(), found: &mut found, bytes: &bytes };
        walk.scan_roots.iter().for_each(|scan_root| lister.scan_root(scan_root));
        lister.finish();
    });
    found.bytes_read = bytes.into_inner();
    found.files.sort_by(|a, b| a.path.cmp(&b.path));
    found.mounts.sort();
    found.directories.sort_by(|a, b| a.path.cmp(&b.path));
    found.directories.dedup_by(|a, b| a.path == b.path);
    continue_system_tablespace(walk.view, &mut found.files, walk.deep);
    found
}

/// Lists directories and queues their files.
struct Lister<'a> {
    walk: &'a Walk<'a>,
    jobs: SyncSender<Job>,
    done: Receiver<FileFact>,
    /// Paths that were queued: roots overlap.
    seen: BTreeSet<PathBuf>,
    found: &'a mut Found,
    bytes: &'a AtomicU64,
}

impl Lister<'_> {
    fn scan_root(&mut self, scan_root: &ScanRoot) {
        let outcome = match scan_root.extent {
            Extent::File => self.single(scan_root),
            // Already walked as part of another tree.
            _ if self.covered(scan_root) => Ok(()),
            _ => self.open(scan_root).and_then(|dir| self.directory(scan_root, &Arc::new(dir), Path::new(""), 0)),
        };
        // A log that was never enabled has no file; a missing key file is an error.
        let missing = outcome.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        if missing && scan_root.extent == Extent::File && scan_root.role != Role::Key {
            return;
        }
        let error = outcome.err().map(|error| error.to_string());
        let root =
            Root { path: text(&scan_root.path), role: scan_root.role, via: scan_root.via.clone(), error, missing };
        self.found.roots.push(root);
    }

    fn covered(&self, scan_root: &ScanRoot) -> bool {
        let is_this = |other: &&ScanRoot| std::ptr::eq::<ScanRoot>(*other, scan_root);
        let before = self.walk.scan_roots.iter().take_while(|other| !is_this(other));
        before.into_iter().any(|other| other.extent == Extent::Tree && scan_root.path.starts_with(&other.path))
    }

    fn open(&self, scan_root: &ScanRoot) -> io::Result<OwnedFd> {
        self.walk.view.open_dir(scan_root.directory())
    }

    fn single(&mut self, scan_root: &ScanRoot) -> io::Result<()> {
        if self.seen.contains(&scan_root.path) {
            return Ok(());
        }
        // A link to a certificate or log is intended by the operator.
        let resolved = self.walk.view.resolve(&scan_root.path);
        let (Some(parent), Some(name)) = (resolved.parent(), resolved.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let dir = Arc::new(self.walk.view.open_dir(parent)?);
        let stat = statat(&*dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            return self.directory(scan_root, &Arc::new(self.walk.view.open_dir(&resolved)?), Path::new(""), MAX_DEPTH);
        }
        let below = scan_root.path.file_name().map(PathBuf::from).unwrap_or_default();
        self.hand_out(scan_root, &dir, name.to_owned(), scan_root.path.clone(), below, stat);
        Ok(())
    }

    fn directory(&mut self, scan_root: &ScanRoot, dir: &Arc<OwnedFd>, below: &Path, depth: u32) -> io::Result<()> {
        let stat = rustix::fs::fstat(&**dir)?;
        let device = stat.st_dev;
        let path = if below.as_os_str().is_empty() {
            scan_root.directory().to_owned()
        } else {
            scan_root.directory().join(below)
        };
        self.found.directories.push(DirectoryFact {
            path: text(&path),
            role: scan_root.role,
            mode: stat.st_mode & 0o7777,
            uid: stat.st_uid,
            gid: stat.st_gid,
        });
        let mut entries: Vec<OsString> = Vec::new();
        for entry in Dir::read_from(&**dir)? {
            let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
            if name != "." && name != ".." {
                entries.push(name);
            }
        }
        entries.sort();
        for name in entries {
            self.entry(scan_root, dir, below.join(&name), name, device, depth);
        }
        Ok(())
    }

    fn entry(
        &mut self,
        scan_root: &ScanRoot,
        dir: &Arc<OwnedFd>,
        below: PathBuf,
        name: OsString,
        device: u64,
        depth: u32,
    ) {
        let path = if scan_root.extent == Extent::File {
            scan_root.path.join(&below)
        } else {
            scan_root.directory().join(&below)
        };
        if !scan_root.claims(&path) && scan_root.extent != Extent::File {
            return;
        }
        // A file that was removed since the listing does not count.
        let Ok(stat) = statat(&**dir, &name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        let others = self.walk.server_uid.is_some_and(|uid| uid != stat.st_uid);
        if matches!(scan_root.extent, Extent::ServerPrefixes(_)) && (others || self.walk.server_uid.is_none()) {
            return;
        }
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            self.hand_out(scan_root, dir, name, path, below, stat);
            return;
        }
        if depth >= MAX_DEPTH {
            self.found.left_out.push(format!("{}: nested too deep", path.display()));
            return;
        }
        if stat.st_dev != device {
            self.found.mounts.push((path.clone(), scan_root.role));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let opened = openat(&**dir, &name, flags, Mode::empty()).map_err(io::Error::from);
        let walked =
            opened.and_then(|inner| self.directory(scan_root, &Arc::new(inner), &below, depth.saturating_add(1)));
        if let Err(error) = walked {
            self.unreadable_directory(scan_root, &path, &error);
        }
    }

    fn unreadable_directory(&mut self, scan_root: &ScanRoot, path: &Path, error: &io::Error) {
        if error.kind() != io::ErrorKind::NotFound {
            let via = format!("directory in {}", scan_root.via);
            let error = Some(error.to_string());
            self.found.roots.push(Root { path: text(path), role: scan_root.role, via, error, missing: false });
        }
    }

    fn hand_out(
        &mut self,
        scan_root: &ScanRoot,
        dir: &Arc<OwnedFd>,
        name: OsString,
        path: PathBuf,
        below: PathBuf,
        stat: Stat,
    ) {
        if self.seen.len() >= self.walk.limits.files {
            if self.found.left_out.is_empty() {
                self.found.left_out.push(format!("files beyond the first {}", self.walk.limits.files));
            }
            return;
        }
        // A link that a variable names is read when that variable is processed.
        let link = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
        if link && scan_root.extent != Extent::File && self.is_named(&path) {
            return;
        }
        if !self.seen.insert(path.clone()) {
            return;
        }
        let claim = self.claim(scan_root, &path);
        let (role, log) = (claim.role, claim.log);
        // Readers end after this sender is dropped.
        let _ = self.jobs.send(Job { dir: Arc::clone(dir), name, path, below, role, log, stat });
        self.collect();
    }

    fn is_named(&self, path: &Path) -> bool {
        self.walk.scan_roots.iter().any(|scan_root| scan_root.extent == Extent::File && scan_root.path == path)
    }

    /// The most specific root for a file: one for the file itself, then one by name prefix, then the tree.
    fn claim<'p>(&'p self, found_in: &'p ScanRoot, path: &Path) -> &'p ScanRoot {
        let rank = |scan_root: &&ScanRoot| match scan_root.extent {
            Extent::File => 0,
            Extent::Prefixes(_) | Extent::ServerPrefixes(_) => 1,
            Extent::Tree => 2,
        };
        let claiming =
            self.walk.scan_roots.iter().filter(|scan_root| scan_root.extent != Extent::Tree && scan_root.claims(path));
        claiming.min_by_key(rank).unwrap_or(found_in)
    }

    fn collect(&mut self) {
        while let Ok(file) = self.done.try_recv() {
            self.found.files.push(file);
        }
        self.report();
    }

    fn finish(self) {
        let Self { walk, jobs, done, found, bytes, .. } = self;
        drop(jobs);
        loop {
            match done.recv_timeout(Duration::from_millis(100)) {
                Ok(file) => found.files.push(file),
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return,
            }
            report(walk, found.files.len(), bytes);
        }
    }

    fn report(&self) {
        report(self.walk, self.found.files.len(), self.bytes);
    }
}

fn report(walk: &Walk<'_>, files: usize, bytes: &AtomicU64) {
    if let Some(tell) = walk.progress {
        tell(Progress { step: "reading files", files, bytes: bytes.load(Ordering::Relaxed) });
    }
}

fn read_all(queue: &Mutex<Receiver<Job>>, results: &Sender<FileFact>, budget: &ReadBudget, bytes: &AtomicU64) {
    loop {
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        if let Some(file) = fact(job, budget, bytes) {
            // The receiver exists until all readers have ended.
            let _ = results.send(file);
        }
    }
}

/// The fact about a file; `None` if it was removed.
fn fact(job: Job, budget: &ReadBudget, bytes: &AtomicU64) -> Option<FileFact> {
    let content = content_of(&job, budget, bytes)?;
    let name = if job.below.as_os_str().is_empty() { text(&job.path) } else { text(&job.below) };
    Some(FileFact {
        path: text(&job.path),
        name,
        role: role_of(&job, &content),
        size_bytes: u64::try_from(job.stat.st_size).unwrap_or(0),
        mode: job.stat.st_mode & 0o7777,
        uid: job.stat.st_uid,
        gid: job.stat.st_gid,
        modified: job.stat.st_mtime,
        content,
    })
}

/// Without a server, only the default name shows that a log is a relay log.
fn role_of(job: &Job, content: &Content) -> Role {
    let relayed = server_file::is_named_as_relay_log(&job.name.to_string_lossy());
    match content {
        Content::BinaryLog { .. } if job.role == Role::Data && relayed => Role::RelayLog,
        _ => job.role,
    }
}

fn content_of(job: &Job, budget: &ReadBudget, bytes: &AtomicU64) -> Option<Content> {
    match FileType::from_raw_mode(job.stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Symlink => {
            let target = readlinkat(&*job.dir, &job.name, Vec::new()).ok()?;
            return Some(Content::Link { target: target.to_string_lossy().into_owned() });
        }
        _ => return Some(Content::Special),
    }
    let file = match open_at(&*job.dir, &job.name) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        // The name may belong to a pipe by now.
        Err(error) if NotRegular::in_error(&error).is_some() => return Some(Content::Special),
        Err(error) => return Some(Content::Unreadable { why: error.to_string() }),
    };
    let stat = rustix::fs::fstat(&file).ok()?;
    let source = Counted { file: File::from(file), bytes };
    let mut head = vec![0; HEAD_BYTES];
    let count = match source.read_at(0, &mut head) {
        Ok(count) => count,
        Err(error) => return Some(Content::Unreadable { why: error.to_string() }),
    };
    head.truncate(count);
    let parent = job.path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let sibling = |name: &str| {
        let file = open_at(&*job.dir, OsStr::new(name)).ok()?;
        files::read_bytes(&File::from(file), 0, HEAD_BYTES).ok()
    };
    Some(recognise(&Candidate {
        name: &job.name.to_string_lossy(),
        parent: &parent,
        role: job.role,
        log: job.log,
        size_bytes: u64::try_from(stat.st_size).unwrap_or(0),
        head: &head,
        source: &source,
        sibling: &sibling,
        budget,
    }))
}

/// A file that counts the bytes read.
struct Counted<'a> {
    file: File,
    bytes: &'a AtomicU64,
}

impl ReadAt for Counted<'_> {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(offset, buf)?;
        self.bytes.fetch_add(u64::try_from(count).unwrap_or(0), Ordering::Relaxed);
        Ok(count)
    }

    fn len(&self) -> io::Result<u64> {
        ReadAt::len(&self.file)
    }

    fn pause(&self, time: Duration) {
        self.file.pause(time);
    }
}

impl Counted<'_> {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        ReadAt::read_at(self, offset, buf)
    }
}

/// `ibdata2` and later files have no page 0: they are read again as parts of the system tablespace, in numeric order.
fn continue_system_tablespace(view: &View, files: &mut [FileFact], deep: bool) {
    let mut parts: BTreeMap<(PathBuf, u32), usize> = BTreeMap::new();
    for (index, file) in files.iter().enumerate() {
        let number = server_file::system_number(file.base_name());
        if let (Some(number), Some(dir)) = (number, Path::new(&file.path).parent()) {
            parts.insert((dir.to_owned(), number), index);
        }
    }
    let mut first: Option<(PathBuf, innodb::tablespace::Page0, u64)> = None;
    for ((dir, _), index) in parts {
        let Some(file) = files.get_mut(index) else { continue };
        if let Content::Tablespace { scan } = &file.content {
            first = Some((dir, scan.page0.clone(), scan.counts.total));
            continue;
        }
        let Some((_, page0, pages)) = first.as_mut().filter(|(of, _, _)| *of == dir) else { continue };
        let Ok(first_page) = u32::try_from(*pages) else { continue };
        let continues = Some(Continuation { page0: page0.clone(), first_page: innodb::PageNo(first_page) });
        let depth = if deep { Depth::All } else { Depth::Sample(65_536) };
        let opened = view.open_file(Path::new(&file.path)).map(File::from);
        let options = ScanOptions { continues, ..ScanOptions::default() };
        if let Some(scan) = opened.ok().and_then(|f| innodb::tablespace::scan(&f, depth, &options).ok()) {
            *pages = pages.saturating_add(scan.counts.total);
            file.content = Content::Tablespace { scan: Box::new(scan) };
        }
    }
}

/// Reads unidentified tablespaces again, until `settle_time` is used up: the first page of a new one is written shortly
/// after its file is created.
pub(super) fn settle(walk: &Walk<'_>, found: &mut Found, now: i64, settle_time: Duration) {
    const STEP: Duration = Duration::from_millis(250);
    const NEW_SECONDS: i64 = 60;
    let fresh = |file: &FileFact| {
        let unidentified = matches!(file.content, Content::UnidentifiedTablespace { .. });
        unidentified && file.size_bytes > 0 && now.saturating_sub(file.modified) < NEW_SECONDS
    };
    let mut left = settle_time;
    while found.files.iter().any(fresh) && !left.is_zero() {
        std::thread::sleep(STEP);
        left = left.saturating_sub(STEP);
        for file in found.files.iter_mut().filter(|file| fresh(file)) {
            let again = named(walk, &[(PathBuf::from(&file.path), file.name.clone())]);
            let identified = |again: &FileFact| !matches!(again.content, Content::UnidentifiedTablespace { .. });
            if let Some(again) = again.into_iter().find(identified) {
                *file = FileFact { role: file.role, ..again };
            }
        }
    }
    // A table that was dropped in the meantime does not count.
    let gone = |file: &FileFact| {
        let found = walk.view.stat(Path::new(&file.path));
        fresh(file) && found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    };
    found.files.retain(|file| !gone(file));
}

/// Reads exactly these files, wherever links of their directories lead: the server named them.
pub(super) fn named(walk: &Walk<'_>, paths: &[(PathBuf, String)]) -> Vec<FileFact> {
    let budget = ReadBudget::new(walk.deep, walk.limits.special_bytes);
    let bytes = AtomicU64::new(0);
    let read = |(path, name): &(PathBuf, String)| {
        let resolved = walk.view.resolve(path);
        let dir = walk.view.open_dir(resolved.parent()?).ok()?;
        let file = resolved.file_name()?.to_owned();
        let stat = match statat(&dir, &file, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return None,
            Err(_) => return None,
        };
        let job = Job {
            dir: Arc::new(dir),
            name: file,
            path: path.clone(),
            below: PathBuf::from(name),
            role: Role::ExternalData,
            log: None,
            stat,
        };
        fact(job, &budget, &bytes)
    };
    paths.iter().filter_map(read).collect()
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::super::roots;
    use super::*;

    fn walked(dir: &Path) -> Found {
        let limits = Limits::default();
        let scan_roots = roots::of_directory(dir, Role::Data);
        walk(&Walk {
            view: &View::ours(),
            scan_roots: &scan_roots,
            deep: false,
            server_uid: None,
            limits: &limits,
            progress: None,
        })
    }

    fn content<'f>(found: &'f Found, name: &str) -> &'f Content {
        &found.files.iter().find(|file| file.name == name).unwrap_or_else(|| panic!("no {name}")).content
    }

    #[test]
    fn strange_entries_neither_hang_nor_lead_away() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("secret.ibd"), "x").unwrap();
        let fifo = dir.path().join("t.ibd");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        symlink(outside.path(), dir.path().join("db")).unwrap();
        symlink(dir.path(), dir.path().join("loop")).unwrap();
        fs::write(dir.path().join(OsStr::from_bytes(b"\xff.ibd")), "short").unwrap();
        fs::write(dir.path().join("empty.ibd"), "").unwrap();
        let found = walked(dir.path());
        assert!(matches!(content(&found, "t.ibd"), Content::Special));
        assert!(matches!(content(&found, "db"), Content::Link { .. }));
        assert!(matches!(content(&found, "loop"), Content::Link { .. }));
        assert!(matches!(content(&found, "empty.ibd"), Content::UnidentifiedTablespace { .. }));
        assert_eq!(found.files.len(), 5);
    }

    #[test]
    fn a_huge_sparse_file_takes_bounded_reads() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["t.ibd", "undo_001", "ib_logfile0", "#ib_16384_0.dblwr", "x.bin", "t.MYD"] {
            File::create(dir.path().join(name)).unwrap().set_len(1 << 40).unwrap();
        }
        let found = walked(dir.path());
        assert_eq!(found.files.len(), 6);
        assert!(found.bytes_read < 4 << 30, "{}", found.bytes_read);
    }

    #[test]
    fn a_missing_root_says_why() {
        let found = walked(Path::new("/nowhere/at/all"));
        assert!(found.roots.first().unwrap().error.is_some());
    }

    #[test]
    fn directories_by_name_decide_the_role() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("slow.log"), "hello\n").unwrap();
        fs::write(dir.path().join("bin.000001"), b"\xfebin").unwrap();
        let mut scan_roots = roots::of_directory(dir.path(), Role::Data);
        let base = scan_roots[0].clone();
        scan_roots.push(ScanRoot {
            path: dir.path().join("slow.log"),
            role: Role::Log,
            log: Some("slow"),
            extent: Extent::File,
            ..base.clone()
        });
        scan_roots.push(ScanRoot { role: Role::BinaryLog, extent: Extent::Prefixes(vec!["bin.".to_owned()]), ..base });
        let limits = Limits::default();
        let found = walk(&Walk {
            view: &View::ours(),
            scan_roots: &scan_roots,
            deep: false,
            server_uid: None,
            limits: &limits,
            progress: None,
        });
        assert!(matches!(content(&found, "slow.log"), Content::TextLog { log } if log == "slow"));
        let roles: Vec<Role> = found.files.iter().map(|file| file.role).collect();
        assert_eq!(roles, [Role::BinaryLog, Role::Log]);
    }
}
