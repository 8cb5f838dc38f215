//! Mounts volumes and guards mount points: while the volume is not mounted, nothing can be written to its mount point.
//! Permissions do not stop root, and servers and scripts may run as root; an immutable directory does.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{PermissionsExt, fchown};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, IFlags, Mode, OFlags, ioctl_getflags, ioctl_setflags, mkdirat, openat, unlinkat};
use rustix::io::Errno;

use super::mapping::check_name;
use super::{Block, Host, hidden_below, system};
use crate::Error;
use crate::cryptsetup::device_file;

/// How an empty mount point is protected against writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MountPointGuard {
    /// By the immutable flag: nobody, not even root, can create a file.
    Immutable,
    /// By permissions only, because the file system has no such flag: root can still write.
    Permissions,
}

/// A volume on its mount point.
#[derive(Debug, PartialEq, Eq)]
pub enum Mounted {
    /// It was mounted just now. Nothing can be below it: its directory was empty.
    Now(MountPointGuard),
    /// It was mounted before.
    Before {
        /// Name of a file that lies in plaintext below the volume; `None` if there is none, or if the kernel does not
        /// show such files.
        hidden: Option<OsString>,
    },
}

impl Mounted {
    /// Whether files are known to lie in plaintext below the volume.
    #[must_use]
    pub const fn hides_files(&self) -> bool {
        matches!(self, Self::Before { hidden: Some(_) })
    }
}

/// Parameters for mounting a volume.
#[derive(Debug)]
pub struct Mounting<'a> {
    /// Where to read the state of the system.
    pub host: &'a Host,
    /// Name of the open volume.
    pub name: &'a str,
    /// Mount point.
    pub directory: &'a Path,
    /// Options for `mount`.
    pub options: &'a str,
}

impl Mounting<'_> {
    /// Guards the mount point, mounts the volume, and checks the mount table.
    ///
    /// # Errors
    /// [`Error::Refused`] if the directory is not empty or something else is mounted there; others.
    pub fn run(&self) -> Result<Mounted, Error> {
        check_name(self.name)?;
        let inner = device_file(self.name);
        let Some(block) = Block::mapped(self.host, self.name) else {
            return Err(Error::refused(&inner, "is not open; `sealant luks open` does that"));
        };
        if !block.is_luks() {
            return Err(Error::refused(&inner, "is not a LUKS volume"));
        }
        match self.host.mounted_at(self.directory) {
            Some(mount) if mount.device == block.number => {
                return Ok(Mounted::Before { hidden: hidden_below(self.directory).ok().flatten() });
            }
            Some(_) => return Err(Error::refused(self.directory, "has something else mounted on it")),
            None => {}
        }
        let guard = guard(self.host, self.directory)?;
        let args = ["-o", self.options, "--"].map(OsStr::new);
        system("mount", &[&args[..], &[inner.as_os_str(), self.directory.as_os_str()]].concat())?;
        match self.host.mounted_at(self.directory) {
            Some(mount) if mount.device == block.number => Ok(Mounted::Now(guard)),
            _ => Err(Error::not_proven(self.directory, "the mount table does not show the volume there")),
        }
    }
}

/// Guards an empty directory: owned by root, no permissions, immutable. Tries to create something in it as a check.
/// Creates the directory if it does not exist.
///
/// # Errors
/// [`Error::Refused`] if the directory is not empty or is a mount point.
pub fn guard(host: &Host, directory: &Path) -> Result<MountPointGuard, Error> {
    let io = || Error::io(directory);
    if !directory.is_absolute() || fs::canonicalize(directory).is_ok_and(|real| real != directory) {
        return Err(Error::refused(directory, "must be an absolute path without links"));
    }
    match fs::create_dir(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(io()(error)),
        _ => {}
    }
    if host.mounted_at(directory).is_some() {
        return Err(Error::refused(directory, "is a mount point; only an unmounted directory can be guarded"));
    }
    if let Some(entry) = fs::read_dir(directory).map_err(io())?.next() {
        let name = entry.map_err(io())?.file_name();
        let why = format!("holds {}, which would stay in plaintext below the volume; move it", name.to_string_lossy());
        return Err(Error::refused(directory, why));
    }
    let handle = open_directory(directory).map_err(io())?;
    let flags = ioctl_getflags(&handle);
    if !flags.is_ok_and(|flags| flags.contains(IFlags::IMMUTABLE)) {
        fchown(&handle, Some(0), Some(0)).map_err(io())?;
        handle.set_permissions(fs::Permissions::from_mode(0o000)).map_err(io())?;
    }
    let guarded = match flags {
        Ok(flags) => ioctl_setflags(&handle, flags | IFlags::IMMUTABLE),
        Err(error) => Err(error),
    };
    match guarded {
        Ok(()) => {}
        Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => return Ok(MountPointGuard::Permissions),
        Err(error) => return Err(io()(error.into())),
    }
    let probe = ".sealant-trial";
    match mkdirat(&handle, probe, Mode::RWXU) {
        Err(Errno::PERM | Errno::ACCESS) => Ok(MountPointGuard::Immutable),
        Err(error) => Err(io()(error.into())),
        Ok(()) => {
            let _ = unlinkat(&handle, probe, AtFlags::REMOVEDIR);
            Err(Error::not_proven(directory, "is immutable, but a directory could be created in it"))
        }
    }
}

/// Opens the directory itself: later operations use the descriptor, so that a replaced path does no harm.
fn open_directory(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(CWD, path, flags, Mode::empty())?.into())
}

/// Unmounts an open volume from all its mount points.
///
/// # Errors
/// [`Error::Program`] if files there are open.
pub fn unmount(host: &Host, name: &str) -> Result<(), Error> {
    check_name(name)?;
    let Some(block) = Block::mapped(host, name) else {
        return Err(Error::refused(&device_file(name), "is not open"));
    };
    // The last mount hides the earlier ones.
    for mount in host.mounts().of_device(&block.number) {
        system("umount", &[OsStr::new("--"), mount.point.as_os_str()])?;
    }
    Ok(())
}
