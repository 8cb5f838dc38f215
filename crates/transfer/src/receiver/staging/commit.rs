//! The commit: attributes are set and everything is on disk before anything is moved into the target.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, ErrorKind, Write},
    num::NonZero,
    os::fd::{BorrowedFd, OwnedFd},
    thread,
};

use files::{MANIFEST, STAGING};
use rustix::{
    fs::{
        AtFlags, Mode, OFlags, RenameFlags, Timespec, Timestamps, chownat, fchmod, fchown, fsync, futimens, openat,
        renameat, renameat_with, syncfs, unlinkat, utimensat,
    },
    io::Errno,
};

use super::{
    COMMIT, COMMIT_PART, FILES, JOURNAL, MASTER_KEYS, Owner, PRIVATE_FILE, SCRATCH, Staging, exists, name, names,
};
use crate::{
    error::Error,
    hash::Hash,
    manifest::Manifest,
    receiver::{commit_marker::CommitMarker, parent_cache::ParentCache},
    wire::{Entry, Kind},
};

/// Up to this number, one thread sets the attributes of all entries.
const SINGLE_THREAD_ENTRIES: usize = 512;

/// The set-user-id and set-group-id bits.
const SET_IDS: u32 = 0o6000;

impl Staging {
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

    /// Completes the commit as its marker says, and removes the staging directory. May be repeated.
    pub fn finish(&self, manifest: &Manifest) -> Result<(), Error> {
        if let Some(mark) = self.mark()? {
            self.install(manifest, &mark)?;
        }
        let removed = unlinkat(&self.staging, FILES, AtFlags::REMOVEDIR)
            .and_then(|()| self.forget(&[JOURNAL, SCRATCH, MASTER_KEYS, COMMIT_PART, COMMIT]))
            .and_then(|()| unlinkat(&self.target, STAGING, AtFlags::REMOVEDIR));
        removed.map_err(|error| self.failed("the staging directory cannot be removed")(error.into()))?;
        // Everything else is on disk already. If a power failure undoes this removal, the next receiver repeats it. So
        // a failed sync is not an error; there would be nothing to resume.
        let _ = fsync(&self.target);
        Ok(())
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

/// Whether `syncfs` reports write errors: not before Linux 5.8.
///
/// Source: syncfs(2), "Historically".
fn syncfs_reports_errors() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
    (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default()) >= (5, 8)
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
