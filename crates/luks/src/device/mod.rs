//! Disks and their volumes: create a volume on a blank disk, open it, mount it so that nothing can be written in
//! plaintext beside it, and close it. Each step is verified before the next one begins.

mod block;
mod create;
mod hidden;
mod host;
mod in_use;
mod mapping;
mod mount;

use std::path::{Path, PathBuf};

pub use block::{Block, cryptsetup_format};
pub use create::{Created, Creation, FileSystem};
pub(crate) use hidden::hidden_below;
pub use host::Host;
pub(crate) use in_use::usage_signs_of_file;
pub use in_use::{UsageSign, usage_signs};
pub(crate) use mapping::check_name;
pub use mapping::{Opened, Opening, close};
pub use mount::{MountPointGuard, Mounted, Mounting, guard, unmount};

use crate::Error;
use process::{Output, Program};

/// Time limit of a system program: enough for `mkfs` on a large disk, or for a mount that replays a journal.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(600);

/// Makes a running systemd reload its units. Without systemd, the next boot does so.
///
/// # Errors
/// [`Error::Program`].
pub fn reload() -> Result<(), Error> {
    if !Path::new("/run/systemd/system").is_dir() {
        return Ok(());
    }
    system("systemctl", &[std::ffi::OsStr::new("daemon-reload")]).map(drop)
}

/// Stops a unit, if systemd is running.
///
/// # Errors
/// [`Error::Program`].
pub(crate) fn stop(unit: &str) -> Result<(), Error> {
    if !Path::new("/run/systemd/system").is_dir() {
        return Ok(());
    }
    system("systemctl", &["stop", "--", unit].map(std::ffi::OsStr::new)).map(drop)
}

/// Path of a header backup in its directory.
pub(crate) fn header_path(directory: &Path, device: &Path, volume: &crate::volume::Volume) -> Result<PathBuf, Error> {
    let uuid = volume.plain_uuid().ok_or_else(|| Error::no_uuid(device))?;
    Ok(directory.join(format!("{uuid}-{}.header", volume.sequence)))
}

/// Runs a program of the system and returns its output. Any failure is an error.
fn system(program: &'static str, args: &[&std::ffi::OsStr]) -> Result<String, Error> {
    match system_code(program, args)? {
        (Some(0), output) => Ok(output.stdout),
        (_, output) => Err(Error::Program { program, message: output.error_output() }),
    }
}

/// As [`system`], with the exit code instead of an error.
fn system_code(program: &'static str, args: &[&std::ffi::OsStr]) -> Result<(Option<i32>, Output), Error> {
    let failed = |message: &str| Error::Program { program, message: message.to_owned() };
    let found = Program::find_admin(program).ok_or_else(|| failed("is not installed"))?;
    let output = found.args(args).limit(LIMIT).output().map_err(|error| failed(&error.to_string()))?;
    let output = output.ok_or_else(|| failed("was ended because it took too long"))?;
    Ok((output.code, output))
}
