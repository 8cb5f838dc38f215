//! The file system in memory that keeps keys and rows off the disks.

use std::path::Path;

use files::quantity::size;
use rustix::fs::{Access, access, statfs};

use crate::Error;

/// Directory of the file system in memory.
pub(crate) const DIRECTORY: &str = "/dev/shm";
/// Minimum free space for a replay, in bytes.
const MIN_FREE: u64 = 16 << 20;
/// Types of file systems in memory: tmpfs, and ramfs, which has no limit.
const TMPFS: i64 = 0x0102_1994;
const RAMFS: i64 = 0x8584_58f6;

/// Checks that clear rows can be kept in memory; returns how many bytes are free.
///
/// # Errors
/// [`Error::Memory`] if there is no such file system, or if it is too small.
pub(crate) fn free_bytes(directory: &Path) -> Result<u64, Error> {
    let refused = |reason: String| Error::Memory { path: directory.to_path_buf(), reason };
    let failed = |errno: rustix::io::Errno| refused(errno.to_string());
    let kind = statfs(directory).map_err(failed)?.f_type;
    if kind != TMPFS && kind != RAMFS {
        return Err(refused("it is not a file system in memory".to_owned()));
    }
    access(directory, Access::WRITE_OK).map_err(failed)?;
    if kind == RAMFS {
        return Ok(u64::MAX);
    }
    let free = files::free_bytes(directory).map_err(|error| refused(error.to_string()))?;
    if free < MIN_FREE {
        return Err(refused(format!("it has only {} free", size(free))));
    }
    Ok(free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_system_in_memory_will_do() {
        assert!(free_bytes(Path::new(DIRECTORY)).is_ok_and(|free| free >= MIN_FREE));
        for (directory, reason) in [("/proc", "not a file system in memory"), ("/nonexistent", "No such file")] {
            let error = free_bytes(Path::new(directory)).unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
            assert!(error.hint().is_some_and(|hint| hint.contains("--shm-size")), "{error}");
        }
    }
}
