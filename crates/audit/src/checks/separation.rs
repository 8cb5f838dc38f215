//! Whether keys lie on the disk of what they open.

use std::path::Path;

use crate::facts::host::{DiskLayer, HostFacts, PathOnDisk, Role};
use crate::facts::{Observed, Unavailable};
use crate::finding::Evidence;

/// Location of a key in relation to data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Separation {
    /// The key is in memory, not on a disk.
    InMemory,
    /// On the file system of the data.
    SameFileSystem,
    /// On another file system of this disk, which also has the data.
    SameDisk(String),
    /// On another disk.
    OtherDisk,
}

/// Compares the disks of a key and of data.
///
/// # Errors
/// [`Unavailable`] if the devices below one of them are unknown.
pub(super) fn separation(key: &PathOnDisk, data: &PathOnDisk) -> Observed<Separation> {
    if key.layer == DiskLayer::Memory {
        return Ok(Separation::InMemory);
    }
    if data.layer == DiskLayer::Memory {
        return Ok(Separation::OtherDisk);
    }
    if key.device == data.device {
        return Ok(Separation::SameFileSystem);
    }
    if let Some(shared) = key.chain.iter().find(|device| data.chain.contains(device)) {
        return Ok(Separation::SameDisk(shared.clone()));
    }
    let is_remote_and_local = |one: &PathOnDisk, other: &PathOnDisk| is_remote(one) && !other.chain.is_empty();
    if is_remote_and_local(key, data) || is_remote_and_local(data, key) {
        return Ok(Separation::OtherDisk);
    }
    if key.chain.is_empty() || data.chain.is_empty() {
        let unknown = if key.chain.is_empty() { key } else { data };
        return Err(Unavailable {
            what: format!("disk of {}", key.path),
            why: format!("the block devices below {} cannot be determined from here", unknown.path),
            remedy: "run on the host itself, outside of containers, or attest the separation in a waiver".to_owned(),
        });
    }
    Ok(Separation::OtherDisk)
}

/// Whether another host has the disk. Not all file systems without a block device here: FUSE and those of virtual
/// machines may lie on a disk of this host.
fn is_remote(path: &PathOnDisk) -> bool {
    path.chain.is_empty() && ["nfs", "cifs", "smb", "ceph"].iter().any(|kind| path.fs_type.starts_with(kind))
}

/// The disk below `path`: that of the innermost known directory.
pub(super) fn path_on_disk<'a>(host: &'a HostFacts, path: &str, role: Role) -> Option<&'a PathOnDisk> {
    let same =
        |path_on_disk: &PathOnDisk| Path::new(path).starts_with(&path_on_disk.path) || path_on_disk.resolved == path;
    let found = host.paths.iter().filter(|path_on_disk| path_on_disk.role == role && same(path_on_disk));
    found.max_by_key(|path_on_disk| Path::new(&path_on_disk.path).components().count())
}

/// What is known of the disk below a path.
pub(super) fn disk_evidence(path_on_disk: &PathOnDisk) -> Evidence {
    Evidence::Host {
        source: path_on_disk.path.clone(),
        observation: format!(
            "{} on {}, device {} ({})",
            path_on_disk.fs_type,
            path_on_disk.mount_point,
            path_on_disk.device,
            path_on_disk.chain.join(" > ")
        ),
    }
}
