//! Binary and relay logs: every sample is proven, every damage is reported with its layer, and encryption is
//! deterministic. Logs of live servers show no false damage.
#![allow(clippy::unwrap_used, reason = "what fails in a helper is a failed test as well")]

mod common;

use std::{cell::Cell, io};

use common::{SampleKeys, sample};
use crc_fast::crc32_iso_hdlc;
use files::ReadAt;
use innodb::{
    KeyVersion, MasterKeyId, ScanError,
    crypt::binlog::{EventMode, MariaDbEvents, MySqlHeader, MySqlStream},
    keys::{KeySource, NoKeys},
    verify::{Check, FileReport, RequiredKey, Verdict, binlog},
};
use proptest::prelude::*;
use zeroize::Zeroizing;

const CLEAR: &str = "mysql97-clear";
const MYSQL: &str = "mysql97-encrypted-13-events";
const CBC: &str = "mariadb1011-encrypted-14-events";
const CTR: &str = "mariadb1011-encrypted-ctr";
/// Name, events, and number of encrypted ones.
const SAMPLES: [(&str, u64, u64); 7] = [
    (CLEAR, 14, 0),
    ("mysql97-encrypted-83-events", 83, 83),
    (MYSQL, 13, 13),
    ("mysql97-encrypted-7-events", 7, 7),
    ("mariadb1011-encrypted-84-events", 84, 82),
    (CBC, 14, 12),
    (CTR, 25, 23),
];

fn log(name: &str) -> Vec<u8> {
    sample(&format!("binlog/{name}"))
}

fn keys(name: &str) -> SampleKeys {
    if name == CTR { SampleKeys::key_file("mariadb1011-ctr-keyfile") } else { common::keys_of(name) }
}

fn verify(bytes: &[u8], keys: &dyn KeySource) -> FileReport {
    let report = binlog::verify(&bytes, keys).unwrap();
    let units = report.units;
    assert_eq!(units.total, units.encrypted + units.clear + units.empty + units.bad);
    report
}

fn checks(report: &FileReport) -> Vec<(Option<u64>, Check)> {
    report.findings.iter().map(|finding| (finding.unit, finding.check)).collect()
}

/// Damages a sample and compares verdict and findings.
fn assert_damage(name: &str, damage: impl FnOnce(&mut Vec<u8>), verdict: Verdict, expected: &[(Option<u64>, Check)]) {
    let mut bytes = log(name);
    damage(&mut bytes);
    let report = verify(&bytes, &keys(name));
    assert_eq!((report.verdict, checks(&report).as_slice()), (verdict, expected), "{name}: {:?}", report.findings);
}

fn flip(at: usize) -> impl FnOnce(&mut Vec<u8>) {
    move |bytes| bytes[at] ^= 0x41
}

/// Offset and length of every event; lengths are readable in all logs except MySQL's encrypted ones.
fn events(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 4;
    while at < bytes.len() {
        let length = u32::from_le_bytes(bytes[at + 9..at + 13].try_into().unwrap()) as usize;
        found.push((at, length));
        at += length;
    }
    found
}

fn mysql_stream(name: &str, bytes: &[u8]) -> MySqlStream {
    let header = MySqlHeader::parse(bytes).unwrap();
    header.unwrap(&keys(name).mysql(&header.key_name).unwrap()).unwrap()
}

/// Changes the clear content of an encrypted MySQL log.
fn inside(change: impl FnOnce(&mut Vec<u8>)) -> impl FnOnce(&mut Vec<u8>) {
    |bytes| {
        let stream = mysql_stream(MYSQL, bytes);
        let mut clear = bytes.split_off(512);
        stream.apply(0, &mut clear).unwrap();
        change(&mut clear);
        stream.apply(0, &mut clear).unwrap();
        bytes.extend(clear);
    }
}

fn mariadb_events(name: &str, bytes: &[u8], mode: EventMode) -> MariaDbEvents {
    let (start, _) = events(bytes)[1];
    let key = keys(name).mariadb(1, KeyVersion(1)).unwrap();
    MariaDbEvents::new(&key, bytes[start + 24..start + 36].try_into().unwrap(), mode).unwrap()
}

/// Recomputes the checksum of an event.
fn sum(event: &mut [u8]) {
    let body = event.len() - 4;
    let sum = crc32_iso_hdlc(&event[..body]).to_le_bytes();
    event[body..].copy_from_slice(&sum);
}

/// The head of a log: its magic and its format description event.
fn head(name: &str, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut bytes = log(name);
    let (at, length) = events(&bytes)[0];
    bytes.truncate(at + length);
    let event = &mut bytes[at..];
    event[17] &= !1;
    change(event);
    sum(event);
    bytes
}

/// MySQL since 5.7 and MariaDB write a second event at once. MySQL 5.6 does not, and neither does a replica of MariaDB.
#[test]
fn a_log_that_ends_after_its_format_description_is_truncated_if_more_must_follow() {
    for name in [CLEAR, CBC] {
        let bytes = head(name, |_| ());
        let report = verify(&bytes, &keys(name));
        assert_eq!((report.verdict, checks(&report)), (Verdict::Unverifiable, vec![(None, Check::LogEnd)]), "{name}");
        assert_eq!(innodb::binlog_scan::events(&bytes, u64::MAX, u64::MAX).unwrap().readable, Some(0));
        let old = head(name, |event| event[21..27].copy_from_slice(b"5.6.24"));
        let relay = head(name, |event| event[17] |= 0x40);
        for bytes in if name == CLEAR { vec![old, relay] } else { vec![relay] } {
            assert_eq!(verify(&bytes, &keys(name)).verdict, Verdict::Clear, "{name}");
            assert_eq!(innodb::binlog_scan::events(&bytes, u64::MAX, u64::MAX).unwrap().readable, None, "{name}");
        }
    }
}

/// A log without an event does not show whether its server encrypts its logs.
#[test]
fn a_log_without_an_event_is_neither_clear_nor_sound() {
    let cut = |name: &str, bytes: usize| log(name)[..bytes].to_vec();
    for (name, bytes) in [(CLEAR, cut(CLEAR, 4)), (CBC, cut(CBC, 4)), (MYSQL, cut(MYSQL, 516))] {
        let report = verify(&bytes, &keys(name));
        assert_eq!((report.verdict, checks(&report)), (Verdict::Unverifiable, vec![(None, Check::LogEnd)]), "{name}");
        assert!(report.findings[0].detail.contains("no event follows the magic"), "{name}");
    }
    assert_eq!(innodb::binlog_scan::events(&cut(CLEAR, 4), u64::MAX, u64::MAX).unwrap().readable, Some(0));
}

#[test]
fn every_sample_is_proven() {
    for (name, total, encrypted) in SAMPLES {
        let report = verify(&log(name), &keys(name));
        let verdict = if encrypted > 0 { Verdict::Ok } else { Verdict::Clear };
        assert_eq!((report.verdict, checks(&report)), (verdict, vec![]), "{name}");
        assert_eq!((report.units.total, report.units.encrypted), (total, encrypted), "{name}");
    }
    let report = verify(&log(MYSQL), &keys(MYSQL));
    let name = "MySQLReplicationKey_95b2f013-e4cd-11f1-8c02-02fc00000001_2".to_owned();
    assert_eq!(report.key, Some(RequiredKey::MysqlBinlog { name }));
    let report = verify(&log(CBC), &keys(CBC));
    assert_eq!(report.key, Some(RequiredKey::MariaDb { key_id: 1, versions: vec![KeyVersion(1)] }));
}

#[test]
fn sealing_what_was_opened_gives_the_same_bytes() {
    for (name, ..) in SAMPLES {
        let original = log(name);
        if name.starts_with("mariadb") {
            let mode = if name == CTR { EventMode::Ctr } else { EventMode::Cbc };
            let cipher = mariadb_events(name, &original, mode);
            for (at, length) in events(&original).into_iter().skip(2) {
                let mut event = original[at..at + length].to_vec();
                cipher.decrypt(at as u64, &mut event).unwrap();
                let stored = u32::from_le_bytes(event[length - 4..].try_into().unwrap());
                assert_eq!(crc32_iso_hdlc(&event[..length - 4]), stored, "{name} {at}");
                cipher.encrypt(at as u64, &mut event).unwrap();
                assert_eq!(event, original[at..at + length], "{name} {at}");
            }
        } else if name != CLEAR {
            let stream = mysql_stream(name, &original);
            let mut bytes = original[512..].to_vec();
            stream.apply(0, &mut bytes).unwrap();
            assert!(bytes.starts_with(b"\xfebin"), "{name}");
            let offsets: Vec<_> = events(&bytes);
            for (at, length) in offsets {
                stream.apply(at as u64, &mut bytes[at..at + length]).unwrap();
            }
            assert_eq!(bytes[4..], original[516..], "{name}");
        }
    }
}

#[test]
fn without_the_key_nothing_encrypted_is_judged() {
    for (name, total, encrypted) in SAMPLES.into_iter().filter(|(.., encrypted)| *encrypted > 0) {
        let report = verify(&log(name), &NoKeys);
        assert_eq!((report.verdict, checks(&report)), (Verdict::Unverifiable, vec![]), "{name}");
        let counted = if name.starts_with("mysql") { (0, 0) } else { (total, encrypted) };
        assert_eq!((report.units.total, report.units.encrypted), counted, "{name}");
        assert!(report.key.is_some(), "{name}");
        let report = verify(&log(name), &keys(name).emptied());
        assert_eq!((report.verdict, checks(&report)), (Verdict::MissingKey, vec![(None, Check::Key)]), "{name}");
        let report = verify(&log(name), &keys(name).all_wrong());
        assert_eq!((report.verdict, checks(&report)), (Verdict::WrongKey, vec![(None, Check::KeyOpens)]), "{name}");
        // The keys of another family do not help.
        let other = if name.starts_with("mysql") { keys(CBC) } else { keys(MYSQL) };
        assert_eq!(verify(&log(name), &other).verdict, Verdict::Unverifiable, "{name}");
    }
}

#[test]
fn damage_of_a_clear_log_is_found() {
    use Verdict::{Clear, Damaged, Truncated, Unverifiable};
    assert_damage(CLEAR, flip(1), Damaged, &[(None, Check::Header)]);
    // Format description: version, algorithm of the checksums, the header's length.
    for at in [25, 122, 4 + 4, 4 + 9] {
        let check = if at == 13 { Check::Length } else { Check::Checksum };
        assert_damage(CLEAR, flip(at), Damaged, &[(Some(0), check)]);
    }
    // The version of a server without checksums.
    assert_damage(CLEAR, |bytes| bytes[25] = b'1', Damaged, &[(Some(0), Check::Checksum)]);
    // No checksum covers the flag that marks the log as open.
    assert_damage(CLEAR, |bytes| bytes[4 + 17] ^= 1, Clear, &[]);
    let second = [(Some(0), Check::Checksum), (Some(9), Check::Checksum)];
    assert_damage(CLEAR, |bytes| [122, 900].map(|at| bytes[at] ^= 1).map(drop).into_iter().collect(), Damaged, &second);
    // Timestamp, type, server, length (four bytes), position, flags, body, checksum.
    let table_map = 751;
    for (at, check) in [
        (0, Check::Checksum),
        (4, Check::Checksum),
        (5, Check::Checksum),
        (9, Check::Length),
        (10, Check::Length),
        (11, Check::Length),
        (12, Check::Length),
        (13, Check::Checksum),
        (17, Check::Checksum),
        (25, Check::Checksum),
        (61, Check::Checksum),
    ] {
        assert_damage(CLEAR, flip(table_map + at), Damaged, &[(Some(8), check)]);
    }
    let swap = |bytes: &mut Vec<u8>| bytes[158..343].rotate_left(235 - 158);
    assert_damage(CLEAR, swap, Damaged, &[(Some(2), Check::Position), (Some(3), Check::Position)]);
    let take_out = |bytes: &mut Vec<u8>| drop(bytes.drain(158..235));
    assert_damage(CLEAR, take_out, Damaged, &[(Some(2), Check::Position)]);
    let twice = |bytes: &mut Vec<u8>| drop(bytes.splice(158..158, bytes[158..235].to_vec()).collect::<Vec<_>>());
    assert_damage(CLEAR, twice, Damaged, &[(Some(3), Check::Position)]);
    for cut in [17484, 17441 + 19, 17441 + 3, 9000, 130] {
        let unit = events(&log(CLEAR)).iter().filter(|(at, length)| at + length <= cut).count() as u64;
        assert_damage(CLEAR, |bytes| bytes.truncate(cut), Truncated, &[(Some(unit), Check::PartialUnit)]);
    }
    assert_damage(CLEAR, |bytes| bytes.truncate(17441), Clear, &[]);
    let zeros = |from: usize| move |bytes: &mut Vec<u8>| bytes[from..].fill(0);
    assert_damage(CLEAR, zeros(17410), Damaged, &[(Some(12), Check::AllocatedZero)]);
    let page = |bytes: &mut Vec<u8>| bytes[4096..8192].fill(0);
    assert_damage(CLEAR, page, Damaged, &[(Some(9), Check::Checksum)]);
    let many = |bytes: &mut Vec<u8>| bytes[300..900].fill(0);
    assert_damage(CLEAR, many, Damaged, &[(Some(3), Check::Checksum), (Some(4), Check::Length)]);
    let algorithm = |bytes: &mut Vec<u8>| {
        bytes[122] = 7;
        sum(&mut bytes[4..127]);
    };
    assert_damage(CLEAR, algorithm, Unverifiable, &[(Some(0), Check::Unknown)]);
}

/// Also without the key: the description event and the chain of lengths are readable.
#[test]
fn some_damage_is_found_without_the_key() {
    let damaged = |name: &str, at: usize| {
        let mut bytes = log(name);
        bytes[at] ^= 0x41;
        let report = verify(&bytes, &NoKeys);
        (report.verdict, checks(&report))
    };
    assert_eq!(damaged(CBC, 30), (Verdict::Damaged, vec![(Some(0), Check::Checksum)]));
    let (verdict, found) = damaged(CBC, 256 + 19 + 7);
    assert_eq!(verdict, Verdict::BadKeyInfo);
    assert_eq!(found, [(None, Check::KeyInfo), (Some(1), Check::Checksum)]);
    let (at, _) = events(&log(CBC))[5];
    assert_eq!(damaged(CBC, at + 12), (Verdict::Truncated, vec![(Some(5), Check::PartialUnit)]));
    assert_eq!(damaged(CLEAR, 900).0, Verdict::Damaged);
}

#[test]
fn damage_of_a_log_without_checksums_is_found_by_positions() {
    let mut bytes = log(CLEAR);
    let spans = events(&bytes);
    bytes[122] = 0;
    sum(&mut bytes[4..127]);
    // Without checksums, only the positions show it.
    for (at, length) in spans.into_iter().skip(1).rev() {
        bytes.drain(at + length - 4..at + length);
        bytes[at + 9..at + 13].copy_from_slice(&(length as u32 - 4).to_le_bytes());
    }
    for (at, length) in events(&bytes) {
        bytes[at + 13..at + 17].copy_from_slice(&((at + length) as u32).to_le_bytes());
    }
    sum(&mut bytes[4..127]);
    let spans = events(&bytes);
    let report = verify(&bytes, &NoKeys);
    assert_eq!((report.verdict, report.units.clear, checks(&report)), (Verdict::Clear, 14, vec![]));
    let (at, length) = spans[8];
    for (offset, check) in [(9, Check::Length), (11, Check::Length), (13, Check::Position)] {
        let mut bytes = bytes.clone();
        bytes[at + offset] ^= 1;
        let report = verify(&bytes, &NoKeys);
        assert_eq!((report.verdict, checks(&report)), (Verdict::Damaged, vec![(Some(8), check)]), "{offset}");
        assert_eq!((report.units.total, report.units.bad), (14, 1), "{offset}");
    }
    // The limits that the documentation states.
    let mut changed = bytes.clone();
    changed[at + 25] ^= 1;
    assert_eq!(verify(&changed, &NoKeys).verdict, Verdict::Clear);
    bytes.truncate(at + length - 1);
    assert_eq!(verify(&bytes, &NoKeys).verdict, Verdict::Truncated);
}

/// A relay log keeps the positions of the source, which may leave events out.
#[test]
fn positions_in_a_relay_log_are_those_of_the_source() {
    let mut relay = log(CLEAR);
    relay[4 + 17] |= 0x40;
    sum(&mut relay[4..127]);
    let mut filtered = relay.clone();
    filtered.drain(813..8957);
    filtered.drain(158..343);
    let report = verify(&filtered, &NoKeys);
    assert_eq!((report.verdict, report.units.clear, checks(&report)), (Verdict::Clear, 11, vec![]));
    relay[751..8957].rotate_left(813 - 751);
    let report = verify(&relay, &NoKeys);
    assert_eq!((report.verdict, checks(&report)), (Verdict::Damaged, vec![(Some(9), Check::Position)]));
}

#[test]
fn damage_of_mysqls_header_is_found() {
    use Verdict::{BadKeyInfo, Damaged, MissingKey, Truncated, Unverifiable, WrongKey};
    assert_damage(MYSQL, flip(1), Damaged, &[(None, Check::Header)]);
    assert_damage(MYSQL, flip(4), Unverifiable, &[(None, Check::Unknown)]);
    let info = [(None, Check::KeyInfo)];
    let name_length = usize::from(log(MYSQL)[6]);
    let (password, iv) = (7 + name_length, 7 + name_length + 33);
    // Field types, the length of the name, the name.
    for at in [5, 6, 7, 7 + 20 + 8, password, iv] {
        assert_damage(MYSQL, flip(at), BadKeyInfo, &info);
    }
    assert_damage(MYSQL, |bytes| bytes[7 + 20] ^= 1, MissingKey, &[(None, Check::Key)]);
    for at in [password + 1, password + 32, iv + 1, iv + 16] {
        assert_damage(MYSQL, flip(at), WrongKey, &[(None, Check::KeyOpens)]);
    }
    assert_damage(MYSQL, flip(400), Damaged, &[(None, Check::Header)]);
    assert_damage(MYSQL, |bytes| bytes.truncate(300), Truncated, &[(None, Check::FileSize)]);
    assert_damage(MYSQL, |bytes| bytes.truncate(514), Truncated, &[(None, Check::FileSize)]);
    let mislabelled = |bytes: &mut Vec<u8>| {
        bytes.truncate(512);
        bytes.extend(log(CLEAR));
    };
    assert_damage(MYSQL, mislabelled, Damaged, &[(None, Check::ClearUnit)]);
}

#[test]
fn damage_of_mysqls_encrypted_events_is_found() {
    use Verdict::{Damaged, Truncated};
    assert_damage(MYSQL, flip(513), Damaged, &[(None, Check::Header)]);
    assert_damage(MYSQL, flip(512 + 30), Damaged, &[(Some(0), Check::OpenedChecksum)]);
    let original = log(MYSQL);
    let mut clear = original[512..].to_vec();
    mysql_stream(MYSQL, &original).apply(0, &mut clear).unwrap();
    let spans = events(&clear);
    for (unit, (at, length)) in spans.iter().copied().enumerate().skip(1) {
        let unit = Some(unit as u64);
        assert_damage(MYSQL, flip(512 + at + length - 1), Damaged, &[(unit, Check::OpenedChecksum)]);
        assert_damage(MYSQL, flip(512 + at + 11), Damaged, &[(unit, Check::Length)]);
        let cut = 512 + at + length - 1;
        assert_damage(MYSQL, |bytes| bytes.truncate(cut), Truncated, &[(unit, Check::PartialUnit)]);
    }
    let (first, second) = (spans[2], spans[3]);
    let swap = inside(|clear| clear[first.0..second.0 + second.1].rotate_left(first.1));
    assert_damage(MYSQL, swap, Damaged, &[(Some(2), Check::Position), (Some(3), Check::Position)]);
}

#[test]
fn damage_of_mariadbs_encrypted_events_is_found() {
    use Verdict::{BadKeyInfo, Damaged, MissingKey, Truncated, Unverifiable};
    for name in [CBC, CTR] {
        let spans = events(&log(name));
        for (unit, (at, length)) in spans.iter().copied().enumerate().skip(2) {
            let unit = Some(unit as u64);
            for offset in [0, 6, 13, 19, length - 1] {
                assert_damage(name, flip(at + offset), Damaged, &[(unit, Check::OpenedChecksum)]);
            }
            for offset in [9, 11, 12] {
                assert_damage(name, flip(at + offset), Damaged, &[(unit, Check::Length)]);
            }
            let cut = |bytes: &mut Vec<u8>| bytes.truncate(at + length - 1);
            assert_damage(name, cut, Truncated, &[(unit, Check::PartialUnit)]);
        }
        let (start, _) = spans[1];
        assert_damage(name, flip(30), Damaged, &[(Some(0), Check::Checksum)]);
        // A damaged timestamp has no effect; the type follows from the rest; the nonce is lost.
        assert_damage(name, flip(start), Damaged, &[(Some(1), Check::Checksum)]);
        assert_damage(name, flip(start + 4), Damaged, &[(Some(1), Check::Checksum)]);
        let lost = [(None, Check::KeyInfo), (Some(1), Check::Checksum)];
        assert_damage(name, flip(start + 24), BadKeyInfo, &lost);
        assert_damage(name, flip(start + 20), BadKeyInfo, &lost);
        let resummed = |at: usize, value: u8| {
            move |bytes: &mut Vec<u8>| {
                bytes[at] = value;
                sum(&mut bytes[start..start + 40]);
            }
        };
        assert_damage(name, resummed(start + 20, 2), MissingKey, &[(None, Check::Key)]);
        assert_damage(name, resummed(start + 19, 2), Unverifiable, &[(Some(1), Check::Unknown)]);
    }
    // Two events of the same length are swapped: each is encrypted for its own position.
    let bytes = log("mariadb1011-encrypted-84-events");
    let spans = events(&bytes);
    let (one, other) = spans
        .iter()
        .enumerate()
        .skip(2)
        .find_map(|(one, span)| {
            let other = spans.iter().skip(one + 1).position(|later| later.1 == span.1)?;
            Some((one, one + 1 + other))
        })
        .unwrap();
    let swap = |bytes: &mut Vec<u8>| {
        let ((one, length), (other, _)) = (spans[one], spans[other]);
        (0..length).for_each(|i| bytes.swap(one + i, other + i));
    };
    let found = [one, other].map(|unit| (Some(unit as u64), Check::OpenedChecksum));
    assert_damage("mariadb1011-encrypted-84-events", swap, Damaged, &found);
}

/// Sets the type of the first transaction's first event to `kind`, and moves the event before `Previous_gtids`, as
/// MySQL has done after a crash.
fn gtid_first(kind: u8) -> impl Fn(&mut Vec<u8>) {
    move |bytes| {
        let (previous, first) = (events(bytes)[1], events(bytes)[2]);
        assert_eq!(bytes[previous.0 + 4], 35, "Previous_gtids");
        bytes[first.0 + 4] = kind;
        bytes[previous.0..first.0 + first.1].rotate_left(previous.1);
        for (at, length) in events(bytes).into_iter().take(3).skip(1) {
            bytes[at + 13..at + 17].copy_from_slice(&((at + length) as u32).to_le_bytes());
            sum(&mut bytes[at..at + length]);
        }
    }
}

#[test]
fn a_log_that_prevents_the_next_start_is_found() {
    use Verdict::{Clear, Damaged};
    let found = [(Some(1), Check::EventOrder)];
    for kind in [33, 42] {
        assert_damage(CLEAR, gtid_first(kind), Damaged, &found);
        assert_damage(MYSQL, inside(gtid_first(kind)), Damaged, &found);
    }
    let without_previous_gtids = |bytes: &mut Vec<u8>| {
        let (at, length) = events(bytes)[1];
        bytes[at + 4] = 33;
        sum(&mut bytes[at..at + length]);
    };
    assert_damage(CLEAR, without_previous_gtids, Damaged, &found);
    // Anonymous transactions do no harm, and neither do relay logs and MariaDB, which has no Previous_gtids.
    assert_damage(CLEAR, gtid_first(34), Clear, &[]);
    let relay = |bytes: &mut Vec<u8>| {
        gtid_first(33)(bytes);
        bytes[4 + 17] |= 0x40;
        sum(&mut bytes[4..127]);
    };
    assert_damage(CLEAR, relay, Clear, &[]);
    let mariadb = |bytes: &mut Vec<u8>| {
        gtid_first(33)(bytes);
        bytes[4 + 19 + 2..][..10].copy_from_slice(b"10.11.19-M");
        sum(&mut bytes[4..127]);
    };
    assert_damage(CLEAR, mariadb, Clear, &[]);
}

/// A reported log does prevent a start. Nothing is reported for the logs of a server with GTIDs and tags.
#[test]
fn a_server_does_not_start_with_a_gtid_before_previous_gtids() {
    use harness::{Kind, Server};
    if harness::require(Kind::MySql97).is_none() {
        return;
    }
    let gtids = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"];
    let mut server = Server::builder(Kind::MySql97).options(gtids).start().unwrap();
    server
        .sql("CREATE DATABASE w; FLUSH LOGS; SET gtid_next = 'AUTOMATIC:tag'; CREATE TABLE w.t (a INT); FLUSH LOGS; CREATE TABLE w.u (a INT)")
        .unwrap();
    server.stop().unwrap();
    let logs = (1..).map(|number| server.datadir().join(format!("binlog.{number:06}")));
    let logs: Vec<_> = logs.take_while(|path| path.exists()).collect();
    for log in &logs {
        let report = verify(&std::fs::read(log).unwrap(), &NoKeys);
        assert_eq!((report.verdict, checks(&report)), (Verdict::Clear, vec![]), "{}", log.display());
    }
    let newest = logs.last().unwrap();
    let sound = std::fs::read(newest).unwrap();
    let mut bytes = sound.clone();
    gtid_first(sound[events(&sound)[2].0 + 4])(&mut bytes);
    assert_eq!(checks(&verify(&bytes, &NoKeys)), [(Some(1), Check::EventOrder)]);
    std::fs::write(newest, &bytes).unwrap();
    assert!(server.start().is_err(), "it starts");
    std::fs::write(newest, &sound).unwrap();
    server.start().unwrap();
}

#[test]
fn other_files_are_no_logs() {
    assert!(matches!(binlog::verify(&Vec::new(), &NoKeys), Err(ScanError::EmptyFile)));
    let refused = binlog::verify(&b"no binary log at all".to_vec(), &NoKeys);
    assert!(matches!(refused, Err(ScanError::NotRecognised { .. })));
}

/// A log with the given description event, followed by events of `bytes` bytes each. Only their headers exist.
struct HugeLog {
    head: Vec<u8>,
    event_bytes: u64,
    events: u64,
    most_read: Cell<usize>,
}

impl HugeLog {
    fn len_of_all(&self) -> u64 {
        self.head.len() as u64 + self.event_bytes * self.events
    }
}

impl ReadAt for HugeLog {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.most_read.set(self.most_read.get().max(buf.len()));
        let count = buf.len().min(self.len_of_all().saturating_sub(offset) as usize);
        for (i, byte) in buf[..count].iter_mut().enumerate() {
            let at = offset + i as u64;
            *byte = match at.checked_sub(self.head.len() as u64) {
                None => self.head[at as usize],
                Some(behind) => {
                    let (number, inside) = (behind / self.event_bytes, (behind % self.event_bytes) as usize);
                    let end = self.head.len() as u64 + (number + 1) * self.event_bytes;
                    match inside {
                        4 => 30,
                        9..13 => (self.event_bytes as u32).to_le_bytes()[inside - 9],
                        13..17 => (end as u32).to_le_bytes()[inside - 13],
                        _ => 0,
                    }
                }
            };
        }
        Ok(count)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.len_of_all())
    }
}

#[test]
fn events_of_any_size_are_read_in_bounded_memory() {
    let mut head = log(CLEAR)[..127].to_vec();
    let vast = |head: &[u8], event_bytes, events| HugeLog {
        head: head.to_vec(),
        event_bytes,
        events,
        most_read: Cell::new(0),
    };
    // Their checksum is read, and is wrong.
    let log = vast(&head, 24 << 20, 2);
    let report = binlog::verify(&log, &NoKeys).unwrap();
    assert_eq!(checks(&report), [(Some(1), Check::Checksum), (Some(2), Check::Checksum)]);
    assert!(log.most_read.get() <= 128 << 10);
    // Positions wrap at 4 GiB.
    head[122] = 0;
    sum(&mut head[4..127]);
    let log = vast(&head, 1 << 30, 6);
    let report = binlog::verify(&log, &NoKeys).unwrap();
    assert_eq!((report.verdict, report.units.clear, checks(&report)), (Verdict::Clear, 7, vec![]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics_and_counts_add_up(
        seed in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((prop_oneof![0_usize..700, 0_usize..20_000], any::<u8>()), 0..12),
        cut in prop_oneof![Just(usize::MAX), 0_usize..20_000],
    ) {
        let (name, ..) = seed.get(&SAMPLES);
        let mut bytes = log(name);
        for (at, value) in changes {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        bytes.truncate(cut);
        for keys in [&keys(name) as &dyn KeySource, &NoKeys] {
            if let Ok(report) = binlog::verify(&bytes, keys) {
                let units = report.units;
                prop_assert_eq!(units.total, units.encrypted + units.clear + units.empty + units.bad);
            }
        }
    }
}

/// The keyring of a running MySQL.
struct Keyring(serde_json::Value);

impl KeySource for Keyring {
    fn mysql(&self, name: &str) -> Option<Zeroizing<[u8; 32]>> {
        let element = self.0["elements"].as_array()?.iter().find(|element| element["data_id"] == name)?;
        let digits = element["data"].as_str()?;
        let byte = |at: usize| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap();
        (digits.len() == 64).then(|| Zeroizing::new(std::array::from_fn(byte)))
    }

    fn mysql_numbered(&self, _: MasterKeyId) -> Vec<Zeroizing<[u8; 32]>> {
        Vec::new()
    }

    fn mariadb(&self, _: u32, _: KeyVersion) -> Option<Zeroizing<Vec<u8>>> {
        None
    }

    fn has_mysql(&self) -> bool {
        true
    }

    fn has_mariadb(&self) -> bool {
        false
    }
}

/// Logs of a running and then killed server that rotated its key and wrote large, compressed and checksum-less events.
#[test]
fn no_false_damage_is_found_in_logs_of_a_live_server() {
    use harness::{KeyringLocation, Kind, Server};
    if harness::require(Kind::MySql97).is_none() {
        return;
    }
    let builder = Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).option("--binlog-encryption=ON");
    let mut server = builder.start().unwrap();
    let rows = "INSERT INTO w.t(a) SELECT REPEAT('row', 100) FROM information_schema.columns LIMIT 2000";
    server
        .sql(&format!(
            "CREATE DATABASE w; CREATE TABLE w.t(id INT AUTO_INCREMENT PRIMARY KEY, a LONGBLOB); {rows}; \
             INSERT INTO w.t(a) VALUES(REPEAT('large', 1000000)); FLUSH LOGS; \
             ALTER INSTANCE ROTATE BINLOG MASTER KEY; SET SESSION binlog_transaction_compression=ON; {rows}; \
             SET GLOBAL binlog_checksum=NONE; {rows}; SET GLOBAL binlog_checksum=CRC32; \
             SET GLOBAL binlog_encryption=OFF; {rows}"
        ))
        .unwrap();
    let check = |server: &Server| {
        let keyring = Keyring(serde_json::from_slice(&std::fs::read(server.dir().join("keyring")).unwrap()).unwrap());
        let mut verdicts = Vec::new();
        for number in 1.. {
            let path = server.datadir().join(format!("binlog.{number:06}"));
            let Ok(file) = std::fs::File::open(&path) else { break };
            let report = binlog::verify(&file, &keyring).unwrap();
            assert_eq!(checks(&report), [], "{}", path.display());
            assert!(report.units.total >= 2, "{}", path.display());
            verdicts.push(report.verdict);
        }
        assert!(verdicts.contains(&Verdict::Ok) && verdicts.contains(&Verdict::Clear), "{verdicts:?}");
    };
    check(&server);
    server.kill();
    check(&server);
    server.start().unwrap();
    check(&server);
}
