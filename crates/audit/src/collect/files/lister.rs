//! Lists directories, and queues their files for the reading threads.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, openat, statat};

use super::super::request::report;
use super::super::roots::{Extent, ScanRoot};
use super::read::Job;
use super::{Found, Walk, text};
use crate::facts::files::{DirectoryFact, FileFact, Root};
use crate::facts::host::Role;

/// Maximum depth below a root; schemas are one deep, backups a few.
const MAX_DEPTH: u32 = 16;

/// The step in reports of progress.
const STEP: &str = "reading files";

/// Lists directories and queues their files.
pub(super) struct Lister<'a> {
    pub(super) walk: &'a Walk<'a>,
    pub(super) jobs: SyncSender<Job>,
    pub(super) done: Receiver<FileFact>,
    /// Paths that were queued: roots overlap.
    pub(super) seen: BTreeSet<PathBuf>,
    pub(super) found: &'a mut Found,
    pub(super) bytes: &'a AtomicU64,
}

impl Lister<'_> {
    pub(super) fn scan_root(&mut self, scan_root: &ScanRoot) {
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

    pub(super) fn finish(self) {
        let Self { walk, jobs, done, found, bytes, .. } = self;
        drop(jobs);
        loop {
            match done.recv_timeout(Duration::from_millis(100)) {
                Ok(file) => found.files.push(file),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            report(walk.progress, STEP, found.files.len(), bytes.load(Ordering::Relaxed));
        }
    }

    fn report(&self) {
        report(self.walk.progress, STEP, self.found.files.len(), self.bytes.load(Ordering::Relaxed));
    }
}
