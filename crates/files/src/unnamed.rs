//! Temporary files without a name: they are gone when they are closed, also if the process is killed.

use std::{
    collections::hash_map::RandomState,
    fs::{self, File, OpenOptions},
    hash::{BuildHasher, Hasher},
    io,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use rustix::{fs::OFlags, io::Errno};

/// Creates a file without a name on the file system of a directory, which only its owner can read (mode 0600). Where
/// the file system has no such files (NFS), it has a name for a moment.
///
/// # Errors
/// Errors of the system.
pub fn unnamed_file(directory: &Path) -> io::Result<File> {
    match without_name(directory) {
        Err(error) if is_unsupported(&error) => unlinked(directory),
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

/// Kernels before 3.11 take the flag for an attempt to write to the directory.
fn is_unsupported(error: &io::Error) -> bool {
    let unsupported = [Errno::OPNOTSUPP, Errno::ISDIR, Errno::INVAL, Errno::NOSYS];
    error.raw_os_error().is_some_and(|code| unsupported.contains(&Errno::from_raw_os_error(code)))
}

fn unlinked(directory: &Path) -> io::Result<File> {
    let name = format!(".sealant-{}-{:016x}", std::process::id(), RandomState::new().build_hasher().finish());
    let path = directory.join(name);
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
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
}
