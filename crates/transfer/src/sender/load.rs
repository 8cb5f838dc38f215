//! Measures the bottleneck, as shares of the time since the last sample.

use std::{
    fs,
    num::NonZero,
    thread,
    time::{Duration, Instant},
};

use crate::{
    codec::level::{LoadSample, Throughput},
    progress::{Progress, load},
};

/// Minimum time between samples.
const SPAN: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Load {
    streams: f64,
    /// Last report of the receiver.
    pub(super) starving: f64,
    last: Instant,
    network_wait: u64,
    disk_wait: u64,
    moved: u64,
    wire: u64,
    processors: Option<Ticks>,
    /// Number of processors.
    count: f64,
}

/// One sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) load: LoadSample,
    /// Share of the time spent reading files.
    pub(super) reading: f64,
    /// Throughput since the last sample.
    pub(super) throughput: Throughput,
}

/// Time of all processors, in kernel ticks.
#[derive(Clone, Copy, Debug)]
struct Ticks {
    idle: u64,
    all: u64,
}

impl Ticks {
    /// From the first line of `/proc/stat`: user, nice, system, idle, iowait, …
    fn now() -> Option<Self> {
        let stat = fs::read_to_string("/proc/stat").ok()?;
        let ticks: Vec<u64> = stat
            .lines()
            .next()?
            .split_ascii_whitespace()
            .skip(1)
            .take(8)
            .filter_map(|tick| tick.parse().ok())
            .collect();
        let idle = ticks.get(3)?.saturating_add(*ticks.get(4)?);
        Some(Self { idle, all: ticks.iter().sum() })
    }

    #[allow(clippy::cast_precision_loss, reason = "a share")]
    fn idle_since(self, before: Self) -> Option<f64> {
        let all = self.all.checked_sub(before.all).filter(|all| *all > 0)?;
        Some(self.idle.saturating_sub(before.idle) as f64 / all as f64)
    }
}

impl Load {
    pub(super) fn new(streams: u16) -> Self {
        let count = thread::available_parallelism().map_or(1, NonZero::get);
        Self {
            streams: f64::from(streams.max(1)),
            starving: 0.0,
            last: Instant::now(),
            network_wait: 0,
            disk_wait: 0,
            moved: 0,
            wire: 0,
            processors: Ticks::now(),
            count: f64::from(u32::try_from(count).unwrap_or(1)),
        }
    }

    /// Measurements since the last sample; `None` if that was too recent.
    pub(super) fn sample(&mut self, progress: &Progress) -> Option<Seen> {
        let elapsed = self.last.elapsed();
        if elapsed < SPAN {
            return None;
        }
        self.last = Instant::now();
        let (network, disk) = (load(&progress.network_wait), load(&progress.disk_wait));
        let total = elapsed.as_secs_f64() * self.streams * 1e9;
        #[allow(clippy::cast_precision_loss, reason = "a share")]
        let share = |now: u64, before: u64| now.saturating_sub(before) as f64 / total;
        let (blocked, reading) = (share(network, self.network_wait), share(disk, self.disk_wait));
        (self.network_wait, self.disk_wait) = (network, disk);
        let moved = load(&progress.bytes).saturating_sub(load(&progress.kept_bytes));
        let wire = load(&progress.wire_bytes);
        #[allow(clippy::cast_precision_loss, reason = "a rate and a ratio")]
        let throughput = {
            let bytes = moved.saturating_sub(self.moved) as f64;
            Throughput {
                rate: bytes / elapsed.as_secs_f64(),
                ratio: bytes / wire.saturating_sub(self.wire).max(1) as f64,
            }
        };
        (self.moved, self.wire) = (moved, wire);
        let now = Ticks::now();
        let idle = now.zip(self.processors).and_then(|(now, before)| now.idle_since(before)).unwrap_or(0.5);
        self.processors = now;
        Some(Seen {
            load: LoadSample { blocked, starving: self.starving, idle, processors: self.count },
            reading,
            throughput,
        })
    }
}
