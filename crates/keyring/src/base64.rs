//! Base64, decoded into the memory of a key.

use files::secret::decode_base64;

/// Text of base64 with padding, without line ends.
#[derive(Clone, Copy)]
pub(crate) struct Base64<'a> {
    text: &'a [u8],
    bytes: usize,
}

impl<'a> Base64<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Option<Self> {
        let bytes = decode_base64(text)?.len();
        Some(Self { text, bytes })
    }

    /// Number of bytes that the text encodes.
    pub(crate) const fn bytes(self) -> usize {
        self.bytes
    }

    /// Decodes as many bytes as `out` holds.
    pub(crate) fn decode(self, out: &mut [u8]) {
        let decoded = decode_base64(self.text).unwrap_or_default();
        out.iter_mut().zip(decoded.iter()).for_each(|(to, from)| *to = *from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_with_padding_is_decoded_and_invalid_text_refused() {
        let base64 = Base64::new(b"AP8Q/w==").unwrap();
        let mut out = [1; 4];
        base64.decode(&mut out);
        assert_eq!((base64.bytes(), out), (4, [0, 255, 16, 255]));
        for wrong in [&b"A"[..], b"AP8", b"AP8Q\n", b"AP-_"] {
            assert!(Base64::new(wrong).is_none());
        }
    }
}
