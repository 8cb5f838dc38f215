//! Compression levels, and their names in options and configuration files.

use std::{ops::RangeInclusive, str::FromStr};

/// Level that the name `zstd` means if no number follows.
const ZSTD_LEVEL: i32 = 3;
/// Levels of `zstd:LEVEL`.
const ZSTD_LEVELS: RangeInclusive<i32> = 1..=19;
/// All names of levels, for messages.
pub const NAMES: &str = "none, lz4, zstd, zstd:1 to zstd:19";
/// Names of the levels of zstd, for messages.
pub const ZSTD_NAMES: &str = "zstd, or zstd:1 to zstd:19";

/// How hard a chunk is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressionLevel {
    /// No compression.
    None,
    /// LZ4, in blocks without a frame.
    Lz4,
    /// zstd at a level, 1 to 19.
    Zstd(i32),
}

impl CompressionLevel {
    /// Maximum memory, in bytes, of the contexts that compress a chunk.
    #[must_use]
    pub const fn context_bytes(self) -> usize {
        const KIB: usize = 1 << 10;
        // Including the context for samples. zstd's tables for a window of one chunk grow at these
        // levels.
        match self {
            Self::None | Self::Lz4 => 0,
            Self::Zstd(..=1) => 1600 * KIB,
            Self::Zstd(..=3) => 2300 * KIB,
            Self::Zstd(..=6) => 4100 * KIB,
            Self::Zstd(..=8) => 6700 * KIB,
            Self::Zstd(..=12) => 11_800 * KIB,
            Self::Zstd(_) => 18_700 * KIB,
        }
    }
}

/// The text is not the name of a compression level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of {NAMES}")]
pub struct UnknownLevel(pub String);

impl FromStr for CompressionLevel {
    type Err = UnknownLevel;

    fn from_str(text: &str) -> Result<Self, UnknownLevel> {
        let level = |level: &str| level.parse().ok().filter(|level| ZSTD_LEVELS.contains(level));
        match text {
            "none" => Ok(Self::None),
            "lz4" => Ok(Self::Lz4),
            "zstd" => Ok(Self::Zstd(ZSTD_LEVEL)),
            _ => {
                let level = text.strip_prefix("zstd:").and_then(level);
                level.map(Self::Zstd).ok_or_else(|| UnknownLevel(text.to_owned()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_parsed_as_documented() {
        for (name, level) in [
            ("none", CompressionLevel::None),
            ("lz4", CompressionLevel::Lz4),
            ("zstd", CompressionLevel::Zstd(3)),
            ("zstd:1", CompressionLevel::Zstd(1)),
            ("zstd:19", CompressionLevel::Zstd(19)),
        ] {
            assert_eq!(name.parse(), Ok(level));
        }
        for bad in ["zstd:0", "zstd:20", "zstd:-1", "gzip", "zstd:", "auto", ""] {
            assert_eq!(bad.parse::<CompressionLevel>(), Err(UnknownLevel(bad.to_owned())));
        }
    }
}
