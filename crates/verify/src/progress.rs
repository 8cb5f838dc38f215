//! Progress of a run, which any thread adds to.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use files::quantity::{eta, rate, size};

/// Progress of a run.
#[derive(Debug)]
pub struct Progress {
    started: Instant,
    bytes: AtomicU64,
    files: AtomicU64,
    /// Bytes of all files.
    pub total_bytes: u64,
    /// Number of files.
    pub total_files: u64,
}

impl Progress {
    pub(crate) fn new(total_bytes: u64, total_files: u64) -> Self {
        Self { started: Instant::now(), bytes: AtomicU64::new(0), files: AtomicU64::new(0), total_bytes, total_files }
    }

    /// Bytes verified so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Files verified so far.
    pub fn files(&self) -> u64 {
        self.files.load(Ordering::Relaxed)
    }

    pub(crate) fn add_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn add_file(&self) {
        self.files.fetch_add(1, Ordering::Relaxed);
    }
}

/// One line: bytes done, rate and, once a hundredth is done, the remaining time.
impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (done, total) = (self.bytes().min(self.total_bytes), self.total_bytes);
        let rate = rate(done, self.elapsed());
        let (files, of) = (self.files(), self.total_files);
        write!(f, "{} of {}  {:.2} GB/s  {files} of {of} files", size(done), size(total), rate / 1e9)?;
        f.write_str(&eta(done, total, rate))
    }
}
