//! Finds files below a mount point: they were written to the directory before something was mounted on it. Nobody sees
//! them, and they stay in plaintext on the underlying disk.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{CWD, Dir, Mode, OFlags, openat};
use rustix::mount::{OpenTreeFlags, open_tree};

/// Name of one entry in the directory itself, whatever is mounted on it; `None` if it is empty. Changes nothing: it
/// reads the underlying file system through a private clone of its mount, which appears in no mount table. Needs root
/// and Linux 5.2.
///
/// # Errors
/// Error of the operating system.
pub(crate) fn hidden_below(directory: &Path) -> io::Result<Option<OsString>> {
    let (Some(parent), Some(name)) = (directory.parent(), directory.file_name()) else { return Ok(None) };
    // Without AT_RECURSIVE, the clone does not contain mounts further down.
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let around = open_tree(CWD, parent, flags)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let below = openat(&around, name, flags, Mode::empty())?;
    for entry in Dir::read_from(&below)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            return Ok(Some(name.to_owned()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_an_unmounted_directory_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("mysql");
        std::fs::create_dir(&inner).unwrap();
        // Only root may clone mounts.
        let empty = hidden_below(&inner);
        if empty.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied) {
            return;
        }
        assert_eq!(empty.unwrap(), None);
        std::fs::write(inner.join("ibdata1"), "").unwrap();
        assert_eq!(hidden_below(&inner).unwrap().as_deref(), Some(OsStr::new("ibdata1")));
    }
}
