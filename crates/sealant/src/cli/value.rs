//! Values of options that have a grammar of their own: times, sizes, patterns, permissions.

use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use ::transfer::codec::level::Compression;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use files::quantity::{self, TIME_UNITS};
use findings::Severity;
use glob::{Pattern, PatternError};
use jiff::Timestamp;

/// What a number alone counts, unless the option says otherwise.
const SECOND_MS: u64 = 1000;

/// Longest time.
const LONGEST: Duration = Duration::from_secs(u32::MAX as u64 * 3600);

/// Longest of the short times.
const SHORT: Duration = Duration::from_secs(60);

/// The help of an option that takes a [`time`] of which `what` is the meaning.
pub(crate) fn time_help(what: &str) -> String {
    format!("{what}: seconds, or with {TIME_UNITS}")
}

/// A time: a number, followed by one of [`TIME_UNITS`] or nothing (seconds).
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let time = quantity::time(text, SECOND_MS)?;
    Some(time).filter(|time| !time.is_zero() && *time <= LONGEST).ok_or_else(|| "more than 0".to_owned())
}

/// A time that is compared with whole seconds.
pub(crate) fn whole_seconds(text: &str) -> Result<Duration, String> {
    time(text)?;
    seconds(1, LONGEST.as_secs())(text).map_err(|_| "whole seconds".to_owned())
}

/// A time from `least` to `most` seconds, of whole seconds.
pub(crate) fn seconds(least: u64, most: u64) -> impl Fn(&str) -> Result<Duration, String> + Clone {
    move |text| {
        let time = quantity::time(text, SECOND_MS)?;
        let fits = time.subsec_nanos() == 0 && (least..=most).contains(&time.as_secs());
        Some(time).filter(|_| fits).ok_or_else(|| format!("whole seconds from {least}s to {most}s"))
    }
}

/// A time from `least` to `most` milliseconds, which a number alone counts.
pub(crate) fn milliseconds(least: u64, most: u64) -> impl Fn(&str) -> Result<Duration, String> + Clone {
    move |text| {
        let time = quantity::time(text, 1)?;
        let fits = (Duration::from_millis(least)..=Duration::from_millis(most)).contains(&time);
        Some(time).filter(|_| fits).ok_or_else(|| format!("from {least}ms to {most}ms"))
    }
}

/// A number of minutes, such as 15 or 0.5.
pub(crate) fn minutes(text: &str) -> Result<Duration, String> {
    let minutes = text.parse().ok().filter(|minutes: &f64| (0.1..=100_000.0).contains(minutes));
    minutes
        .map(|minutes| Duration::from_secs_f64(minutes * 60.0))
        .ok_or_else(|| "a number from 0.1 to 100000".to_owned())
}

/// A number of hours, such as 2 or 0.5.
pub(crate) fn hours(text: &str) -> Result<Duration, String> {
    minutes(text).map(|time| time.saturating_mul(60))
}

/// A point in time.
pub(crate) fn timestamp(text: &str) -> Result<Timestamp, String> {
    let meant = |_| "a date and a time with Z or an offset, such as 2026-11-26T14:05:00Z".to_owned();
    text.parse().map_err(meant)
}

/// A short time, of at most a minute: a number followed by ms or s.
pub(crate) fn short_time(text: &str) -> Result<Duration, String> {
    quantity::short_time(text, SHORT)
}

/// A percentage from 1 to 100, with or without %.
pub(crate) fn percent(text: &str) -> Result<u8, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).parse().ok();
    percent.filter(|percent| (1..=100).contains(percent)).ok_or_else(|| "from 1% to 100%".to_owned())
}

/// A size: a number followed by KiB, MiB, GiB, their first letter or nothing.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let bytes = quantity::bytes_or_letters(text)?;
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
    let text = text.strip_suffix('K').map_or_else(|| text.to_owned(), |number| format!("{number}k"));
    let bytes = quantity::decimal_bytes(&text).filter(|bytes| (1..=1_000_000_000).contains(bytes));
    bytes.ok_or_else(|| "a size from 1 to 1G: a number, or one followed by k, M or G".to_owned())
}

/// Size of an encryption sector of LUKS, in bytes.
pub(crate) fn sector_bytes() -> impl TypedValueParser<Value = u32> {
    word(&[("512", 512, ""), ("1024", 1024, ""), ("2048", 2048, ""), ("4096", 4096, "")])
}

/// Length of a volume key in XTS mode, in bits.
pub(crate) fn volume_key_bits() -> impl TypedValueParser<Value = u32> {
    word(&[("256", 256, ""), ("512", 512, "")])
}

/// A word for a value of a library's type, and its help.
pub(crate) type Word<T> = (&'static str, T, &'static str);

/// One of these words. Help and completions list them.
pub(crate) fn word<T>(words: &'static [Word<T>]) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
{
    let possible = |(name, _, help): &Word<T>| match *help {
        "" => PossibleValue::new(*name),
        help => PossibleValue::new(*name).help(help),
    };
    PossibleValuesParser::new(words.iter().map(possible)).try_map(move |text| {
        let found = words.iter().find(|(name, ..)| *name == text);
        found.map(|(_, value, _)| value.clone()).ok_or("not one of these words")
    })
}

/// Permissions of a file, in octal digits.
pub(crate) fn permissions(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).map_err(|_| "it is not an octal number such as 0660".to_owned())?;
    if mode <= 0o777 { Ok(mode) } else { Err("it has bits other than permissions".to_owned()) }
}

/// A loopback address and port, for metrics.
pub(crate) fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|_| "it is not ADDRESS:PORT".to_owned())?;
    if address.ip().is_loopback() { Ok(address) } else { Err("metrics are answered to this host only".to_owned()) }
}

/// A pattern of paths. A slash at the end means a directory; paths do not end with one.
pub(crate) fn pattern(text: &str) -> Result<Pattern, PatternError> {
    Pattern::new(text.trim_end_matches('/'))
}

/// A compression for `sealant send`, passed on as it was given.
pub(crate) fn compression(text: &str) -> Result<String, String> {
    text.parse::<Compression>().map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// The id of a check of `sealant audit`.
pub(crate) fn check_id(text: &str) -> Result<String, String> {
    let check = ::audit::checks::find(text).map(|check| check.id.to_owned());
    check.ok_or_else(|| "no such check; run `sealant checks` for the list".to_owned())
}

/// The least severity that counts, or `never`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FailOn(pub(crate) Option<Severity>);

impl FromStr for FailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "never" {
            return Ok(Self(None));
        }
        text.parse().map(|severity| Self(Some(severity))).map_err(|known: String| format!("{known}, never"))
    }
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
        assert_eq!(time("500ms"), Ok(Duration::from_millis(500)));
        assert!(time("0").is_err() && time("0s").is_err() && time("m").is_err());
        assert_eq!(time("1d"), Ok(Duration::from_secs(86_400)));
        assert!(time("18446744073709551615").is_err());
        assert_eq!(whole_seconds("1500ms"), Err("whole seconds".to_owned()));
        assert_eq!(whole_seconds("2000ms"), time("2"));
        assert!(whole_seconds("0").is_err() && whole_seconds("500ms").is_err());
    }

    #[test]
    fn times_within_a_range_keep_the_meaning_of_a_number_alone() {
        let (lock_wait, span) = (seconds(1, 3600), milliseconds(10, 60_000));
        assert_eq!((lock_wait("2"), lock_wait("10m")), (Ok(Duration::from_secs(2)), Ok(Duration::from_secs(600))));
        assert_eq!((span("500"), span("2s")), (Ok(Duration::from_millis(500)), Ok(Duration::from_secs(2))));
        assert_eq!(lock_wait("1500ms"), Err("whole seconds from 1s to 3600s".to_owned()));
        assert!(lock_wait("0").is_err() && lock_wait("2h").is_err() && span("9").is_err() && span("2m").is_err());
    }

    #[test]
    fn short_times_are_short() {
        assert_eq!(short_time("60s"), Ok(Duration::from_secs(60)));
        assert_eq!(short_time("61s"), Err("more than 0, and not more than 60s".to_owned()));
    }

    #[test]
    fn sizes_are_binary_but_for_what_is_measured_with() {
        assert_eq!(bytes("10MiB"), Ok(10 << 20));
        assert_eq!(bytes("1500"), Ok(1500));
        assert_eq!((bytes("1k"), decimal_bytes("1k")), (Ok(1024), Ok(1000)));
        assert_eq!(decimal_bytes("1K"), Ok(1000));
        assert_eq!((bytes("2G"), rate("3m")), (Ok(2 << 30), Ok(3 << 20)));
        assert_eq!(
            (rate("100MiB"), rate("100")),
            (Ok(100 << 20), Err("a unit is missing: KiB, MiB or GiB".to_owned()))
        );
        assert!(bytes("10MB/s").is_err() && bytes("0").is_err() && bytes("").is_err());
        assert!(decimal_bytes("0").is_err() && decimal_bytes("2G").is_err() && decimal_bytes("k").is_err());
    }

    #[test]
    fn permissions_are_octal() {
        assert_eq!((permissions("0660"), permissions("777")), (Ok(0o660), Ok(0o777)));
        assert!(permissions("0680").is_err() && permissions("1777").is_err() && permissions("rw").is_err());
    }

    #[test]
    fn only_this_host_is_answered() {
        assert!(loopback("127.0.0.1:9104").is_ok() && loopback("[::1]:9104").is_ok());
        assert!(loopback("0.0.0.0:9104").is_err() && loopback("localhost").is_err());
    }

    #[test]
    fn a_directory_may_end_with_a_slash() {
        assert!(pattern("sakila/").unwrap().matches("sakila"));
    }

    #[test]
    fn never_is_no_severity() {
        assert!("never".parse::<FailOn>().unwrap().0.is_none());
        assert_eq!("high".parse::<FailOn>().unwrap().0, Some(Severity::High));
        assert!("hihg".parse::<FailOn>().unwrap_err().ends_with(", never"));
    }
}
