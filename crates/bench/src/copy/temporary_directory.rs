//! A temporary directory for copies.

use std::{
    fs,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use rustix::fs::{CWD, Mode, OFlags, openat, statvfs, syncfs};

use crate::Error;

/// A private directory, removed on drop.
#[derive(Debug)]
pub struct TemporaryDirectory {
    directory: PathBuf,
}

impl TemporaryDirectory {
    /// Creates a directory below `parent`.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn below(parent: &Path) -> Result<Self, Error> {
        let parent = fs::canonicalize(parent).map_err(Error::file(parent))?;
        let directory = parent.join(format!("sealant-bench-{}", std::process::id()));
        fs::DirBuilder::new().mode(0o700).create(&directory).map_err(Error::file(&directory))?;
        Ok(Self { directory })
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.directory
    }

    /// Free space of its file system, in bytes.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn free_bytes(&self) -> Result<u64, Error> {
        let system = statvfs(&self.directory).map_err(|errno| Error::file(&self.directory)(errno.into()))?;
        Ok(system.f_bavail.saturating_mul(system.f_frsize))
    }

    /// The directory to copy into.
    #[must_use]
    pub fn target(&self) -> PathBuf {
        self.directory.join("copy")
    }

    /// Removes the previous copy, and waits until the file system has written the removal.
    pub(crate) fn empty(&self) -> Result<(), Error> {
        let target = self.target();
        match fs::remove_dir_all(&target) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::file(target)(error)),
            _ => {}
        }
        fs::create_dir(&target).map_err(Error::file(&target))?;
        self.sync()
    }

    /// Syncs the file system, like `sync -f`.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        let open = openat(CWD, &self.directory, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        open.and_then(syncfs).map_err(|errno| Error::file(&self.directory)(errno.into()))
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}
