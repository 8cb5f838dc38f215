//! Block devices, as the kernel describes them in `/sys`.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};

use super::Host;

/// Maximum number of layers between a volume and its disk.
const MAX_DEPTH: usize = 8;

/// A block device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The kernel's name, such as `nvme0n1p3` or `dm-0`.
    pub name: String,
    /// `major:minor`.
    pub number: String,
    directory: PathBuf,
}

impl Block {
    /// The block device that a path leads to; `None` if the path leads to something else.
    ///
    /// # Errors
    /// The path cannot be examined.
    pub fn find(host: &Host, path: &Path) -> io::Result<Option<Self>> {
        let metadata = fs::metadata(path)?;
        if !metadata.file_type().is_block_device() {
            return Ok(None);
        }
        let number = format!("{}:{}", major(metadata.rdev()), minor(metadata.rdev()));
        Ok(Self::by_number(host, &number))
    }

    /// The device with this number.
    #[must_use]
    pub fn by_number(host: &Host, number: &str) -> Option<Self> {
        Self::at(&host.sys.join("dev/block").join(number))
    }

    /// The device with this kernel name.
    #[must_use]
    pub fn by_name(host: &Host, name: &str) -> Option<Self> {
        Self::at(&host.sys.join("class/block").join(name))
    }

    /// The open device-mapper device with this name in `/dev/mapper`.
    #[must_use]
    pub fn mapped(host: &Host, name: &str) -> Option<Self> {
        Self::all_mapped(host).into_iter().find(|block| block.mapper_name().as_deref() == Some(name))
    }

    /// All device-mapper devices.
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

    /// Name in `/dev/mapper`, if it is a device-mapper device.
    #[must_use]
    pub fn mapper_name(&self) -> Option<String> {
        self.attribute("dm/name")
    }

    /// UUID that device-mapper knows it by: `CRYPT-LUKS2-UUID-NAME` for an open volume.
    #[must_use]
    pub fn mapper_uuid(&self) -> Option<String> {
        self.attribute("dm/uuid")
    }

    /// Whether it is an open LUKS volume.
    #[must_use]
    pub fn is_luks(&self) -> bool {
        self.mapper_uuid().as_deref().and_then(cryptsetup_format).is_some_and(|format| format.starts_with("LUKS"))
    }

    /// The disk below an open volume: the device that the volume is built on. Devices in between that belong to the
    /// volume, such as that of dm-integrity, are skipped.
    #[must_use]
    pub fn disk(&self, host: &Host) -> Option<Self> {
        let mut block = self.clone();
        for _ in 0..MAX_DEPTH {
            block = Self::by_name(host, block.slaves().first()?)?;
            if block.mapper_uuid().as_deref().and_then(cryptsetup_format) != Some("SUBDEV") {
                return Some(block);
            }
        }
        None
    }

    /// Size in bytes. The kernel counts units of 512.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.attribute("size").and_then(|size| size.parse::<u64>().ok()).unwrap_or_default().saturating_mul(512)
    }

    /// Whether the device is read-only.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.attribute("ro").is_some_and(|value| value != "0")
    }

    /// A number from the queue directory, such as `rotational`. A partition uses the queue of its disk.
    #[must_use]
    pub fn queue(&self, name: &str) -> Option<u64> {
        let of = |location: &str| self.attribute(&format!("{location}queue/{name}"));
        of("").or_else(|| of("../"))?.parse().ok()
    }

    /// Names of the devices built on this one.
    #[must_use]
    pub fn holders(&self) -> Vec<String> {
        names(&self.directory.join("holders"))
    }

    /// Names of the devices this one is built on.
    #[must_use]
    pub fn slaves(&self) -> Vec<String> {
        names(&self.directory.join("slaves"))
    }

    /// Names of the partitions.
    #[must_use]
    pub fn partitions(&self) -> Vec<String> {
        let is_partition = |name: &String| self.directory.join(name).join("partition").exists();
        names(&self.directory).into_iter().filter(is_partition).collect()
    }

    /// The disk of this partition; `None` if this device is not a partition.
    #[must_use]
    pub fn whole_disk(&self) -> Option<Self> {
        let disk = self.directory.join("partition").exists().then(|| self.directory.parent())?;
        Self::at(disk?)
    }

    /// The file behind a loop device.
    #[must_use]
    pub fn backing_file(&self) -> Option<String> {
        self.attribute("loop/backing_file")
    }

    /// Whether it is an iSCSI disk, which is below its session in `/sys/devices`.
    #[must_use]
    pub fn is_iscsi(&self) -> bool {
        self.directory.components().any(|part| part.as_os_str().to_string_lossy().starts_with("session"))
    }

    fn attribute(&self, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.directory.join(name)).ok()?;
        Some(text.trim_end().to_owned()).filter(|text| !text.is_empty())
    }
}

/// The format in the UUID of a device that cryptsetup opened, `CRYPT-<format>-<UUID without dashes>-<name>`: `LUKS1`,
/// `LUKS2`, `PLAIN`, `VERITY`, `INTEGRITY`, or `SUBDEV` for a part of a volume. Source: `lib/libdevmapper.c` of
/// cryptsetup.
#[must_use]
pub fn cryptsetup_format(mapper_uuid: &str) -> Option<&str> {
    mapper_uuid.strip_prefix("CRYPT-")?.split('-').next()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
