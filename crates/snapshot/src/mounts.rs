//! What is mounted where: the way from a data directory to what holds it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// One line of `/proc/self/mountinfo`.
///
/// Source: Linux `Documentation/filesystems/proc.rst`, section 3.5.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// `major:minor` of the device.
    pub(crate) device: String,
    /// What of the file system is mounted: `/`, or less for a bind mount.
    root: PathBuf,
    /// Where.
    pub(crate) point: PathBuf,
    /// File system type.
    pub(crate) kind: String,
    /// The device, or what the file system calls it: of ZFS the dataset.
    pub(crate) source: String,
    /// Options of the file system.
    options: String,
}

/// Where something is mounted at a path without links or below it, as this process sees it.
///
/// # Errors
/// Of reading the kernel's table.
pub fn mounted_in(path: &Path) -> io::Result<Vec<PathBuf>> {
    Mounts::own().map(|mounts| mounts.below(path).map(|mount| mount.point.clone()).collect())
}

/// What is mounted, in the order of mounting.
#[derive(Clone, Debug)]
pub(crate) struct Mounts(Vec<Mount>);

impl Mounts {
    /// As this process sees it.
    pub(crate) fn own() -> io::Result<Self> {
        fs::read_to_string("/proc/self/mountinfo").map(|table| Self::parse(&table))
    }

    pub(crate) fn parse(table: &str) -> Self {
        Self(table.lines().filter_map(Mount::parse).collect())
    }

    /// The mount that holds a path without links: the deepest, and of equals the last, which covers the others.
    pub(crate) fn holding(&self, path: &Path) -> Option<&Mount> {
        let holds = self.0.iter().filter(|mount| path.starts_with(&mount.point));
        holds.max_by_key(|mount| mount.point.components().count())
    }

    /// Where a device is mounted, the newest first.
    pub(crate) fn of_device(&self, device: &str) -> impl Iterator<Item = &Mount> {
        self.0.iter().rev().filter(move |mount| mount.device == device)
    }

    /// What is mounted at a path or below it, the newest first.
    pub(crate) fn below(&self, path: &Path) -> impl Iterator<Item = &Mount> {
        self.0.iter().rev().filter(move |mount| mount.point.starts_with(path))
    }
}

impl Mount {
    /// Where in its file system a path is.
    pub(crate) fn within(&self, path: &Path) -> PathBuf {
        let top = self.root.strip_prefix("/").unwrap_or(&self.root);
        top.join(path.strip_prefix(&self.point).unwrap_or_else(|_| Path::new("")))
    }

    /// Whether the file system was mounted with an option.
    pub(crate) fn has_option(&self, option: &str) -> bool {
        self.options.split(',').any(|one| one == option)
    }

    fn parse(line: &str) -> Option<Self> {
        let (left, right) = line.split_once(" - ")?;
        let left: Vec<&str> = left.split(' ').collect();
        let mut right = right.split(' ');
        Some(Self {
            device: (*left.get(2)?).to_owned(),
            root: PathBuf::from(unescaped(left.get(3)?)),
            point: PathBuf::from(unescaped(left.get(4)?)),
            kind: right.next()?.to_owned(),
            source: unescaped(right.next()?),
            options: right.next().unwrap_or_default().to_owned(),
        })
    }
}

/// The kernel writes blanks in names as `\040`, and three others likewise.
fn unescaped(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_in_its_file_system() {
        let mounts = Mounts::parse(
            "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
             2 1 253:2 / /srv rw shared:1 - xfs /dev/mapper/a-b rw\n\
             3 1 253:2 /db\\040one /var/lib/mysql rw - xfs /dev/mapper/a-b rw\n\
             4 1 0:40 / /tank/data rw - zfs tank/data rw\n\
             damaged\n",
        );
        let within = |path: &str| mounts.holding(Path::new(path)).unwrap().within(Path::new(path));
        assert_eq!(within("/srv/mysql"), Path::new("mysql"));
        assert_eq!(within("/var/lib/mysql/shop"), Path::new("db one/shop"));
        assert_eq!(within("/tank/data"), Path::new(""));
        let points: Vec<_> = mounts.of_device("253:2").map(|mount| mount.point.clone()).collect();
        assert_eq!(points, [Path::new("/var/lib/mysql"), Path::new("/srv")]);
        assert!(mounts.holding(Path::new("/srv")).unwrap().has_option("rw"));
        assert_eq!(mounts.below(Path::new("/tank")).count(), 1);
    }
}
