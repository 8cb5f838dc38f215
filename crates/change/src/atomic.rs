//! Files that come into being whole and on disk, or not at all, and that replace nothing unasked.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, ErrorKind, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, chown, fchown},
    path::{Path, PathBuf},
};

use rustix::fs::{CWD, RenameFlags, renameat_with};

/// User and group of a file; who makes it, if `None`.
pub(crate) type Owner = Option<(u32, u32)>;

/// Puts bytes into place.
///
/// # Errors
/// [`ErrorKind::AlreadyExists`] if something is there and `replace` is not set.
pub(crate) fn place(path: &Path, bytes: &[u8], mode: u32, owner: Owner, replace: bool) -> io::Result<()> {
    let beside = beside(path);
    let written =
        write_new(&beside, bytes, mode, owner).and_then(|()| rename(&beside, path, replace)).and_then(|()| sync(path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Finds out, before anything is changed, that a file can be put there later.
pub(crate) fn check_writable(path: &Path) -> io::Result<()> {
    let beside = beside(path);
    write_new(&beside, b"", 0o600, None).and_then(|()| fs::remove_file(&beside))
}

/// Makes a directory, for its owner from the first moment on.
pub(crate) fn make_directory(path: &Path, mode: u32, owner: Owner) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)?;
    if let Some((user, group)) = owner {
        chown(path, Some(user), Some(group))?;
    }
    fs::set_permissions(path, Permissions::from_mode(mode))?;
    sync(path)
}

/// One name, so that what a killed run left is replaced by the next.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.sealant-part"))
}

fn write_new(path: &Path, bytes: &[u8], mode: u32, owner: Owner) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    if let Some((user, group)) = owner {
        fchown(&file, Some(user), Some(group))?;
    }
    if mode != 0o600 {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    file.sync_all()
}

fn rename(from: &Path, to: &Path, replace: bool) -> io::Result<()> {
    if replace {
        return fs::rename(from, to);
    }
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // A file system that cannot do it: a second name for the file fails if there is one.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            fs::hard_link(from, to)?;
            fs::remove_file(from)
        }
        renamed => Ok(renamed?),
    }
}

/// The name is on disk, too.
pub(crate) fn sync(path: &Path) -> io::Result<()> {
    File::open(directory(path))?.sync_all()
}

/// The directory that something lies in.
pub(crate) fn directory(path: &Path) -> &Path {
    path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_overwritten_unless_asked_and_modes_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        place(&path, b"one", 0o640, None, false).unwrap();
        assert_eq!(place(&path, b"two", 0o640, None, false).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        place(&path, b"three", 0o600, None, true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"three");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
        let below = directory.path().join("below");
        make_directory(&below, 0o750, None).unwrap();
        assert_eq!(fs::metadata(&below).unwrap().permissions().mode() & 0o777, 0o750);
        assert!(make_directory(&below, 0o750, None).is_err());
    }
}
