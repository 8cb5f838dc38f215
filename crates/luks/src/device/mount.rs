//! Mounting, and the guard of the mount point: while the volume is not mounted, nothing can be written where it
//! belongs. Permissions do not stop root, whom servers and scripts may be; an immutable directory does.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{PermissionsExt, fchown};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, IFlags, Mode, OFlags, ioctl_getflags, ioctl_setflags, mkdirat, openat, unlinkat};
use rustix::io::Errno;

use super::mapping::{check_name, device_file};
use super::{Block, DeviceError, Host, system};

/// How an empty mount point is kept empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// Immutable: nobody, not even root, makes a file in it.
    Immutable,
    /// Only by its permissions, because its file system has no such flag: root can still write there.
    Permissions,
}

/// A volume to be mounted.
#[derive(Debug)]
pub struct Mounting<'a> {
    /// Where the system says what it knows.
    pub host: &'a Host,
    /// The open volume's name.
    pub name: &'a str,
    /// Where: the guarded directory.
    pub directory: &'a Path,
    /// Options of `mount`.
    pub options: &'a str,
}

impl Mounting<'_> {
    /// Guards the mount point, mounts, and proves by the mount table that the volume is what lies there. Returns
    /// none if it was mounted there already.
    ///
    /// # Errors
    /// [`DeviceError::Refused`] if the directory is not empty, or something else is mounted there; others.
    pub fn run(&self) -> Result<Option<Guard>, DeviceError> {
        check_name(self.name)?;
        let inner = device_file(self.name);
        let Some(block) = Block::mapped(self.host, self.name) else {
            return Err(DeviceError::refused(&inner, "is not open; `sealant luks open` does that"));
        };
        if !block.mapper_uuid().is_some_and(|uuid| uuid.starts_with("CRYPT-LUKS")) {
            return Err(DeviceError::refused(&inner, "is no LUKS volume"));
        }
        match self.host.mounted_at(self.directory) {
            Some(mount) if mount.device == block.number => return Ok(None),
            Some(_) => return Err(DeviceError::refused(self.directory, "has something else mounted on it")),
            None => {}
        }
        let guard = guard(self.host, self.directory)?;
        let args = ["-o", self.options, "--"].map(OsStr::new);
        system("mount", &[&args[..], &[inner.as_os_str(), self.directory.as_os_str()]].concat())?;
        match self.host.mounted_at(self.directory) {
            Some(mount) if mount.device == block.number => Ok(Some(guard)),
            _ => Err(DeviceError::not_proven(self.directory, "the mount table does not show the volume there")),
        }
    }
}

/// Makes an empty directory one in which nothing can be made: owned by root, without permissions, immutable. Proven
/// by trying. Made if it is not there.
///
/// # Errors
/// [`DeviceError::Refused`] if it holds anything, or is a mount point.
pub fn guard(host: &Host, directory: &Path) -> Result<Guard, DeviceError> {
    let io = || DeviceError::io(directory);
    if !directory.is_absolute() || fs::canonicalize(directory).is_ok_and(|real| real != directory) {
        return Err(DeviceError::refused(directory, "has to be an absolute path without links"));
    }
    match fs::create_dir(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(io()(error)),
        _ => {}
    }
    if host.mounted_at(directory).is_some() {
        return Err(DeviceError::refused(directory, "is a mount point; only an unmounted directory can be guarded"));
    }
    if let Some(entry) = fs::read_dir(directory).map_err(io())?.next() {
        let name = entry.map_err(io())?.file_name();
        let why = format!("holds {}, which would lie in plain under the volume; move it", name.to_string_lossy());
        return Err(DeviceError::refused(directory, why));
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
        Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => return Ok(Guard::Permissions),
        Err(error) => return Err(io()(error.into())),
    }
    let probe = ".sealant-trial";
    match mkdirat(&handle, probe, Mode::RWXU) {
        Err(Errno::PERM | Errno::ACCESS) => Ok(Guard::Immutable),
        Err(error) => Err(io()(error.into())),
        Ok(()) => {
            let _ = unlinkat(&handle, probe, AtFlags::REMOVEDIR);
            Err(DeviceError::not_proven(directory, "is immutable, and yet a directory could be made in it"))
        }
    }
}

/// Takes the guard away; the directory stays closed to all but root.
///
/// # Errors
/// What the system reports.
pub fn unguard(directory: &Path) -> Result<(), DeviceError> {
    let io = || DeviceError::io(directory);
    let handle = open_directory(directory).map_err(io())?;
    match ioctl_getflags(&handle) {
        Ok(flags) => {
            ioctl_setflags(&handle, flags.difference(IFlags::IMMUTABLE)).map_err(|error| io()(error.into()))?
        }
        Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => {}
        Err(error) => return Err(io()(error.into())),
    }
    handle.set_permissions(fs::Permissions::from_mode(0o700)).map_err(io())
}

/// The directory itself: what is done to it is done by its descriptor, whatever its path leads to by then.
fn open_directory(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(CWD, path, flags, Mode::empty())?.into())
}

/// Unmounts an open volume wherever it is mounted.
///
/// # Errors
/// [`DeviceError::Program`] if somebody has files open there.
pub fn unmount(host: &Host, name: &str) -> Result<(), DeviceError> {
    check_name(name)?;
    let Some(block) = Block::mapped(host, name) else {
        return Err(DeviceError::refused(&device_file(name), "is not open"));
    };
    // The last one mounted covers the others.
    for mount in host.mounts().of_device(&block.number) {
        system("umount", &[OsStr::new("--"), mount.point.as_os_str()])?;
    }
    Ok(())
}
