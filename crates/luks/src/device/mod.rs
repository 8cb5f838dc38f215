//! Disks and their volumes: create a volume on a blank disk, open it, mount it so that nothing can be written in
//! plaintext beside it, and close it. Each step is verified before the next one begins.

mod block;
mod create;
mod hidden;
mod host;
mod mapping;
mod mount;
mod vacancy;

use std::io;
use std::path::{Path, PathBuf};

pub use block::Block;
pub use create::{Created, Creation, FileSystem};
pub use hidden::hidden_below;
pub use host::Host;
pub(crate) use mapping::check_name;
pub use mapping::{Opened, Opening, close};
pub use mount::{Guard, Mounting, guard, unguard, unmount};
pub use vacancy::{Use, uses, uses_of_file};

use crate::backup::BackupError;
use crate::cryptsetup::CryptsetupError;
use crate::error::hint_of_io;
use crate::key::KeyError;
use process::{find_admin, run};

/// `mkfs` on a large disk, or a mount that replays a journal.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(600);

/// Why a volume was not created, opened, mounted or closed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// A file or device cannot be opened, read or written.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// Path of the file or device.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The device is in use or holds data.
    #[error("{device}: {}; nothing was changed", list(.uses), device = .device.display())]
    Used {
        /// The device.
        device: PathBuf,
        /// All signs of use.
        uses: Vec<Use>,
    },
    /// The current state forbids the operation.
    #[error("{what}: {why}; nothing was changed", what = .what.display())]
    Refused {
        /// The device or directory.
        what: PathBuf,
        /// The reason, as messages give it.
        why: String,
    },
    /// A step was done, but its check failed.
    #[error("{what}: {why}", what = .what.display())]
    NotProven {
        /// The device or directory.
        what: PathBuf,
        /// The expectation that failed.
        why: String,
    },
    /// A program of the system failed.
    #[error("{program}: {message}")]
    Program {
        /// Name of the program.
        program: &'static str,
        /// Its message.
        message: String,
    },
    /// The header or its backup is at fault.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// A key could not be added.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// cryptsetup failed.
    #[error(transparent)]
    Cryptsetup(#[from] CryptsetupError),
}

impl DeviceError {
    /// The next step for the user, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Io { source, .. } => hint_of_io(source),
            Self::Used { uses, .. } if uses.iter().all(|each| matches!(each, Use::Data { .. })) => {
                Some("if it is certainly not needed: --destroy-unknown-data")
            }
            Self::Used { uses, .. } if uses.iter().all(|each| matches!(each, Use::Signature(_))) => {
                Some("if it is certainly not needed: `wipefs --all` on it first, and check its name twice")
            }
            Self::Backup(error) => error.hint(),
            Self::Key(error) => error.hint(),
            Self::Cryptsetup(error) => error.hint(),
            _ => None,
        }
    }
}

impl DeviceError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    pub(crate) fn refused(what: &Path, why: impl Into<String>) -> Self {
        Self::Refused { what: what.to_owned(), why: why.into() }
    }

    pub(crate) fn no_uuid(what: &Path) -> Self {
        Self::refused(what, "its UUID is malformed, so cryptsetup did not write its header")
    }

    pub(crate) fn not_proven(what: &Path, why: impl Into<String>) -> Self {
        Self::NotProven { what: what.to_owned(), why: why.into() }
    }
}

/// Makes a running systemd reload its units. Without systemd, the next boot does so.
///
/// # Errors
/// [`DeviceError::Program`].
pub fn reload() -> Result<(), DeviceError> {
    if !Path::new("/run/systemd/system").is_dir() {
        return Ok(());
    }
    system("systemctl", &[std::ffi::OsStr::new("daemon-reload")]).map(drop)
}

/// Stops a unit, if systemd is running.
///
/// # Errors
/// [`DeviceError::Program`].
pub(crate) fn stop(unit: &str) -> Result<(), DeviceError> {
    if !Path::new("/run/systemd/system").is_dir() {
        return Ok(());
    }
    system("systemctl", &["stop", "--", unit].map(std::ffi::OsStr::new)).map(drop)
}

/// Path of a header backup in its directory.
pub(crate) fn header_path(
    directory: &Path,
    device: &Path,
    volume: &crate::volume::Volume,
) -> Result<PathBuf, DeviceError> {
    let uuid = volume.plain_uuid().ok_or_else(|| DeviceError::no_uuid(device))?;
    Ok(directory.join(format!("{uuid}-{}.header", volume.sequence)))
}

fn list(uses: &[Use]) -> String {
    uses.iter().map(Use::to_string).collect::<Vec<_>>().join(", ")
}

/// Runs a program of the system and returns its output. Any failure is an error.
fn system(program: &'static str, args: &[&std::ffi::OsStr]) -> Result<String, DeviceError> {
    match system_code(program, args)? {
        (Some(0), ended) => Ok(ended.stdout),
        (_, ended) => Err(DeviceError::Program { program, message: ended.error_output() }),
    }
}

/// As [`system`], with the exit code instead of an error.
fn system_code(program: &'static str, args: &[&std::ffi::OsStr]) -> Result<(Option<i32>, process::Ended), DeviceError> {
    let failed = |message: &str| DeviceError::Program { program, message: message.to_owned() };
    let path = find_admin(program).ok_or_else(|| failed("is not installed"))?;
    let ended = run(&path, args, None, LIMIT).map_err(|error| failed(&error.to_string()))?;
    let ended = ended.ok_or_else(|| failed("was ended because it took too long"))?;
    Ok((ended.code, ended))
}
