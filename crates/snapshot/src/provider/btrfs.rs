//! An atomic snapshot of the subvolume with the data directory, taken while the server is stopped for a moment.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    os::{fd::AsFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
};

use super::{
    Driver, Prepared, Source,
    covered::{check_mounts, check_nothing_outside},
};
use crate::{
    Options,
    error::Error,
    freeze::Freeze,
    location::{self, BTRFS},
    mounted,
    snapshot_copy::{PendingCopy, SnapshotCopy},
    sys,
};

pub(super) struct Btrfs;

/// Inode number of the root of every subvolume. Source: `BTRFS_FIRST_FREE_OBJECTID` in
/// `linux/btrfs_tree.h`.
const ROOT_INODE: u64 = 256;
const NAME: &str = "subvolume";

impl Driver for Btrfs {
    fn location(&self, source: &Source<'_>, options: &Options) -> Result<PathBuf, Error> {
        let datadir = source.datadir.path();
        let is_btrfs = rustix::fs::statfs(datadir).is_ok_and(|statfs| statfs.f_type == BTRFS);
        if !is_btrfs {
            return Err(Error::NotBtrfs { path: datadir.to_owned(), kind: location::filesystem_name(datadir) });
        }
        check_one_subvolume(source)?;
        may_take(datadir)?;
        location::for_clones(datadir, options.location.as_deref())
    }

    fn take(&self, prepared: &Prepared<'_>, options: &Options) -> Result<SnapshotCopy, Error> {
        let datadir = prepared.source.datadir.path();
        let subvolume = subvolume_of(datadir)?;
        let below = datadir.strip_prefix(&subvolume).unwrap_or_else(|_| Path::new(""));
        let root = Path::new(NAME).join(below);
        let pending = PendingCopy::begin(&prepared.location, datadir, &root, prepared.provider, options)?;
        let failed = |source| Error::Copy { path: subvolume.clone(), source };
        let (from, to) = (File::open(&subvolume), File::open(pending.directory()));
        let (from, to) = (from.map_err(failed)?, to.map_err(failed)?);
        // Dirty pages are written file by file before the snapshot. Without a freeze InnoDB's log,
        // which is written through, could be ahead of a binary log that is not (sync_binlog = 0).
        super::write_out(datadir, &prepared.source.listing);
        let freeze = super::freeze(prepared, options)?;
        sys::btrfs_snapshot(from.as_fd(), to.as_fd(), OsStr::new(NAME)).map_err(failed)?;
        let frozen = freeze.map(Freeze::end).transpose()?.unwrap_or_default();
        check_mounts(datadir, pending.root(), &prepared.source.listing.directories)?;
        pending.finish(frozen, options.keep)
    }

    fn remove(&self, directory: &Path, _: &[String]) -> Result<(), Error> {
        let path = directory.join(NAME);
        if !path.exists() {
            return Ok(());
        }
        let failed = |source| Error::Release { path: path.clone(), source };
        let above = File::open(directory).map_err(failed)?;
        let denied = |error: &io::Error| {
            matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
        };
        match sys::btrfs_remove(above.as_fd(), OsStr::new(NAME)) {
            // Root can remove a read-only snapshot. Its owner has to make it writable, and can then
            // remove it if the mount option allows that, or else empty it and remove it as a
            // directory.
            Err(error) if denied(&error) => {
                let subvolume = File::open(&path).map_err(failed)?;
                sys::btrfs_make_writable(subvolume.as_fd()).map_err(failed)?;
                match sys::btrfs_remove(above.as_fd(), OsStr::new(NAME)) {
                    Err(error) if denied(&error) => fs::remove_dir_all(&path).map_err(failed),
                    removed => removed.map_err(failed),
                }
            }
            removed => removed.map_err(failed),
        }
    }
}

/// Only its owner, or root, may take a snapshot of a subvolume. Removing one needs root, the mount
/// option for owners, or an owner to whom everything in it belongs.
fn may_take(datadir: &Path) -> Result<(), Error> {
    let user = rustix::process::geteuid();
    if user.is_root() {
        return Ok(());
    }
    let subvolume = subvolume_of(datadir)?;
    let unreadable = |source| Error::Unreadable { path: subvolume.clone(), source };
    if fs::metadata(&subvolume).map_err(unreadable)?.uid() != user.as_raw() {
        return Err(Error::NotItsOwner { path: subvolume });
    }
    let mounts = mounted::process_mounts()?;
    let allowed = mounts.holding(datadir).is_some_and(|mount| mount.has_option("user_subvol_rm_allowed"));
    if allowed || subvolume == datadir { Ok(()) } else { Err(Error::NotRemovable { path: subvolume }) }
}

/// The root of the subvolume that contains a directory.
fn subvolume_of(datadir: &Path) -> Result<PathBuf, Error> {
    for directory in datadir.ancestors() {
        let metadata = fs::metadata(directory);
        let metadata = metadata.map_err(|source| Error::Unreadable { path: directory.to_owned(), source })?;
        if metadata.ino() == ROOT_INODE {
            return Ok(directory.to_owned());
        }
    }
    Err(Error::NotBtrfs { path: datadir.to_owned(), kind: location::filesystem_name(datadir) })
}

/// In a snapshot, other subvolumes and mounted file systems are empty directories.
fn check_one_subvolume(source: &Source<'_>) -> Result<(), Error> {
    check_nothing_outside(source)?;
    let datadir = source.datadir.path();
    let device = |path: &Path| fs::metadata(path).map(|metadata| metadata.dev());
    let current = device(datadir).map_err(|source| Error::Unreadable { path: datadir.to_owned(), source })?;
    let other_device = |path: &&PathBuf| device(&datadir.join(path)).is_ok_and(|device| device != current);
    match source.listing.directories.iter().find(other_device) {
        Some(path) => Err(Error::OtherSubvolume { path: datadir.join(path) }),
        None => Ok(()),
    }
}
