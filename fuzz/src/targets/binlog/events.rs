//! A log's events, with their checksums made right: every event, row, value and compressed transaction is read.

use binlog::{Body, Decoder, Limits, Value, event::Rows};
use crc_fast::{CrcAlgorithm::Crc32IsoHdlc, checksum};

const LIMITS: Limits = Limits { event_bytes: 1 << 20, table_bytes: 1 << 20, window_log: 20 };

pub(crate) fn run(log: &[u8]) {
    let mut decoder = Decoder::new(LIMITS);
    let mut rest = log.strip_prefix(b"\xfebin").unwrap_or(log).to_vec();
    while let Some(length) = rest.get(9..13).and_then(|bytes| bytes.try_into().ok()) {
        let length = u32::from_le_bytes(length) as usize;
        if length < 19 || length > rest.len() {
            break;
        }
        let behind = rest.split_off(length);
        repair(&mut rest);
        if let Ok(event) = decoder.decode(&rest) {
            match event.body {
                Body::Rows(rows) => read(&rows),
                Body::Query(query) => drop(query.variables()),
                Body::Payload(payload) => {
                    let mut events = payload.events(&LIMITS).expect("a decompressor can be made");
                    while let Ok(Some(event)) = events.next_event() {
                        if let Ok(event) = decoder.decode_inside(event)
                            && let Body::Rows(rows) = event.body
                        {
                            read(&rows);
                        }
                    }
                }
                _ => {}
            }
        }
        rest = behind;
    }
}

/// Makes the checksum right, where the event has room for one.
fn repair(event: &mut [u8]) {
    let Some(end) = event.len().checked_sub(4).filter(|end| *end >= 19) else { return };
    let in_use = u8::from(event[4] == 15) & event[17] & 1;
    event[17] ^= in_use;
    let sum = checksum(Crc32IsoHdlc, &event[..end]) as u32;
    event[17] |= in_use;
    event[end..].copy_from_slice(&sum.to_le_bytes());
}

fn read(rows: &Rows<'_>) {
    let Ok(changes) = rows.changes() else { return };
    for change in changes {
        let Ok(change) = change else { break };
        for value in change.before.iter().chain(&change.after).flatten().flatten() {
            match value {
                Value::Json(json) => drop(json.text()),
                Value::JsonChanges(changes) => changes.iter().flatten().for_each(|change| drop(change.text())),
                Value::Compressed(column) => drop(column.decompress(LIMITS.event_bytes)),
                Value::Decimal(decimal) => drop(decimal.to_string()),
                Value::Time(time) => drop(time.to_string()),
                Value::DateTime(time) => drop(time.to_string()),
                _ => {}
            }
        }
    }
}
