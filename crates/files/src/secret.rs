//! Base64 of secrets (RFC 4648, section 4), in memory that is wiped.

use data_encoding::BASE64;
use zeroize::Zeroizing;

/// Decodes text with padding and without line ends. `None` if it is anything else.
#[must_use]
pub fn decode_base64(text: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(vec![0; BASE64.decode_len(text.len()).ok()?]);
    let length = BASE64.decode_mut(text, &mut bytes).ok()?;
    bytes.truncate(length);
    Some(bytes)
}

/// Text with padding, on one line.
#[must_use]
pub fn encode_base64(bytes: &[u8]) -> Zeroizing<String> {
    // The library allocates the whole text at once, so that no copy is left behind.
    Zeroizing::new(BASE64.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_with_padding_is_decoded_and_invalid_text_refused() {
        let bytes = [0, 255, 16, 255];
        assert_eq!(encode_base64(&bytes).as_str(), "AP8Q/w==");
        assert_eq!(decode_base64(b"AP8Q/w==").unwrap().as_slice(), bytes);
        for wrong in [&b"A"[..], b"AP8", b"AP8Q\n", b"AP-_", b"AP8Q/x=="] {
            assert!(decode_base64(wrong).is_none(), "{wrong:?}");
        }
    }
}
