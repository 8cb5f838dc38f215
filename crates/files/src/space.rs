//! Free space of file systems.

use std::{io, os::fd::AsFd, path::Path};

use rustix::fs::{StatVfs, fstatvfs, statvfs};

/// Bytes that a program without privileges may still write to the file system of a path.
///
/// # Errors
/// The path does not exist or is not accessible.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    Ok(available(&statvfs(path)?))
}

/// As [`free_bytes`], for an open file or directory.
///
/// # Errors
/// The file system does not answer.
pub fn free_bytes_at(file: impl AsFd) -> io::Result<u64> {
    Ok(available(&fstatvfs(file)?))
}

fn available(system: &StatVfs) -> u64 {
    system.f_bavail.saturating_mul(system.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_and_its_open_file_have_the_same_file_system() {
        let directory = tempfile::tempdir().unwrap();
        let open = std::fs::File::open(directory.path()).unwrap();
        let (by_path, by_file) = (free_bytes(directory.path()).unwrap(), free_bytes_at(&open).unwrap());
        // Others write to it meanwhile.
        assert!(by_path > 0 && by_path.abs_diff(by_file) < 1 << 30);
        assert_eq!(free_bytes(&directory.path().join("missing")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
