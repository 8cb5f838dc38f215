//! Files that are put into place whole, or not at all.
//!
//! The bytes are written beside the file under another name, brought to disk, and renamed; then the
//! name is brought to disk. Whoever looks sees the old file or the new one, also after a power cut.
#![forbid(unsafe_code)]

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, ErrorKind, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, chown, fchown},
    path::{Path, PathBuf},
};

use rustix::fs::{CWD, RenameFlags, renameat_with};

/// How a file is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placing {
    /// Permissions from the first byte on, as for `chmod`.
    pub mode: u32,
    /// Owner and group; `None` leaves them to the system.
    pub owner: Option<(u32, u32)>,
    /// Whether a file that is there already may go. If not, that is [`ErrorKind::AlreadyExists`].
    pub replace: bool,
}

impl Placing {
    /// A new file that only its owner may read.
    pub const SECRET: Self = Self { mode: 0o600, owner: None, replace: false };
    /// A new file that everyone may read.
    pub const PUBLIC: Self = Self { mode: 0o644, ..Self::SECRET };

    /// The same, for a file that may be there already.
    #[must_use]
    pub const fn replacing(self, replace: bool) -> Self {
        Self { replace, ..self }
    }
}

/// Puts bytes into place: whole and on disk, or not at all.
///
/// # Errors
/// Of the system; [`ErrorKind::AlreadyExists`] if the file is there and may not be replaced.
pub fn place(path: &Path, bytes: &[u8], placing: Placing) -> io::Result<()> {
    let beside = beside(path);
    let placed = write_new(&beside, bytes, placing)
        .and_then(|()| rename(&beside, path, placing.replace))
        .and_then(|()| sync(path));
    if placed.is_err() {
        let _ = fs::remove_file(&beside);
    }
    placed
}

/// Finds out, before anything is changed, that a file can be put there later.
///
/// # Errors
/// What [`place`] would meet with.
pub fn check(path: &Path, placing: Placing) -> io::Result<()> {
    let beside = beside(path);
    write_new(&beside, b"", placing).and_then(|()| fs::remove_file(&beside))
}

/// Makes a directory, for its owner from the first moment on.
///
/// # Errors
/// Of the system; [`ErrorKind::AlreadyExists`] if it is there.
pub fn make_directory(path: &Path, placing: Placing) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)?;
    if let Some((user, group)) = placing.owner {
        chown(path, Some(user), Some(group))?;
    }
    fs::set_permissions(path, Permissions::from_mode(placing.mode))?;
    sync(path)
}

/// Brings the file's name to disk.
///
/// # Errors
/// Of the system.
pub fn sync(path: &Path) -> io::Result<()> {
    File::open(directory(path))?.sync_all()
}

/// Where the file is.
#[must_use]
pub fn directory(path: &Path) -> &Path {
    path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

/// One name, so that what a killed run left is replaced by the next.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.sealant-part"))
}

fn write_new(path: &Path, bytes: &[u8], placing: Placing) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // For nobody else until it has its owner, and then as asked, whatever the umask.
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    if let Some((user, group)) = placing.owner {
        fchown(&file, Some(user), Some(group))?;
    }
    if placing.mode != 0o600 {
        file.set_permissions(Permissions::from_mode(placing.mode))?;
    }
    file.write_all(bytes)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_overwritten_unless_asked_and_only_the_owner_reads() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        place(&path, b"one", Placing::SECRET).unwrap();
        assert_eq!(place(&path, b"two", Placing::SECRET).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        place(&path, b"three", Placing::SECRET.replacing(true)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"three");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_check_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        check(&directory.path().join("file"), Placing::PUBLIC).unwrap();
        assert!(check(&directory.path().join("none/file"), Placing::PUBLIC).is_err());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn modes_are_as_asked_and_directories_are_new() {
        let directory = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let placing = Placing { mode: 0o664, ..Placing::SECRET };
        let (file, below) = (directory.path().join("file"), directory.path().join("below"));
        place(&file, b"", placing).unwrap();
        make_directory(&below, Placing { mode: 0o750, ..placing }).unwrap();
        assert_eq!((mode(&file), mode(&below)), (0o664, 0o750));
        assert_eq!(make_directory(&below, placing).unwrap_err().kind(), ErrorKind::AlreadyExists);
    }
}
