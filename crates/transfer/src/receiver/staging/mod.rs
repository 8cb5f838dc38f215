//! The staging directory: `.sealant-staging` in the target, on its file system, holds the received
//! files below `files` until the commit.
//!
//! Everything is reached from an open directory, component by component, without following links:
//! nothing that another program puts into the target can redirect a write.

mod commit;

use std::{
    collections::HashMap,
    ffi::OsStr,
    fs::{DirBuilder, File},
    io::{self, ErrorKind, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{ffi::OsStrExt, fs::DirBuilderExt},
    },
    path::{Path, PathBuf},
    str::FromStr,
};

use files::{LOST_AND_FOUND, MANIFEST, STAGING};
use rustix::{
    fs::{
        AtFlags, Dir, FileType, FlockOperation, Gid, Mode, OFlags, Uid, fchown, flock, fstat, mkdirat, open, openat,
        readlinkat, statat, symlinkat, unlinkat,
    },
    io::Errno,
};

use super::parent_cache::{ParentCache, open_directory};
use crate::{
    error::Error,
    hash::chunks_of,
    journal::Journal,
    path::RelativePath,
    wire::{Entry, Kind},
};

const FILES: &str = "files";
const JOURNAL: &str = "journal";
/// Name of the hash file until it is unlinked.
const SCRATCH: &str = "hashes";
/// Names of the master keys that attempts have added to a keyring, one a line.
const MASTER_KEYS: &str = "master-keys";
const COMMIT: &str = "commit";
/// Name of the commit marker while it is written.
const COMMIT_PART: &str = "commit-part";
const PRIVATE_DIRECTORY: Mode = Mode::RWXU;
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

    /// Names of the master keys that earlier attempts have added to a keyring. A line without an end was cut off.
    pub(crate) fn master_keys(&self) -> Result<Vec<String>, Error> {
        let failed = self.failed("the names of its master keys cannot be read");
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match openat(&self.staging, MASTER_KEYS, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(Vec::new()),
            Err(error) => return Err(failed(error.into())),
        };
        let text = io::read_to_string(file).map_err(failed)?;
        let lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        Ok(lines.filter(|line| !line.is_empty()).map(str::to_owned).collect())
    }

    /// Records a master key that this attempt has added to a keyring.
    pub(crate) fn record_master_key(&self, name: &str) -> Result<(), Error> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let recorded = openat(&self.staging, MASTER_KEYS, flags, PRIVATE_FILE).map_err(io::Error::from);
        let recorded = recorded.map(File::from).and_then(|mut file| {
            // A line before it may have been cut off.
            write!(file, "\n{name}\n")?;
            file.sync_all()
        });
        recorded.map_err(self.failed("the names of its master keys cannot be written"))
    }

    /// An empty unnamed file for writing and reading. Its space is free again when it is closed.
    ///
    /// # Errors
    /// [`Error::Target`].
    pub fn scratch(&self) -> Result<File, Error> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = self.forget(&[SCRATCH]).and_then(|()| openat(&self.staging, SCRATCH, flags, PRIVATE_FILE));
        let unnamed = made.and_then(|file| self.forget(&[SCRATCH]).map(|()| file.into()));
        unnamed.map_err(|error| self.failed("a temporary file cannot be made in it")(error.into()))
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
        // A file with further hard links may not be ours.
        Ok(file) if fstat(&file)?.st_nlink == 1 => return Ok(file.into()),
        // An interrupted commit may already have set its permissions.
        Ok(_) | Err(Errno::ACCESS) => {}
        Err(error) => return Err(error.into()),
    }
    unlinkat(parent, name, AtFlags::empty())?;
    Ok(openat(parent, name, flags, PRIVATE_FILE)?.into())
}
