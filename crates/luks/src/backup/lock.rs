//! The lock that cryptsetup takes before it writes a header. We take the same lock, so that neither program overwrites
//! the other's changes.
//!
//! Source: `lib/utils_device_locking.c` of cryptsetup: an exclusive flock of the image itself, or of
//! `/run/cryptsetup/L_MAJOR:MINOR` for a block device.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};

const DIRECTORY: &str = "/run/cryptsetup";

/// Takes the lock; waits while another program holds it. The lock is released when the file is dropped.
pub(super) fn lock(device: &File) -> io::Result<File> {
    let metadata = device.metadata()?;
    let lock = if metadata.file_type().is_block_device() {
        if let Err(error) = DirBuilder::new().mode(0o700).create(DIRECTORY)
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(error);
        }
        let name = format!("L_{}:{}", major(metadata.rdev()), minor(metadata.rdev()));
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(Path::new(DIRECTORY).join(name))?
    } else {
        device.try_clone()?
    };
    lock.lock()?;
    Ok(lock)
}

/// Names of the devices that are built on a block device now, such as an open volume.
pub(super) fn holders(device: &File) -> Vec<String> {
    let Some(metadata) = device.metadata().ok().filter(|metadata| metadata.file_type().is_block_device()) else {
        return Vec::new();
    };
    let number = format!("{}:{}", major(metadata.rdev()), minor(metadata.rdev()));
    let directory: PathBuf = Path::new("/sys/dev/block").join(number).join("holders");
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
