//! Opens the block device or image to measure on, and tests whether the kernel supports device-mapper.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Error, program};

/// A block device. An image file gets a loop device, which is detached on drop.
#[derive(Debug)]
pub struct Disk {
    path: PathBuf,
    is_loop: bool,
}

impl Disk {
    /// Opens the disk at `path`.
    ///
    /// # Errors
    /// [`Error::File`]; [`Error::Program`] if no loop device can be attached to an image.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let kind = fs::metadata(path).map_err(Error::file(path))?.file_type();
        if kind.is_block_device() {
            return Ok(Self { path: path.to_owned(), is_loop: false });
        }
        load("loop");
        // Not every file system supports direct I/O.
        let path = attach(path, &["--direct-io=on"]).or_else(|_| attach(path, &[]))?;
        Ok(Self { path, is_loop: true })
    }

    /// Path of the device.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is a loop device: the measurement then includes the file system of the image.
    #[must_use]
    pub fn is_loop(&self) -> bool {
        self.is_loop
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.is_loop {
            let _ = losetup(&[OsStr::new("--detach"), self.path.as_os_str()]);
        }
    }
}

fn attach(image: &Path, options: &[&str]) -> Result<PathBuf, Error> {
    let options = ["--find", "--show"].iter().chain(options).map(|option| OsStr::new(*option));
    let args: Vec<&OsStr> = options.chain([image.as_os_str()]).collect();
    Ok(PathBuf::from(losetup(&args)?.trim()))
}

fn losetup(args: &[&OsStr]) -> Result<String, Error> {
    let location = process::find_admin("losetup").unwrap_or_else(|| PathBuf::from("losetup"));
    let output = program::succeed(Command::new(location).args(args))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether the kernel has device-mapper with dm-crypt; loads their modules if necessary.
#[must_use]
pub fn device_mapper() -> bool {
    load("dm-crypt");
    let misc = fs::read_to_string("/proc/misc").unwrap_or_default();
    misc.lines().any(|line| line.trim().ends_with(" device-mapper"))
}

/// Loads a module if it exists and is not loaded. Errors are ignored, because they show again where the module is used.
fn load(module: &str) {
    let modprobe = process::find_admin("modprobe").unwrap_or_else(|| PathBuf::from("modprobe"));
    let _ = program::finish(Command::new(modprobe).args(["--quiet", module]));
}
