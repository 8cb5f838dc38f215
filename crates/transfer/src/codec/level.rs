//! The compression level, adapted continuously to the bottleneck.

use std::{
    cmp::Ordering::Equal,
    str::FromStr,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use ::codec::compression::{CompressionLevel, NAMES, UnknownLevel};

/// Compression as the user requested it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// The level that is fastest at the moment.
    Auto,
    /// A fixed level.
    Fixed(CompressionLevel),
}

/// Not a known compression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of auto, {NAMES}")]
pub struct UnknownCompression(String);

impl FromStr for Compression {
    type Err = UnknownCompression;

    fn from_str(text: &str) -> Result<Self, UnknownCompression> {
        match text {
            "auto" => Ok(Self::Auto),
            _ => text.parse().map(Self::Fixed).map_err(|UnknownLevel(text)| UnknownCompression(text)),
        }
    }
}

/// Levels in ascending order, each with the rate of one processor in bytes per second. Only the
/// order of magnitude matters, to decide which level is worth trying.
const LEVELS: [(CompressionLevel, f64); 6] = [
    (CompressionLevel::None, f64::INFINITY),
    (CompressionLevel::Lz4, 600e6),
    (CompressionLevel::Zstd(1), 350e6),
    (CompressionLevel::Zstd(3), 180e6),
    (CompressionLevel::Zstd(6), 60e6),
    (CompressionLevel::Zstd(9), 30e6),
];

/// Levels to try after none, in order of preference. zstd is first because it halves digits and short words, which LZ4
/// does not compress.
const AFTER_NONE: [CompressionLevel; 2] = [CompressionLevel::Zstd(1), CompressionLevel::Lz4];

/// Position of one of the [`LEVELS`].
fn step_of(level: CompressionLevel) -> usize {
    LEVELS.iter().position(|(known, _)| *known == level).unwrap_or(0)
}

/// Measurements of a sender. All values but the number of processors are shares of the time, from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub struct LoadSample {
    /// Time our connections waited to send.
    pub blocked: f64,
    /// Time the peer's connections waited for us.
    pub starving: f64,
    /// Idle time of this host's processors.
    pub idle: f64,
    /// Number of processors of this host.
    pub processors: f64,
}

/// Throughput since the last sample.
#[derive(Clone, Copy, Debug)]
pub struct Throughput {
    /// Bytes of files per second.
    pub rate: f64,
    /// Bytes of files per byte on the wire.
    pub ratio: f64,
}

/// Chooses the current level for all connections.
///
/// If the network is the bottleneck, it tries a higher level and keeps it if files get smaller. If
/// this host is the bottleneck, it chooses a lower level, provided that the network at its measured
/// rate would then transfer files faster.
#[derive(Debug)]
pub struct CompressionController {
    fixed: Option<CompressionLevel>,
    step: AtomicUsize,
    search: Mutex<SearchState>,
}

/// Samples after a change before its effect is judged.
const SETTLING_SAMPLES: u32 = 2;
/// Samples before a step without gain is tried again: doubled each time, from the first to the
/// second value.
const RETRY_SAMPLES: [u32; 2] = [10, 320];
/// Minimum ratio of improvement.
const GAIN: f64 = 1.05;
/// While nothing shows how fast the network is, its assumed rate grows by this factor per sample, so that less
/// compression is eventually tried again.
const CAPACITY_GROWTH: f64 = 1.005;

/// State of the search for the best level.
#[derive(Debug)]
struct SearchState {
    /// Samples since the last change.
    samples: u32,
    /// The step before the one being tried.
    previous: Option<usize>,
    /// Samples before anything is tried.
    pause: u32,
    failures: u32,
    /// Measured compression ratio of each step.
    ratios: [Option<f64>; LEVELS.len()],
    /// Bytes per second on the wire when the network was the bottleneck.
    capacity: Option<f64>,
    /// Bytes of files per second with the current step.
    rate: Option<f64>,
}

impl CompressionController {
    /// Creates a controller for the compression that the user requested.
    #[must_use]
    pub const fn new(compression: Compression) -> Self {
        let fixed = match compression {
            Compression::Auto => None,
            Compression::Fixed(level) => Some(level),
        };
        Self { fixed, step: AtomicUsize::new(0), search: Mutex::new(SearchState::new()) }
    }

    /// The highest level that [`level`](Self::level) can return.
    #[must_use]
    pub fn highest(&self) -> CompressionLevel {
        let last = || LEVELS.last().map_or(CompressionLevel::None, |(level, _)| *level);
        self.fixed.unwrap_or_else(last)
    }

    /// The level for the next chunk.
    #[must_use]
    pub fn level(&self) -> CompressionLevel {
        let step = self.step.load(Ordering::Relaxed);
        self.fixed.unwrap_or_else(|| LEVELS.get(step).map_or(CompressionLevel::None, |(level, _)| *level))
    }

    /// Raises the level if only the network is slow, lowers it if this host is slow.
    ///
    /// The network is the bottleneck if both sides wait for it. A slow receiver does not wait for
    /// us, and a host with busy processors would only get slower with more to compute.
    pub(crate) fn adjust(&self, load: LoadSample, throughput: Throughput) {
        let Ok(mut search) = self.search.lock() else { return };
        let step = self.step.load(Ordering::Relaxed);
        search.note(step, load, throughput);
        let next = search.next(step, load);
        if next != step {
            (search.samples, search.rate) = (0, None);
        }
        self.step.store(next, Ordering::Relaxed);
    }
}

impl SearchState {
    const fn new() -> Self {
        let ratios = [None; LEVELS.len()];
        Self { samples: 0, previous: None, pause: 0, failures: 0, ratios, capacity: None, rate: None }
    }

    fn note(&mut self, step: usize, load: LoadSample, throughput: Throughput) {
        let wire = throughput.rate / throughput.ratio.max(0.001);
        self.samples += 1;
        if let Some(ratio) = self.ratios.get_mut(step) {
            *ratio = Some(blend(*ratio, throughput.ratio));
        }
        self.rate = Some(blend(self.rate, throughput.rate));
        self.capacity = if load.is_network_bound() {
            Some(blend(self.capacity, wire))
        } else {
            self.capacity.map(|capacity| (capacity * CAPACITY_GROWTH).max(wire))
        };
    }

    fn next(&mut self, step: usize, load: LoadSample) -> usize {
        if self.samples <= SETTLING_SAMPLES {
            // Before the first step nothing is known; after a step, data compressed before it is
            // still in flight.
            return if step == 0 && self.capacity.is_some() { self.higher_step(step, load) } else { step };
        }
        if let Some(before) = self.previous.take()
            && !self.is_better(before, step, load)
        {
            self.pause = RETRY_SAMPLES[1].min(RETRY_SAMPLES[0] << self.failures.min(8));
            self.failures += 1;
            return before;
        }
        if load.blocked < 0.3 || load.idle < 0.1 {
            return self.lower_step(step);
        }
        self.higher_step(step, load)
    }

    fn is_better(&mut self, before: usize, step: usize, load: LoadSample) -> bool {
        let smaller = self.ratio(step) >= self.ratio(before) * GAIN;
        let better = smaller && (load.is_network_bound() || self.rate > self.expected(before));
        if better {
            self.failures = 0;
        }
        better
    }

    /// The lower step that would transfer files fastest, if that is faster than the current rate.
    fn lower_step(&self, step: usize) -> usize {
        let now = self.rate.unwrap_or_default() * GAIN;
        let faster = |lower_step: usize| self.expected(lower_step).is_none_or(|rate| rate > now);
        let known = (0..step).rev().filter(|lower_step| self.ratios.get(*lower_step).is_some_and(Option::is_some));
        let best = known.max_by(|one, other| self.expected(*one).partial_cmp(&self.expected(*other)).unwrap_or(Equal));
        best.filter(|lower_step| faster(*lower_step)).unwrap_or(step)
    }

    /// The next higher step, if the network is slow and the processors may be fast enough for it.
    fn higher_step(&mut self, step: usize, load: LoadSample) -> usize {
        if self.pause > 0 {
            self.pause -= 1;
            return step;
        }
        let rate = self.rate.unwrap_or_default();
        let used = LEVELS.get(step).map_or(0.0, |(_, speed)| rate / speed);
        let spare = load.idle * load.processors + used;
        let possible = |step: &usize| LEVELS.get(*step).is_some_and(|(_, speed)| spare * speed > rate);
        let next = if step == step_of(CompressionLevel::None) { AFTER_NONE.map(step_of) } else { [step + 1; 2] };
        match next.into_iter().find(possible).filter(|_| load.is_network_bound()) {
            Some(next) => {
                self.previous = Some(step);
                next
            }
            None => step,
        }
    }

    fn ratio(&self, step: usize) -> f64 {
        self.ratios.get(step).copied().flatten().unwrap_or(1.0)
    }

    /// Expected rate of the network with this step.
    fn expected(&self, step: usize) -> Option<f64> {
        self.capacity.map(|capacity| capacity * self.ratio(step))
    }
}

impl LoadSample {
    /// Both sides wait, and neither for a disk.
    fn is_network_bound(self) -> bool {
        self.blocked > 0.6 && self.starving > 0.6
    }
}

/// Averages a new value with the old ones, half and half.
fn blend(before: Option<f64>, now: f64) -> f64 {
    before.map_or(now, |before| f64::midpoint(before, now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compression_is_auto_or_a_level() {
        assert_eq!("auto".parse(), Ok(Compression::Auto));
        assert_eq!("zstd".parse(), Ok(Compression::Fixed(CompressionLevel::Zstd(3))));
        let error = "gzip".parse::<Compression>().unwrap_err().to_string();
        assert_eq!(error, "\"gzip\" is none of auto, none, lz4, zstd, zstd:1 to zstd:19");
    }

    const SLOW_NETWORK: LoadSample = LoadSample { blocked: 0.9, starving: 0.8, idle: 0.9, processors: 64.0 };

    fn expected_level(level: CompressionLevel) -> usize {
        LEVELS.iter().position(|(step, _)| *step == level).unwrap()
    }

    /// Simulates a network of 100 MB/s, the ratio of each level and a host with the rates of the
    /// table; returns what each sample shows.
    fn samples(
        controller: &CompressionController,
        count: usize,
        ratio: impl Fn(CompressionLevel) -> f64,
        speed: impl Fn(CompressionLevel) -> f64,
    ) -> usize {
        let mut highest = 0;
        for _ in 0..count {
            let level = controller.level();
            let ratio = ratio(level);
            let rate = (1e8 * ratio).min(speed(level));
            let load =
                if rate < 1e8 * ratio { LoadSample { blocked: 0.1, idle: 0.02, ..SLOW_NETWORK } } else { SLOW_NETWORK };
            controller.adjust(load, Throughput { rate, ratio });
            highest += usize::from(expected_level(controller.level()) > expected_level(level));
        }
        highest
    }

    #[test]
    fn on_a_slow_network_the_level_rises_while_that_gains_speed() {
        let controller = CompressionController::new(Compression::Auto);
        assert_eq!(controller.level(), CompressionLevel::None);
        samples(&controller, 1, |_| 1.0, |_| 1e10);
        assert_eq!(controller.level(), CompressionLevel::Zstd(1));
        samples(&controller, 30, |level| 1.3_f64.powi(expected_level(level) as i32), |_| 1e10);
        assert_eq!(controller.level(), CompressionLevel::Zstd(9));
        // Levels above zstd 1 gain nothing, so they are tried less and less often.
        let controller = CompressionController::new(Compression::Auto);
        let tries = samples(&controller, 1000, |level| 1.3_f64.powi(expected_level(level).min(2) as i32), |_| 1e10);
        assert!((3..12).contains(&tries), "{tries}");
    }

    #[test]
    fn incompressible_data_is_sent_uncompressed() {
        let controller = CompressionController::new(Compression::Auto);
        let tries = samples(&controller, 1000, |_| 1.0, |_| 1e10);
        assert!((2..12).contains(&tries), "{tries}");
    }

    #[test]
    fn a_busy_host_compresses_as_long_as_that_is_faster_than_the_network() {
        let ratio = |level| if level == CompressionLevel::None { 1.0 } else { 2.3 };
        // Twice as fast as the network, though not the maximum.
        let controller = CompressionController::new(Compression::Auto);
        let speed = |level| if level == CompressionLevel::None { 1e10 } else { 2e8 };
        samples(&controller, 20, ratio, speed);
        let mut compressed = 0;
        for _ in 0..1000 {
            samples(&controller, 1, ratio, speed);
            compressed += usize::from(controller.level() == CompressionLevel::Zstd(1));
        }
        assert!(compressed > 900, "{compressed}");
        // Slower than the network.
        let controller = CompressionController::new(Compression::Auto);
        let speed = |level| if level == CompressionLevel::None { 1e10 } else { 5e7 };
        samples(&controller, 20, ratio, speed);
        let tries = samples(&controller, 1000, ratio, speed);
        assert!(tries < 12, "{tries}");
        assert_eq!(controller.level(), CompressionLevel::None);
    }

    #[test]
    fn on_a_network_faster_than_compression_nothing_is_compressed() {
        let controller = CompressionController::new(Compression::Auto);
        for _ in 0..1000 {
            let fast = LoadSample { processors: 2.0, idle: 0.3, ..SLOW_NETWORK };
            controller.adjust(fast, Throughput { rate: 1e9, ratio: 1.0 });
            assert_eq!(controller.level(), CompressionLevel::None);
        }
        // A slow disk of the receiver is not a slow network.
        controller.adjust(LoadSample { starving: 0.0, ..SLOW_NETWORK }, Throughput { rate: 1e8, ratio: 1.0 });
        assert_eq!(controller.level(), CompressionLevel::None);
    }

    #[test]
    fn a_fixed_level_never_changes() {
        let controller = CompressionController::new(Compression::Fixed(CompressionLevel::Lz4));
        controller.adjust(SLOW_NETWORK, Throughput { rate: 1e8, ratio: 1.0 });
        assert_eq!(controller.level(), CompressionLevel::Lz4);
    }
}
