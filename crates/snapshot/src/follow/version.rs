//! Whether a file is still what was copied.

use std::{
    fs::Metadata,
    os::unix::fs::MetadataExt,
    time::{SystemTime, UNIX_EPOCH},
};

/// State of a file when its copy began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version {
    /// Device and inode, which distinguish a file from another one of the same name.
    pub(super) id: (u64, u64),
    bytes: u64,
    /// Last change of contents and last change of status (mtime, ctime), each in seconds and nanoseconds.
    times: [(i64, i64); 2],
}

impl Version {
    pub(super) fn from_metadata(metadata: &Metadata) -> Self {
        let times = [(metadata.mtime(), metadata.mtime_nsec()), (metadata.ctime(), metadata.ctime_nsec())];
        Self { id: (metadata.dev(), metadata.ino()), bytes: metadata.len(), times }
    }

    /// Whether the last change was long enough before `time` that a later change would have another timestamp: the
    /// kernel advances file times in steps of milliseconds.
    pub(super) fn is_older_than(&self, time: SystemTime) -> bool {
        const MARGIN_SECONDS: i64 = 2;
        let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs().cast_signed());
        self.times.iter().all(|(changed, _)| *changed < seconds - MARGIN_SECONDS)
    }
}
