//! Damaged events: never a panic, whatever the bytes are. The logs are the corpus of the fuzz target `binlog_events`.

#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "support/chance.rs"]
mod chance;

use std::{collections::BTreeSet, env, fs, path::PathBuf};

use binlog::{Body, Checksum, Decoder, EventHeader, EventType, Fault, Limits, LogFile, Value, event::Rows};
use chance::Chance;
use innodb::keys::NoKeys;

/// Limits so low that the test exceeds them.
const LIMITS: Limits = Limits { event_bytes: 1 << 20, table_bytes: 1 << 16, window_log: 23 };

fn logs() -> Vec<(String, Vec<u8>)> {
    let corpus = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/binlog_events");
    let mut found: Vec<_> = fs::read_dir(corpus)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    found.sort();
    assert!(found.len() >= 7);
    found
}

/// The events of a log.
fn split(log: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = &log[4..];
    let mut events = Vec::new();
    while !rest.is_empty() {
        let bytes = EventHeader::parse(rest).unwrap().event_bytes as usize;
        events.push(rest[..bytes].to_vec());
        rest = &rest[bytes..];
    }
    events
}

/// Decodes an event and all values in it.
fn read(decoder: &mut Decoder, event: &[u8]) -> Result<usize, Fault> {
    let mut values = 0;
    match decoder.decode(event)?.body {
        Body::Rows(rows) => values += read_rows(&rows)?,
        Body::Query(query) => assert!(query.variables().complete || !query.status.is_empty()),
        Body::Payload(payload) => {
            let mut events = payload.events(&LIMITS)?;
            while let Some(event) = events.next_event()? {
                if let Body::Rows(rows) = decoder.decode_inside(event)?.body {
                    values += read_rows(&rows)?;
                }
            }
        }
        _ => {}
    }
    Ok(values)
}

fn read_rows(rows: &Rows<'_>) -> Result<usize, Fault> {
    let mut values = 0;
    for change in rows.changes()? {
        let change = change?;
        for value in change.before.iter().chain(&change.after).flatten().flatten() {
            values += 1;
            match value {
                Value::Json(json) => drop(json.text()?),
                Value::JsonChanges(changes) => {
                    for change in changes.iter() {
                        change?.text()?;
                    }
                }
                Value::Compressed(column) => drop(column.decompress(LIMITS.event_bytes)?),
                other => drop(format!("{other:?}")),
            }
        }
    }
    Ok(values)
}

#[test]
fn sound_logs_are_read_completely() {
    let mut kinds = BTreeSet::new();
    for (name, log) in logs() {
        let mut decoder = Decoder::new(LIMITS);
        let mut values = 0;
        for event in split(&log) {
            values += read(&mut decoder, &event).unwrap_or_else(|fault| panic!("{name}: {fault}"));
            kinds.insert(EventHeader::parse(&event).unwrap().kind);
        }
        assert!(values > 50, "{name}: {values} values");
        let mut file = LogFile::open(log.as_slice(), &NoKeys, LIMITS).unwrap();
        while file.next_event().unwrap().is_some() {}
        assert_eq!(file.position(), log.len() as u64);
    }
    for kind in [EventType::TRANSACTION_PAYLOAD, EventType::PARTIAL_UPDATE_ROWS, EventType::WRITE_ROWS_COMPRESSED_V1] {
        assert!(kinds.contains(&kind), "{kind}");
    }
}

/// Every changed byte of an event is noticed by its checksum.
#[test]
fn a_changed_byte_is_a_wrong_checksum() {
    for (name, log) in logs().into_iter().filter(|(name, _)| !name.ends_with("no-checksum")) {
        let events = split(&log);
        let mut decoder = Decoder::new(LIMITS);
        decoder.decode(&events[0]).unwrap();
        assert_eq!(decoder.format().unwrap().checksum, Checksum::Crc32);
        for event in events.iter().skip(1).take(40) {
            for at in (0..event.len()).filter(|at| !(9..13).contains(at)) {
                let mut damaged = event.clone();
                damaged[at] ^= 0x20;
                let is_description = damaged[4] == EventType::FORMAT_DESCRIPTION.0;
                let fault = decoder.decode(&damaged).err();
                assert!(is_description || matches!(fault, Some(Fault::Checksum { .. })), "{name} {at}: {fault:?}");
            }
        }
    }
}

/// Mutated events with right checksums decode to a fault or to another event. `SEALANT_MUTATIONS` is their number.
#[test]
fn mutated_events_never_panic() {
    let mutations: u64 = env::var("SEALANT_MUTATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000);
    let seed = env::var("SEALANT_FAULT_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(9);
    let mut chance = Chance(seed);
    let logs: Vec<Vec<Vec<u8>>> = logs().iter().map(|(_, log)| split(log)).collect();
    let (mut sound, mut faulty) = (0_u64, 0_u64);
    for _ in 0..mutations / 100 {
        let events = chance.choose(&logs);
        let mut decoder = Decoder::new(LIMITS);
        let mut left = 100_u64;
        while left > 0 {
            for event in events {
                // Most events stay, so that rows find their tables.
                let mutated = if chance.below(3) == 0 { mutate(event, &mut chance) } else { event.clone() };
                match read(&mut decoder, &mutated) {
                    Ok(_) => sound += 1,
                    Err(_) => faulty += 1,
                }
                left = left.saturating_sub(u64::from(mutated != *event));
            }
        }
    }
    assert!(faulty > mutations / 10 && sound > mutations / 10, "{sound} sound, {faulty} faulty");
}

fn mutate(event: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut event = event.to_vec();
    for _ in 0..=chance.below(3) {
        let at = 19 + chance.below(event.len() as u64 - 19) as usize;
        match chance.below(5) {
            0 => event[at] ^= 1 << chance.below(8),
            1 => event[at] = chance.number() as u8,
            2 => event[at] = *chance.choose(&[0, 0xff, 0xfb, 0xfc, 0xfd, 0xfe, 0x7f, 0x80]),
            3 if at + 1 < event.len() && event.len() > 30 => drop(event.remove(at)),
            _ => event.insert(at, chance.number() as u8),
        }
    }
    let bytes = u32::try_from(event.len()).unwrap();
    event[9..13].copy_from_slice(&bytes.to_le_bytes());
    repair(&mut event);
    event
}

/// Computes the checksum of a changed event.
fn repair(event: &mut [u8]) {
    let end = event.len() - 4;
    let in_use = u8::from(event[4] == EventType::FORMAT_DESCRIPTION.0) & event[17] & 1;
    event[17] ^= in_use;
    let sum = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32IsoHdlc, &event[..end]);
    event[17] |= in_use;
    event[end..].copy_from_slice(&u32::try_from(sum).unwrap().to_le_bytes());
}
