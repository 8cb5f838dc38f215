//! An entry of a plan, and how its changes are detected.

use std::{
    collections::BTreeMap,
    fs::Metadata,
    os::unix::fs::MetadataExt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ::codec::entry::{Entry, Kind};
use serde::{Deserialize, Serialize};

/// Chunks of one file by number; all are full, except the last of a complete file.
pub(crate) type Chunks = BTreeMap<u64, Vec<u8>>;

/// Message for a path that now leads to another file.
pub(crate) const OTHER_FILE: &str = "another file took its place";

/// An entry with the metadata that reveals later changes of it.
#[derive(Debug)]
pub struct PlannedEntry {
    /// The entry as it is sent.
    pub entry: Entry,
    /// Whether fewer blocks are allocated than its length needs: it has holes, or the file system
    /// compresses.
    pub sparse: bool,
    pub(super) identity: Identity,
    /// Whether it can be written without a change of its timestamps.
    pub(super) mtime_unreliable: bool,
    /// Whether it may change during the transfer, even in a static source.
    pub(super) may_change: bool,
    /// Index of the directory outside of the root that contains it.
    pub(super) other: Option<usize>,
    /// For a stream: the chunks received so far.
    pub(crate) chunks: Option<Chunks>,
}

impl PlannedEntry {
    /// A file or directory of a stream. `number` identifies it; it only grows.
    pub(crate) fn streamed(entry: Entry, number: u64, chunks: Chunks) -> Self {
        let bytes = if let Kind::File { bytes } = entry.kind { bytes } else { 0 };
        let identity = Identity { device: u64::MAX, inode: number, bytes, modified: (0, 0), changed: (0, 0) };
        Self {
            entry,
            sparse: false,
            identity,
            mtime_unreliable: false,
            may_change: false,
            other: None,
            chunks: Some(chunks),
        }
    }

    /// What changed since the plan was made; `None` if nothing did.
    #[must_use]
    pub fn change(&self, now: &Metadata) -> Option<&'static str> {
        if self.may_change {
            return None;
        }
        let now = Identity::from_metadata(now);
        let then = self.identity;
        if (now.device, now.inode) != (then.device, then.inode) {
            Some(OTHER_FILE)
        } else if now.bytes != then.bytes {
            Some("its length changed")
        } else if now.modified != then.modified {
            Some("it was written")
        } else {
            (now.changed != then.changed).then_some("its owner or permissions were changed, or it was written")
        }
    }

    /// Whether `metadata` belongs to the same file.
    pub(crate) fn is_same_file(&self, metadata: &Metadata) -> bool {
        (self.identity.device, self.identity.inode) == (metadata.dev(), metadata.ino())
    }

    /// The file's metadata; `None` if it was written so shortly before `looked`, or is mapped into memory, that a write
    /// after that need not change its times.
    #[must_use]
    pub fn stamp(&self, looked: SystemTime) -> Option<Stamp> {
        let Identity { inode, bytes, modified, changed, .. } = self.identity;
        let is_reliable = !self.mtime_unreliable && self.identity.is_settled(looked);
        is_reliable.then_some(Stamp { inode, bytes, modified, changed })
    }

    /// Length of a file in bytes; `None` for other entries.
    #[must_use]
    pub const fn file_bytes(&self) -> Option<u64> {
        match self.entry.kind {
            Kind::File { bytes } => Some(bytes),
            _ => None,
        }
    }
}

/// Metadata of a file that a later write changes. The device is not part of it: it differs between snapshots of a file
/// system, in which inode and times stay the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// Metadata of a file that reveals that it was replaced or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) bytes: u64,
    pub(super) modified: (i64, i64),
    pub(super) changed: (i64, i64),
}

impl Identity {
    pub(super) fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether the last write of the file was so long before `looked` that a further write would have changed its
    /// timestamp. A direct write in progress has already changed the timestamp but not yet the data; the limit allows
    /// for a disk that is retried or throttled (Linux retries after 30 s).
    pub(super) fn is_settled(&self, looked: SystemTime) -> bool {
        const RECENT: Duration = Duration::from_secs(60);
        let since = |(seconds, nanoseconds): (i64, i64)| {
            let whole = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
            let time = UNIX_EPOCH + whole + Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or_default());
            looked.duration_since(time).unwrap_or_default()
        };
        since(self.modified).min(since(self.changed)) > RECENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_written_in_the_last_minute_may_be_changing() {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        let identity = Identity { device: 1, inode: 2, bytes: 3, modified: (1000, 0), changed: (1000, 500_000_000) };
        assert!(!identity.is_settled(at(1030)));
        assert!(!identity.is_settled(at(900)));
        assert!(identity.is_settled(at(1061)));
    }
}
