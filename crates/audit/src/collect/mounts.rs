//! The mount table of a process: which file system holds a path.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// One line of `/proc/PID/mountinfo`.
///
/// Source: Linux `Documentation/filesystems/proc.rst`, section 3.5.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    /// `major:minor` of the device.
    pub(super) device: String,
    /// Where it is mounted, as the process sees it.
    pub(super) mount_point: PathBuf,
    /// File system type.
    pub(super) fs_type: String,
    /// Device, or what the file system calls its source.
    pub(super) source: String,
    /// Options of the superblock.
    pub(super) options: String,
}

/// A mount table.
#[derive(Debug, Clone, Default)]
pub(super) struct Mounts(Vec<Mount>);

impl Mounts {
    /// Reads a `mountinfo` file.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        let bytes = fs::read(path)?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(Self(text.lines().filter_map(Mount::parse).collect()))
    }

    /// The mount that holds an absolute path without links: the longest, and of equals the
    /// last, which covers the others.
    pub(super) fn holding(&self, path: &Path) -> Option<&Mount> {
        let depth = |mount: &&Mount| mount.mount_point.components().count();
        self.0.iter().filter(|mount| path.starts_with(&mount.mount_point)).max_by_key(depth)
    }
}

impl Mount {
    fn parse(line: &str) -> Option<Self> {
        let (left, right) = line.split_once(" - ")?;
        let left: Vec<&str> = left.split(' ').collect();
        let mut right = right.splitn(3, ' ');
        Some(Self {
            device: (*left.get(2)?).to_owned(),
            mount_point: PathBuf::from(unescaped(left.get(4)?)),
            fs_type: right.next()?.to_owned(),
            source: unescaped(right.next()?),
            options: right.next().unwrap_or_default().to_owned(),
        })
    }

    /// The value of `name=` among the superblock's options.
    pub(super) fn option(&self, name: &str) -> Option<String> {
        let value = |option: &str| option.strip_prefix(name)?.strip_prefix('=').map(unescaped);
        self.options.split(',').find_map(value)
    }
}

/// Undoes the octal escapes of space, tab, newline and backslash.
fn unescaped(text: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes.iter().fold(text.to_owned(), |text, (escape, char)| text.replace(escape, char))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_and_last_mount_holds_a_path() {
        let dir = tempfile::tempdir().unwrap();
        let table = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
            2 1 8:2 / /var/lib rw shared:1 - xfs /dev/sda2 rw,noquota\n\
            3 1 8:3 / /var/lib rw - xfs /dev/sda3 rw\n\
            4 1 0:9 / /with\\040space rw - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w\n\
            damaged line\n";
        let path = dir.path().join("mountinfo");
        fs::write(&path, table).unwrap();
        let mounts = Mounts::read(&path).unwrap();
        assert_eq!(mounts.holding(Path::new("/var/lib/mysql")).unwrap().source, "/dev/sda3");
        assert_eq!(mounts.holding(Path::new("/var/library")).unwrap().source, "/dev/sda1");
        let overlay = mounts.holding(Path::new("/with space/x")).unwrap();
        assert_eq!(overlay.option("upperdir").as_deref(), Some("/u"));
    }
}
