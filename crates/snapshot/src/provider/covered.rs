//! Whether one snapshot covers all of a data directory.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::Source;
use crate::error::Error;

/// Nothing that the server uses is where a snapshot of the data directory has no room for it: nothing can be added to one
/// afterwards.
pub(super) fn nothing_outside(source: &Source<'_>) -> Result<(), Error> {
    if let Some(link) = source.listing.outward.first() {
        return Err(Error::KeptElsewhere { path: source.datadir.path().join(link) });
    }
    source.elsewhere.first().map_or(Ok(()), |kept| Err(Error::KeptElsewhere { path: kept.directory.clone() }))
}

/// All directories are on one file system.
pub(super) fn one_file_system(source: &Source<'_>) -> Result<(), Error> {
    let datadir = source.datadir.path();
    let device = |path: &Path| fs::metadata(path).map(|metadata| metadata.dev());
    let own = device(datadir).map_err(|source| Error::Unreadable { path: datadir.to_owned(), source })?;
    let elsewhere = |path: &&PathBuf| device(&datadir.join(path)).is_ok_and(|device| device != own);
    match source.listing.directories.iter().find(elsewhere) {
        Some(path) => Err(Error::TwoFileSystems { path: datadir.join(path) }),
        None => Ok(()),
    }
}

/// What is mounted over a directory of a file system is not in a snapshot of it, even from the same file system; inodes keep
/// their numbers in a snapshot.
pub(super) fn shows_what_is_mounted(datadir: &Path, copy: &Path, directories: &[PathBuf]) -> Result<(), Error> {
    let inode = |path: PathBuf| fs::metadata(path).map(|metadata| metadata.ino());
    for directory in std::iter::once(Path::new("")).chain(directories.iter().map(PathBuf::as_path)) {
        match (inode(datadir.join(directory)), inode(copy.join(directory))) {
            (Ok(live), Ok(copied)) if live == copied => {}
            // Dropped since it was listed.
            (Err(_), _) => {}
            _ => return Err(Error::OtherSubvolume { path: datadir.join(directory) }),
        }
    }
    Ok(())
}
