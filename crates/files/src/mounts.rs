//! The mount table of a process: which file system holds a path.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

/// A process's own mount table.
pub const SELF_MOUNTINFO: &str = "/proc/self/mountinfo";

/// One line of `/proc/PID/mountinfo`. Names are kept byte for byte.
///
/// Source: Linux `Documentation/filesystems/proc.rst`, section 3.5.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// `major:minor` of the device.
    pub device: String,
    /// The mounted part of the file system: `/`, or a subdirectory for a bind mount.
    root: PathBuf,
    /// Mount point, as the process sees it.
    pub point: PathBuf,
    /// File system type.
    pub kind: String,
    /// The device, or the file system's name for it: for ZFS, the dataset. Invalid UTF-8 is replaced.
    pub source: String,
    /// Options of the file system, separated by commas, still escaped.
    options: OsString,
}

impl Mount {
    /// Path inside the file system, without a leading slash.
    #[must_use]
    pub fn within(&self, path: &Path) -> PathBuf {
        let top = self.root.strip_prefix("/").unwrap_or(&self.root);
        top.join(path.strip_prefix(&self.point).unwrap_or_else(|_| Path::new("")))
    }

    /// Whether the file system was mounted with an option.
    #[must_use]
    pub fn has_option(&self, option: &str) -> bool {
        self.each_option().any(|one| one == option.as_bytes())
    }

    /// The value of `name=` among the options of the file system.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<OsString> {
        let value = |option: &[u8]| Some(unescaped(option.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?));
        self.each_option().find_map(value)
    }

    fn each_option(&self) -> impl Iterator<Item = &[u8]> {
        self.options.as_bytes().split(|byte| *byte == b',')
    }

    /// `None` if the line is malformed.
    fn parse(line: &[u8]) -> Option<Self> {
        let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
        let mut fields = line.split(|byte| *byte == b' ');
        let device = text(fields.nth(2)?);
        let (root, point) = (unescaped(fields.next()?).into(), unescaped(fields.next()?).into());
        // The fields in between are the mount options, then any number of optional fields up to a dash.
        fields.nth(0)?;
        fields.find(|field| *field == b"-")?;
        let (kind, source) = (text(fields.next()?), unescaped(fields.next()?).to_string_lossy().into_owned());
        let options = OsString::from_vec(fields.next().unwrap_or_default().to_vec());
        Some(Self { device, root, point, kind, source, options })
    }
}

/// The mounts, in the order of mounting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mounts(Vec<Mount>);

impl Mounts {
    /// The mount table of this process.
    ///
    /// # Errors
    /// Errors of reading it.
    pub fn of_this_process() -> io::Result<Self> {
        Self::read(Path::new(SELF_MOUNTINFO))
    }

    /// Reads a `mountinfo` file.
    ///
    /// # Errors
    /// Errors of reading it.
    pub fn read(path: &Path) -> io::Result<Self> {
        fs::read(path).map(|table| Self::parse(&table))
    }

    /// Parses a mount table; malformed lines are skipped.
    #[must_use]
    pub fn parse(table: &[u8]) -> Self {
        Self(table.split(|byte| *byte == b'\n').filter_map(Mount::parse).collect())
    }

    /// All mounts, in the order of mounting.
    pub fn iter(&self) -> impl Iterator<Item = &Mount> {
        self.0.iter()
    }

    /// The mount that holds an absolute path without links: the deepest one, and of several at the same point the last,
    /// which hides the others.
    #[must_use]
    pub fn holding(&self, path: &Path) -> Option<&Mount> {
        let holds = self.0.iter().filter(|mount| path.starts_with(&mount.point));
        holds.max_by_key(|mount| mount.point.components().count())
    }

    /// The mount at exactly this path; of several the last, which hides the others.
    #[must_use]
    pub fn at(&self, path: &Path) -> Option<&Mount> {
        self.0.iter().rfind(|mount| mount.point == path)
    }

    /// Mounts of a device, newest first.
    pub fn of_device(&self, device: &str) -> impl Iterator<Item = &Mount> {
        self.0.iter().rev().filter(move |mount| mount.device == device)
    }

    /// Mounts at a path or below it, newest first.
    pub fn below(&self, path: &Path) -> impl Iterator<Item = &Mount> {
        self.0.iter().rev().filter(move |mount| mount.point.starts_with(path))
    }
}

/// Reverses the kernel's escapes: a backslash and three octal digits stand for blanks, line ends and backslashes.
fn unescaped(field: &[u8]) -> OsString {
    let octal = |digits: &[u8]| {
        digits.iter().try_fold(0, |all: u8, digit| {
            let digit = digit.checked_sub(b'0').filter(|digit| *digit < 8)?;
            all.checked_mul(8)?.checked_add(digit)
        })
    };
    let (mut bytes, mut rest) = (Vec::with_capacity(field.len()), field);
    while let Some((first, behind)) = rest.split_first() {
        let escaped = behind.get(..3).filter(|_| *first == b'\\').and_then(octal);
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { behind.get(3..).unwrap_or_default() } else { behind };
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] = b"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
        2 1 253:2 / /srv rw shared:1 - xfs /dev/mapper/a-b rw\n\
        3 1 8:9 / /srv/mysql rw shared:2 master:1 - xfs /dev/sda9 rw,noquota\n\
        4 1 253:2 /db\\040one /srv/mysql rw - xfs /dev/mapper/a-b rw\n\
        5 1 0:40 / /tank/data rw - zfs tank/data rw\n\
        6 1 0:9 / /a\\134040b rw - overlay overlay rw,lowerdir=/l,upperdir=/u\\054\\040\xff\n\
        7 1 0:10 / /odd\xff rw - tmpfs tmpfs\n\
        damaged line\n\
        8 1 0:11 / /cut rw -\n";

    fn mounts() -> Mounts {
        Mounts::parse(TABLE)
    }

    fn source_of(path: &str) -> String {
        mounts().holding(Path::new(path)).unwrap().source.clone()
    }

    #[test]
    fn the_deepest_and_last_mount_holds_a_path() {
        assert_eq!(source_of("/srv/mysql/shop"), "/dev/mapper/a-b");
        assert_eq!(source_of("/srv/mysqlx"), "/dev/mapper/a-b");
        assert_eq!(source_of("/cut"), "/dev/sda1");
        assert_eq!(mounts().at(Path::new("/srv/mysql")).unwrap().device, "253:2");
        assert_eq!(mounts().at(Path::new("/srv/mysql/shop")), None);
    }

    #[test]
    fn a_path_is_found_in_its_file_system() {
        let within = |path: &str| mounts().holding(Path::new(path)).unwrap().within(Path::new(path));
        assert_eq!(within("/srv/other"), Path::new("other"));
        assert_eq!(within("/srv/mysql/shop"), Path::new("db one/shop"));
        assert_eq!(within("/tank/data"), Path::new(""));
    }

    #[test]
    fn the_newest_mounts_come_first() {
        let mounts = mounts();
        let points = |mounts: Vec<&Mount>| mounts.iter().map(|mount| mount.point.clone()).collect::<Vec<_>>();
        let of_device = points(mounts.of_device("253:2").collect());
        assert_eq!(of_device, [Path::new("/srv/mysql"), Path::new("/srv")]);
        let below: Vec<&str> = mounts.below(Path::new("/srv")).map(|mount| mount.device.as_str()).collect();
        assert_eq!(below, ["253:2", "8:9", "253:2"]);
    }

    #[test]
    fn names_are_kept_byte_for_byte() {
        let mounts = mounts();
        let odd = OsString::from_vec(b"/odd\xff".to_vec());
        assert_eq!(mounts.at(Path::new(&odd)).unwrap().kind, "tmpfs");
        let overlay = mounts.at(Path::new("/a\\040b")).unwrap();
        assert_eq!(overlay.option("upperdir").unwrap().as_bytes(), b"/u, \xff");
        assert_eq!(overlay.option("upper"), None);
        assert!(overlay.has_option("rw") && !overlay.has_option("lowerdir"));
    }

    #[test]
    fn a_table_is_read_from_its_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), TABLE).unwrap();
        assert_eq!(Mounts::read(file.path()).unwrap(), mounts());
        assert!(Mounts::of_this_process().unwrap().holding(Path::new("/")).is_some());
        assert!(Mounts::read(Path::new("/nonexistent")).is_err());
    }
}
