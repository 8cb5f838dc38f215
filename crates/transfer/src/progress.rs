//! Progress counters of a transfer.

use std::{
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    time::{Duration, Instant},
};

/// Counters shared by all threads of one side.
#[derive(Debug)]
pub struct Progress {
    began: Instant,
    /// Bytes of all files.
    pub total_bytes: AtomicU64,
    /// Number of files.
    pub total_files: AtomicU64,
    /// Bytes of files that are done on this side: sent, received, or already present.
    pub bytes: AtomicU64,
    /// Bytes of these that an earlier, interrupted transfer had left.
    pub kept_bytes: AtomicU64,
    /// Bytes of payload on the wire.
    pub wire_bytes: AtomicU64,
    /// Bytes of pages that were sent decrypted.
    pub opened_bytes: AtomicU64,
    /// Bytes of logs that would have been sent decrypted if keys of MariaDB's key file were sent.
    pub withheld_bytes: AtomicU64,
    /// Number of chunks.
    pub chunks: AtomicU64,
    /// Nanoseconds that connections waited for the peer.
    pub network_wait: AtomicU64,
    /// Nanoseconds spent reading or writing files.
    pub disk_wait: AtomicU64,
    /// Number of connections.
    pub streams: AtomicUsize,
    /// The current bottleneck, as the sender judges it.
    limit: AtomicUsize,
}

/// The current bottleneck of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Not known yet.
    Unknown,
    /// Reading on the donor.
    Source,
    /// This host's processors.
    Processor,
    /// The network, or `--bwlimit`.
    Network,
    /// The peer: its processors or its disk.
    Receiver,
}

impl Limit {
    const ALL: [Self; 5] = [Self::Unknown, Self::Source, Self::Processor, Self::Network, Self::Receiver];

    /// Name for display.
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
    /// Time since the transfer started.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// The current bottleneck.
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

/// Value of a counter.
pub(crate) fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
