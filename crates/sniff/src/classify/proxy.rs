//! Parses the header that a proxy sends before the client's first byte.
//!
//! Source: "The PROXY protocol", versions 1 and 2, of HAProxy.

use super::{Direction, Evidence};

const TEXT: &[u8] = b"PROXY ";
const BINARY: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// Longest header of version 1, with its line end.
const MAX_TEXT_BYTES: usize = 107;

/// The signature of the header as evidence, without the addresses, and the length of the header. If its end was not
/// captured, all bytes belong to it.
pub(super) fn header(to_server: &[u8]) -> Option<(Evidence, usize)> {
    let (signature, length) = text(to_server).or_else(|| binary(to_server))?;
    let seen = Evidence::new(Direction::ToServer, 0, to_server, signature, "header of the PROXY protocol");
    Some((seen, length.unwrap_or(to_server.len()).min(to_server.len())))
}

/// Version 1: length of the signature, and of the header if its end was captured.
fn text(to_server: &[u8]) -> Option<(usize, Option<usize>)> {
    if !begins(to_server, TEXT) {
        return None;
    }
    let line = to_server.get(..MAX_TEXT_BYTES).unwrap_or(to_server);
    let end = line.windows(2).position(|end| end == b"\r\n").map(|at| at.saturating_add(2));
    (end.is_some() || line.len() < MAX_TEXT_BYTES).then_some((TEXT.len(), end))
}

/// As [`text`], for version 2.
fn binary(to_server: &[u8]) -> Option<(usize, Option<usize>)> {
    if !begins(to_server, BINARY) {
        return None;
    }
    let length = to_server.get(14..16).and_then(|length| length.first_chunk().copied()).map(u16::from_be_bytes);
    Some((BINARY.len(), length.map(|length| usize::from(length).saturating_add(16))))
}

/// Whether the bytes begin with a signature, or with the captured part of one.
fn begins(bytes: &[u8], signature: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().zip(signature).all(|(one, other)| one == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_passed_over() {
        let text = b"PROXY TCP4 10.0.0.1 10.0.0.2 40000 3306\r\nrest";
        let binary = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0cabcdefghijklrest";
        for bytes in [&text[..], binary] {
            let (seen, length) = header(bytes).unwrap();
            assert_eq!(bytes.get(length..), Some(&b"rest"[..]));
            assert!(!seen.bytes.contains("31302e30"), "no address");
            for end in 1..length {
                assert_eq!(header(&bytes[..end]).map(|(_, length)| length), Some(end));
            }
        }
        assert_eq!(header(b"\x20\0\0\x01"), None);
        assert_eq!(header(&[&b"PROXY "[..], &[b'x'; MAX_TEXT_BYTES]].concat()), None, "no line end");
    }
}
