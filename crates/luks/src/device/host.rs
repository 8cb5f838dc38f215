//! Where the system says what it knows: the mount table, `/sys`, the tables in `/etc`.

use std::path::{Path, PathBuf};

use files::mounts::{Mount, Mounts};

/// The places; tests put their own trees there.
#[derive(Debug, Clone)]
pub struct Host {
    /// `/proc`.
    pub proc: PathBuf,
    /// `/sys`.
    pub sys: PathBuf,
    /// `/etc`.
    pub etc: PathBuf,
}

impl Host {
    /// The running system's.
    #[must_use]
    pub fn this() -> Self {
        Self { proc: PathBuf::from("/proc"), sys: PathBuf::from("/sys"), etc: PathBuf::from("/etc") }
    }

    /// What is mounted.
    #[must_use]
    pub fn mounts(&self) -> Mounts {
        Mounts::read(&self.proc.join("self/mountinfo")).unwrap_or_default()
    }

    /// What is mounted exactly there.
    #[must_use]
    pub fn mounted_at(&self, path: &Path) -> Option<Mount> {
        self.mounts().at(path).cloned()
    }
}
