//! Files without a name, with what a restore knows of all parts of a backup.

use std::{fs::File, path::Path};

use archive::manifest::Lists;
use files::{unnamed_file, without_name};

use crate::Error;

/// Creates an empty file in the file system of the target. If that has no files without a name, or may not be written,
/// as by somebody who only plans a restore, it is in the directory for temporary files.
pub(super) fn scratch(into: &Path) -> Result<File, Error> {
    if let Ok(file) = without_name(existing(into)) {
        return Ok(file);
    }
    temporary()
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
}
