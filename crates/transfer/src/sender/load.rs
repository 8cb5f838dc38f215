//! What is slow: shares of time since the last look.

use std::{
    fs,
    time::{Duration, Instant},
};

use crate::{
    codec::effort::Pressure,
    progress::{Progress, load},
};

/// How long to look before judging.
const SPAN: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(super) struct Load {
    streams: f64,
    /// What the other side said last.
    pub(super) starving: f64,
    last: Instant,
    network_wait: u64,
    disk_wait: u64,
    processors: Option<Ticks>,
}

/// What was seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) of_network: Pressure,
    /// Share of the time in which files were read.
    pub(super) reading: f64,
}

/// Time of all processors, in the kernel's ticks.
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
        Self {
            streams: f64::from(streams.max(1)),
            starving: 0.0,
            last: Instant::now(),
            network_wait: 0,
            disk_wait: 0,
            processors: Ticks::now(),
        }
    }

    /// What happened since the last look, if that is long enough ago.
    pub(super) fn look(&mut self, progress: &Progress) -> Option<Seen> {
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
        let now = Ticks::now();
        let idle = now.zip(self.processors).and_then(|(now, before)| now.idle_since(before)).unwrap_or(0.5);
        self.processors = now;
        Some(Seen { of_network: Pressure { blocked, starving: self.starving, idle }, reading })
    }
}
