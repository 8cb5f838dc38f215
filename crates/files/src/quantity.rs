//! Numbers with a unit: read from options and configuration files (`500ms`, `10MiB`), and written in messages.

use std::time::Duration;

/// Units of a time, in milliseconds.
const MILLISECONDS: [(&str, u64); 5] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Units of a short time.
const SHORT: [(&str, u64); 2] = [MILLISECONDS[0], MILLISECONDS[1]];

/// Units of a size, in bytes.
const BYTES: [(&str, u64); 4] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("", 1)];

/// The same units by one letter, as servers and other programs accept them.
const LETTERS: [(&str, u64); 6] =
    [("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30), ("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30)];

/// Units of sizes in measurements, which are decimal.
const DECIMAL_BYTES: [(&str, u64); 4] = [("k", 1000), ("M", 1_000_000), ("G", 1_000_000_000), ("", 1)];

/// The units of a time, as messages and help list them.
pub const TIME_UNITS: &str = "ms, s, m, h or d";

/// Digits followed by one of the units, which are pairs of name and factor; the first unit that ends the text is taken.
/// `None` for anything else, and if the product overflows.
fn number(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (digits, unit) = units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))?;
    digits.trim_end().parse::<u64>().ok()?.checked_mul(unit)
}

/// A time with the unit ms, s, m, h or d. A number alone counts units of `bare_ms` milliseconds.
///
/// # Errors
/// A description of the accepted text.
pub fn time(text: &str, bare_ms: u64) -> Result<Duration, String> {
    time_with_unit(text).or_else(|wrong| number(text, &[("", bare_ms)]).map(Duration::from_millis).ok_or(wrong))
}

/// A time with a unit: ms, s, m, h or d. A number without a unit is refused.
///
/// # Errors
/// A description of the accepted text.
pub fn time_with_unit(text: &str) -> Result<Duration, String> {
    let milliseconds = number(text, &MILLISECONDS);
    milliseconds.map(Duration::from_millis).ok_or_else(|| format!("a number followed by {TIME_UNITS}"))
}

/// A time with the unit ms or s, greater than 0 and at most `most`.
///
/// # Errors
/// A description of the accepted text.
pub fn short_time(text: &str, most: Duration) -> Result<Duration, String> {
    let milliseconds = number(text, &SHORT).ok_or("a number followed by ms or s")?;
    let time = Some(Duration::from_millis(milliseconds)).filter(|time| !time.is_zero() && *time <= most);
    time.ok_or_else(|| format!("more than 0, and not more than {}s", most.as_secs()))
}

/// A size in bytes: a number with the unit KiB, MiB or GiB, or alone.
///
/// # Errors
/// A description of the accepted text.
pub fn bytes(text: &str) -> Result<u64, String> {
    number(text, &BYTES).ok_or_else(|| "a number followed by KiB, MiB or GiB, and less than 16 EiB".to_owned())
}

/// A size as [`bytes`] reads it, or with the unit K, M or G in either case, which means the same.
///
/// # Errors
/// As [`bytes`], which names the preferred units alone.
pub fn bytes_or_letters(text: &str) -> Result<u64, String> {
    bytes(text).or_else(|wrong| number(text, &LETTERS).ok_or(wrong))
}

/// A size of a measurement in bytes: a number with the decimal unit k, M or G, or alone; `None` for anything else.
#[must_use]
pub fn decimal_bytes(text: &str) -> Option<u64> {
    number(text, &DECIMAL_BYTES)
}

/// A human-readable number of bytes, such as `1.5 GiB`.
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    #[allow(clippy::cast_precision_loss, reason = "a human-readable figure")]
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let name = UNITS.get(unit).copied().unwrap_or_default();
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {name}") }
}

/// Two numbers of bytes to compare: as [`size`], or exact if that rounds them to the same text.
#[must_use]
pub fn sizes(a: u64, b: u64) -> [String; 2] {
    let rounded = [size(a), size(b)];
    let [first, second] = &rounded;
    if a != b && first == second { [a, b].map(|bytes| format!("{bytes} B")) } else { rounded }
}

/// A short time in a suitable unit, with three significant digits: `12.5 µs`.
#[must_use]
pub fn short_seconds(seconds: f64) -> String {
    let (value, unit) = match seconds {
        ..1e-6 => (seconds * 1e9, "ns"),
        ..1e-3 => (seconds * 1e6, "µs"),
        ..1.0 => (seconds * 1e3, "ms"),
        _ => (seconds, "s"),
    };
    match value {
        ..10.0 => format!("{value:.2} {unit}"),
        ..100.0 => format!("{value:.1} {unit}"),
        _ => format!("{value:.0} {unit}"),
    }
}

/// The average rate in bytes per second. The first millisecond counts as a whole one, so that the rate is finite.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "a human-readable figure")]
pub fn rate(bytes: u64, elapsed: Duration) -> f64 {
    bytes as f64 / elapsed.as_secs_f64().max(0.001)
}

/// The end of a status line, such as `  ETA 01:52`: the time that the rest of `total` bytes takes at the average rate
/// so far. Empty until a hundredth is done, because the rate means little before.
#[must_use]
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a human-readable figure"
)]
pub fn eta(done: u64, total: u64, rate: f64) -> String {
    if done.saturating_mul(100) <= total {
        return String::new();
    }
    let left = total.saturating_sub(done) as f64 / rate.max(1.0);
    format!("  ETA {}", clock(left as u64))
}

/// A remaining time in the format of a clock: `01:52`, `1:02:03`.
#[must_use]
pub fn clock(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes:02}:{seconds:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_shown_if_there_are_any() {
        assert_eq!((clock(112), clock(3723)), ("01:52".to_owned(), "1:02:03".to_owned()));
    }

    #[test]
    fn short_times_have_units() {
        let shown = [0.0, 3.3e-9, 1.25e-5, 0.0123, 100.0].map(short_seconds);
        assert_eq!(shown, ["0.00 ns", "3.30 ns", "12.5 µs", "12.3 ms", "100 s"]);
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!([size(0), size(512), size(1023)], ["0 B", "512 B", "1023 B"]);
        assert_eq!([size(1024), size(3 << 29)], ["1.0 KiB", "1.5 GiB"]);
    }

    #[test]
    fn sizes_that_differ_have_different_texts() {
        assert_eq!(sizes(512, 3 << 29), ["512 B", "1.5 GiB"]);
        assert_eq!(sizes((32 << 20) - 512, 32 << 20), ["33553920 B", "33554432 B"]);
        assert_eq!(sizes(1 << 20, 1 << 20), ["1.0 MiB", "1.0 MiB"]);
    }

    #[test]
    fn the_remaining_time_is_shown_after_a_hundredth() {
        let rate = rate(2000, Duration::from_secs(2));
        assert!((rate - 1000.0).abs() < 1e-9 && super::rate(1, Duration::ZERO).is_finite());
        assert_eq!((eta(2000, 200_000, rate), eta(2001, 200_000, rate)), (String::new(), "  ETA 03:17".to_owned()));
        assert_eq!((eta(0, 0, 0.0), eta(5, 5, 0.0)), (String::new(), "  ETA 00:00".to_owned()));
        assert_eq!(eta(100, 1000, 0.0), "  ETA 15:00", "a rate of 0 counts as 1 byte per second");
    }

    #[test]
    fn a_number_alone_counts_the_unit_that_is_given() {
        assert_eq!((time("5", 1000), time("5", 1)), (Ok(Duration::from_secs(5)), Ok(Duration::from_millis(5))));
        assert_eq!((time("5ms", 1000), time("2h", 1)), (Ok(Duration::from_millis(5)), Ok(Duration::from_secs(7200))));
        assert_eq!((time("3 m", 1), time("0", 1)), (Ok(Duration::from_secs(180)), Ok(Duration::ZERO)));
        assert!(["", "m", "1w", "-1s", "1.5s", "18446744073709551615"].iter().all(|text| time(text, 1000).is_err()));
    }

    #[test]
    fn one_letter_is_a_unit_only_where_the_caller_says_so() {
        for text in ["0", "1500", "10KiB", "10 MiB", "3GiB"] {
            assert_eq!(bytes(text), bytes_or_letters(text), "{text}");
        }
        assert_eq!((bytes("0"), bytes("10 MiB"), bytes("3GiB")), (Ok(0), Ok(10 << 20), Ok(3 << 30)));
        for (text, expected) in [("1K", 1 << 10), ("1k", 1 << 10), ("2 M", 2 << 20), ("2m", 2 << 20), ("3G", 3 << 30)] {
            assert!(bytes(text).is_err(), "{text}");
            assert_eq!(bytes_or_letters(text), Ok(expected), "{text}");
        }
        for text in ["", "K", "KiB", "-1", "1.5G", "1kib", "1KB", "1T", "16777216T", "18446744073709551615KiB"] {
            assert!(bytes(text).is_err(), "{text}");
            assert_eq!(bytes(text), bytes_or_letters(text), "{text}");
        }
        assert!(bytes_or_letters("18446744073709551615G").is_err());
    }

    #[test]
    fn sizes_of_measurements_are_decimal() {
        assert_eq!(["1k", "2M", "3G", "4", "0"].map(decimal_bytes), [1000, 2_000_000, 3_000_000_000, 4, 0].map(Some));
        assert_eq!(["", "k", "1K", "1m", "1g", "1KiB", "1MiB"].map(decimal_bytes), [None; 7]);
    }

    #[test]
    fn times_may_need_a_unit() {
        assert_eq!(time_with_unit("2d"), Ok(Duration::from_secs(172_800)));
        assert_eq!((time_with_unit("90s"), time("1d", 1)), (Ok(Duration::from_secs(90)), time_with_unit("24h")));
        assert!(["", "60", "d", "1w"].iter().all(|text| time_with_unit(text).is_err()));
    }

    #[test]
    fn short_times_are_parsed_up_to_the_maximum() {
        let most = Duration::from_secs(60);
        assert_eq!(short_time("500ms", most), Ok(Duration::from_millis(500)));
        assert_eq!(short_time("2s", most), Ok(Duration::from_secs(2)));
        assert_eq!(short_time("60s", most), Ok(most));
        assert_eq!(short_time("61s", most), Err("more than 0, and not more than 60s".to_owned()));
        assert!(short_time("0s", most).is_err() && short_time("5", most).is_err() && short_time("2h", most).is_err());
        assert!(short_time("18446744073709551615s", most).is_err());
    }
}
