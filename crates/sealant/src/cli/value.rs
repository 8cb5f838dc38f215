//! Option values with units: times and sizes, parsed in one place.

use std::time::Duration;

use jiff::Timestamp;

/// Units of a time, in seconds; the default is seconds.
const SECONDS: [(&str, u64); 4] = [("s", 1), ("m", 60), ("h", 3600), ("", 1)];

/// Units of a short time, in milliseconds.
const MILLISECONDS: [(&str, u64); 2] = [("ms", 1), ("s", 1000)];

/// Units of a size, in bytes.
const BYTES: [(&str, u64); 10] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
    ("k", 1 << 10),
    ("m", 1 << 20),
    ("g", 1 << 30),
    ("", 1),
];

/// Units of sizes in measurements, which are decimal.
const DECIMAL_BYTES: [(&str, u64); 4] = [("k", 1000), ("M", 1_000_000), ("G", 1_000_000_000), ("", 1)];

/// A time: a number, followed by s, m, h or nothing (seconds).
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let seconds = number(text, &SECONDS).ok_or("a number followed by s, m or h")?;
    let most = u64::from(u32::MAX) * 3600;
    Some(seconds)
        .filter(|seconds| (1..=most).contains(seconds))
        .map(Duration::from_secs)
        .ok_or_else(|| "more than 0".to_owned())
}

/// A point in time.
pub(crate) fn timestamp(text: &str) -> Result<Timestamp, String> {
    let meant = |_| "a date and a time with Z or an offset, such as 2026-11-26T14:05:00Z".to_owned();
    text.parse().map_err(meant)
}

/// A short time, of at most a minute: a number followed by ms or s.
pub(crate) fn short_time(text: &str) -> Result<Duration, String> {
    let milliseconds = number(text, &MILLISECONDS).ok_or("a number followed by ms or s")?;
    let milliseconds = Some(milliseconds).filter(|time| (1..=60_000).contains(time));
    milliseconds.map(Duration::from_millis).ok_or_else(|| "more than 0, and not more than 60s".to_owned())
}

/// A percentage from 1 to 100, with or without %.
pub(crate) fn percent(text: &str) -> Result<u8, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).parse().ok();
    percent.filter(|percent| (1..=100).contains(percent)).ok_or_else(|| "from 1% to 100%".to_owned())
}

/// A size: a number followed by KiB, MiB, GiB or nothing.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let bytes = number(text, &BYTES).ok_or("a number followed by KiB, MiB or GiB, and less than 16 EiB")?;
    Some(bytes).filter(|bytes| *bytes > 0).ok_or_else(|| "more than 0".to_owned())
}

/// Bytes per second. The unit may not be left out: 100 is meant as MiB more often than as bytes.
pub(crate) fn rate(text: &str) -> Result<u64, String> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("a unit is missing: KiB, MiB or GiB".to_owned());
    }
    bytes(text)
}

/// A size of at most 1 GB: a number followed by k, M, G or nothing; these units are decimal.
pub(crate) fn decimal_bytes(text: &str) -> Result<u64, String> {
    let bytes = number(text, &DECIMAL_BYTES).filter(|bytes| (1..=1_000_000_000).contains(bytes));
    bytes.ok_or_else(|| "a size from 1 to 1G".to_owned())
}

/// Digits followed by one of the units; the first unit that ends the text is taken.
fn number(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (digits, unit) = units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))?;
    digits.trim_end().parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(time("90"), Ok(Duration::from_secs(90)));
        assert_eq!(time("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(time("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(time("1h"), Ok(Duration::from_secs(3600)));
        assert!(time("0").is_err() && time("0s").is_err() && time("m").is_err() && time("1d").is_err());
        assert!(time("18446744073709551615").is_err());
    }

    #[test]
    fn short_times_are_short() {
        assert_eq!(short_time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(short_time("2s"), Ok(Duration::from_secs(2)));
        assert!(short_time("0s").is_err() && short_time("5").is_err() && short_time("2h").is_err());
    }

    #[test]
    fn sizes_are_binary_but_for_what_is_measured_with() {
        assert_eq!(bytes("10MiB"), Ok(10 << 20));
        assert_eq!(bytes("1500"), Ok(1500));
        assert_eq!((bytes("1k"), decimal_bytes("1k")), (Ok(1024), Ok(1000)));
        assert_eq!(
            (rate("100MiB"), rate("100")),
            (Ok(100 << 20), Err("a unit is missing: KiB, MiB or GiB".to_owned()))
        );
        assert!(bytes("10MB/s").is_err() && bytes("0").is_err() && bytes("").is_err());
        assert!(decimal_bytes("0").is_err() && decimal_bytes("2G").is_err() && decimal_bytes("k").is_err());
    }
}
