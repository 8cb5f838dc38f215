//! A directory for a test restore.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use rustix::process::geteuid;

use crate::Error;

const PREFIX: &str = "sealant-restore-";

/// A directory that does not exist yet, and that is removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct TemporaryDirectory {
    path: PathBuf,
}

impl TemporaryDirectory {
    /// Chooses a name below `parent`, and removes the directories that killed processes have left there.
    ///
    /// # Errors
    /// [`Error::Io`] if `parent` cannot be listed, or such a directory cannot be removed.
    pub(crate) fn below(parent: &Path) -> Result<Self, Error> {
        remove_stale(parent, PREFIX)?;
        Ok(Self { path: parent.join(format!("{PREFIX}{}", std::process::id())) })
    }

    /// Path of the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Removes the directories that killed processes left below `parent`. Their names are `prefix`, the id of a process
/// that no longer runs, and optionally a suffix after `-`.
pub(crate) fn remove_stale(parent: &Path, prefix: &str) -> Result<(), Error> {
    let items = fs::read_dir(parent).map_err(Error::io(parent, "cannot be listed"))?;
    for item in items.flatten() {
        let name = item.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(prefix)?.split('-').next()?.parse::<u32>().ok());
        let is_own = item
            .metadata()
            .is_ok_and(|metadata| metadata.is_dir() && (geteuid().is_root() || metadata.uid() == geteuid().as_raw()));
        if is_own && process.is_some_and(|process| !Path::new("/proc").join(process.to_string()).exists()) {
            let path = item.path();
            fs::remove_dir_all(&path).map_err(Error::io(&path, "cannot be removed"))?;
        }
    }
    Ok(())
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let names = [
            "sealant-restore-4194305",
            "sealant-restore-4194305-a1",
            "sealant-restore-1",
            "sealant-restore-x",
            "other",
        ];
        names.iter().for_each(|name| fs::create_dir(parent.path().join(name)).unwrap());
        let scratch = TemporaryDirectory::below(parent.path()).unwrap();
        fs::create_dir(scratch.path()).unwrap();
        let there = names.map(|name| parent.path().join(name).exists());
        assert_eq!(there, [false, false, true, true, true]);
        let path = scratch.path().to_owned();
        drop(scratch);
        assert!(!path.exists());
    }
}
