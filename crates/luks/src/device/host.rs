//! Where the system says what it knows: the mount table, `/sys`, the tables in `/etc`.

use std::path::{Path, PathBuf};

/// The places; tests put their own trees there.
#[derive(Debug, Clone)]
pub struct Host {
    /// `/proc`.
    pub proc: PathBuf,
    /// `/sys`.
    pub sys: PathBuf,
    /// `/etc`.
    pub etc: PathBuf,
}

/// One line of the mount table.
///
/// Source: Linux `Documentation/filesystems/proc.rst`, section 3.5.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountPoint {
    /// `major:minor` of the device.
    pub number: String,
    /// Where.
    pub path: PathBuf,
    /// The file system.
    pub kind: String,
}

impl Host {
    /// The running system's.
    #[must_use]
    pub fn this() -> Self {
        Self { proc: PathBuf::from("/proc"), sys: PathBuf::from("/sys"), etc: PathBuf::from("/etc") }
    }

    /// What is mounted, in the order of mounting.
    #[must_use]
    pub fn mounts(&self) -> Vec<MountPoint> {
        let table = std::fs::read_to_string(self.proc.join("self/mountinfo")).unwrap_or_default();
        table.lines().filter_map(MountPoint::parse).collect()
    }

    /// What is mounted exactly there; of several the last, which covers the others.
    #[must_use]
    pub fn mounted_at(&self, path: &Path) -> Option<MountPoint> {
        self.mounts().into_iter().rfind(|mount| mount.path == path)
    }
}

impl MountPoint {
    fn parse(line: &str) -> Option<Self> {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(2);
        Some(Self {
            number: left.next()?.to_owned(),
            path: PathBuf::from(unescaped(left.nth(1)?)),
            kind: right.split(' ').next()?.to_owned(),
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
    fn a_line_of_the_mount_table() {
        let line = "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 - ext3 /dev/root rw,errors=continue";
        let mount = MountPoint::parse(line).unwrap();
        assert_eq!(
            (mount.number.as_str(), mount.path.as_path(), mount.kind.as_str()),
            ("98:0", Path::new("/mnt 2"), "ext3")
        );
        assert_eq!(MountPoint::parse("36 35"), None);
    }
}
