//! Segments of a few connections. Each is a byte of flags, a byte that moves the sequence number, a byte of length, and the
//! payload.

#![no_main]

use std::net::SocketAddr;

use libfuzzer_sys::fuzz_target;
use sniff::{FlowTable, Ports, packet::Segment};

fuzz_target!(|data: &[u8]| {
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
    }
});
