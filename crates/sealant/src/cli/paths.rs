//! Checks of the directories that a command line names, before a long run.

use std::fs::File;
use std::path::Path;

use crate::output::message::Failure;

/// Checks that a directory can be read at all.
pub(super) fn check_source(path: &Path) -> Result<(), Failure> {
    match File::open(path).and_then(|file| file.metadata()) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(Failure::new(format!("{}: not a directory", path.display()))),
        Err(error) => Err(Failure::new(format!("{}: {error}", path.display()))),
    }
}

/// Checks that a directory exists in which files will be made.
pub(super) fn check_target(path: &Path) -> Result<(), Failure> {
    if path.is_dir() { Ok(()) } else { Err(Failure::usage(format!("{}: not a directory", path.display()))) }
}
