//! What a transfer has done so far, for those who watch it.

use std::{
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    time::{Duration, Instant},
};

/// Counted by all threads of one side.
#[derive(Debug)]
pub struct Progress {
    began: Instant,
    /// Bytes of all files.
    pub total_bytes: AtomicU64,
    /// Files.
    pub total_files: AtomicU64,
    /// Bytes of files that are over on this side: sent, received, or there already.
    pub bytes: AtomicU64,
    /// Of these, bytes that an earlier try had left in place.
    pub kept_bytes: AtomicU64,
    /// Bytes of payload on the wire.
    pub wire_bytes: AtomicU64,
    /// Bytes of pages that travelled opened.
    pub opened_bytes: AtomicU64,
    /// Bytes of logs that would have travelled opened if keys of MariaDB's key file were to travel.
    pub withheld_bytes: AtomicU64,
    /// Chunks.
    pub chunks: AtomicU64,
    /// Nanoseconds that connections waited for the other side.
    pub network_wait: AtomicU64,
    /// Nanoseconds that files were read or written.
    pub disk_wait: AtomicU64,
    /// Connections.
    pub streams: AtomicUsize,
    /// What was slow in the last moment; the sender's judgement.
    limit: AtomicUsize,
}

/// What a transfer is limited by at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Nothing is known yet.
    Unknown,
    /// Reading on the donor.
    Source,
    /// This host's processors.
    Processor,
    /// The network, or `--bwlimit`.
    Network,
    /// The other side: its processors or its disk.
    Receiver,
}

impl Limit {
    const ALL: [Self; 5] = [Self::Unknown, Self::Source, Self::Processor, Self::Network, Self::Receiver];

    /// For people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "starting",
            Self::Source => "reading",
            Self::Processor => "processor",
            Self::Network => "network",
            Self::Receiver => "receiver",
        }
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            total_bytes: AtomicU64::default(),
            total_files: AtomicU64::default(),
            bytes: AtomicU64::default(),
            kept_bytes: AtomicU64::default(),
            wire_bytes: AtomicU64::default(),
            opened_bytes: AtomicU64::default(),
            withheld_bytes: AtomicU64::default(),
            chunks: AtomicU64::default(),
            network_wait: AtomicU64::default(),
            disk_wait: AtomicU64::default(),
            streams: AtomicUsize::default(),
            limit: AtomicUsize::default(),
        }
    }
}

impl Progress {
    /// Time since the transfer began.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// What is slow.
    #[must_use]
    pub fn limit(&self) -> Limit {
        Limit::ALL.get(self.limit.load(Ordering::Relaxed)).copied().unwrap_or(Limit::Unknown)
    }

    pub(crate) fn set_limit(&self, limit: Limit) {
        let place = Limit::ALL.iter().position(|other| *other == limit).unwrap_or_default();
        self.limit.store(place, Ordering::Relaxed);
    }

    pub(crate) fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn add_time(counter: &AtomicU64, time: Duration) {
        Self::add(counter, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }
}

/// A count.
pub(crate) fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
