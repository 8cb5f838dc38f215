//! Progress counters of a transfer.

use std::{
    fmt,
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    thread::{park_timeout, scope},
    time::{Duration, Instant},
};

use files::quantity::{eta, rate, size};

/// Interval at which watchers of a transfer are called.
const TICK: Duration = Duration::from_millis(50);
/// Counters shared by all threads of one side.
#[derive(Debug)]
pub struct Progress {
    began: Instant,
    /// Bytes of all files.
    pub total_bytes: AtomicU64,
    /// Number of files.
    pub total_files: AtomicU64,
    /// Bytes of files that this side has sent, received, or found already present.
    pub bytes: AtomicU64,
    /// The part of [`Self::bytes`] that is left from an earlier, interrupted transfer.
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
    /// Reading from the donor's disk.
    Source,
    /// This host's processors.
    Processor,
    /// Sending: the connections wait for the network.
    Network,
    /// `--bwlimit`.
    Bandwidth,
    /// The peer: its processors or its disk.
    Receiver,
}

impl Limit {
    const ALL: [Self; 6] =
        [Self::Unknown, Self::Source, Self::Processor, Self::Network, Self::Bandwidth, Self::Receiver];

    /// Name for display.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "starting",
            Self::Source => "reading",
            Self::Processor => "processor",
            Self::Network => "network",
            Self::Bandwidth => "--bwlimit",
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
        let location = Limit::ALL.iter().position(|other| *other == limit).unwrap_or_default();
        self.limit.store(location, Ordering::Relaxed);
    }

    pub(crate) fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn add_time(counter: &AtomicU64, time: Duration) {
        Self::add(counter, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }
}

/// One line: bytes done, rate, bottleneck and, once a hundredth is done, the remaining time.
impl fmt::Display for Progress {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "human-readable figures")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [done, total, wire, kept] = [&self.bytes, &self.total_bytes, &self.wire_bytes, &self.kept_bytes].map(load);
        if total == 0 {
            return f.write_str("waiting");
        }
        let moved = done.saturating_sub(kept);
        let rate = rate(moved, self.elapsed());
        let (per_second, ratio, limit) = (size(rate as u64), ratio(moved, wire), self.limit().name());
        write!(f, "{} of {}  {per_second}/s{ratio}  limited by: {limit}", size(done), size(total))?;
        f.write_str(&eta(done, total, rate))
    }
}

/// Runs `work` while another thread calls `tick` regularly to show the progress.
pub fn watched<T>(mut tick: impl FnMut() + Send, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    scope(|scope| {
        let watching = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                park_timeout(TICK);
                tick();
            }
        });
        let done = work();
        over.store(true, Ordering::Relaxed);
        watching.thread().unpark();
        done
    })
}

/// The compression ratio on the wire as text; empty if the difference is small.
pub(crate) fn ratio(bytes: u64, wire_bytes: u64) -> String {
    #[allow(clippy::cast_precision_loss, reason = "human-readable figures")]
    let ratio = bytes as f64 / wire_bytes.max(1) as f64;
    if wire_bytes > 0 && ratio >= 1.05 { format!(", ×{ratio:.1} compressed") } else { String::new() }
}

/// Value of a counter.
pub(crate) fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remaining_time_is_reported_once_it_is_known() {
        let progress = Progress::default();
        assert_eq!(progress.to_string(), "waiting");
        progress.total_bytes.store(100 << 20, Ordering::Relaxed);
        assert!(progress.to_string().starts_with("0 B of 100.0 MiB") && !progress.to_string().contains("ETA"));
        progress.bytes.store(50 << 20, Ordering::Relaxed);
        assert!(progress.to_string().contains("limited by: starting  ETA "), "{progress}");
    }

    #[test]
    fn work_is_watched_until_it_is_over() {
        let mut ticks = 0;
        assert_eq!(watched(|| ticks += 1, || std::thread::sleep(TICK * 3)), ());
        assert!(ticks > 0);
    }
}
