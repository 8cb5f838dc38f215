//! A device or an image of one, opened to be read.

use std::fs::File;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use luks::Circumstances;
use rustix::fs::{OFlags, SeekFrom, major, minor, seek};

use crate::output::message::Failure;

/// Opens a block device or a file; anything else, such as a pipe, cannot be read at any place.
pub(super) fn open(path: &Path) -> Result<File, Failure> {
    // A pipe without a writer must not hang us.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|e| failure(path, &e))?;
    let kind = file.metadata().map_err(|e| failure(path, &e))?.file_type();
    if kind.is_file() || kind.is_block_device() {
        return Ok(file);
    }
    Err(Failure::new(format!("{}: neither a block device nor a file", path.display())))
}

/// What the system knows of a device; of a file it knows nothing that counts.
pub(super) fn circumstances(file: &File) -> Circumstances {
    let Some(metadata) = file.metadata().ok().filter(|metadata| metadata.file_type().is_block_device()) else {
        return Circumstances::default();
    };
    let number = format!("{}:{}", major(metadata.rdev()), minor(metadata.rdev()));
    let queue = Path::new("/sys/dev/block").join(number);
    // A partition has its queue in the disk's directory.
    let block = ["queue/physical_block_size", "../queue/physical_block_size"]
        .iter()
        .find_map(|name| std::fs::read_to_string(queue.join(name)).ok()?.trim().parse().ok());
    Circumstances { device_bytes: seek(file, SeekFrom::End(0)).ok(), physical_block_bytes: block, whole_device: true }
}

fn failure(path: &Path, error: &std::io::Error) -> Failure {
    let failure = Failure::new(format!("{}: {error}", path.display()));
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => failure.hint("run as root, or as a member of the group `disk`"),
        _ => failure,
    }
}
