//! Parses integers and strings in untrusted bytes without panicking.

/// A cursor over a received message. A read returns `None` if too few bytes are left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.0
    }

    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_be_bytes)
    }

    pub(crate) fn u16_le(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u16_be(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u24_be(&mut self) -> Option<u32> {
        let [high, middle, low] = self.array()?;
        Some(u32::from_be_bytes([0, high, middle, low]))
    }

    pub(crate) fn u32_le(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// A string that ends with a NUL byte, which is consumed.
    pub(crate) fn until_nul(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let text = self.take(end)?;
        self.take(1)?;
        Some(text)
    }

    /// A TLS vector with a one-byte length (RFC 8446, section 3.4).
    pub(crate) fn vector8(&mut self) -> Option<&'a [u8]> {
        let length = self.u8()?;
        self.take(usize::from(length))
    }

    /// A TLS vector with a two-byte length.
    pub(crate) fn vector16(&mut self) -> Option<&'a [u8]> {
        let length = self.u16_be()?;
        self.take(usize::from(length))
    }

    /// A TLS vector with a three-byte length.
    pub(crate) fn vector24(&mut self) -> Option<&'a [u8]> {
        let length = self.u24_be()?;
        self.take(usize::try_from(length).ok()?)
    }

    /// A length-encoded integer of the MySQL protocol; `None` for the NULL
    /// marker 0xfb and the invalid 0xff as well as for missing bytes.
    pub(crate) fn length_encoded(&mut self) -> Option<u64> {
        match self.u8()? {
            small @ 0..=0xfa => Some(u64::from(small)),
            0xfc => self.u16_le().map(u64::from),
            0xfd => {
                let [low, middle, high] = self.array()?;
                Some(u64::from(u32::from_le_bytes([low, middle, high, 0])))
            }
            0xfe => self.array().map(u64::from_le_bytes),
            _ => None,
        }
    }

    /// A string with a length-encoded length.
    pub(crate) fn length_encoded_string(&mut self) -> Option<&'a [u8]> {
        let length = self.length_encoded()?;
        self.take(usize::try_from(length).ok()?)
    }

    /// The next byte without consuming it.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }

    /// A protobuf varint (at most ten bytes).
    pub(crate) fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for position in 0..10_u32 {
            let byte = self.u8()?;
            let shift = position.checked_mul(7)?;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn length_encoded_integers_follow_the_protocol() {
        assert_eq!(Bytes::new(&[250]).length_encoded(), Some(250));
        assert_eq!(Bytes::new(&[0xfb]).length_encoded(), None);
        assert_eq!(Bytes::new(&[0xfc, 1, 2]).length_encoded(), Some(513));
        assert_eq!(Bytes::new(&[0xfd, 1, 0, 1]).length_encoded(), Some(65_537));
        assert_eq!(Bytes::new(&[0xfe, 1]).length_encoded(), None);
        assert_eq!(Bytes::new(&[0xff, 1]).length_encoded(), None);
    }

    #[test]
    fn a_length_beyond_the_end_is_refused() {
        let all_ones = [0xfe, 255, 255, 255, 255, 255, 255, 255, 255];
        assert_eq!(Bytes::new(&all_ones).length_encoded_string(), None);
        assert_eq!(Bytes::new(&[255, 255, 255]).vector24(), None);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(data: Vec<u8>) {
            let mut bytes = Bytes::new(&data);
            while bytes.varint().is_some() {}
            let mut bytes = Bytes::new(&data);
            while bytes.length_encoded_string().is_some() {}
        }
    }
}
