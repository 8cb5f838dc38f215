//! Dates and times.
//!
//! Source: `my_time.cc` of MySQL: `my_datetime_packed_from_binary` and related functions; the older forms from
//! `field.cc`.

use std::fmt;

use crate::{Fault, bytes::Bytes};

/// A DATE. Month and day may be 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Date {
    /// 0 to 9999.
    pub year: u16,
    /// 0 to 12.
    pub month: u8,
    /// 0 to 31.
    pub day: u8,
}

/// A TIME: up to 838 hours, positive or negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    /// Whether the value is below zero.
    pub negative: bool,
    /// Hours, 0 to 838.
    pub hours: u16,
    /// Minutes, 0 to 59.
    pub minutes: u8,
    /// Seconds, 0 to 59.
    pub seconds: u8,
    /// Microseconds, 0 to 999,999.
    pub microseconds: u32,
    /// Digits of the fraction, 0 to 6.
    pub decimals: u8,
}

/// A DATETIME. Month and day may be 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateTime {
    /// The day; its parts may be 0.
    pub date: Date,
    /// Hours, 0 to 23.
    pub hours: u8,
    /// Minutes, 0 to 59.
    pub minutes: u8,
    /// Seconds, 0 to 59.
    pub seconds: u8,
    /// Microseconds, 0 to 999,999.
    pub microseconds: u32,
    /// Digits of the fraction, 0 to 6.
    pub decimals: u8,
}

/// A TIMESTAMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    /// Seconds since 1970 UTC; 0 is `0000-00-00 00:00:00`. Unsigned since MariaDB 11.5.
    pub seconds: u32,
    /// Microseconds, 0 to 999,999.
    pub microseconds: u32,
    /// Digits of the fraction, 0 to 6.
    pub decimals: u8,
}

/// Splits a number into its lowest `bits` and the rest.
const fn split(number: u64, bits: u32) -> (u64, u64) {
    match (number.checked_shr(bits), 1_u64.checked_shl(bits)) {
        (Some(high), Some(end)) => (high, number & end.wrapping_sub(1)),
        _ => (0, number),
    }
}

fn small<T: TryFrom<u64>>(number: u64) -> Result<T, Fault> {
    T::try_from(number).map_err(|_| Fault::Malformed { what: "date or time" })
}

/// Reads the microseconds of a fraction of `decimals` digits, stored with two digits in each byte.
fn fraction(bytes: &mut Bytes<'_>, decimals: u8) -> Result<u32, Fault> {
    let width = usize::from(decimals).div_ceil(2);
    microseconds(bytes.big(width)?, width)
}

/// Converts a fraction of `width` bytes to microseconds.
fn microseconds(number: u64, width: usize) -> Result<u32, Fault> {
    let unit = match width {
        1 => 10_000,
        2 => 100,
        _ => 1,
    };
    let found = small::<u32>(number.saturating_mul(unit))?;
    if found < 1_000_000 { Ok(found) } else { Err(Fault::Malformed { what: "fraction of a second" }) }
}

impl Date {
    pub(crate) fn read(bytes: &mut Bytes<'_>) -> Result<Self, Fault> {
        let (rest, day) = split(bytes.little(3)?, 5);
        let (year, month) = split(rest, 4);
        Ok(Self { year: small(year)?, month: small(month)?, day: small(day)? })
    }

    /// Parses `YYYYMMDD` in decimal digits.
    fn from_digits(number: u64) -> Result<Self, Fault> {
        Ok(Self { year: small(number / 10_000)?, month: small(number / 100 % 100)?, day: small(number % 100)? })
    }

    /// Parses year · 13 + month in the high bits and the day in the lowest five.
    pub(super) fn from_packed(number: u64) -> Result<Self, Fault> {
        let (month, day) = split(number, 5);
        Ok(Self { year: small(month / 13)?, month: small(month % 13)?, day: small(day)? })
    }
}

impl Time {
    /// Reads `HHMMSS` in decimal digits, with a sign.
    pub(crate) fn read_old(bytes: &mut Bytes<'_>) -> Result<Self, Fault> {
        const SIGN: u64 = 0x80_0000;
        let number = bytes.little(3)?;
        let negative = number & SIGN != 0;
        let digits = if negative { (SIGN << 1).saturating_sub(number) } else { number };
        Ok(Self {
            negative,
            hours: small(digits / 10_000)?,
            minutes: small(digits / 100 % 100)?,
            seconds: small(digits % 100)?,
            microseconds: 0,
            decimals: 0,
        })
    }

    /// Reads ten bits of hours, six of minutes, six of seconds, then the fraction. Negative values are inverted as a
    /// whole, so that the bytes sort like the values.
    pub(crate) fn read(bytes: &mut Bytes<'_>, decimals: u8) -> Result<Self, Fault> {
        let width = usize::from(decimals).div_ceil(2);
        let fraction_bits = u32::try_from(width.saturating_mul(8)).unwrap_or(0);
        let number = bytes.big(width.saturating_add(3))?;
        let zero = 0x80_0000_u64.checked_shl(fraction_bits).unwrap_or(0);
        let negative = number < zero;
        let (whole, fraction) = split(number.abs_diff(zero), fraction_bits);
        Self::from_packed(negative, whole, microseconds(fraction, width)?, decimals)
    }

    pub(super) fn from_packed(negative: bool, whole: u64, microseconds: u32, decimals: u8) -> Result<Self, Fault> {
        let (minutes, seconds) = split(whole, 6);
        let (hours, minutes) = split(minutes, 6);
        let hours = hours & 0x3ff;
        let (hours, minutes, seconds) = (small(hours)?, small(minutes)?, small(seconds)?);
        Ok(Self { negative, hours, minutes, seconds, microseconds, decimals })
    }
}

impl DateTime {
    /// Reads `YYYYMMDDhhmmss` in decimal digits.
    pub(crate) fn read_old(bytes: &mut Bytes<'_>) -> Result<Self, Fault> {
        let number = bytes.u64()?;
        let time = number % 1_000_000;
        Ok(Self {
            date: Date::from_digits(number / 1_000_000)?,
            hours: small(time / 10_000)?,
            minutes: small(time / 100 % 100)?,
            seconds: small(time % 100)?,
            microseconds: 0,
            decimals: 0,
        })
    }

    /// Reads five bytes with the highest bit set: 17 bits of year · 13 + month, five of the day, five, six and six of
    /// the time; then the fraction.
    pub(crate) fn read(bytes: &mut Bytes<'_>, decimals: u8) -> Result<Self, Fault> {
        const ZERO: u64 = 0x80_0000_0000;
        let whole = bytes.big(5)?.checked_sub(ZERO).ok_or_else(|| bytes.malformed())?;
        Self::from_packed(whole, fraction(bytes, decimals)?, decimals)
    }

    pub(super) fn from_packed(whole: u64, microseconds: u32, decimals: u8) -> Result<Self, Fault> {
        let (minutes, seconds) = split(whole, 6);
        let (hours, minutes) = split(minutes, 6);
        let (date, hours) = split(hours, 5);
        let (hours, minutes, seconds) = (small(hours)?, small(minutes)?, small(seconds)?);
        Ok(Self { date: Date::from_packed(date)?, hours, minutes, seconds, microseconds, decimals })
    }
}

impl Timestamp {
    pub(crate) fn read(bytes: &mut Bytes<'_>, decimals: u8) -> Result<Self, Fault> {
        Ok(Self { seconds: small(bytes.big(4)?)?, microseconds: fraction(bytes, decimals)?, decimals })
    }
}

/// Writes `.` and as many digits as the column has; nothing without a fraction.
fn write_fraction(f: &mut fmt::Formatter<'_>, microseconds: u32, decimals: u8) -> fmt::Result {
    let digits = format!("{microseconds:06}");
    match digits.get(..usize::from(decimals)) {
        None | Some("") => Ok(()),
        Some(digits) => write!(f, ".{digits}"),
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.negative { "-" } else { "" };
        write!(f, "{sign}{:02}:{:02}:{:02}", self.hours, self.minutes, self.seconds)?;
        write_fraction(f, self.microseconds, self.decimals)
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:02}:{:02}:{:02}", self.date, self.hours, self.minutes, self.seconds)?;
        write_fraction(f, self.microseconds, self.decimals)
    }
}

/// Prints seconds since 1970 UTC, with the fraction.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.seconds)?;
        write_fraction(f, self.microseconds, self.decimals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(stored: &[u8], decimals: u8) -> String {
        Time::read(&mut Bytes::new(stored, "test"), decimals).unwrap().to_string()
    }

    #[test]
    fn negative_times_are_parsed() {
        // Source: the comment at my_time_packed_from_binary: values around -1 second with two digits.
        assert_eq!(time(&[0x80, 0, 0, 0], 2), "00:00:00.00");
        assert_eq!(time(&[0x7f, 0xff, 0xff, 0xff], 2), "-00:00:00.01");
        assert_eq!(time(&[0x7f, 0xff, 0xff, 0x9d], 2), "-00:00:00.99");
        assert_eq!(time(&[0x7f, 0xff, 0xff, 0x00], 2), "-00:00:01.00");
        assert_eq!(time(&[0x7f, 0xff, 0xfe, 0xff], 2), "-00:00:01.01");
        assert_eq!(time(&[0x7f, 0xff, 0xfe, 0xf6], 2), "-00:00:01.10");
    }

    #[test]
    fn times_of_the_older_format_are_parsed() {
        let old = |stored: &[u8]| Time::read_old(&mut Bytes::new(stored, "test")).unwrap().to_string();
        assert_eq!(old(&8_385_959_u32.to_le_bytes()[..3]), "838:59:59");
        assert_eq!(old(&(-8_385_959_i32).to_le_bytes()[..3]), "-838:59:59");
    }
}
