//! What the kernel says of a block device.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};

use super::Host;

/// A block device, by its directory in `/sys`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The kernel's name, such as `nvme0n1p3` or `dm-0`.
    pub name: String,
    /// `major:minor`.
    pub number: String,
    directory: PathBuf,
}

impl Block {
    /// The device behind a path; none if that is not a block device.
    ///
    /// # Errors
    /// The path cannot be looked at.
    pub fn find(host: &Host, path: &Path) -> io::Result<Option<Self>> {
        let metadata = fs::metadata(path)?;
        if !metadata.file_type().is_block_device() {
            return Ok(None);
        }
        let number = format!("{}:{}", major(metadata.rdev()), minor(metadata.rdev()));
        Ok(Self::by_number(host, &number))
    }

    /// The device of this number.
    #[must_use]
    pub fn by_number(host: &Host, number: &str) -> Option<Self> {
        Self::at(&host.sys.join("dev/block").join(number))
    }

    /// The device of this kernel name.
    #[must_use]
    pub fn by_name(host: &Host, name: &str) -> Option<Self> {
        Self::at(&host.sys.join("class/block").join(name))
    }

    /// The open device-mapper device of this name, as in `/dev/mapper`.
    #[must_use]
    pub fn mapped(host: &Host, name: &str) -> Option<Self> {
        Self::all_mapped(host).into_iter().find(|block| block.mapper_name().as_deref() == Some(name))
    }

    /// Every device of device-mapper.
    #[must_use]
    pub fn all_mapped(host: &Host) -> Vec<Self> {
        let all = fs::read_dir(host.sys.join("class/block")).into_iter().flatten().flatten();
        let all = all.filter(|entry| entry.file_name().to_string_lossy().starts_with("dm-"));
        all.filter_map(|entry| Self::at(&entry.path())).collect()
    }

    fn at(link: &Path) -> Option<Self> {
        let directory = fs::canonicalize(link).ok()?;
        let number = fs::read_to_string(directory.join("dev")).ok()?.trim().to_owned();
        Some(Self { name: directory.file_name()?.to_string_lossy().into_owned(), number, directory })
    }

    /// Its name in `/dev/mapper`, if device-mapper made it.
    #[must_use]
    pub fn mapper_name(&self) -> Option<String> {
        self.attribute("dm/name")
    }

    /// What device-mapper knows it by: `CRYPT-LUKS2-UUID-NAME` for an open volume.
    #[must_use]
    pub fn mapper_uuid(&self) -> Option<String> {
        self.attribute("dm/uuid")
    }

    /// Bytes of it. The kernel counts in units of 512.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.attribute("size").and_then(|size| size.parse::<u64>().ok()).unwrap_or_default().saturating_mul(512)
    }

    /// Whether it cannot be written.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.attribute("ro").is_some_and(|value| value != "0")
    }

    /// A number of its queue, such as `rotational`; a partition has its queue in the disk's directory.
    #[must_use]
    pub fn queue(&self, name: &str) -> Option<u64> {
        let of = |location: &str| self.attribute(&format!("{location}queue/{name}"));
        of("").or_else(|| of("../"))?.parse().ok()
    }

    /// Names of the devices that are built on it.
    #[must_use]
    pub fn holders(&self) -> Vec<String> {
        names(&self.directory.join("holders"))
    }

    /// Names of the devices that it is built on.
    #[must_use]
    pub fn slaves(&self) -> Vec<String> {
        names(&self.directory.join("slaves"))
    }

    /// Names of its partitions.
    #[must_use]
    pub fn partitions(&self) -> Vec<String> {
        let is_partition = |name: &String| self.directory.join(name).join("partition").exists();
        names(&self.directory).into_iter().filter(is_partition).collect()
    }

    fn attribute(&self, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.directory.join(name)).ok()?;
        Some(text.trim_end().to_owned()).filter(|text| !text.is_empty())
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
