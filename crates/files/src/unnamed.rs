//! Temporary files without a name: they are gone when they are closed, also if the process is killed.

use std::{
    collections::hash_map::RandomState,
    fs::{self, File, OpenOptions},
    hash::{BuildHasher, Hasher},
    io,
    os::unix::fs::OpenOptionsExt,
    path::Path,
    time::Duration,
};

use rustix::{fs::OFlags, io::Errno};

/// Beginning of the name of a file that has one for a moment.
const PREFIX: &str = ".sealant-unnamed-";
/// Age from which on a file of such a name is one that a killed process left.
const LEFT_AFTER: Duration = Duration::from_secs(3600);

/// Creates a file without a name on the file system of a directory, which only its owner can read (mode 0600). Where
/// the file system has no such files (NFS), it has a name for a moment.
///
/// # Errors
/// Errors of the system.
pub fn unnamed_file(directory: &Path) -> io::Result<File> {
    match without_name(directory) {
        Err(error) if is_unnamed_unsupported(&error) => unlinked(directory),
        created => created,
    }
}

/// Like [`unnamed_file`], but an error where the file system has no files without a name: it never changes the directory.
///
/// # Errors
/// Errors of the system.
pub fn without_name(directory: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::TMPFILE.bits()).unwrap_or_default();
    OpenOptions::new().read(true).write(true).mode(0o600).custom_flags(flags).open(directory)
}

/// Whether the file system has no files without a name. Kernels before 3.11 take the flag for an attempt to write to the directory.
#[must_use]
pub fn is_unnamed_unsupported(error: &io::Error) -> bool {
    let unsupported = [Errno::OPNOTSUPP, Errno::ISDIR, Errno::INVAL, Errno::NOSYS];
    error.raw_os_error().is_some_and(|code| unsupported.contains(&Errno::from_raw_os_error(code)))
}

fn unlinked(directory: &Path) -> io::Result<File> {
    remove_left(directory);
    let path = directory.join(format!("{PREFIX}{:016x}", RandomState::new().build_hasher().finish()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(file),
    }
}

/// Removes files that processes left which were killed before they removed the name. These are empty.
fn remove_left(directory: &Path) {
    for item in fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_named = item.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes());
        let metadata = item.metadata().ok().filter(|found| is_named && found.is_file() && found.len() == 0);
        let age = metadata.and_then(|found| found.modified().ok()?.elapsed().ok());
        if age.is_some_and(|age| age >= LEFT_AFTER) {
            // The next one tries again.
            let _ = fs::remove_file(item.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileExt, MetadataExt};

    use super::*;

    #[test]
    fn a_file_without_a_name_is_private_and_in_no_listing() {
        let directory = tempfile::tempdir().unwrap();
        for file in [unnamed_file(directory.path()).unwrap(), unlinked(directory.path()).unwrap()] {
            file.write_all_at(b"abc", 5).unwrap();
            let mut read = [1; 8];
            file.read_exact_at(&mut read, 0).unwrap();
            assert_eq!(&read, b"\0\0\0\0\0abc");
            let metadata = file.metadata().unwrap();
            assert_eq!((metadata.mode() & 0o777, metadata.nlink()), (0o600, 0));
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        }
        assert!(unnamed_file(&directory.path().join("missing")).is_err());
    }

    #[test]
    fn what_a_killed_process_left_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let left = |name: String, text: &str, age: Duration| {
            let path = directory.path().join(name);
            fs::write(&path, text).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            file.set_modified(std::time::SystemTime::now() - age).unwrap();
            path
        };
        let old = left(format!("{PREFIX}1"), "", LEFT_AFTER);
        let others = [
            left(format!("{PREFIX}2"), "", LEFT_AFTER / 2),
            left(format!("{PREFIX}3"), "of somebody else", LEFT_AFTER),
            left("another".to_owned(), "", LEFT_AFTER),
        ];
        unlinked(directory.path()).unwrap();
        assert!(!old.exists() && others.iter().all(|path| path.exists()));
    }
}
