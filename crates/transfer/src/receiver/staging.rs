//! The staging directory: `.sealant-staging` in the target, on its file system, holds the received
//! files below `files` until the commit.
//!
//! Everything is reached from an open directory, component by component, without following links:
//! nothing that another program puts into the target can redirect a write.

use std::{
    collections::HashMap,
    ffi::OsStr,
    fs::{self, DirBuilder, File},
    io::{self, ErrorKind, Read, Write},
    num::NonZero,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::{ffi::OsStrExt, fs::DirBuilderExt},
    },
    path::{Path, PathBuf},
    str::FromStr,
    thread,
};

use rustix::{
    fs::{
        AtFlags, Dir, FileType, FlockOperation, Gid, Mode, OFlags, RenameFlags, Timespec, Timestamps, Uid, chownat,
        fchmod, fchown, flock, fstat, fsync, futimens, mkdirat, open, openat, readlinkat, renameat, renameat_with,
        statat, symlinkat, syncfs, unlinkat, utimensat,
    },
    io::Errno,
};

use super::{
    commit_marker::CommitMarker,
    parent_cache::{ParentCache, open_directory},
};
use crate::{
    error::Error,
    hash::{Hash, chunks_of},
    journal::Journal,
    manifest::Manifest,
    path::RelativePath,
    plan::{LOST_AND_FOUND, MANIFEST, STAGING},
    wire::{Entry, Kind},
};

const FILES: &str = "files";
const JOURNAL: &str = "journal";
/// Name of the hash file until it is unlinked.
const SCRATCH: &str = "hashes";
const COMMIT: &str = "commit";
/// Name of the commit marker while it is written.
const COMMIT_PART: &str = "commit-part";
/// Up to this number, one thread sets the attributes of all entries.
const SINGLE_THREAD_ENTRIES: usize = 512;
const PRIVATE_DIRECTORY: Mode = Mode::RWXU;
/// The set-user-id and set-group-id bits.
const SET_IDS: u32 = 0o6000;
const PRIVATE_FILE: Mode = Mode::from_raw_mode(0o600);

/// A target and its staging directory.
#[derive(Debug)]
pub struct Staging {
    path: PathBuf,
    target: OwnedFd,
    staging: OwnedFd,
    files: OwnedFd,
}

/// Owner of everything, instead of the source's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
}

impl FromStr for Owner {
    type Err = String;

    /// Reads `USER[:GROUP]`, by names or numbers of this host.
    fn from_str(text: &str) -> Result<Self, String> {
        files::accounts::owner(text).map(|(uid, gid)| Self { uid, gid })
    }
}

impl Owner {
    fn ids(self) -> (Option<Uid>, Option<Gid>) {
        (Some(Uid::from_raw(self.uid)), Some(Gid::from_raw(self.gid)))
    }
}

impl Staging {
    /// Opens a target, which must not exist, be empty, or hold an interrupted transfer. Also checks
    /// that files can get their owner.
    pub fn open(path: &Path, owner: Option<Owner>) -> Result<Self, Error> {
        let failed = |doing| move |source: io::Error| Error::Target { path: path.to_path_buf(), doing, source };
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            other => other.map_err(failed("cannot be made"))?,
        }
        // The target itself may be a link: the user named it.
        let target = open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let target = target.map_err(|error| failed("cannot be opened")(error.into()))?;
        let committing = Self::is_committing(&target);
        for name in names(&target).map_err(failed("cannot be listed"))? {
            if !is_expected(&name) && !committing {
                return Err(Error::NotEmpty { path: path.to_path_buf() });
            }
        }
        let make = |parent: &OwnedFd, name: &str| {
            make_directory(parent, OsStr::new(name))?;
            open_directory(parent.as_fd(), OsStr::new(name))
        };
        let staging = make(&target, STAGING).map_err(failed("a directory in it cannot be made"))?;
        check_owned(&staging).map_err(|uid| Error::NotOurs { path: path.join(STAGING), uid })?;
        match flock(&staging, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Err(Error::Busy { path: path.to_path_buf() }),
            other => other.map_err(|error| failed("cannot be locked")(error.into()))?,
        }
        let files = make(&staging, FILES).map_err(failed("a directory in it cannot be made"))?;
        let opened = Self { path: path.to_path_buf(), target, staging, files };
        owner.map_or(Ok(()), |owner| opened.check_owner(owner))?;
        Ok(opened)
    }

    /// Whether a commit was interrupted here. At its very end, the marker is gone and only empty
    /// directories are left next to the manifest.
    fn is_committing(target: &OwnedFd) -> bool {
        let Ok(staging) = open_directory(target.as_fd(), OsStr::new(STAGING)) else { return false };
        let is_empty = |name: &OsStr| {
            name == FILES
                && open_directory(staging.as_fd(), name)
                    .is_ok_and(|files| names(&files).is_ok_and(|names| names.is_empty()))
        };
        let over = || {
            exists(target, OsStr::new(MANIFEST))
                && names(&staging).is_ok_and(|names| names.iter().all(|name| is_empty(name)))
        };
        exists(&staging, OsStr::new(COMMIT)) || over()
    }

    /// Changes the owner of a test file: otherwise a failure would only show at the end.
    fn check_owner(&self, owner: Owner) -> Result<(), Error> {
        const PROBE: &str = "trial";
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (uid, gid) = owner.ids();
        let given = openat(&self.staging, PROBE, flags, PRIVATE_FILE).and_then(|probe| fchown(probe, uid, gid));
        let removed = self.forget(&[PROBE]);
        given.and(removed).map_err(|error| Error::Owner {
            path: self.path.clone(),
            uid: owner.uid,
            gid: owner.gid,
            source: error.into(),
        })
    }

    /// Checks that the target has no foreign content: it was empty at the start.
    fn check_empty(&self) -> Result<(), Error> {
        let names = names(&self.target).map_err(self.failed("cannot be listed"))?;
        match names.iter().find(|name| !is_expected(name)) {
            Some(name) => Err(Error::Occupied { path: self.path.join(name) }),
            None => Ok(()),
        }
    }

    /// Whether a commit was interrupted, so that no sender is needed.
    pub fn is_committed(&self) -> bool {
        // A manifest next to the staging directory is only accepted if it is from the end of a
        // commit.
        exists(&self.staging, OsStr::new(COMMIT)) || exists(&self.target, OsStr::new(MANIFEST))
    }

    /// Whether an earlier transfer left files.
    pub fn has_files(&self) -> Result<bool, Error> {
        let names = names(&self.files).map_err(self.failed("what an earlier transfer left cannot be listed"))?;
        Ok(!names.is_empty())
    }

    /// Whether the staging directory was removed, as after a commit.
    pub(crate) fn is_gone(&self) -> bool {
        !exists(&self.target, OsStr::new(STAGING))
    }

    /// Removes what an earlier transfer left.
    pub fn clear(&self) -> Result<(), Error> {
        let cleared = self.prune(|_, _| false);
        let cleared = cleared.and_then(|()| Ok(self.forget(&[COMMIT_PART, JOURNAL, SCRATCH])?));
        cleared.map_err(self.failed("what an earlier transfer left cannot be removed"))
    }

    /// Removes these files of the staging directory, if they exist.
    fn forget(&self, names: &[&str]) -> Result<(), Errno> {
        names.iter().try_for_each(|name| gone(unlinkat(&self.staging, *name, AtFlags::empty())))
    }

    fn failed(&self, doing: &'static str) -> impl Fn(io::Error) -> Error + '_ {
        move |source| Error::Target { path: self.path.clone(), doing, source }
    }

    fn failed_at<'s>(&'s self, path: &'s RelativePath, doing: &'static str) -> impl Fn(io::Error) -> Error + 's {
        move |source| Error::Target { path: self.path.join(path.as_path()), doing, source }
    }

    /// Converts an error of the file for hashes.
    pub(crate) fn hashes_failed(&self) -> impl Fn(io::Error) -> Error + '_ {
        self.failed("its file for hashes cannot be used")
    }

    /// Final path of an entry.
    pub fn path_of(&self, path: &RelativePath) -> PathBuf {
        self.path.join(path.as_path())
    }

    /// Checks that this many bytes fit on the file system.
    pub fn check_space(&self, wanted_bytes: u64) -> Result<(), Error> {
        let free_bytes =
            files::free_bytes_at(&self.files).map_err(self.failed("its free space cannot be determined"))?;
        if wanted_bytes > free_bytes {
            return Err(Error::Space { path: self.path.clone(), wanted_bytes, free_bytes });
        }
        Ok(())
    }

    /// Allocated bytes of staged files.
    pub fn staged_bytes(&self, entries: &[Entry]) -> u64 {
        let mut parents = self.parents();
        let blocks = entries.iter().filter_map(|entry| {
            let found =
                statat(parents.open_parent(&entry.path).ok()?, name(&entry.path), AtFlags::SYMLINK_NOFOLLOW).ok()?;
            u64::try_from(found.st_blocks).ok()
        });
        blocks.sum::<u64>().saturating_mul(512)
    }

    /// The journal, opened for appending, without an incomplete last record.
    pub(crate) fn journal(&self) -> Result<Journal, Error> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.staging, JOURNAL, flags, PRIVATE_FILE);
        let file = file.map_err(|error| self.failed("its journal cannot be opened")(error.into()))?;
        let journal = Journal::resume(file.into());
        journal.map_err(self.failed("its journal cannot be opened"))
    }

    /// The journal of an earlier transfer; `None` if there is none.
    pub(crate) fn old_journal(&self) -> Result<Option<File>, Error> {
        match openat(&self.staging, JOURNAL, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) {
            Ok(file) => Ok(Some(file.into())),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(self.failed("its journal cannot be read")(error.into())),
        }
    }

    /// An empty unnamed file for writing and reading. Its space is free again when it is closed.
    pub(crate) fn scratch(&self) -> Result<File, Error> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = self.forget(&[SCRATCH]).and_then(|()| openat(&self.staging, SCRATCH, flags, PRIVATE_FILE));
        let unnamed = made.and_then(|file| self.forget(&[SCRATCH]).map(|()| file.into()));
        unnamed.map_err(|error| self.failed("a file for hashes cannot be made in it")(error.into()))
    }

    /// Creates the directories and links of a list, and files of several chunks with their length
    /// but without data. Files of one chunk are created when they are received.
    pub(crate) fn make(&self, entries: &[Entry]) -> Result<(), Error> {
        let comes_whole = |entry: &&Entry| matches!(entry.kind, Kind::File { bytes } if chunks_of(bytes) == 1);
        self.make_each(entries.iter().filter(|entry| !comes_whole(entry)))
    }

    /// Creates everything of a list that an earlier transfer has not created, and removes what is
    /// not in the list.
    pub fn make_resumed(&self, entries: &[Entry]) -> Result<(), Error> {
        self.prune_to(entries).map_err(self.failed("what an earlier transfer left cannot be removed"))?;
        self.make_each(entries.iter())
    }

    /// Changes the staged files from one list to the next. Touches only what differs, since the
    /// sender's server may be paused meanwhile.
    pub(crate) fn change(&self, before: &[Entry], now: &[Entry]) -> Result<(), Error> {
        let wanted: HashMap<_, _> = now.iter().map(|entry| (&entry.path, &entry.kind)).collect();
        let stays = |entry: &&Entry| {
            wanted
                .get(&entry.path)
                .is_some_and(|kind| std::mem::discriminant(*kind) == std::mem::discriminant(&entry.kind))
        };
        let mut parents = self.parents();
        // Children first.
        for entry in before.iter().rev().filter(|entry| !stays(entry)) {
            let flags = if entry.kind == Kind::Directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
            let removed = parents
                .open_parent(&entry.path)
                .and_then(|parent| Ok(gone(unlinkat(parent, name(&entry.path), flags))?));
            removed.map_err(self.failed_at(&entry.path, "cannot be removed"))?;
        }
        let there: HashMap<_, _> = before.iter().map(|entry| (&entry.path, &entry.kind)).collect();
        self.make_each(now.iter().filter(|entry| there.get(&entry.path) != Some(&&entry.kind)))
    }

    fn make_each<'e>(&self, entries: impl Iterator<Item = &'e Entry>) -> Result<(), Error> {
        let mut parents = self.parents();
        for entry in entries {
            let parent = parents.open_parent(&entry.path);
            let parent = parent.map_err(self.failed_at(&entry.path, "its directory cannot be opened"))?;
            let made = match &entry.kind {
                Kind::Directory => make_directory(&parent, name(&entry.path)),
                Kind::Link { target } => make_link(&parent, name(&entry.path), target),
                Kind::File { bytes } => {
                    open_for_writing(&parent, name(&entry.path)).and_then(|file| file.set_len(*bytes))
                }
            };
            made.map_err(self.failed_at(&entry.path, "cannot be made"))?;
        }
        Ok(())
    }

    /// Removes everything that is not in the list, or is of another kind.
    fn prune_to(&self, entries: &[Entry]) -> io::Result<()> {
        let kind = |entry: &Entry| match entry.kind {
            Kind::File { .. } => FileType::RegularFile,
            Kind::Directory => FileType::Directory,
            Kind::Link { .. } => FileType::Symlink,
        };
        let wanted: HashMap<&RelativePath, FileType> = entries.iter().map(|entry| (&entry.path, kind(entry))).collect();
        self.prune(|path, kind| wanted.get(path) == Some(&kind))
    }

    /// Removes unwanted entries. Few directories are open at a time, however deep they are nested.
    fn prune(&self, wanted: impl Fn(&RelativePath, FileType) -> bool) -> io::Result<()> {
        let (mut directories, mut unwanted, mut parents) = (vec![None], Vec::new(), self.parents());
        while let Some(path) = directories.pop() {
            let directory = match &path {
                Some(path) => open_directory(parents.open_parent(path)?, name(path))?,
                None => self.files.try_clone()?,
            };
            for item in names(&directory)? {
                let below = path.as_ref().map_or_else(|| Path::new(""), RelativePath::as_path).join(&item);
                let below = RelativePath::parse(below.as_os_str().as_bytes()).ok_or(ErrorKind::InvalidFilename)?;
                let kind = FileType::from_raw_mode(statat(&directory, &item, AtFlags::SYMLINK_NOFOLLOW)?.st_mode);
                if !wanted(&below, kind) {
                    unwanted.push((below.clone(), kind));
                }
                if kind == FileType::Directory {
                    directories.push(Some(below));
                }
            }
        }
        // In reverse, because the content of a directory comes after it.
        for (path, kind) in unwanted.iter().rev() {
            let flags = if *kind == FileType::Directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
            unlinkat(parents.open_parent(path)?, name(path), flags)?;
        }
        Ok(())
    }

    /// Opens a staged file for writing.
    pub fn open_file(&self, parents: &mut ParentCache<'_>, path: &RelativePath) -> Result<File, Error> {
        let file = parents.open_parent(path).and_then(|parent| open_for_writing(&parent, name(path)));
        file.map_err(self.failed_at(path, "cannot be opened for writing"))
    }

    /// Reads at most `most_bytes` of a staged file.
    pub(super) fn read(&self, path: &RelativePath, most_bytes: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let read = self.open_file(&mut self.parents(), path)?.take(most_bytes).read_to_end(&mut bytes);
        read.map_err(self.failed_at(path, "cannot be read"))?;
        Ok(bytes)
    }

    /// Replaces the content of a staged file.
    pub(super) fn rewrite(&self, path: &RelativePath, bytes: &[u8]) -> Result<(), Error> {
        let mut file = self.open_file(&mut self.parents(), path)?;
        let written = file.set_len(0).and_then(|()| file.write_all(bytes));
        written.map_err(self.failed_at(path, "cannot be written"))
    }

    /// Removes a staged file.
    pub(super) fn remove(&self, path: &RelativePath) -> Result<(), Error> {
        let mut parents = self.parents();
        let removed = parents.open_parent(path).and_then(|parent| Ok(unlinkat(parent, name(path), AtFlags::empty())?));
        removed.map_err(self.failed_at(path, "cannot be removed"))
    }

    /// Opens a staged file for writes that bypass the page cache.
    pub(crate) fn open_file_directly(parents: &mut ParentCache<'_>, path: &RelativePath) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::DIRECT | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(parents.open_parent(path)?, name(path), flags, Mode::empty())?.into())
    }

    /// Directory of the staged files.
    #[must_use]
    pub fn files_path(&self) -> PathBuf {
        self.path.join(STAGING).join(FILES)
    }

    /// Opens parent directories of staged files.
    pub fn parents(&self) -> ParentCache<'_> {
        ParentCache::below(&self.files)
    }

    /// Commits the transfer. Everything is on disk before anything is moved, and the next receiver
    /// completes an interrupted commit.
    pub fn commit(&self, manifest: &Manifest, mark: &CommitMarker) -> Result<(), Error> {
        self.set_file_attributes(manifest, mark.owner)?;
        self.write_manifest(manifest).map_err(self.failed("the manifest cannot be written"))?;
        self.write_out(manifest)?;
        self.check_empty()?;
        self.write_mark(mark).map_err(self.failed("cannot be written to disk"))?;
        self.finish(manifest)
    }

    /// Sets owners, permissions and times of files and links; uses all processors if there are
    /// many.
    fn set_file_attributes(&self, manifest: &Manifest, owner: Option<Owner>) -> Result<(), Error> {
        let work = |part: &[(Entry, Option<Hash>)]| {
            let mut parents = self.parents();
            let mut files = part.iter().map(|(entry, _)| entry).filter(|entry| entry.kind != Kind::Directory);
            files.try_for_each(|entry| self.set_attributes_in(&mut parents, entry, owner))
        };
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let part = manifest.entries.len().div_ceil(threads).max(SINGLE_THREAD_ENTRIES);
        thread::scope(|scope| {
            let workers: Vec<_> = manifest.entries.chunks(part).map(|part| scope.spawn(move || work(part))).collect();
            workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Err(Error::Stopped)))
        })
    }

    fn set_attributes_in(
        &self,
        parents: &mut ParentCache<'_>,
        entry: &Entry,
        owner: Option<Owner>,
    ) -> Result<(), Error> {
        let set =
            parents.open_parent(&entry.path).and_then(|parent| set_attributes(parent, name(&entry.path), entry, owner));
        set.map_err(self.failed_at(&entry.path, "its owner, permissions or times cannot be set"))
    }

    /// Flushes everything to disk.
    fn write_out(&self, manifest: &Manifest) -> Result<(), Error> {
        syncfs(&self.staging).map_err(|error| self.failed("cannot be written to disk")(error.into()))?;
        if syncfs_reports_errors() {
            return Ok(());
        }
        let mut parents = self.parents();
        for (entry, _) in manifest.entries.iter().filter(|(entry, _)| !matches!(entry.kind, Kind::Link { .. })) {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let synced = parents
                .open_parent(&entry.path)
                .and_then(|parent| Ok(fsync(openat(parent, name(&entry.path), flags, Mode::empty())?)?));
            synced.map_err(self.failed_at(&entry.path, "cannot be written to disk"))?;
        }
        Ok(())
    }

    /// Writes the commit marker atomically.
    fn write_mark(&self, mark: &CommitMarker) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut part = File::from(openat(&self.staging, COMMIT_PART, flags, PRIVATE_FILE)?);
        part.write_all(mark.text().as_bytes())?;
        part.sync_all()?;
        renameat(&self.staging, COMMIT_PART, &self.staging, COMMIT)?;
        Ok(fsync(&self.staging)?)
    }

    fn write_manifest(&self, manifest: &Manifest) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o640);
        let mut out = io::BufWriter::new(File::from(openat(&self.staging, MANIFEST, flags, mode)?));
        manifest.write(&mut out)?;
        out.flush()?;
        out.get_ref().sync_all()
    }

    /// Reads the manifest of an interrupted commit.
    pub fn staged_manifest(&self) -> Result<Manifest, Error> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match openat(&self.staging, MANIFEST, flags, Mode::empty()) {
            // The manifest is moved last, before the staging directory is removed.
            Err(Errno::NOENT) => openat(&self.target, MANIFEST, flags, Mode::empty()),
            other => other,
        };
        let read = file
            .map_err(io::Error::from)
            .and_then(|file| Manifest::read(&mut io::BufReader::new(File::from(file))).map_err(io::Error::other));
        read.map_err(self.failed("the manifest of the commit that was cut off cannot be read"))
    }

    /// Reads the marker of an interrupted commit; `None` if it is already removed.
    pub fn mark(&self) -> Result<Option<CommitMarker>, Error> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(mark) = openat(&self.staging, COMMIT, flags, Mode::empty()) else { return Ok(None) };
        let mark = io::read_to_string(File::from(mark))
            .and_then(|text| CommitMarker::parse(&text).ok_or_else(|| io::Error::from(ErrorKind::InvalidData)));
        mark.map(Some).map_err(self.failed("the mark of the commit that was cut off cannot be read"))
    }

    /// Completes the commit as its marker says, and removes the staging directory. May be repeated.
    pub fn finish(&self, manifest: &Manifest) -> Result<(), Error> {
        if let Some(mark) = self.mark()? {
            self.install(manifest, &mark)?;
        }
        let removed = unlinkat(&self.staging, FILES, AtFlags::REMOVEDIR)
            .and_then(|()| self.forget(&[JOURNAL, SCRATCH, COMMIT_PART, COMMIT]))
            .and_then(|()| unlinkat(&self.target, STAGING, AtFlags::REMOVEDIR));
        removed.map_err(|error| self.failed("the staging directory cannot be removed")(error.into()))?;
        // Everything else is on disk already. If a power failure undoes this removal, the next receiver repeats it. So
        // a failed sync is not an error; there would be nothing to resume.
        let _ = fsync(&self.target);
        Ok(())
    }

    fn install(&self, manifest: &Manifest, mark: &CommitMarker) -> Result<(), Error> {
        let moving = self.failed("what was received cannot be moved into place");
        for entry in names(&self.files).map_err(&moving)? {
            self.move_in(&self.files, &entry)?;
        }
        let mut parents = ParentCache::below(&self.target);
        // Children first: a directory's time must be set after everything in it is done.
        for (entry, _) in manifest.entries.iter().rev().filter(|(entry, _)| entry.kind == Kind::Directory) {
            self.set_attributes_in(&mut parents, entry, mark.owner)?;
        }
        if exists(&self.staging, OsStr::new(MANIFEST)) {
            self.move_in(&self.staging, OsStr::new(MANIFEST))?;
        }
        self.set_target_attributes(mark).map_err(self.failed("its owner and permissions cannot be set"))?;
        syncfs(&self.target).map_err(|error| moving(error.into()))
    }

    /// Moves an entry into the target, without replacing anything.
    fn move_in(&self, from: &OwnedFd, name: &OsStr) -> Result<(), Error> {
        let moved = match renameat_with(from, name, &self.target, name, RenameFlags::NOREPLACE) {
            // Not every file system supports RENAME_NOREPLACE.
            Err(Errno::INVAL | Errno::NOSYS) if !exists(&self.target, name) => renameat(from, name, &self.target, name),
            Err(Errno::INVAL | Errno::NOSYS) => Err(Errno::EXIST),
            other => other,
        };
        match moved {
            Err(Errno::EXIST) => Err(Error::Occupied { path: self.path.join(name) }),
            other => other.map_err(|error| self.failed("what was received cannot be moved into place")(error.into())),
        }
    }

    /// Sets owner and permissions of the target directory and the manifest: a server must be able
    /// to use its directory, and other users must not look into a private one.
    fn set_target_attributes(&self, mark: &CommitMarker) -> io::Result<()> {
        let owner = mark.owner.or_else(|| mark.root.map(|root| Owner { uid: root.uid, gid: root.gid }));
        if let Some((uid, gid)) = owner.map(Owner::ids) {
            give(mark.owner, chownat(&self.target, MANIFEST, uid, gid, AtFlags::SYMLINK_NOFOLLOW))?;
            give(mark.owner, fchown(&self.target, uid, gid))?;
        }
        mark.root.map_or(Ok(()), |root| give(mark.owner, fchmod(&self.target, Mode::from_raw_mode(root.mode))))
    }
}

/// Names that an otherwise empty target may contain.
fn is_expected(name: &OsStr) -> bool {
    name == STAGING || name == LOST_AND_FOUND
}

/// Checks that a directory belongs to this user and nobody else may write it; returns its owner if
/// not.
fn check_owned(directory: &OwnedFd) -> Result<(), u32> {
    let found = fstat(directory).map_err(|_| u32::MAX)?;
    let ours = found.st_uid == rustix::process::geteuid().as_raw() && found.st_mode & 0o022 == 0;
    if ours { Ok(()) } else { Err(found.st_uid) }
}

/// Whether `syncfs` reports write errors: not before Linux 5.8.
///
/// Source: syncfs(2), "Historically".
fn syncfs_reports_errors() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
    (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default()) >= (5, 8)
}

fn gone(result: Result<(), Errno>) -> Result<(), Errno> {
    match result {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}

fn name(path: &RelativePath) -> &OsStr {
    path.as_path().file_name().unwrap_or_default()
}

fn names(directory: &OwnedFd) -> io::Result<Vec<std::ffi::OsString>> {
    let mut found = Vec::new();
    for item in Dir::read_from(directory)? {
        let item = item?;
        let name = OsStr::from_bytes(item.file_name().to_bytes());
        if name != "." && name != ".." {
            found.push(name.to_owned());
        }
    }
    Ok(found)
}

fn exists(directory: &OwnedFd, name: &OsStr) -> bool {
    statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

fn make_directory(parent: &impl AsFd, name: &OsStr) -> io::Result<()> {
    match mkdirat(parent, name, PRIVATE_DIRECTORY) {
        Err(Errno::EXIST) => Ok(()),
        other => Ok(other?),
    }
}

fn make_link(parent: &impl AsFd, name: &OsStr, target: &[u8]) -> io::Result<()> {
    if readlinkat(parent, name, Vec::new()).is_ok_and(|found| found.as_bytes() == target) {
        return Ok(());
    }
    gone(unlinkat(parent, name, AtFlags::empty()))?;
    Ok(symlinkat(target, parent, name)?)
}

fn open_for_writing(parent: &impl AsFd, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match openat(parent, name, flags, PRIVATE_FILE) {
        // A file with more names is not ours either.
        Ok(file) if fstat(&file)?.st_nlink == 1 => return Ok(file.into()),
        // An interrupted commit may already have set its permissions.
        Ok(_) | Err(Errno::ACCESS) => {}
        Err(error) => return Err(error.into()),
    }
    unlinkat(parent, name, AtFlags::empty())?;
    Ok(openat(parent, name, flags, PRIVATE_FILE)?.into())
}

/// Only root can change owners: for other users failing to do so is fine, unless an owner was
/// requested.
fn give(owner: Option<Owner>, result: Result<(), Errno>) -> io::Result<()> {
    match result {
        Err(Errno::PERM) if owner.is_none() && !rustix::process::geteuid().is_root() => Ok(()),
        other => Ok(other?),
    }
}

/// Sets owner, permissions and times of an entry.
fn set_attributes(parent: BorrowedFd<'_>, name: &OsStr, entry: &Entry, owner: Option<Owner>) -> io::Result<()> {
    let (uid, gid) = owner.unwrap_or(Owner { uid: entry.uid, gid: entry.gid }).ids();
    let time = Timespec { tv_sec: entry.modified.0, tv_nsec: i64::from(entry.modified.1) };
    let times = Timestamps { last_access: time, last_modification: time };
    if let Kind::Link { .. } = entry.kind {
        give(owner, chownat(parent, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW))?;
        return Ok(utimensat(parent, name, &times, AtFlags::SYMLINK_NOFOLLOW)?);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let item = openat(parent, name, flags, Mode::empty())?;
    give(owner, fchown(&item, uid, gid))?;
    // Drop the set-user-id and set-group-id bits under another owner: the program was meant to run as its original
    // owner.
    let kept = if owner.is_some() && !matches!(entry.kind, Kind::Directory) { !SET_IDS } else { u32::MAX };
    fchmod(&item, Mode::from_raw_mode(entry.mode & kept))?;
    Ok(futimens(&item, &times)?)
}
