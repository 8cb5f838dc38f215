//! Segments of a few connections. Each is a byte of flags, a byte that moves the sequence number, a byte of length, and the
//! payload.

use std::net::SocketAddr;

use sniff::{FlowTable, Ports, State, Traffic, packet::Segment};

/// First bytes of records of TLS, and of files of age, xbcrypt and openssl, in hexadecimal digits.
const ENCRYPTED: [&str; 5] = ["1603", "1703", "6167652d656e63", "584243525950", "53616c7465645f5f"];

pub(crate) fn run(data: &[u8]) {
    let mut table = FlowTable::new(Ports::usual());
    let (mut rest, mut sequences) = (data, [[0_u32; 2]; 2]);
    while let [flags, step, length, tail @ ..] = rest {
        let (payload, next) = tail.split_at(usize::from(*length).min(tail.len()));
        rest = next;
        let (which, is_to_server) = (usize::from(flags & 1), flags & 2 != 0);
        let client = SocketAddr::from(([10, 0, 0, 1], 40_000 + which as u16));
        let server = SocketAddr::from(([10, 0, 0, 2], [3306, 4567, 4444, 33060][usize::from(flags >> 6)]));
        let (from, to) = if is_to_server { (client, server) } else { (server, client) };
        let sequence = &mut sequences[which][usize::from(is_to_server)];
        // 128 is the next byte; others overlap, or leave a gap.
        *sequence = sequence.wrapping_add(u32::from(*step)).wrapping_sub(128);
        let segment = Segment {
            from,
            to,
            sequence: *sequence,
            syn: flags & 4 != 0,
            ack: flags & 8 != 0,
            fin: flags & 16 != 0,
            rst: flags & 32 != 0,
            payload,
            wire_bytes: payload.len() as u32 + u32::from(*step == 255),
        };
        table.push(jiff::Timestamp::UNIX_EPOCH, &segment);
        *sequence = sequence.wrapping_add(payload.len() as u32);
    }
    let seen = table.finish();
    for row in &seen.traffic {
        assert!(row.evidence.iter().all(|evidence| evidence.bytes.len() <= 32));
        assert!(row.state != State::Encrypted || shows_encryption(row, data), "{row:?}");
    }
}

/// Whether the evidence holds a record header or a magic, and the input the bytes of it.
fn shows_encryption(row: &Traffic, data: &[u8]) -> bool {
    let is_in_data = |digits: &str| {
        let bytes = (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16));
        bytes.flatten().all(|byte| data.contains(&byte))
    };
    let shown = |magic: &&str| row.evidence.iter().any(|evidence| evidence.bytes.starts_with(*magic));
    ENCRYPTED.iter().any(|magic| shown(magic) && is_in_data(magic))
}
