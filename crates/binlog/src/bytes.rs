//! Parses integers and strings in untrusted bytes without panicking.

use std::io::Read;

use crate::Fault;

/// Reads a stream that must have exactly `length` bytes.
pub(crate) fn read_exactly(stream: impl Read, length: u64, what: &'static str) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::new();
    let read = stream.take(length.saturating_add(1)).read_to_end(&mut out);
    if read.is_err() || as_u64(out.len()) != length { Err(Fault::Compression { what }) } else { Ok(out) }
}

/// A cursor over a part of an event. A read fails if there are too few bytes; the fault names the part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> Bytes<'a> {
    pub(crate) const fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { rest: bytes, what }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) const fn left(&self) -> usize {
        self.rest.len()
    }

    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) const fn malformed(&self) -> Fault {
        Fault::Malformed { what: self.what }
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Fault::Short { what: self.what })?;
        self.rest = rest;
        Ok(taken)
    }

    /// The next `count` bytes as a separate cursor.
    pub(crate) fn part(&mut self, count: usize, what: &'static str) -> Result<Self, Fault> {
        Ok(Self { rest: self.take(count)?, what })
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| Fault::Short { what: self.what })
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Fault> {
        self.array().map(u8::from_le_bytes)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Fault> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Fault> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Fault> {
        self.array().map(u64::from_le_bytes)
    }

    /// A little-endian number of `count` bytes, at most 8.
    pub(crate) fn little(&mut self, count: usize) -> Result<u64, Fault> {
        let taken = self.take(count)?;
        Ok(taken.iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte)))
    }

    /// A big-endian number of `count` bytes, at most 8.
    pub(crate) fn big(&mut self, count: usize) -> Result<u64, Fault> {
        Ok(big(self.take(count)?))
    }

    /// A length-encoded integer of the MySQL protocol.
    pub(crate) fn length_encoded(&mut self) -> Result<u64, Fault> {
        match self.u8()? {
            small @ 0..=0xfa => Ok(u64::from(small)),
            0xfc => self.little(2),
            0xfd => self.little(3),
            0xfe => self.little(8),
            _ => Err(self.malformed()),
        }
    }

    /// A length-encoded integer that counts something in memory.
    pub(crate) fn count(&mut self) -> Result<usize, Fault> {
        let count = self.length_encoded()?;
        usize::try_from(count).map_err(|_| self.malformed())
    }

    /// Bytes preceded by their length-encoded length.
    pub(crate) fn counted(&mut self) -> Result<&'a [u8], Fault> {
        let count = self.count()?;
        self.take(count)
    }

    /// Bytes preceded by their length in `width` bytes.
    pub(crate) fn prefixed(&mut self, width: usize) -> Result<&'a [u8], Fault> {
        let count = self.little(width)?;
        self.take(usize::try_from(count).map_err(|_| self.malformed())?)
    }

    /// Bytes up to a NUL, which is consumed.
    pub(crate) fn until_nul(&mut self) -> Result<&'a [u8], Fault> {
        let end = self.rest.iter().position(|byte| *byte == 0).ok_or(Fault::Short { what: self.what })?;
        let text = self.take(end)?;
        self.take(1)?;
        Ok(text)
    }
}

/// A big-endian number; only the last 8 bytes count.
pub(crate) fn big(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

/// Converts a length in memory to a number of the format.
pub(crate) fn as_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Converts a length of the format to one in memory, saturating.
pub(crate) fn as_usize(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_beyond_the_end_are_faults() {
        let short = Fault::Short { what: "test" };
        assert_eq!(Bytes::new(&[0xfe, 255, 255, 255, 255, 255, 255, 255, 127], "test").counted(), Err(short.clone()));
        assert_eq!(Bytes::new(&[4, 0, 1], "test").prefixed(2), Err(short));
        assert_eq!(Bytes::new(&[0xfb], "test").length_encoded(), Err(Fault::Malformed { what: "test" }));
    }

    #[test]
    fn numbers_of_both_byte_orders_are_read() {
        assert_eq!(Bytes::new(&[1, 2, 3], "test").little(3), Ok(0x03_02_01));
        assert_eq!(Bytes::new(&[1, 2, 3], "test").big(3), Ok(0x01_02_03));
        assert_eq!(Bytes::new(&[0xfd, 1, 0, 1], "test").length_encoded(), Ok(65_537));
    }
}
