//! Lists and removes files and directories.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use glob::Pattern;

use crate::error::Error;

pub(super) fn matches(names: &[Pattern], name: &OsStr) -> bool {
    names.iter().any(|pattern| pattern.matches_path(Path::new(name)))
}

pub(super) fn list(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let items = fs::read_dir(directory).and_then(|items| items.map(|item| Ok(item?.path())).collect());
    items.map_err(Error::file(directory, "cannot be listed"))
}

pub(super) fn remove_matching(directory: &Path, names: &[Pattern]) -> Result<(), Error> {
    if !directory.is_dir() {
        return Ok(());
    }
    let matches = |path: &PathBuf| !is_directory(path) && matches(names, path.file_name().unwrap_or_default());
    let old = list(directory)?.into_iter().filter(matches);
    old.into_iter().try_for_each(|path| remove_tree(&path))
}

/// Removes a file, a link or a directory with everything in it; succeeds if it does not exist.
pub(crate) fn remove_tree(path: &Path) -> Result<(), Error> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(Error::file(path, "cannot be removed")),
    }
}

pub(super) fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}
