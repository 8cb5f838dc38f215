//! Messages of MySQL's serialization library, used since 8.3.
//!
//! Source: `libs/mysql/serialization/readme.md` of MySQL. A message has its version, its length, the number of the last
//! field that must not be ignored, and fields with their numbers. A number begins with as many 1 bits, from the lowest
//! bit of its first byte, as further bytes follow.

use crate::{Fault, bytes::Bytes};

/// A message whose head was read.
pub(crate) struct Message<'e> {
    bytes: Bytes<'e>,
}

impl<'e> Message<'e> {
    pub(crate) fn parse(mut bytes: Bytes<'e>) -> Result<Self, Fault> {
        let before = bytes.left();
        let _version = unsigned(&mut bytes)?;
        let length = unsigned(&mut bytes)?;
        let _last_needed_field = unsigned(&mut bytes)?;
        let head = before.saturating_sub(bytes.left());
        let rest = usize::try_from(length).ok().and_then(|length| length.checked_sub(head));
        let rest = rest.ok_or_else(|| bytes.malformed())?;
        Ok(Self { bytes: bytes.part(rest, "serialized message")? })
    }

    /// Number of the next field; its value must be read before the next call.
    pub(crate) fn next_field(&mut self) -> Result<Option<u64>, Fault> {
        if self.bytes.is_empty() { Ok(None) } else { self.unsigned().map(Some) }
    }

    pub(crate) fn unsigned(&mut self) -> Result<u64, Fault> {
        unsigned(&mut self.bytes)
    }

    pub(crate) fn signed(&mut self) -> Result<i64, Fault> {
        signed(&mut self.bytes)
    }

    pub(crate) fn text(&mut self) -> Result<&'e [u8], Fault> {
        text(&mut self.bytes)
    }

    /// An array of bytes, each encoded as a number.
    pub(crate) fn small_numbers<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = u8::try_from(self.unsigned()?).map_err(|_| self.bytes.malformed())?;
        }
        Ok(numbers)
    }
}

/// A number of 1 to 9 bytes.
pub(crate) fn unsigned(bytes: &mut Bytes<'_>) -> Result<u64, Fault> {
    let first = bytes.u8()?;
    let more = first.trailing_ones();
    if more >= 8 {
        return bytes.u64();
    }
    let following = bytes.little(usize::try_from(more).unwrap_or(0))?;
    // The marker consists of `more` ones and a zero; the rest of the first byte are the lowest bits.
    let low_bits = 7_u32.saturating_sub(more);
    let low = u64::from(first).checked_shr(more.saturating_add(1)).unwrap_or(0);
    Ok(following.checked_shl(low_bits).unwrap_or(0) | low)
}

/// Reads a number whose sign is in the lowest bit.
fn signed(bytes: &mut Bytes<'_>) -> Result<i64, Fault> {
    let number = unsigned(bytes)?;
    let magnitude = i64::try_from(number >> 1).unwrap_or(i64::MAX);
    Ok(if number & 1 == 1 { !magnitude } else { magnitude })
}

/// Text preceded by its length.
pub(crate) fn text<'e>(bytes: &mut Bytes<'e>) -> Result<&'e [u8], Fault> {
    let length = unsigned(bytes)?;
    let length = usize::try_from(length).map_err(|_| bytes.malformed())?;
    bytes.take(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_library_are_parsed() {
        // Examples of MySQL's readme: 65535 takes three bytes.
        let read = |bytes: &[u8]| unsigned(&mut Bytes::new(bytes, "test"));
        assert_eq!(read(&[0]), Ok(0));
        assert_eq!(read(&[0xfe]), Ok(127));
        assert_eq!(read(&[0x01, 0x02]), Ok(128));
        assert_eq!(read(&[0b1111_1011, 0xff, 0x07]), Ok(65_535));
        assert_eq!(read(&[0xff, 255, 255, 255, 255, 255, 255, 255, 255]), Ok(u64::MAX));
        assert!(read(&[0x01]).is_err());
        let read = |bytes: &[u8]| signed(&mut Bytes::new(bytes, "test"));
        assert_eq!(read(&[0b100]), Ok(1));
        assert_eq!(read(&[0b010]), Ok(-1));
    }
}
