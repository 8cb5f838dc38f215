//! Detects which files a running server has open.
//!
//! It uses two sources, because either can be denied: the descriptors of other processes, and the lock that InnoDB
//! holds on its data files.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::{self, File},
    os::unix::fs::MetadataExt,
    path::Path,
};

use files::proc;
use rustix::process::{Flock, FlockType, fcntl_getlk};

/// Device and inode of every file that another process has open for writing.
#[derive(Debug, Default)]
pub(crate) struct OpenFiles {
    files: BTreeSet<(u64, u64)>,
}

impl OpenFiles {
    /// Collects the files from all processes that this user may inspect.
    pub(crate) fn now() -> Self {
        let current = std::process::id().to_string();
        let mut files = BTreeSet::new();
        for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let name = process.file_name();
            let is_process = name.to_str().is_some_and(|name| name.parse::<u32>().is_ok() && name != current);
            if is_process {
                collect(&process.path(), &mut files);
            }
        }
        Self { files }
    }

    /// Whether another process has this file open or locked, or has removed it since it was opened here: it may be
    /// newer than the list of open files.
    pub(crate) fn has(&self, file: &File) -> bool {
        let is_in_use = file
            .metadata()
            .is_ok_and(|metadata| metadata.nlink() == 0 || self.files.contains(&(metadata.dev(), metadata.ino())));
        is_in_use || is_locked(file)
    }
}

fn collect(process: &Path, files: &mut BTreeSet<(u64, u64)>) {
    for descriptor in fs::read_dir(process.join("fd")).into_iter().flatten().flatten() {
        if let Ok(metadata) = fs::metadata(descriptor.path())
            && metadata.is_file()
            && may_write(process, &descriptor.file_name())
        {
            files.insert((metadata.dev(), metadata.ino()));
        }
    }
}

/// Whether a descriptor was opened for writing, or cannot be examined; a backup only reads and does not count.
fn may_write(process: &Path, descriptor: &OsStr) -> bool {
    proc::open_flags(process, descriptor).ok().is_none_or(proc::is_for_writing)
}

/// Whether another process holds a write lock, as InnoDB does on its data files.
fn is_locked(file: &File) -> bool {
    fcntl_getlk(file, &Flock::from(FlockType::ReadLock)).is_ok_and(|lock| lock.is_some())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_file_that_was_removed_meanwhile_was_in_use() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let opened = File::open(file.path()).unwrap();
        assert!(!OpenFiles::default().has(&opened));
        drop(file);
        assert!(OpenFiles::default().has(&opened));
    }

    #[test]
    fn only_a_descriptor_for_writing_counts() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let is_written = |descriptor: &str| may_write(Path::new("/proc/self"), OsStr::new(descriptor));
        assert!(is_written(&file.as_file().as_raw_fd().to_string()));
        assert!(!is_written(&File::open(file.path()).unwrap().as_raw_fd().to_string()));
        assert!(is_written("1000000"), "what cannot be examined may be written");
    }
}
