//! Parts of the classic protocol, for listeners that imitate a server.

use std::io::Read;

/// One packet of the classic protocol.
pub(crate) fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_le_bytes();
    [&length[..3], &[sequence], payload].concat()
}

pub(crate) fn greeting(capabilities: u32, plugin: &str) -> Vec<u8> {
    let [a, b, c, d] = capabilities.to_le_bytes();
    let mut payload = b"\x0a9.9.9\0\x01\0\0\0abcdefgh\0".to_vec();
    payload.extend_from_slice(&[a, b, 45, 2, 0, c, d, 21]);
    payload.extend_from_slice(&[0; 10]);
    payload.extend_from_slice(b"ijklmnopqrst\0");
    payload.extend_from_slice(plugin.as_bytes());
    payload.push(0);
    packet(0, &payload)
}

pub(crate) const PLAIN: u32 = 0x0008_8201;
pub(crate) const WITH_TLS: u32 = 0x0008_8a01;

/// Reads one packet, as an honest server would.
pub(crate) fn receive(stream: &mut impl Read) -> Vec<u8> {
    let mut header = [0; 4];
    if stream.read_exact(&mut header).is_err() {
        return Vec::new();
    }
    let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
    let mut payload = vec![0; usize::try_from(length).unwrap()];
    let _ = stream.read_exact(&mut payload);
    payload
}
