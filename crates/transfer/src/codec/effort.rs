//! How hard to compress, decided again and again by what is slow at the moment.

use std::{
    str::FromStr,
    sync::atomic::{AtomicUsize, Ordering},
};

/// How hard a chunk is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Not at all.
    None,
    /// LZ4.
    Lz4,
    /// zstd at a level, 1 to 19.
    Zstd(i32),
}

/// What the user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Whatever is fastest at the moment.
    Auto,
    /// Always the same.
    Fixed(Effort),
}

/// Not a way to compress.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of auto, none, lz4, zstd, zstd:1 to zstd:19")]
pub struct UnknownCompression(String);

impl FromStr for Compression {
    type Err = UnknownCompression;

    fn from_str(text: &str) -> Result<Self, UnknownCompression> {
        let level = |level: &str| level.parse().ok().filter(|level| (1..=19).contains(level));
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::Fixed(Effort::None)),
            "lz4" => Ok(Self::Fixed(Effort::Lz4)),
            "zstd" => Ok(Self::Fixed(Effort::Zstd(3))),
            _ => match text.strip_prefix("zstd:").and_then(level) {
                Some(level) => Ok(Self::Fixed(Effort::Zstd(level))),
                None => Err(UnknownCompression(text.to_owned())),
            },
        }
    }
}

/// Efforts in order. Each step costs about twice the time of the one before.
const LADDER: [Effort; 6] =
    [Effort::None, Effort::Lz4, Effort::Zstd(1), Effort::Zstd(3), Effort::Zstd(6), Effort::Zstd(9)];

/// What a sender sees of itself and of the other side in a moment. All are shares of the time.
#[derive(Clone, Copy, Debug)]
pub struct Pressure {
    /// How long our connections waited to send.
    pub blocked: f64,
    /// How long the other side's connections waited for us.
    pub starving: f64,
    /// How long this host's processors had nothing to do.
    pub idle: f64,
}

/// The effort of the moment, shared by all connections.
#[derive(Debug)]
pub struct Governor {
    fixed: Option<Effort>,
    step: AtomicUsize,
}

impl Governor {
    /// As the user asked.
    #[must_use]
    pub const fn new(compression: Compression) -> Self {
        let fixed = match compression {
            Compression::Auto => None,
            Compression::Fixed(effort) => Some(effort),
        };
        Self { fixed, step: AtomicUsize::new(0) }
    }

    /// The effort for the next chunk.
    #[must_use]
    pub fn effort(&self) -> Effort {
        let step = self.step.load(Ordering::Relaxed);
        self.fixed.unwrap_or_else(|| LADDER.get(step).copied().unwrap_or(Effort::None))
    }

    /// Compresses harder if the network alone is slow, less if this host is.
    ///
    /// The network is slow if both sides wait for it; a slow receiver does not wait for us, and a
    /// host whose processors are busy would only be slower with more to compute.
    pub fn adjust(&self, pressure: Pressure) {
        let network = pressure.blocked > 0.5 && pressure.starving > 0.3;
        let step = self.step.load(Ordering::Relaxed);
        let next = if network && pressure.idle > 0.2 {
            (step + 1).min(LADDER.len() - 1)
        } else if pressure.blocked < 0.2 || pressure.idle < 0.1 {
            step.saturating_sub(1)
        } else {
            step
        };
        self.step.store(next, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressions_are_spelled_as_documented() {
        assert_eq!("auto".parse(), Ok(Compression::Auto));
        assert_eq!("none".parse(), Ok(Compression::Fixed(Effort::None)));
        assert_eq!("zstd:19".parse(), Ok(Compression::Fixed(Effort::Zstd(19))));
        for bad in ["zstd:0", "zstd:20", "gzip", "zstd:", ""] {
            assert!(bad.parse::<Compression>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_slow_network_is_answered_with_compression_and_a_busy_host_with_less() {
        let governor = Governor::new(Compression::Auto);
        let network = Pressure { blocked: 0.9, starving: 0.8, idle: 0.7 };
        assert_eq!(governor.effort(), Effort::None);
        governor.adjust(network);
        assert_eq!(governor.effort(), Effort::Lz4);
        for _ in 0..10 {
            governor.adjust(network);
        }
        assert_eq!(governor.effort(), Effort::Zstd(9));
        governor.adjust(Pressure { idle: 0.05, ..network });
        assert_eq!(governor.effort(), Effort::Zstd(6));
        // A receiver with a slow disk does not wait for us: more compression would not help it.
        governor.adjust(Pressure { starving: 0.0, ..network });
        assert_eq!(governor.effort(), Effort::Zstd(6));
    }

    #[test]
    fn what_the_user_fixed_stays() {
        let governor = Governor::new(Compression::Fixed(Effort::Lz4));
        governor.adjust(Pressure { blocked: 1.0, starving: 1.0, idle: 1.0 });
        assert_eq!(governor.effort(), Effort::Lz4);
    }
}
