//! Reads a file on a device that is mounted only while it is read.

use std::fs::{DirBuilder, create_dir, remove_dir};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::{Duration, Instant};

use files::runtime;
use process::{Output, Program};

use super::{read_file, wait_for};
use crate::Error;
use crate::secret::Secret;

/// Minimum time limit of `mount` and `umount`.
const MIN_TIME: Duration = Duration::from_secs(10);

/// Mounts the device read-only in a private directory, reads the file, and unmounts.
pub(super) fn key(device: &Path, file: &Path, deadline: Instant) -> Result<Secret, Error> {
    wait_for(device, deadline)?;
    let private = Path::new(runtime::DIRECTORY).join(format!("key-{}", std::process::id()));
    let directory = private.join("on");
    runtime::directory().map_err(Error::key_file(&directory))?;
    // Files on such a device may be readable by everybody, so the directory above is private.
    DirBuilder::new().mode(0o700).create(&private).map_err(Error::key_file(&directory))?;
    create_dir(&directory).map_err(Error::key_file(&directory))?;
    let key = mount(device, &directory, deadline).and_then(|()| {
        let inside = file.strip_prefix("/").unwrap_or(file);
        let key = read_file(&directory.join(inside), Instant::now());
        unmount(&directory);
        key
    });
    // A directory that cannot be removed is no reason to withhold the key.
    let _ = remove_dir(&directory).and_then(|()| remove_dir(&private));
    key
}

fn mount(device: &Path, directory: &Path, deadline: Instant) -> Result<(), Error> {
    let args = ["-o".as_ref(), "ro,nosuid,nodev,noexec".as_ref(), device.as_os_str(), directory.as_os_str()];
    // A device that was found late still gets the time that a mount takes.
    let limit = deadline.saturating_duration_since(Instant::now()).max(MIN_TIME);
    let failed = |reason| Error::NotMounted { device: device.to_owned(), reason };
    match Program::at("mount").args(args).limit(limit).output() {
        Ok(Some(output)) if output.is_success() => Ok(()),
        Ok(Some(output)) => Err(failed(output.error_output())),
        Ok(None) => Err(failed("mount does not end".to_owned())),
        Err(error) => Err(failed(format!("mount: {error}"))),
    }
}

/// Unmounts the device now or, if it is busy, as soon as nobody uses it.
fn unmount(directory: &Path) {
    let umount = |options: &[&str]| {
        let output = Program::at("umount").args(options).arg(directory).limit(MIN_TIME).output();
        output.is_ok_and(|output| output.as_ref().is_some_and(Output::is_success))
    };
    if !umount(&[]) {
        umount(&["--lazy"]);
    }
}
