//! Directories for copies, on the file system of the data.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use files::{
    WriteOptions,
    regular::{self, Links},
};
use rustix::fs::{Access, OFlags, ioctl_ficlone};

use crate::error::Error;

/// Name of the directory, next to the data directory or inside it.
pub(crate) const DIRECTORY: &str = ".sealant-snapshots";

/// Candidate directories for copies of a data directory, the preferred one first.
pub(crate) fn candidates(datadir: &Path, wanted: Option<&Path>) -> Vec<PathBuf> {
    match (wanted, datadir.parent()) {
        (Some(wanted), _) => vec![wanted.join(DIRECTORY)],
        (None, Some(parent)) => vec![parent.join(DIRECTORY), datadir.join(DIRECTORY)],
        (None, None) => vec![datadir.join(DIRECTORY)],
    }
}

/// The first candidate into which files of the data directory can be cloned.
///
/// # Errors
/// [`Error::NoClones`] if the file system cannot clone at all, [`Error::CopyDirectory`] if no candidate is
/// suitable.
pub(crate) fn for_clones(datadir: &Path, wanted: Option<&Path>) -> Result<PathBuf, Error> {
    let sample = sample(datadir)?;
    let mut last = None;
    for directory in candidates(datadir, wanted) {
        let above = directory.parent().unwrap_or(datadir);
        match can_clone(&sample, above) {
            Ok(()) => return Ok(directory),
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                last = Some(Error::OtherFileSystem { path: above.to_owned(), datadir: datadir.to_owned() });
            }
            Err(error) if is_unsupported(&error) => {
                last = Some(Error::NoClones { path: datadir.to_owned(), kind: filesystem_name(datadir) });
            }
            Err(source) => last = Some(Error::CopyDirectory { path: above.to_owned(), source }),
        }
    }
    Err(last.unwrap_or_else(|| Error::NoClones { path: datadir.to_owned(), kind: filesystem_name(datadir) }))
}

/// The first writable candidate, for copies whose data is elsewhere.
///
/// # Errors
/// [`Error::CopyDirectory`] if there is none.
pub(crate) fn writable(datadir: &Path, wanted: Option<&Path>) -> Result<PathBuf, Error> {
    let mut last = None;
    for directory in candidates(datadir, wanted) {
        let above = directory.parent().unwrap_or(datadir);
        match rustix::fs::access(above, Access::WRITE_OK | Access::EXEC_OK) {
            Ok(()) => return Ok(directory),
            Err(source) => last = Some(Error::CopyDirectory { path: above.to_owned(), source: source.into() }),
        }
    }
    Err(last.unwrap_or_else(|| Error::NotADataDir { path: datadir.to_owned() }))
}

/// Tests a clone with an unnamed file, which leaves no trace.
fn can_clone(sample: &File, directory: &Path) -> io::Result<()> {
    let flags = i32::try_from(OFlags::TMPFILE.bits()).unwrap_or_default();
    let to = OpenOptions::new().write(true).mode(0o600).custom_flags(flags).open(directory)?;
    Ok(ioctl_ficlone(&to, sample)?)
}

pub(crate) fn is_unsupported(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let unsupported = [Errno::OPNOTSUPP, Errno::NOTTY, Errno::INVAL, Errno::NOSYS];
    error.raw_os_error().is_some_and(|code| unsupported.contains(&Errno::from_raw_os_error(code)))
}

/// The smallest file at the top of a data directory, for the test clone.
fn sample(datadir: &Path) -> Result<File, Error> {
    let unreadable = |source| Error::Unreadable { path: datadir.to_owned(), source };
    let items = fs::read_dir(datadir).map_err(unreadable)?.flatten();
    let files = items.filter_map(|item| Some((item.path(), item.metadata().ok()?)));
    let smallest = files.filter(|(_, metadata)| metadata.is_file()).min_by_key(|(_, metadata)| metadata.len());
    let (path, _) = smallest.ok_or_else(|| Error::NotADataDir { path: datadir.to_owned() })?;
    regular::open(&path, Links::Refused).map_err(|source| Error::Unreadable { path, source })
}

/// Creates a directory for one copy, named after the data directory, the time and this process.
pub(crate) fn make(directory: &Path, datadir: &Path) -> Result<PathBuf, Error> {
    let failed = |source| Error::CopyDirectory { path: directory.to_owned(), source };
    // Owned like the data directory, so that programs of the server's user can use it.
    let owner = fs::metadata(datadir).map(|metadata| (metadata.uid(), metadata.gid())).map_err(failed)?;
    let owner = rustix::process::geteuid().is_root().then_some(owner);
    let options = WriteOptions { mode: 0o700, owner, replace: false };
    match files::create_directory(directory, options) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        // The owner of a data directory could have put a link here to make root create directories
        // elsewhere.
        _ if !fs::symlink_metadata(directory).map_err(failed)?.is_dir() => {
            return Err(failed(io::ErrorKind::NotADirectory.into()));
        }
        _ => {}
    }
    let name = datadir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let mut number = 0;
    loop {
        let path = directory.join(format!("{name}-{now}-{}-{number}", std::process::id()));
        match files::create_directory(&path, options) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(source) => return Err(Error::CopyDirectory { path, source }),
        }
    }
}

/// Name of a file system, for messages. Source: `linux/magic.h`.
pub(crate) fn filesystem_name(path: &Path) -> String {
    let magic = rustix::fs::statfs(path).map(|statfs| statfs.f_type);
    match magic {
        Ok(0xef53) => "ext4".to_owned(),
        Ok(0x5846_5342) => "XFS".to_owned(),
        Ok(BTRFS) => "btrfs".to_owned(),
        Ok(ZFS) => "ZFS".to_owned(),
        Ok(0x0102_1994) => "tmpfs".to_owned(),
        Ok(0x794c_7630) => "overlayfs".to_owned(),
        Ok(0x6969) => "NFS".to_owned(),
        Ok(other) => format!("file system {other:#x}"),
        Err(_) => "this file system".to_owned(),
    }
}

/// `ZFS_SUPER_MAGIC` of OpenZFS.
pub(crate) const ZFS: rustix::fs::FsWord = 0x2fc1_2fc1;
/// `BTRFS_SUPER_MAGIC`.
pub(crate) const BTRFS: rustix::fs::FsWord = 0x9123_683e;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_instead_of_the_directory_is_not_followed() {
        let location = tempfile::tempdir().unwrap();
        let (datadir, remote) = (location.path().join("data"), location.path().join("elsewhere"));
        fs::create_dir(&datadir).unwrap();
        fs::create_dir(&remote).unwrap();
        let directory = datadir.join(DIRECTORY);
        std::os::unix::fs::symlink(&remote, &directory).unwrap();
        assert!(matches!(make(&directory, &datadir), Err(Error::CopyDirectory { .. })));
        assert_eq!(fs::read_dir(&remote).unwrap().count(), 0);
        fs::remove_file(&directory).unwrap();
        assert!(make(&directory, &datadir).unwrap().starts_with(&directory));
    }
}
