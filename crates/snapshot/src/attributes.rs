//! Owner, permissions and times of copied files.

use std::{
    fs::{File, FileTimes, Metadata, Permissions},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt, fchown},
};

/// Gives a copied file the permissions and the time of its original, and, if this process is root, the owner.
pub(crate) fn copy_to(file: &File, like: &Metadata) -> io::Result<()> {
    if rustix::process::geteuid().is_root() {
        fchown(file, Some(like.uid()), Some(like.gid()))?;
    }
    file.set_permissions(Permissions::from_mode(like.mode() & 0o7777))?;
    file.set_times(FileTimes::new().set_modified(like.modified()?))
}
