//! Links in a restored directory. A server would follow them, also out of the directory: to the files of the server
//! that was backed up, for example.

use std::{
    ffi::OsStr,
    fs::{self, FileType},
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use files::regular::{self, Links};
use innodb::{
    file_suffix,
    server_file::link::{Destination, destination},
};

use crate::Error;

/// Checks that no link below a directory leads out of it.
///
/// # Errors
/// [`Error::LeadsOut`] names the first such link.
pub(super) fn check_inside(root: &Path) -> Result<(), Error> {
    let root = root.canonicalize().map_err(Error::io(root, "cannot be found"))?;
    let mut directories = vec![root.clone()];
    while let Some(directory) = directories.pop() {
        let unreadable = |error| Error::io(&directory, "cannot be listed")(error);
        for item in fs::read_dir(&directory).map_err(unreadable)? {
            let item = item.map_err(unreadable)?;
            let (path, kind) = (item.path(), item.file_type().map_err(unreadable)?);
            if kind.is_dir() {
                directories.push(path);
            } else if let Some(target) = target(&root, &path, kind).map_err(Error::io(&path, "cannot be read"))? {
                check_target(&root, path, &target)?;
            }
        }
    }
    Ok(())
}

/// Where a link leads, as it is written; `None` for other files. InnoDB also follows the path in an `.isl` file.
fn target(root: &Path, path: &Path, kind: FileType) -> io::Result<Option<PathBuf>> {
    const MAX_BYTES: u64 = 64 << 10;
    if kind.is_symlink() {
        return fs::read_link(path).map(Some);
    }
    if !file_suffix::has(path, file_suffix::LINK) {
        return Ok(None);
    }
    let text = regular::read(path, Links::Refused, MAX_BYTES)?;
    Ok(Some(root.join(OsStr::from_bytes(text.trim_ascii()))))
}

fn check_target(root: &Path, path: PathBuf, target: &Path) -> Result<(), Error> {
    let target_of = |place: &Path| fs::read_link(root.join(place)).ok();
    let link = path.strip_prefix(root).unwrap_or(&path);
    match destination(Some(root), link, target, &target_of) {
        // The directory stays where it is.
        Destination::Inside | Destination::Absolute => Ok(()),
        Destination::Outside => {
            let target = path.parent().unwrap_or(root).join(target);
            Err(Error::LeadsOut { path, target: target.canonicalize().unwrap_or(target) })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// The link that is refused, and where it leads.
    fn refused(root: &Path) -> (PathBuf, PathBuf) {
        match check_inside(root) {
            Err(Error::LeadsOut { path, target }) => (path, target),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn links_that_lead_out_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let above = directory.path().canonicalize().unwrap();
        let (root, elsewhere) = (above.join("into"), above.join("elsewhere"));
        fs::create_dir_all(root.join("db")).unwrap();
        for path in [&elsewhere, &root.join("ibdata1")] {
            fs::write(path, "").unwrap();
        }
        symlink("..", root.join("db/up")).unwrap();
        symlink("../ibdata1", root.join("db/within")).unwrap();
        symlink(root.join("ibdata1"), root.join("db/absolute")).unwrap();
        symlink("gone", root.join("db/nowhere")).unwrap();
        fs::write(root.join("db/near.isl"), "db/t.ibd").unwrap();
        check_inside(&root).unwrap();

        let link = root.join("link");
        for (written, target) in [
            (elsewhere.as_path(), elsewhere.clone()),
            (Path::new("../elsewhere"), elsewhere.clone()),
            // As it is written, it stays inside.
            (Path::new("db/up/../elsewhere"), elsewhere.clone()),
            (Path::new("/nowhere/db"), PathBuf::from("/nowhere/db")),
        ] {
            symlink(written, &link).unwrap();
            assert_eq!(refused(&root), (link.clone(), target));
            fs::remove_file(&link).unwrap();
        }
        let table = root.join("db/t.isl");
        fs::write(&table, format!("{}\n", elsewhere.display())).unwrap();
        assert_eq!(refused(&root), (table, elsewhere));
    }
}
