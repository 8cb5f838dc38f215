//! Every block and mini-transaction of the samples is proven with its key, and encrypted again to the same bytes; every
//! damage is reported with its layer.

mod common;

use common::{SampleKeys, sample};
use innodb::{
    KeyVersion, Lsn,
    crypt::{
        aes::CipherFault,
        mariadb::Mode,
        mysql::WrappedKey,
        redo::{
            LogCipher, LogKeyInfo,
            mariadb_blocks::{self, BlockLayout, block_lsn, number},
            mariadb_encrypted, mariadb_phys,
            mysql::MySqlBlockCipher,
        },
    },
    keys::{KeySource, NoKeys},
    redo::{
        blocks::is_encrypted,
        records::{Framing, contents, frame},
    },
    verify::{
        Check, Units, Verdict,
        redo::{RedoKeyInfo, RedoReport, key_info, verify},
    },
};

const MYSQL: &str = "mysql97-mixed";
const MARIADB_105: &str = "mariadb10.5.23-encrypted";
const MARIADB_1011: &str = "mariadb10.11.19-encrypted";
const MARIADB_114: &str = "mariadb11.4.5-encrypted-phys";
const MARIADB_118: &str = "mariadb11.8.6-encrypted";
const ALL: [&str; 5] = [MYSQL, MARIADB_105, MARIADB_1011, MARIADB_114, MARIADB_118];

fn log(name: &str) -> Vec<u8> {
    sample(&format!("redo/{name}"))
}

fn keys(name: &str) -> SampleKeys {
    match name {
        MYSQL => SampleKeys::component("mysql97-component-file.json"),
        MARIADB_1011 => SampleKeys::key_file("mariadb1011-keyfile"),
        _ => SampleKeys::key_file("mariadb-redo-versions-keyfile"),
    }
}

fn proof(bytes: &[u8], keys: &dyn KeySource) -> RedoReport {
    verify(bytes, keys, None).expect("it is a redo log")
}

fn units(total: u64, encrypted: u64, clear: u64, empty: u64) -> Units {
    Units { total, encrypted, clear, empty, bad: 0 }
}

fn checks(report: &RedoReport) -> Vec<Check> {
    report.file.findings.iter().map(|finding| finding.check).collect()
}

fn has(report: &RedoReport, verdict: Verdict, check: Check, unit: Option<u64>) {
    let found = report.file.findings.iter().any(|finding| finding.check == check && finding.unit == unit);
    assert!(found, "{check:?} of {unit:?} in {report:#?}");
    assert_eq!(report.file.verdict, verdict, "{report:#?}");
}

fn flipped(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 0x10;
    bytes
}

#[test]
fn every_sample_is_proven_with_its_key() {
    let expected = [
        (MYSQL, units(508, 70, 401, 37), 20_299_107, None),
        (MARIADB_105, units(16380, 435, 0, 15945), 45_519, None),
        (MARIADB_1011, units(129, 129, 0, 0), 949_297, Some(Lsn(955_700))),
        (MARIADB_114, units(708, 708, 0, 0), 49_576, Some(Lsn(131_710))),
        (MARIADB_118, units(1, 1, 0, 0), 231_430, Some(Lsn(231_454))),
    ];
    for (name, units, checkpoint, end) in expected {
        let report = proof(&log(name), &keys(name));
        assert_eq!(report.file.verdict, Verdict::Ok, "{name}: {report:#?}");
        assert_eq!((report.file.units, report.checkpoint_lsn, report.end_lsn), (units, Some(Lsn(checkpoint)), end));
    }
}

#[test]
fn clear_and_encrypted_blocks_side_by_side_are_noted_once() {
    let report = proof(&log(MYSQL), &keys(MYSQL));
    assert_eq!(checks(&report), [Check::Mixed]);
    has(&report, Verdict::Ok, Check::Mixed, Some(405));
}

#[test]
fn without_a_key_store_encrypted_units_are_not_judged() {
    for name in ALL {
        let report = proof(&log(name), &NoKeys);
        assert_eq!(report.file.verdict, Verdict::Unverifiable, "{name}");
        assert_eq!(report.file.units, proof(&log(name), &keys(name)).file.units, "{name}");
    }
}

#[test]
fn a_missing_and_a_wrong_key_are_distinguished() {
    for name in ALL {
        let missing = proof(&log(name), &keys(name).emptied());
        assert_eq!(missing.file.verdict, Verdict::MissingKey, "{name}");
        assert_eq!(checks(&missing).iter().filter(|check| **check == Check::Key).count(), 1, "{name}");
        let wrong = proof(&log(name), &keys(name).all_wrong());
        assert_eq!(wrong.file.verdict, Verdict::WrongKey, "{name}: {wrong:#?}");
        assert_eq!(checks(&wrong).iter().filter(|check| **check == Check::KeyOpens).count(), 1, "{name}");
        assert_eq!(wrong.file.units.bad, 0, "{name}");
    }
}

fn mysql_cipher(bytes: &[u8]) -> MySqlBlockCipher {
    let key = WrappedKey::parse(&bytes[1072..]).expect("the sample has one");
    MySqlBlockCipher::new(&key.unwrap(&keys(MYSQL)).expect("the sample opens")).expect("a cipher")
}

#[test]
fn mysql_blocks_seal_to_the_same_bytes() {
    let bytes = log(MYSQL);
    let cipher = mysql_cipher(&bytes);
    let mut encrypted = 0;
    for block in bytes[2048..].chunks_exact(512).filter(|block| is_encrypted(block)) {
        let mut opened = block.to_vec();
        cipher.decrypt(&mut opened).expect("it opens");
        assert_ne!(opened, block);
        cipher.encrypt(&mut opened).expect("it seals");
        assert_eq!(opened, block);
        encrypted += 1;
    }
    assert_eq!(encrypted, 70);
}

fn mariadb_cipher(name: &str, info: &LogKeyInfo) -> LogCipher {
    let key = keys(name).mariadb(info.key_id, info.key_version).expect("the sample's key");
    LogCipher::new(&key, &info.message, Mode::Cbc).expect("a key of 32 bytes")
}

#[test]
fn mariadb_blocks_seal_to_the_same_bytes() {
    let bytes = log(MARIADB_105);
    let info = LogKeyInfo::from_checkpoint(&bytes[512..1024]).expect("it has one");
    assert_eq!(info.key_version, KeyVersion(1));
    let cipher = mariadb_blocks::MariaDbBlockCipher::new(
        mariadb_cipher(MARIADB_105, &info),
        info.nonce,
        BlockLayout::KeyVersion,
    );
    let mut encrypted = 0;
    for block in bytes[2048..].chunks_exact(512) {
        let Some(number) = number(block) else { continue };
        let lsn = block_lsn(number, Lsn(45_519));
        let mut opened = block.to_vec();
        cipher.decrypt(lsn, &mut opened).expect("it opens");
        assert!(mariadb_blocks::is_plausible(&opened));
        cipher.encrypt(lsn, &mut opened).expect("it seals");
        assert_eq!(opened, block);
        encrypted += 1;
    }
    assert_eq!(encrypted, 435);
}

type Transform = fn(&LogCipher, [u8; 8], &mut [u8]) -> Result<(), CipherFault>;

/// Encrypts all mini-transactions since the log was created: they follow each other from offset 12288 on.
fn encrypt_all(name: &str, decrypt: Transform, encrypt: Transform) -> (u32, u32) {
    let bytes = log(name);
    let info = LogKeyInfo::from_header(&bytes).expect("it is encrypted");
    let (cipher, mut at) = (mariadb_cipher(name, &info), 12288);
    let (mut encrypted, mut checkpoints) = (0, 0);
    while let Framing::Records(records) = frame(&bytes[at..]) {
        let nonce = bytes[at + records + 1..][..8].try_into().expect("8 bytes");
        let mut unit = bytes[at..at + records].to_vec();
        decrypt(&cipher, nonce, &mut unit).expect("it opens");
        let contents = contents(&unit).unwrap_or_else(|| panic!("{name} at {at} makes no sense"));
        checkpoints += u32::from(contents.checkpoint.is_some());
        encrypt(&cipher, nonce, &mut unit).expect("it seals");
        assert_eq!(unit, bytes[at..at + records], "{name} at {at}");
        at += records + 13;
        encrypted += 1;
    }
    (encrypted, checkpoints)
}

#[test]
fn mini_transactions_seal_to_the_same_bytes() {
    let all = |name, phys| match phys {
        true => encrypt_all(name, mariadb_phys::decrypt, mariadb_phys::encrypt),
        false => encrypt_all(name, mariadb_encrypted::decrypt, mariadb_encrypted::encrypt),
    };
    assert_eq!(all(MARIADB_1011, false), (8527, 3));
    assert_eq!(all(MARIADB_114, true), (1100, 6));
    assert_eq!(all(MARIADB_118, false), (2241, 12));
}

/// Offset of the block with the newest checkpoint.
const CHECKPOINT_BLOCK: usize = 2048 + (20_299_107 - 20_123_648) / 512 * 512;

#[test]
fn every_byte_of_a_mysql_block_matters() {
    let bytes = log(MYSQL);
    for (unit, check) in [(4, Check::Checksum), (404, Check::Checksum), (405, Check::OpenedChecksum)] {
        for at in [0, 4, 5, 11, 12, 300, 495, 507, 508, 511] {
            // Without the encryption bit, an encrypted block counts as clear; with it, a clear one does not count as
            // encrypted.
            let damaged = flipped(&bytes, unit * 512 + at);
            let unit = u64::try_from(unit).expect("small");
            has(&proof(&damaged, &keys(MYSQL)), Verdict::Damaged, check, Some(unit));
        }
    }
    let mut unmarked = bytes;
    unmarked[405 * 512 + 4] &= 0x7f;
    has(&proof(&unmarked, &keys(MYSQL)), Verdict::Damaged, Check::Checksum, Some(405));
    has(&proof(&unmarked, &NoKeys), Verdict::Damaged, Check::Checksum, Some(405));
}

fn swapped(bytes: &[u8], a: usize, b: usize) -> Vec<u8> {
    let mut swapped = bytes.to_vec();
    swapped[a * 512..(a + 1) * 512].copy_from_slice(&bytes[b * 512..(b + 1) * 512]);
    swapped[b * 512..(b + 1) * 512].copy_from_slice(&bytes[a * 512..(a + 1) * 512]);
    swapped
}

#[test]
fn blocks_must_be_where_their_numbers_say() {
    for (name, pairs) in [(MYSQL, [(4, 10), (50, 410), (430, 440)]), (MARIADB_105, [(4, 10), (50, 60), (400, 430)])] {
        for (a, b) in pairs {
            let report = proof(&swapped(&log(name), a, b), &keys(name));
            has(&report, Verdict::Damaged, Check::Position, Some(a.try_into().expect("small")));
            assert_eq!(report.file.units.bad, 2, "{name}");
        }
        let mut wiped = log(name);
        wiped[100 * 512..108 * 512].fill(0);
        let report = proof(&wiped, &keys(name));
        has(&report, Verdict::Damaged, Check::AllocatedZero, Some(107));
        assert_eq!(report.file.units.bad, 8, "{name}");
    }
}

#[test]
fn a_log_without_the_block_of_its_checkpoint_is_damaged() {
    let mut wiped = log(MYSQL);
    wiped[CHECKPOINT_BLOCK..].fill(0);
    let unit = u64::try_from(CHECKPOINT_BLOCK / 512).expect("small");
    has(&proof(&wiped, &keys(MYSQL)), Verdict::Damaged, Check::Position, Some(unit));
    let mut cut = log(MYSQL);
    cut.truncate(CHECKPOINT_BLOCK);
    has(&proof(&cut, &keys(MYSQL)), Verdict::Truncated, Check::FileSize, None);
}

#[test]
fn the_header_is_checked() {
    for (name, locations) in [
        (MYSQL, &[0, 3, 9, 20, 500, 508, 513, 1544, 2047][..]),
        (MARIADB_105, &[0, 3, 9, 20, 508, 515, 560, 1536, 1600]),
        (MARIADB_1011, &[0, 3, 9, 20, 80, 500, 508, 4096, 4100, 4159, 8192, 8200]),
        (MARIADB_114, &[0, 3, 9, 20, 80, 500, 508, 4096, 4100, 4159, 8192, 8200]),
    ] {
        for at in locations {
            has(&proof(&flipped(&log(name), *at), &keys(name)), Verdict::Damaged, Check::Header, None);
        }
    }
}

#[test]
fn damaged_key_information_is_distinguished_from_a_wrong_key() {
    const INFO: usize = 1072;
    for (at, verdict) in [
        (0, Verdict::BadKeyInfo),
        (2, Verdict::BadKeyInfo),
        // Another number or server.
        (6, Verdict::MissingKey),
        (7, Verdict::BadKeyInfo),
        // Only the wrapped key shows the difference.
        (43, Verdict::WrongKey),
        (106, Verdict::WrongKey),
        (110, Verdict::WrongKey),
    ] {
        assert_eq!(proof(&flipped(&log(MYSQL), INFO + at), &keys(MYSQL)).file.verdict, verdict, "{at}");
    }
    for name in [MARIADB_1011, MARIADB_114] {
        for at in [51, 55, 56, 71] {
            let report = proof(&flipped(&log(name), at), &keys(name));
            has(&report, Verdict::BadKeyInfo, Check::KeyInfo, None);
            assert!(checks(&report).contains(&Check::Header), "{name} {at}");
        }
    }
    let mut without = log(MARIADB_105);
    without[512 + 8] ^= 1;
    has(&proof(&without, &keys(MARIADB_105)), Verdict::Damaged, Check::Header, None);
    without[1536 + 8] ^= 1;
    has(&proof(&without, &keys(MARIADB_105)), Verdict::BadKeyInfo, Check::KeyInfo, None);
}

#[test]
fn another_file_of_the_log_names_its_key() {
    let bytes = log(MYSQL);
    let sibling = key_info(&bytes[..2048]).expect("it has a checkpoint and a key");
    assert_eq!((sibling.checkpoint_lsn, sibling.key.master_key_id.0), (Lsn(20_299_107), 2));
    let mut full = bytes;
    full[1072..1187].fill(0);
    assert_eq!(key_info(&full[..2048]), None);
    has(&proof(&full, &keys(MYSQL)), Verdict::Unverifiable, Check::Unknown, None);
    let report = |sibling: &RedoKeyInfo, keys: &dyn KeySource| {
        verify(full.as_slice(), keys, Some(sibling)).expect("it is a redo log").file.verdict
    };
    assert_eq!(report(&sibling, &keys(MYSQL)), Verdict::Ok);
    assert_eq!(report(&sibling, &keys(MYSQL).all_wrong()), Verdict::WrongKey);
    assert_eq!(report(&sibling, &keys(MYSQL).emptied()), Verdict::MissingKey);
    assert_eq!(report(&sibling, &NoKeys), Verdict::Unverifiable);
}

#[test]
fn clear_blocks_need_no_key() {
    let mut clear = log(MYSQL);
    clear[405 * 512..475 * 512].fill(0);
    clear[1072..1187].fill(0);
    for keys in [&keys(MYSQL) as &dyn KeySource, &NoKeys] {
        let report = proof(&clear, keys);
        assert_eq!((report.file.verdict, report.file.units), (Verdict::Clear, units(508, 0, 401, 107)));
    }
    has(&proof(&flipped(&clear, 50 * 512 + 99), &NoKeys), Verdict::Damaged, Check::Checksum, Some(50));
}

#[test]
fn mariadb_blocks_are_checked_without_a_key() {
    let bytes = log(MARIADB_105);
    for keys in [&keys(MARIADB_105) as &dyn KeySource, &NoKeys] {
        for at in [0, 4, 300, 504, 508] {
            let damaged = flipped(&bytes, 77 * 512 + at);
            has(&proof(&damaged, keys), Verdict::Damaged, Check::CiphertextChecksum, Some(77));
        }
        // The last block, and one of those that hold a checksum only.
        has(&proof(&flipped(&bytes, 438 * 512 + 50), keys), Verdict::Damaged, Check::CiphertextChecksum, Some(438));
        has(&proof(&flipped(&bytes, 440 * 512 + 509), keys), Verdict::Damaged, Check::Checksum, Some(440));
    }
}

/// Start and bytes of each mini-transaction from an offset on.
fn mini_transactions(bytes: &[u8], mut at: usize) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    while let Framing::Records(records) = frame(&bytes[at..]) {
        found.push((at, records + 13));
        at += records + 13;
    }
    found
}

/// Offset of the newest checkpoint.
fn checkpoint_offset(name: &str) -> usize {
    match name {
        MARIADB_1011 => 12288 + 949_297 - 0xb8f8,
        MARIADB_114 => 49_576,
        _ => 231_430,
    }
}

#[test]
fn every_mini_transaction_is_checked_without_a_key() {
    for name in [MARIADB_1011, MARIADB_114] {
        let bytes = log(name);
        let all = mini_transactions(&bytes, checkpoint_offset(name));
        for (unit, (at, length)) in all.iter().enumerate().take(all.len() - 1).step_by(11) {
            for location in [at + 1, at + length / 2, at + length - 13, at + length - 1] {
                let report = proof(&flipped(&bytes, location), &NoKeys);
                let unit = u64::try_from(unit).expect("small");
                has(&report, Verdict::Damaged, Check::CiphertextChecksum, Some(unit));
            }
        }
    }
}

#[test]
fn the_newest_mini_transaction_is_checked_unless_a_crash_may_have_torn_it() {
    for name in [MARIADB_1011, MARIADB_114, MARIADB_118] {
        let bytes = log(name);
        let (at, length) = *mini_transactions(&bytes, checkpoint_offset(name)).last().expect("there are some");
        let end = at + length;
        let within_a_sector = at / 512 == (end - 1) / 512;
        // If the log does not mark its end here, the next mini-transaction may be half written.
        let marked = bytes[end] == 0 || end.is_multiple_of(512);
        let report = proof(&flipped(&bytes, end - 2), &keys(name));
        match within_a_sector && marked {
            true => assert_eq!(report.file.verdict, Verdict::Damaged, "{name}: {report:#?}"),
            false => has(&report, Verdict::Ok, Check::LogEnd, None),
        }
        // Nothing was ever written after the end of the log.
        let mut torn = bytes;
        torn[end..].fill(0);
        assert_eq!(proof(&torn, &keys(name)).file.verdict, Verdict::Ok, "{name}");
    }
}

#[test]
fn a_log_that_ends_before_its_checkpoint_is_complete_is_damaged() {
    for name in [MARIADB_1011, MARIADB_114, MARIADB_118] {
        let mut bytes = log(name);
        bytes[checkpoint_offset(name)..].fill(0);
        has(&proof(&bytes, &keys(name)), Verdict::Damaged, Check::CiphertextChecksum, Some(0));
    }
}

#[test]
fn a_file_cut_short_is_truncated() {
    for name in ALL {
        let bytes = log(name);
        for keep in [600, 2000, bytes.len() - 100] {
            let report = proof(&bytes[..keep], &keys(name));
            assert_eq!(report.file.verdict, Verdict::Truncated, "{name} {keep}: {report:#?}");
        }
    }
    for name in [MARIADB_1011, MARIADB_114, MARIADB_118] {
        let cut = &log(name)[..checkpoint_offset(name) / 4096 * 4096];
        has(&proof(cut, &keys(name)), Verdict::Truncated, Check::FileSize, None);
    }
}

#[test]
fn truncated_and_random_logs_cause_no_panic() {
    for name in ALL {
        let bytes = log(name);
        for keep in (0..13000).step_by(97) {
            let _ = verify(&bytes[..keep], &keys(name), None);
        }
        let mut noise = bytes;
        noise.truncate(200_000);
        let mut state = 1_u32;
        for byte in noise.iter_mut().skip(12288) {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *byte = (state >> 24) as u8;
        }
        assert_ne!(proof(&noise, &keys(name)).file.verdict, Verdict::Ok, "{name}");
    }
    assert!(verify([7_u8; 5000].as_slice(), &NoKeys, None).is_err());
    let blank = verify([0_u8; 8192].as_slice(), &NoKeys, None).expect("a spare file");
    assert_eq!((blank.file.verdict, blank.file.units), (Verdict::Clear, units(12, 0, 0, 12)));
}
