//! The server's first packet, as far as the tunnel parses it.

/// Bytes of a packet header: length and sequence number.
pub(crate) const HEADER_BYTES: usize = 4;
/// First byte of an error packet.
const ERROR: u8 = 0xff;
/// First byte of a greeting.
const PROTOCOL_10: u8 = 10;
/// `CLIENT_SSL`, in the lower half of the capabilities.
const CLIENT_SSL: u16 = 0x0800;
/// Thread id, first part of the challenge, a zero.
const BEFORE_CAPABILITIES: usize = 4 + 8 + 1;
/// `ER_NET_READ_ERROR`. Clients use 2003 themselves and do not accept it from a server.
const CANNOT_CONNECT: u16 = 1158;

/// Whether the server refuses the connection, for example with "Too many connections".
pub(crate) fn is_error(first: &[u8]) -> bool {
    first.get(HEADER_BYTES) == Some(&ERROR)
}

/// Clears the TLS capability, so that clients do not encrypt inside the tunnel.
pub(crate) fn hide_tls(first: &mut [u8]) {
    let Some(capabilities) = capabilities(first) else { return };
    let value = u16::from_le_bytes(*capabilities) & !CLIENT_SSL;
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

/// The challenge in a greeting's body: two parts, the second one with a terminating zero.
pub(crate) fn challenge(body: &[u8]) -> Option<Vec<u8>> {
    /// After the first part: a zero, capabilities and status, the challenge's length, ten reserved
    /// bytes.
    const BETWEEN: usize = 1 + 2 + 1 + 2 + 2 + 1 + 10;
    if body.first() != Some(&PROTOCOL_10) {
        return None;
    }
    let version_end = body.iter().skip(1).position(|byte| *byte == 0)? + 2;
    let first = version_end + 4;
    let second = first + 8 + BETWEEN;
    Some([body.get(first..first + 8)?, body.get(second..second + 12)?].concat())
}

/// The capabilities in a greeting's body: one half, collation and status, the other half.
pub(crate) fn offers(body: &[u8]) -> u32 {
    let version_end = body.iter().skip(1).position(|byte| *byte == 0).map_or(body.len(), |end| end + 2);
    match body.get(version_end + BEFORE_CAPABILITIES..).and_then(<[u8]>::first_chunk) {
        Some([a, b, _, _, _, c, d]) => u32::from_le_bytes([*a, *b, *c, *d]),
        None => 0,
    }
}

/// Whether a server offers TLS.
pub(crate) fn offers_tls(first: &mut [u8]) -> bool {
    capabilities(first).is_some_and(|capabilities| u16::from_le_bytes(*capabilities) & CLIENT_SSL != 0)
}

/// An error packet with this sequence number. Number 0 replaces a greeting, for a client that cannot be served.
pub(crate) fn refusal(number: u8, text: &str) -> Vec<u8> {
    let text: String = text.chars().take(400).collect();
    let mut packet = Vec::new();
    put(&mut packet, number, &[&[ERROR], CANNOT_CONNECT.to_le_bytes().as_slice(), text.as_bytes()].concat());
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
    fn only_the_bit_of_tls_changes() {
        let (before, mut after) = (greeting(), greeting());
        hide_tls(&mut after);
        let changed: Vec<_> = before.iter().zip(&after).enumerate().filter(|(_, (a, b))| a != b).collect();
        assert_eq!(changed, [(before.len() - 4, (&0xff, &0xf7))]);
    }

    #[test]
    fn both_halves_of_the_capabilities_are_read() {
        let packet = [greeting(), vec![0xff, 0xdf]].concat();
        assert_eq!(offers(&packet[HEADER_BYTES..]), 0xdfff_ffff);
        assert_eq!(offers(&greeting()[HEADER_BYTES..]), 0, "they are not all there");
    }

    #[test]
    fn a_refusal_is_an_error_packet() {
        let packet = refusal(0, "no far end answers");
        assert!(is_error(&packet) && !is_error(&greeting()));
        assert_eq!(packet[0] as usize, packet.len() - 4);
        assert_eq!(packet[5..7], [0x86, 4]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(mut bytes: Vec<u8>) {
            hide_tls(&mut bytes);
            prop_assert!(!offers_tls(&mut bytes));
            let _ = (is_error(&bytes), offers(&bytes));
        }
    }
}
