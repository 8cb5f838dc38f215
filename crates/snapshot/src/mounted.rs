//! Snapshots that have to be mounted to be read.

use std::{
    fs, io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use files::mounts::{Mounts, SELF_MOUNTINFO};
use files::runtime;

use crate::{error::Error, tools::Tools};

/// Mount points are in a directory of root: another user could otherwise choose what is mounted
/// over.
const SNAPSHOTS: &str = "snapshots";

/// Mount point for the snapshot of a copy.
pub(crate) fn point(name: &std::ffi::OsStr) -> PathBuf {
    Path::new(runtime::DIRECTORY).join(SNAPSHOTS).join(name)
}

pub(super) fn needs_root(provider: &'static str) -> Result<(), Error> {
    if rustix::process::geteuid().is_root() { Ok(()) } else { Err(Error::NeedsRoot { provider }) }
}

/// Mounts a device or data set read-only at a new mount point.
pub(super) fn mount(tools: &Tools, kind: &str, option: &str, source: &str, point: &Path) -> Result<(), Error> {
    let directory = runtime::private_directory(SNAPSHOTS);
    let made = directory.and_then(|_| fs::DirBuilder::new().recursive(true).mode(0o700).create(point));
    made.map_err(|source| Error::CopyDirectory { path: point.to_owned(), source })?;
    mount_at(tools, kind, option, source, point)
}

/// As [`mount`], at an existing directory.
pub(super) fn mount_at(tools: &Tools, kind: &str, option: &str, source: &str, point: &Path) -> Result<(), Error> {
    let options = ["ro,nosuid,nodev,noexec", option].into_iter().filter(|option| !option.is_empty());
    let options = options.collect::<Vec<_>>().join(",");
    let args = ["-t", kind, "-o", &options, source].map(|arg| arg.as_ref() as &std::ffi::OsStr);
    tools.run("mount", args.into_iter().chain([point.as_os_str()])).map(drop)
}

/// Unmounts a device everywhere.
pub(super) fn unmount_device(tools: &Tools, number: &str) -> Result<(), Error> {
    unmount(tools, process_mounts()?.of_device(number).map(|mount| mount.point.clone()))
}

/// Unmounts everything that is mounted for a copy.
pub(super) fn unmount_all(tools: &Tools, point: &Path) -> Result<(), Error> {
    unmount(tools, process_mounts()?.below(point).map(|mount| mount.point.clone()))
}

/// The mounts that this process sees.
pub(super) fn process_mounts() -> Result<Mounts, Error> {
    Mounts::of_this_process().map_err(|source| Error::Unreadable { path: SELF_MOUNTINFO.into(), source })
}

fn unmount(tools: &Tools, points: impl Iterator<Item = PathBuf>) -> Result<(), Error> {
    points.into_iter().try_for_each(|point| match tools.run("umount", [&point]) {
        // LVM's daemon unmounts a snapshot that ran full.
        Err(_) if process_mounts()?.below(&point).next().is_none() => Ok(()),
        done => done.map(drop),
    })
}

/// Removes an empty mount point.
pub(crate) fn remove_mount_point(name: &std::ffi::OsStr) -> io::Result<()> {
    fs::remove_dir(point(name))
}
