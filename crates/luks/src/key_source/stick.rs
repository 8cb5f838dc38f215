//! Reads a file on a device that is mounted only while it is read.

use std::ffi::OsString;
use std::fs::{DirBuilder, create_dir, remove_dir};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use files::runtime;

use super::{read_file, wait_for};
use crate::Error;
use crate::secret::Secret;

/// Mounts the device read-only in a private directory, reads the file, and unmounts.
pub(super) fn key(device: &Path, file: &Path, deadline: Instant) -> Result<Secret, Error> {
    wait_for(device, deadline)?;
    let private = Path::new(runtime::DIRECTORY).join(format!("key-{}", std::process::id()));
    let directory = private.join("on");
    runtime::directory().map_err(Error::key_file(&directory))?;
    // Files on a stick may be readable by everybody, so the directory above is private.
    DirBuilder::new().mode(0o700).create(&private).map_err(Error::key_file(&directory))?;
    create_dir(&directory).map_err(Error::key_file(&directory))?;
    let key = mount(device, &directory).and_then(|()| {
        let inside = file.strip_prefix("/").unwrap_or(file);
        let key = read_file(&directory.join(inside), Instant::now());
        unmount(&directory);
        key
    });
    // A directory that cannot be removed is no reason to withhold the key.
    let _ = remove_dir(&directory).and_then(|()| remove_dir(&private));
    key
}

fn mount(device: &Path, directory: &Path) -> Result<(), Error> {
    let args: [OsString; 4] = ["-o".into(), "ro,nosuid,nodev,noexec".into(), device.into(), directory.into()];
    match Command::new("mount").args(args).stdin(Stdio::null()).stdout(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(Error::NotMounted { device: device.to_owned() }),
    }
}

/// Unmounts at once, or else as soon as nobody uses it.
fn unmount(directory: &Path) {
    let umount = |how: &[&str]| Command::new("umount").args(how).arg(directory).stdin(Stdio::null()).status();
    if !umount(&[]).is_ok_and(|status| status.success()) {
        let _ = umount(&["--lazy"]);
    }
}
