//! A disk that fills up soon.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// A small file system in memory, unmounted with this value.
pub(crate) struct Tmpfs(pub(crate) PathBuf);

impl Tmpfs {
    /// `None` where this user may not mount.
    pub(crate) fn mount(path: PathBuf, size: &str) -> Option<Self> {
        fs::create_dir(&path).expect("a directory");
        let option = format!("size={size}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &option, "tmpfs"]).arg(&path).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(Self(path))
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}
