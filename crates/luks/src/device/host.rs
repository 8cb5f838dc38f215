//! Where to read the state of the system: the mount table, `/sys`, and the tables in `/etc`.

use std::path::{Path, PathBuf};

use files::mounts::{Mount, Mounts};

/// Base directories; tests use trees of their own.
#[derive(Debug, Clone)]
pub struct Host {
    /// Path of `/proc`; another directory in tests.
    pub proc: PathBuf,
    /// Path of `/sys`; another directory in tests.
    pub sys: PathBuf,
    /// Path of `/etc`; another directory in tests.
    pub etc: PathBuf,
}

impl Host {
    /// The directories of the running system.
    #[must_use]
    pub fn this() -> Self {
        Self { proc: PathBuf::from("/proc"), sys: PathBuf::from("/sys"), etc: PathBuf::from("/etc") }
    }

    /// The mount table.
    #[must_use]
    pub fn mounts(&self) -> Mounts {
        Mounts::read(&self.proc.join("self/mountinfo")).unwrap_or_default()
    }

    /// The mount at exactly this path.
    #[must_use]
    pub(crate) fn mounted_at(&self, path: &Path) -> Option<Mount> {
        self.mounts().at(path).cloned()
    }
}
