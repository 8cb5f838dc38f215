//! Why a streamed backup was not prepared, and how to do it by hand.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::program::Program;

/// What is wrong with a backup, or with the program that prepares it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrepareFault {
    /// A link in the backup points out of it.
    #[error("{} leads out of the backup, which no link in it may do", .0.display())]
    LeadsOut(PathBuf),
    /// The program would run as root.
    #[error("root does not run the program as root, and --owner is root")]
    OwnerIsRoot,
    /// The user for the program is not specified.
    #[error("root runs the program only as a user that --owner names")]
    NoOwner,
    /// A file cannot be used, or the program cannot be started.
    #[error("{}: {source}", path.display())]
    Io {
        /// Path of the file or device.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// An option of the backup has a value that no backup program writes.
    #[error("{}: {option} has a value that no backup has", path.display())]
    Option {
        /// The option file.
        path: PathBuf,
        /// Name of the option.
        option: &'static str,
    },
    /// The program failed.
    #[error("{}: {said}", path.display())]
    Failed {
        /// Path of the program.
        path: PathBuf,
        /// Its error output.
        said: String,
    },
    /// The program succeeded but did not mark the backup as prepared.
    #[error("{}: it reported success, but the backup is not marked as prepared", path.display())]
    NotPrepared {
        /// Path of the program.
        path: PathBuf,
    },
}

impl PrepareFault {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

/// Instructions to prepare a backup without this program.
pub(crate) fn manual_steps(program: Program, directory: &Path) -> String {
    format!(
        "no server may start on it before `{} --prepare --target-dir={}` has succeeded, run as the server's user and \
         never as root",
        program.file(),
        directory.display()
    )
}
