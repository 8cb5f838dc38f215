//! Signs that a disk is in use.

use std::fmt;
use std::path::PathBuf;

use files::quantity::sizes;

/// Smallest disk for a volume: the header, and some room for a file system.
pub(crate) const MIN_BYTES: u64 = 32 << 20;

/// A sign that a disk is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UsageSign {
    /// The path is neither a block device nor a file.
    NotADisk,
    /// The disk has fewer bytes than a volume needs.
    TooSmall(u64),
    /// The disk is read-only.
    ReadOnly,
    /// The disk or one of its partitions is mounted here.
    Mounted(PathBuf),
    /// The system uses it for swap.
    Swap,
    /// Another device is built on it, such as an open volume or an array.
    Holder(String),
    /// It has partitions.
    Partitions(Vec<String>),
    /// The kernel reports it as exclusively claimed.
    Claimed,
    /// A process has it open, perhaps a server with a raw tablespace.
    OpenBy {
        /// Process id.
        pid: String,
        /// Name of its program.
        program: String,
    },
    /// It is the backing file of a loop device.
    Loop(String),
    /// `/etc/fstab` or `/etc/crypttab` names it.
    Named {
        /// Path of the table.
        file: PathBuf,
        /// Line number, from 1.
        line: usize,
    },
    /// Signature of a file system, a volume or a partition table.
    Signature(String),
    /// Data without a known signature: a raw tablespace, or a volume with a detached header.
    Data {
        /// Offset of the first such byte that was found.
        offset: u64,
    },
}

impl fmt::Display for UsageSign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotADisk => f.write_str("is neither a block device nor a file"),
            Self::TooSmall(bytes) => {
                let [has, least] = sizes(*bytes, MIN_BYTES);
                write!(f, "has {has}, less than the {least} of the smallest volume")
            }
            Self::ReadOnly => f.write_str("is read-only"),
            Self::Mounted(path) => write!(f, "is mounted at {}", path.display()),
            Self::Swap => f.write_str("is used for swap"),
            Self::Holder(name) => write!(f, "is used by {name}"),
            Self::Partitions(names) => write!(f, "has partitions ({})", names.join(", ")),
            Self::Claimed => f.write_str("is busy: another program or the kernel has claimed it"),
            Self::OpenBy { pid, program } => write!(f, "is open in process {pid} ({program})"),
            Self::Loop(name) => write!(f, "is the file behind /dev/{name}"),
            Self::Named { file, line } => write!(f, "is named in {} line {line}", file.display()),
            Self::Signature(kind) => write!(f, "holds {kind}"),
            Self::Data { offset } => write!(f, "holds data at byte {offset} that no signature explains"),
        }
    }
}
