//! The header that a proxy sends before the client's first byte.
//!
//! Source: "The PROXY protocol", versions 1 and 2, of HAProxy.

use super::{Direction, Evidence};

const TEXT: &[u8] = b"PROXY ";
const BINARY: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// Longest header of version 1, with its line end.
const MAX_TEXT_BYTES: usize = 107;

/// What follows the header, and the header's first bytes: its addresses are not evidence.
pub(super) fn strip(to_server: &[u8]) -> (Option<Evidence>, &[u8]) {
    let Some(length) = header_bytes(to_server) else { return (None, to_server) };
    let signature = if to_server.starts_with(TEXT) { TEXT.len() } else { BINARY.len() };
    let seen = Evidence::new(Direction::ToServer, 0, to_server, signature, "header of the PROXY protocol");
    (Some(seen), to_server.get(length..).unwrap_or_default())
}

fn header_bytes(to_server: &[u8]) -> Option<usize> {
    if to_server.starts_with(TEXT) {
        let line = to_server.get(..MAX_TEXT_BYTES).unwrap_or(to_server);
        return Some(line.windows(2).position(|end| end == b"\r\n")?.saturating_add(2));
    }
    let rest = to_server.strip_prefix(BINARY)?;
    let length = u16::from_be_bytes(rest.get(2..4)?.try_into().ok()?);
    Some(usize::from(length).saturating_add(16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_passed_over() {
        let text = b"PROXY TCP4 10.0.0.1 10.0.0.2 40000 3306\r\nrest";
        let binary = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0cabcdefghijklrest";
        for header in [&text[..], binary] {
            let (seen, rest) = strip(header);
            assert_eq!(rest, b"rest");
            assert!(!seen.unwrap().bytes.contains("31302e30"), "no address");
        }
        assert_eq!(strip(b"PROXY ").1, b"PROXY ");
        assert_eq!(strip(b"\x20\0\0\x01").1, b"\x20\0\0\x01");
    }
}
