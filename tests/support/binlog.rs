//! Changes binary logs on purpose.

use std::fs;
use std::path::Path;

/// Removes the event `Previous_gtids` (type 35) from a plaintext binary log.
pub(crate) fn remove_previous_gtids(path: &Path) {
    let log = fs::read(path).expect("a log");
    let (magic, mut events) = log.split_at(4);
    let mut kept = magic.to_vec();
    let mut removed = 0;
    while let Some(header) = events.first_chunk::<19>() {
        let size = u32::from_le_bytes([header[9], header[10], header[11], header[12]]) as usize;
        let (event, rest) = events.split_at(size);
        if header[4] == 35 {
            removed += 1;
        } else {
            kept.extend_from_slice(event);
        }
        events = rest;
    }
    assert_eq!(removed, 1, "a log has one such event");
    fs::write(path, kept).expect("written");
}

/// Moves the GTID event of the first transaction before `Previous_gtids` in a plaintext binary log, as MySQL 9.7.4
/// itself does after some crashes. Everything else in both events is correct.
pub(crate) fn put_gtid_first(path: &Path) {
    let mut log = fs::read(path).expect("a log");
    let length =
        |log: &[u8], at: usize| u32::from_le_bytes(log[at + 9..at + 13].try_into().expect("four bytes")) as usize;
    let previous = 4 + length(&log, 4);
    let gtid = previous + length(&log, previous);
    let end = gtid + length(&log, gtid);
    assert_eq!(log[previous + 4], 35, "Previous_gtids follows the description of the format");
    log[previous..end].rotate_left(gtid - previous);
    let mut at = previous;
    while at < end {
        let next = at + length(&log, at);
        log[at + 13..at + 17].copy_from_slice(&u32::try_from(next).expect("a short log").to_le_bytes());
        let mut sum = flate2::Crc::new();
        sum.update(&log[at..next - 4]);
        log[next - 4..next].copy_from_slice(&sum.sum().to_le_bytes());
        at = next;
    }
    fs::write(path, log).expect("written");
}
