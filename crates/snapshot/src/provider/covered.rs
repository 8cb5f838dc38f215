//! Whether one snapshot covers all of a data directory.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use files::mounts::Mounts;

use super::Source;
use crate::error::Error;

/// Nothing that the server uses is where a snapshot of the data directory has no room for it: nothing can be added to one
/// afterwards.
pub(super) fn nothing_outside(source: &Source<'_>) -> Result<(), Error> {
    if let Some(link) = source.listing.outward.first() {
        return Err(Error::KeptOutside { path: source.datadir.path().join(link) });
    }
    source.external.first().map_or(Ok(()), |kept| Err(Error::KeptOutside { path: kept.directory.clone() }))
}

/// All directories are on one file system.
pub(super) fn one_file_system(source: &Source<'_>) -> Result<(), Error> {
    let datadir = source.datadir.path();
    let device = |path: &Path| fs::metadata(path).map(|metadata| metadata.dev());
    let own = device(datadir).map_err(|source| Error::Unreadable { path: datadir.to_owned(), source })?;
    let other_device = |path: &&PathBuf| device(&datadir.join(path)).is_ok_and(|device| device != own);
    match source.listing.directories.iter().find(other_device) {
        Some(path) => Err(Error::TwoFileSystems { path: datadir.join(path) }),
        None => Ok(()),
    }
}

/// What is mounted over a directory of a file system is not in a snapshot of it, even from the same file system; inodes keep
/// their numbers in a snapshot.
pub(super) fn shows_what_is_mounted(datadir: &Path, copy: &Path, directories: &[PathBuf]) -> Result<(), Error> {
    let inode = |path: PathBuf| fs::metadata(path).map(|metadata| metadata.ino());
    let mounts = Mounts::own().map_err(|source| Error::Unreadable { path: datadir.to_owned(), source })?;
    for directory in std::iter::once(Path::new("")).chain(directories.iter().map(PathBuf::as_path)) {
        match (inode(datadir.join(directory)), inode(copy.join(directory))) {
            (Ok(live), Ok(copied)) if live == copied => {}
            // Dropped since it was listed.
            (Err(_), _) => {}
            // Dropped since, and made again: a snapshot has what was there at its instant.
            _ if directory != Path::new("") && is_made_again(datadir, directory, &mounts) => {}
            _ => return Err(Error::OtherSubvolume { path: datadir.join(directory) }),
        }
    }
    Ok(())
}

/// Whether a directory is one of the data directory's own file system: neither another subvolume nor mounted over.
fn is_made_again(datadir: &Path, directory: &Path, mounts: &Mounts) -> bool {
    let path = datadir.join(directory);
    let device = |path: &Path| fs::symlink_metadata(path).map(|metadata| metadata.dev()).ok();
    let above = path.ancestors().take_while(|above| *above != datadir);
    let mut mounted = above.map(|above| mounts.below(above).any(|mount| mount.point == above));
    device(&path).is_some_and(|own| device(datadir) == Some(own)) && !mounted.any(|is| is)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mounted_is_told_from_what_was_made_again() {
        let directory = tempfile::tempdir().unwrap();
        let datadir = directory.path();
        fs::create_dir_all(datadir.join("db/inner")).unwrap();
        let is_made_again =
            |name: &str, table: &str| is_made_again(datadir, Path::new(name), &Mounts::parse(table.as_bytes()));
        assert!(is_made_again("db", "") && is_made_again("db/inner", ""));
        let bound = format!("36 35 98:0 /x {}/db rw,noatime - btrfs /dev/sda rw\n", datadir.display());
        assert!(!is_made_again("db", &bound) && !is_made_again("db/inner", &bound));
        assert!(!is_made_again("gone", ""));
        assert!(!is_made_again("/proc", ""));
    }
}
