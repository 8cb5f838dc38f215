//! Small file systems in memory, and directories in the system's file system in memory.

use std::fs;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A small file system in memory, unmounted on drop.
pub(crate) struct Tmpfs(pub(crate) PathBuf);

impl Tmpfs {
    /// Mounts a file system; `None`, with a message, if this user may not mount.
    #[track_caller]
    pub(crate) fn mount(path: PathBuf, size: &str) -> Option<Self> {
        fs::create_dir(&path).expect("a directory");
        let option = format!("size={size}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &option, "tmpfs"]).arg(&path).output();
        if !mounted.is_ok_and(|output| output.status.success()) {
            harness::skip("only root can mount a small file system");
            return None;
        }
        Some(Self(path))
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// Uses all space of a file system, except this many bytes, for a file `filler`.
pub(crate) fn fill(directory: &Path, but_for: u64) {
    let file = File::options().create(true).append(true).open(directory.join("filler")).expect("a file");
    let block = vec![1; 4096];
    while (&file).write_all(&block).is_ok() {}
    let size = file.metadata().expect("a size").len();
    file.set_len(size.saturating_sub(but_for)).expect("shorter");
}

/// A directory in memory; `None`, with a message, if there is not enough space: containers have little.
#[track_caller]
pub(crate) fn in_memory(mebibytes: u64) -> Option<TempDir> {
    let free = rustix::fs::statvfs("/dev/shm").map_or(0, |found| found.f_bavail.saturating_mul(found.f_frsize));
    if free < mebibytes << 20 {
        harness::skip(&format!("/dev/shm has not {mebibytes} MiB free"));
        return None;
    }
    Some(tempfile::Builder::new().prefix("sealant-").tempdir_in("/dev/shm").expect("a directory"))
}
