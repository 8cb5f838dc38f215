//! DECIMAL.
//!
//! Source: `bin2decimal` in `decimal.cc` of MySQL: groups of nine digits in four bytes, shorter groups in fewer bytes,
//! big-endian. The highest bit is inverted; for negative numbers all bits are.

use std::fmt;

use crate::{
    Fault,
    bytes::{Bytes, big},
};

/// Number of digits of a whole group.
const GROUP_DIGITS: u8 = 9;
/// Number of bytes of groups of 0 to 9 digits.
const GROUP_BYTES: [u8; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

/// A DECIMAL, as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal<'r> {
    stored: &'r [u8],
    precision: u8,
    scale: u8,
}

/// Numbers of integer and fractional digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Digits {
    whole: u8,
    fraction: u8,
}

impl<'r> Decimal<'r> {
    pub(crate) fn read(bytes: &mut Bytes<'r>, precision: u8, scale: u8) -> Result<Self, Fault> {
        let digits = Digits { whole: precision.saturating_sub(scale), fraction: scale };
        let length = digits.groups().map(group_bytes).fold(0_usize, usize::saturating_add);
        let decimal = Self { stored: bytes.take(length)?, precision, scale };
        // Each group is less than the power of ten with its number of digits.
        let fits = decimal.groups().all(|(number, digits)| number < 10_u64.pow(u32::from(digits)));
        if fits { Ok(decimal) } else { Err(Fault::Malformed { what: "decimal" }) }
    }

    /// Total number of digits.
    #[must_use]
    pub const fn precision(&self) -> u8 {
        self.precision
    }

    /// Number of fractional digits.
    #[must_use]
    pub const fn scale(&self) -> u8 {
        self.scale
    }

    /// Whether the value is below zero.
    #[must_use]
    pub(crate) fn is_negative(&self) -> bool {
        self.stored.first().is_some_and(|first| first & 0x80 == 0)
    }

    fn digits(&self) -> Digits {
        Digits { whole: self.precision.saturating_sub(self.scale), fraction: self.scale }
    }

    /// The groups with their numbers of digits, from the left.
    fn groups(&self) -> impl Iterator<Item = (u64, u8)> {
        let mask = if self.is_negative() { 0xff } else { 0 };
        let mut rest = self.stored;
        let mut first = true;
        self.digits().groups().map(move |digits| {
            let (group, behind) = rest.split_at_checked(group_bytes(digits)).unwrap_or((rest, &[]));
            rest = behind;
            let mut bytes = [0; 4];
            bytes.iter_mut().zip(group).for_each(|(to, from)| *to = from ^ mask);
            if let ([top, ..], true) = (&mut bytes, first && !group.is_empty()) {
                *top ^= 0x80;
            }
            first = first && group.is_empty();
            (big(bytes.get(..group.len()).unwrap_or_default()), digits)
        })
    }
}

impl Digits {
    /// Number of digits of each group, from the left. The first integer group and the last fractional group may be
    /// shorter.
    fn groups(self) -> impl Iterator<Item = u8> {
        let whole = std::iter::repeat_n(GROUP_DIGITS, usize::from(self.whole / GROUP_DIGITS));
        let fraction = std::iter::repeat_n(GROUP_DIGITS, usize::from(self.fraction / GROUP_DIGITS));
        let part = |digits: u8| Some(digits % GROUP_DIGITS).filter(|part| *part > 0);
        part(self.whole).into_iter().chain(whole).chain(fraction).chain(part(self.fraction))
    }
}

fn group_bytes(digits: u8) -> usize {
    GROUP_BYTES.get(usize::from(digits)).copied().map_or(0, usize::from)
}

/// Prints as the server does: no leading zeros, all fractional digits.
impl fmt::Display for Decimal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = String::with_capacity(usize::from(self.precision));
        for (number, width) in self.groups() {
            let width = usize::from(width);
            digits.push_str(&format!("{number:0width$}"));
        }
        let (whole, fraction) = digits.split_at_checked(usize::from(self.digits().whole)).unwrap_or((&digits, ""));
        let whole = whole.trim_start_matches('0');
        let sign = if self.is_negative() { "-" } else { "" };
        let point = if fraction.is_empty() { "" } else { "." };
        let whole = if whole.is_empty() { "0" } else { whole };
        write!(f, "{sign}{whole}{point}{fraction}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(stored: &[u8], precision: u8, scale: u8) -> String {
        Decimal::read(&mut Bytes::new(stored, "test"), precision, scale).unwrap().to_string()
    }

    #[test]
    fn the_example_of_the_source_is_printed() {
        // 1234567890.1234 in DECIMAL(14,4).
        assert_eq!(text(&[0x81, 0x0d, 0xfb, 0x38, 0xd2, 0x04, 0xd2], 14, 4), "1234567890.1234");
        assert_eq!(text(&[0x7e, 0xf2, 0x04, 0xc7, 0x2d, 0xfb, 0x2d], 14, 4), "-1234567890.1234");
    }

    #[test]
    fn small_decimals_are_printed() {
        assert_eq!(text(&[0x80], 1, 0), "0");
        assert_eq!(text(&[0x80, 0x05], 3, 2).as_str(), "0.05");
        assert_eq!(text(&[0x7f, 0xfa], 3, 2).as_str(), "-0.05");
        assert_eq!(text(&[0x85], 1, 1).as_str(), "0.5");
    }

    #[test]
    fn a_group_with_too_many_digits_is_malformed() {
        let stored = [0xff];
        assert!(Decimal::read(&mut Bytes::new(&stored, "test"), 1, 0).is_err());
    }
}
