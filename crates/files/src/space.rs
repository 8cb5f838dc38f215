//! Free space of file systems.

use std::{
    io::{self, ErrorKind},
    os::fd::AsFd,
    path::Path,
};

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

/// Whether something cannot be written because the file system has no space left, for this user at least.
#[must_use]
pub fn is_disk_full(error: &io::Error) -> bool {
    // A writer that knows no such error writes nothing.
    const FULL: [ErrorKind; 3] = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::WriteZero];
    let cause = || error.get_ref()?.downcast_ref::<io::Error>();
    FULL.contains(&error.kind()) || cause().is_some_and(is_disk_full)
}

fn available(system: &StatVfs) -> u64 {
    system.f_bavail.saturating_mul(system.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_recognised_also_as_the_cause() {
        let full = [rustix::io::Errno::NOSPC, rustix::io::Errno::DQUOT].map(io::Error::from);
        for error in full.into_iter().chain([ErrorKind::WriteZero.into()]) {
            assert!(is_disk_full(&error) && is_disk_full(&io::Error::other(error)));
        }
        for error in [io::Error::from(rustix::io::Errno::IO), io::Error::other("full"), ErrorKind::NotFound.into()] {
            assert!(!is_disk_full(&error), "{error}");
        }
    }

    #[test]
    fn a_path_and_its_open_file_have_the_same_file_system() {
        let directory = tempfile::tempdir().unwrap();
        let open = std::fs::File::open(directory.path()).unwrap();
        let (by_path, by_file) = (free_bytes(directory.path()).unwrap(), free_bytes_at(&open).unwrap());
        // Others write to it meanwhile.
        assert!(by_path > 0 && by_path.abs_diff(by_file) < 1 << 30);
        assert_eq!(free_bytes(&directory.path().join("missing")).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
