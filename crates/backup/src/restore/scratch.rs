//! Files without a name, with what a restore knows of all parts of a backup.

use std::{
    fs::File,
    io::{self, ErrorKind},
    path::Path,
};

use archive::manifest::Lists;
use files::{is_unnamed_unsupported, unnamed_file, without_name};

use crate::Error;

/// Creates an empty file in the file system of the target, before there is a staging directory. If that file system has no
/// files without a name, or may not be written, as by somebody who only plans a restore, it is in the directory for
/// temporary files, which may have less space.
pub(super) fn scratch(into: &Path) -> Result<File, Error> {
    let directory = existing(into);
    match without_name(directory) {
        Err(error) if is_unusable(&error) => temporary(),
        created => created.map_err(Error::io(directory, "a temporary file cannot be created in its file system")),
    }
}

/// Whether no file without a name can be there. A full disk is no such reason: the restore itself needs its space. A target
/// that is no directory is refused later.
fn is_unusable(error: &io::Error) -> bool {
    let refused = [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem, ErrorKind::NotADirectory];
    is_unnamed_unsupported(error) || refused.contains(&error.kind())
}

/// Creates an empty file in the directory for temporary files.
fn temporary() -> Result<File, Error> {
    let directory = std::env::temp_dir();
    unnamed_file(&directory).map_err(Error::io(&directory, "a temporary file cannot be created"))
}

/// Keeps the lists of a manifest that is to be restored into a directory.
pub(super) fn lists(into: &Path) -> Result<Lists, Error> {
    Ok(Lists::in_files(scratch(into)?, scratch(into)?))
}

/// Keeps the lists of a manifest of which the target is not known yet.
pub(super) fn temporary_lists() -> Result<Lists, Error> {
    Ok(Lists::in_files(temporary()?, temporary()?))
}

/// The path, or its nearest parent that exists.
pub(super) fn existing(path: &Path) -> &Path {
    let existing = path.ancestors().find(|path| path.exists()).filter(|path| !path.as_os_str().is_empty());
    existing.unwrap_or_else(|| Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn nothing_is_left_in_the_target() {
        let directory = tempfile::tempdir().unwrap();
        for into in [directory.path().to_owned(), directory.path().join("not/there")] {
            let _files = (scratch(&into).unwrap(), lists(&into).unwrap());
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        }
        assert!(temporary_lists().is_ok());
    }

    #[test]
    fn a_full_disk_is_an_error() {
        use rustix::io::Errno;
        let is_unusable = |errno: Errno| is_unusable(&errno.into());
        for errno in [Errno::OPNOTSUPP, Errno::ISDIR, Errno::ACCESS, Errno::PERM, Errno::ROFS, Errno::NOTDIR] {
            assert!(is_unusable(errno), "{errno}");
        }
        for errno in [Errno::NOSPC, Errno::DQUOT, Errno::IO, Errno::MFILE] {
            assert!(!is_unusable(errno), "{errno}");
        }
    }
}
