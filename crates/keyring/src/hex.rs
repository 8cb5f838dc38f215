//! Hexadecimal, decoded directly into the memory of a key.

/// An even number of hexadecimal digits, of either case.
#[derive(Clone, Copy)]
pub(crate) struct Hex<'a>(&'a [u8]);

impl<'a> Hex<'a> {
    pub(crate) fn new(digits: &'a [u8]) -> Option<Self> {
        let valid = digits.len().is_multiple_of(2) && digits.iter().all(u8::is_ascii_hexdigit);
        valid.then_some(Self(digits))
    }

    /// Number of bytes that the digits encode.
    pub(crate) const fn bytes(self) -> usize {
        self.0.len() / 2
    }

    /// Decodes as many bytes as `out` holds.
    pub(crate) fn decode(self, out: &mut [u8]) {
        let (pairs, _) = self.0.as_chunks::<2>();
        for (byte, [high, low]) in out.iter_mut().zip(pairs) {
            *byte = value(*high) << 4 | value(*low);
        }
    }
}

/// The value of a hexadecimal digit, in constant time.
const fn value(digit: u8) -> u8 {
    (digit & 0x0f).wrapping_add((digit >> 6).wrapping_mul(9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_either_case_are_decoded() {
        let hex = Hex::new(b"00097fA0fFaB").unwrap();
        let mut out = [1; 6];
        hex.decode(&mut out);
        assert_eq!((hex.bytes(), out), (6, [0x00, 0x09, 0x7f, 0xa0, 0xff, 0xab]));
        for wrong in [&b"0"[..], b"0g", b" 00", b"\xb0\xb0"] {
            assert!(Hex::new(wrong).is_none());
        }
    }
}
