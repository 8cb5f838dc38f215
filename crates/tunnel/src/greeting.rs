//! The server's first packet, as far as the tunnel parses it.

use server::{
    error_code,
    greeting::{FirstPacket, Greeting, capability},
};

/// Bytes of a packet header: length and sequence number.
pub(crate) const HEADER_BYTES: usize = 4;
/// First byte of an error packet.
const ERROR: u8 = 0xff;
/// First byte of a greeting.
const PROTOCOL_10: u8 = 10;
/// Bytes of a challenge that a password is hashed with.
const CHALLENGE_BYTES: usize = 20;
/// The TLS capability, in the lower half of the capabilities.
const TLS: u16 = {
    let [low, high, ..] = capability::SSL.to_le_bytes();
    u16::from_le_bytes([low, high])
};
/// Bytes between the server's version and the capabilities: thread id, first part of the challenge, a zero.
const BEFORE_CAPABILITIES: usize = 4 + 8 + 1;

/// Whether the server refuses the connection, for example with "Too many connections".
pub(crate) fn is_error(first: &[u8]) -> bool {
    first.get(HEADER_BYTES) == Some(&ERROR)
}

/// Clears the TLS capability, so that clients do not encrypt inside the tunnel.
pub(crate) fn hide_tls(first: &mut [u8]) {
    let Some(capabilities) = capabilities(first) else { return };
    let value = u16::from_le_bytes(*capabilities) & !TLS;
    *capabilities = value.to_le_bytes();
}

/// Source: MySQL's "Protocol::HandshakeV10".
fn capabilities(first: &mut [u8]) -> Option<&mut [u8; 2]> {
    let body = first.get_mut(HEADER_BYTES..)?;
    if body.first() != Some(&PROTOCOL_10) {
        return None;
    }
    let version_end = body.iter().skip(1).position(|byte| *byte == 0)? + 2;
    body.get_mut(version_end + BEFORE_CAPABILITIES..)?.first_chunk_mut()
}

/// The challenge in a greeting's body.
pub(crate) fn challenge(body: &[u8]) -> Option<Vec<u8>> {
    parsed(body).map(|greeting| greeting.challenge).filter(|challenge| challenge.len() == CHALLENGE_BYTES)
}

/// The capabilities in a greeting's body; none if it is malformed.
pub(crate) fn server_capabilities(body: &[u8]) -> u32 {
    parsed(body).map_or(0, |greeting| greeting.capabilities)
}

fn parsed(body: &[u8]) -> Option<Greeting> {
    match server::greeting::parse(body)? {
        FirstPacket::Greeting(greeting) => Some(greeting),
        FirstPacket::Refusal { .. } => None,
    }
}

/// Whether a server offers TLS.
pub(crate) fn offers_tls(first: &mut [u8]) -> bool {
    capabilities(first).is_some_and(|capabilities| u16::from_le_bytes(*capabilities) & TLS != 0)
}

/// An error packet with this sequence number. Number 0 replaces a greeting, for a client that cannot be served.
pub(crate) fn refusal(number: u8, text: &str) -> Vec<u8> {
    let text: String = text.chars().take(400).collect();
    let mut packet = Vec::new();
    put(
        &mut packet,
        number,
        &[&[ERROR], error_code::NET_READ_ERROR.to_le_bytes().as_slice(), text.as_bytes()].concat(),
    );
    packet
}

/// Appends a packet to `out`: length and sequence number, then the body, which is shorter than 16
/// MiB.
pub(crate) fn put(out: &mut Vec<u8>, number: u8, body: &[u8]) {
    let [a, b, c, _] = u32::try_from(body.len()).unwrap_or(0).to_le_bytes();
    out.extend_from_slice(&[a, b, c, number]);
    out.extend_from_slice(body);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The beginning of a greeting of MySQL 9.7.
    fn greeting() -> Vec<u8> {
        let mut packet = vec![0, 0, 0, 0, 10];
        packet.extend_from_slice(b"9.7.4\0");
        packet.extend_from_slice(&[7, 0, 0, 0]);
        packet.extend_from_slice(b"abcdefgh\0");
        packet.extend_from_slice(&[0xff, 0xff, 0xff, 2, 0]);
        packet
    }

    #[test]
    fn only_the_tls_bit_changes() {
        let (before, mut after) = (greeting(), greeting());
        hide_tls(&mut after);
        let changed: Vec<_> = before.iter().zip(&after).enumerate().filter(|(_, (a, b))| a != b).collect();
        assert_eq!(changed, [(before.len() - 4, (&0xff, &0xf7))]);
    }

    #[test]
    fn both_halves_of_the_capabilities_are_read() {
        let rest = [&[0xff, 0xdf, 21], [0; 10].as_slice(), b"ijklmnopqrst\0", b"plugin\0"].concat();
        let packet = [greeting(), rest].concat();
        assert_eq!(server_capabilities(&packet[HEADER_BYTES..]), 0xdfff_ffff);
        assert_eq!(challenge(&packet[HEADER_BYTES..]).unwrap().len(), CHALLENGE_BYTES);
        assert_eq!(server_capabilities(&greeting()[HEADER_BYTES..]), 0, "they are not all there");
        assert_eq!(challenge(&greeting()[HEADER_BYTES..]), None, "it is not all there");
    }

    #[test]
    fn a_refusal_is_sent_as_an_error_packet() {
        let packet = refusal(0, "no far end answers");
        assert!(is_error(&packet) && !is_error(&greeting()));
        assert_eq!(packet[0] as usize, packet.len() - 4);
        assert_eq!(packet[5..7], [0x86, 4]);
    }

    proptest! {
        #[test]
        fn no_bytes_cause_a_panic(mut bytes: Vec<u8>) {
            hide_tls(&mut bytes);
            prop_assert!(!offers_tls(&mut bytes));
            let _ = (is_error(&bytes), server_capabilities(&bytes));
        }
    }
}
