//! Checks that one snapshot covers all of a data directory.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use files::mounts::Mounts;

use super::Source;
use crate::{error::Error, mounted};

/// Checks that the server uses no files outside: nothing can be added to a snapshot, or to the data
/// directory itself.
pub(super) fn check_nothing_outside(source: &Source<'_>) -> Result<(), Error> {
    if let Some(link) = source.listing.external_links.first() {
        let datadir = source.datadir.path();
        return Err(Error::leads_out(datadir, datadir.join(link)));
    }
    source.external.first().map_or(Ok(()), |kept| Err(Error::KeptOutside { path: kept.directory.clone() }))
}

/// Checks that all directories are on one file system.
pub(super) fn check_one_file_system(source: &Source<'_>) -> Result<(), Error> {
    let datadir = source.datadir.path();
    let device = |path: &Path| fs::metadata(path).map(|metadata| metadata.dev());
    let current = device(datadir).map_err(|source| Error::Unreadable { path: datadir.to_owned(), source })?;
    let other_device = |path: &&PathBuf| device(&datadir.join(path)).is_ok_and(|device| device != current);
    match source.listing.directories.iter().find(other_device) {
        Some(path) => Err(Error::TwoFileSystems { path: datadir.join(path) }),
        None => Ok(()),
    }
}

/// Checks that nothing is mounted over a directory: the mounted data would be missing in the
/// snapshot. Compares inode numbers, which are the same in a snapshot. Device numbers would not
/// show a mount of another directory of the same file system.
pub(super) fn check_mounts(datadir: &Path, copy: &Path, directories: &[PathBuf]) -> Result<(), Error> {
    let inode = |path: PathBuf| fs::metadata(path).map(|metadata| metadata.ino());
    let mounts = mounted::process_mounts()?;
    for directory in std::iter::once(Path::new("")).chain(directories.iter().map(PathBuf::as_path)) {
        match (inode(datadir.join(directory)), inode(copy.join(directory))) {
            (Ok(live), Ok(copied)) if live == copied => {}
            // The directory was dropped since it was listed.
            (Err(_), _) => {}
            // The directory was dropped and created again: the snapshot has the one of its instant.
            _ if directory != Path::new("") && was_recreated(datadir, directory, &mounts) => {}
            _ => return Err(Error::OtherSubvolume { path: datadir.join(directory) }),
        }
    }
    Ok(())
}

/// Whether a directory is part of the data directory's file system: not another subvolume, and not
/// a mount point.
fn was_recreated(datadir: &Path, directory: &Path, mounts: &Mounts) -> bool {
    let path = datadir.join(directory);
    let device = |path: &Path| fs::symlink_metadata(path).map(|metadata| metadata.dev()).ok();
    let above = path.ancestors().take_while(|above| *above != datadir);
    let mut mounted = above.map(|above| mounts.below(above).any(|mount| mount.point == above));
    device(&path).is_some_and(|current| device(datadir) == Some(current)) && !mounted.any(|is| is)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mounted_directory_is_distinguished_from_a_new_one() {
        let directory = tempfile::tempdir().unwrap();
        let datadir = directory.path();
        fs::create_dir_all(datadir.join("db/inner")).unwrap();
        let was_recreated =
            |name: &str, table: &str| was_recreated(datadir, Path::new(name), &Mounts::parse(table.as_bytes()));
        assert!(was_recreated("db", "") && was_recreated("db/inner", ""));
        let bound = format!("36 35 98:0 /x {}/db rw,noatime - btrfs /dev/sda rw\n", datadir.display());
        assert!(!was_recreated("db", &bound) && !was_recreated("db/inner", &bound));
        assert!(!was_recreated("gone", ""));
        assert!(!was_recreated("/proc", ""));
    }
}
