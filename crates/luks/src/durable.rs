//! Files that are there as a whole or not at all, and that a power cut does not take.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// Writes a file that must not exist yet; only its owner may read it.
pub(crate) fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = part(path)?;
    let written = write(&part, bytes).and_then(|()| move_into_place(&part, path));
    let _ = fs::remove_file(&part);
    written?;
    sync_directory(path)
}

/// A rename that never replaces what came in between; some file systems have no such thing.
fn move_into_place(part: &Path, path: &Path) -> io::Result<()> {
    match renameat_with(CWD, part, CWD, path, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) if !path.exists() => fs::rename(part, path),
        Err(Errno::INVAL | Errno::NOSYS) => Err(io::ErrorKind::AlreadyExists.into()),
        other => Ok(other?),
    }
}

/// Makes a change of a directory's entries last.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(directory(path))?.sync_all()
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Left by a killed run; it may hold a key.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn part(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::other("not a file name"))?;
    Ok(path.with_file_name(format!(".{}.sealant-part", name.to_string_lossy())))
}

/// The directory that holds `path`.
pub(crate) fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_exists_stays_and_nothing_is_left_beside_it() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("header");
        create(&path, b"one").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(create(&path, b"two").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
