//! Aria tables: every page of every sample is proven, every damage is reported with its layer, and encryption is
//! deterministic. Tables of a live server show no false damage.
#![allow(clippy::unwrap_used, reason = "what fails in a helper is a failed test as well")]

mod common;

use common::{SampleKeys, sample};
use files::ReadAt;
use innodb::{
    KeyVersion, ScanError,
    aria::{layout::PageLayout, recognise_table},
    crypt::{
        aria::{AriaPages, CryptRecord},
        mariadb::Mode,
    },
    keys::{KeySource, NoKeys},
    verify::{
        Check, FileReport, RequiredKey, Units, Verdict,
        aria::{AriaHeader, verify_data, verify_index},
    },
};
use proptest::prelude::*;

const PAGE: usize = 8192;

fn index() -> Vec<u8> {
    sample("aria/encrypted.MAI")
}

fn data() -> Vec<u8> {
    sample("aria/encrypted.MAD")
}

fn keys() -> SampleKeys {
    SampleKeys::key_file("mariadb1011-keyfile")
}

fn header(index: &[u8]) -> AriaHeader {
    AriaHeader::read(&index).unwrap()
}

fn judge_data(index: &[u8], data: &[u8], keys: &dyn KeySource) -> FileReport {
    verify_data(&data, &header(index), keys).unwrap()
}

fn judge_index(index: &[u8], keys: &dyn KeySource) -> FileReport {
    verify_index(&index, &header(index), keys).unwrap()
}

fn checks(report: &FileReport) -> Vec<(Option<u64>, Check)> {
    report.findings.iter().map(|finding| (finding.unit, finding.check)).collect()
}

fn assert_found(report: &FileReport, verdict: Verdict, expected: &[(Option<u64>, Check)]) {
    assert_eq!((report.verdict, checks(report).as_slice()), (verdict, expected), "{:?}", report.findings);
}

/// Damages the data file.
fn assert_data(damage: impl FnOnce(&mut Vec<u8>), verdict: Verdict, expected: &[(Option<u64>, Check)]) {
    let mut bytes = data();
    damage(&mut bytes);
    assert_found(&judge_data(&index(), &bytes, &keys()), verdict, expected);
}

/// Damages the index file, and judges it.
fn assert_index(damage: impl FnOnce(&mut Vec<u8>), verdict: Verdict, expected: &[(Option<u64>, Check)]) {
    let mut bytes = index();
    damage(&mut bytes);
    assert_found(&judge_index(&bytes, &keys()), verdict, expected);
}

fn flip(at: usize) -> impl FnOnce(&mut Vec<u8>) {
    move |bytes| bytes[at] ^= 0x41
}

#[test]
fn every_sample_is_proven() {
    let report = judge_data(&index(), &data(), &keys());
    assert_found(&report, Verdict::Ok, &[]);
    assert_eq!(report.units, Units { total: 4, encrypted: 3, clear: 1, empty: 0, bad: 0 });
    assert_eq!(report.key, Some(RequiredKey::MariaDb { key_id: 1, versions: vec![KeyVersion(1)] }));
    let report = judge_index(&index(), &keys());
    assert_found(&report, Verdict::Ok, &[]);
    assert_eq!(report.units, Units { total: 3, encrypted: 2, clear: 1, empty: 0, bad: 0 });
    let (index, data) = (sample("aria/dynamic-clear.MAI"), sample("aria/dynamic-clear.MAD"));
    for keys in [&keys() as &dyn KeySource, &NoKeys] {
        let report = judge_data(&index, &data, keys);
        assert_found(&report, Verdict::Clear, &[]);
        assert_eq!(report.units, Units { total: 3, clear: 3, ..Units::default() });
        let report = judge_index(&index, keys);
        assert_found(&report, Verdict::Clear, &[]);
        assert_eq!((report.units.total, report.units.clear, report.key), (3, 3, None));
    }
}

#[test]
fn a_page_without_a_checksum_is_sound_only_where_none_is_written() {
    let mut index = sample("aria/dynamic-clear.MAI");
    index[22] = 3;
    index[97..105].copy_from_slice(&(2 * PAGE as u64).to_be_bytes());
    let mut data = vec![0; 2 * PAGE];
    data[PAGE - 4..PAGE].copy_from_slice(&[0xfe, 0xff, 0xff, 0xff]);
    data[PAGE + 7] = 1;
    data[2 * PAGE - 4..].fill(0xff);
    let judge = |checksums: u8, data: &[u8]| {
        let mut index = index.clone();
        index[4] = (index[4] & !8) | checksums;
        judge_data(&index, data, &NoKeys)
    };
    assert_found(&judge(0, &data), Verdict::Clear, &[]);
    assert_found(&judge(8, &data), Verdict::Damaged, &[(Some(1), Check::Checksum)]);
    data[PAGE..].fill(0xff);
    assert_found(&judge(0, &data), Verdict::Damaged, &[(Some(1), Check::Header)]);
}

#[test]
fn sealing_what_was_opened_gives_the_same_bytes() {
    let (index, data) = (index(), data());
    let table = recognise_table(&index).unwrap();
    let end = table.header_bytes as usize;
    let record = CryptRecord::parse(&index[end - CryptRecord::BYTES..end]).unwrap();
    let pages = AriaPages::new(&keys().mariadb(1, KeyVersion(1)).unwrap(), &record).unwrap();
    for (file, of_index) in [(&index, true), (&data, false)] {
        for (number, original) in file.chunks_exact(PAGE).enumerate().skip(1) {
            let layout =
                if of_index { PageLayout::index(original, &table).unwrap() } else { PageLayout::data(original, true) };
            let mut page = original.to_vec();
            pages.decrypt(Mode::Cbc, &layout, number as u32, &mut page).unwrap();
            assert_ne!(page, original);
            assert_eq!(layout.checksum(number as u32, &page), PageLayout::stored_checksum(&page));
            pages.encrypt(Mode::Cbc, &layout, number as u32, &mut page).unwrap();
            assert_eq!(page, original, "page {number}, index: {of_index}");
            // The same in the mode that no sample has.
            pages.decrypt(Mode::Ctr, &layout, number as u32, &mut page).unwrap();
            pages.encrypt(Mode::Ctr, &layout, number as u32, &mut page).unwrap();
            assert_eq!(page, original, "page {number}, index: {of_index}");
        }
    }
}

#[test]
fn without_the_key_nothing_encrypted_is_judged() {
    for (keys, verdict, found) in [
        (&NoKeys as &dyn KeySource, Verdict::Unverifiable, vec![]),
        (&keys().emptied(), Verdict::MissingKey, vec![(None, Check::Key)]),
        (&keys().all_wrong(), Verdict::WrongKey, vec![(None, Check::KeyOpens)]),
        (&SampleKeys::component("mysql97-component-file.json"), Verdict::Unverifiable, vec![]),
    ] {
        let report = judge_data(&index(), &data(), keys);
        assert_found(&report, verdict, &found);
        assert_eq!((report.units.encrypted, report.units.clear), (3, 1));
        assert_found(&judge_index(&index(), keys), verdict, &found);
    }
    // Bitmap pages and the used bytes of an index page can be judged without the key.
    let mut bytes = data();
    bytes[5000] ^= 1;
    assert_found(&judge_data(&index(), &bytes, &NoKeys), Verdict::Damaged, &[(Some(0), Check::Checksum)]);
    let mut bytes = index();
    bytes[PAGE + 19] ^= 0x80;
    assert_found(&judge_index(&bytes, &NoKeys), Verdict::Damaged, &[(Some(1), Check::Length)]);
}

#[test]
fn damage_of_data_pages_is_found() {
    use Verdict::{Damaged, Truncated, WrongKey};
    assert_data(flip(5000), Damaged, &[(Some(0), Check::Checksum)]);
    for page in 1..4_usize {
        let unit = Some(page as u64);
        // Log sequence number, type, first and last encrypted byte, checksum.
        for at in [0, 7, 16, 4000, PAGE - 5, PAGE - 1] {
            assert_data(flip(page * PAGE + at), Damaged, &[(unit, Check::OpenedChecksum)]);
        }
    }
    // The key version: other pages decrypt, so the key is not missing.
    assert_data(flip(PAGE + 13), Damaged, &[(Some(1), Check::KeyInfo)]);
    assert_data(flip(3 * PAGE + 13), Damaged, &[(Some(3), Check::KeyInfo)]);
    assert_data(|bytes| bytes[3 * PAGE + 12] = 0, Damaged, &[(Some(3), Check::KeyInfo)]);
    let swap = |bytes: &mut Vec<u8>| bytes[PAGE..3 * PAGE].rotate_left(PAGE);
    let both = [(Some(1), Check::OpenedChecksum), (Some(2), Check::OpenedChecksum)];
    assert_data(swap, Damaged, &both);
    let zero = |bytes: &mut Vec<u8>| bytes[2 * PAGE..3 * PAGE].fill(0);
    assert_data(zero, Damaged, &[(Some(2), Check::AllocatedZero)]);
    // The bitmap page, which says which other pages are in use.
    assert_data(|bytes| bytes[..PAGE].fill(0), Damaged, &[(Some(0), Check::AllocatedZero)]);
    let cut = |bytes: usize| move |data: &mut Vec<u8>| data.truncate(bytes);
    assert_data(cut(3 * PAGE), Truncated, &[(None, Check::FileSize)]);
    assert_data(cut(3 * PAGE + 5), Truncated, &[(Some(3), Check::PartialUnit), (None, Check::FileSize)]);
    assert_data(cut(0), Truncated, &[(None, Check::FileSize)]);
    // The table number in the encryption record is lost: nothing decrypts.
    let mut other = index();
    let end = header(&other).table.header_bytes as usize;
    other[end - 10] ^= 1;
    assert_found(&judge_data(&other, &data(), &keys()), WrongKey, &[(None, Check::KeyOpens)]);
}

/// Deterministic pseudo-random bytes.
fn random(seed: u64, page: &mut [u8]) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for byte in page {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = state.to_be_bytes()[3];
    }
}

#[test]
fn a_random_page_misses_no_key() {
    for seed in 0..200 {
        for page in 1..4 {
            let mut bytes = data();
            random(seed, &mut bytes[page * PAGE..(page + 1) * PAGE]);
            for keys in [&keys() as &dyn KeySource, &NoKeys] {
                let report = judge_data(&index(), &bytes, keys);
                let doubted = matches!(report.verdict, Verdict::Unverifiable);
                assert!(report.verdict == Verdict::Damaged || (doubted && !keys.has_mariadb()), "{seed}: {report:?}");
                let named = report.findings.iter().all(|finding| finding.unit == Some(page as u64));
                assert!(named && report.findings.len() <= 1, "{report:?}");
            }
            let mut bytes = index();
            random(seed, &mut bytes[PAGE..2 * PAGE]);
            let report = judge_index(&bytes, &keys());
            assert_eq!((report.verdict, report.units.bad), (Verdict::Damaged, 1), "{seed}: {report:?}");
        }
    }
    // Nothing else in the table shows that the key is right.
    let mut bytes = data();
    random(7, &mut bytes[PAGE..]);
    let report = judge_data(&index(), &bytes, &keys());
    assert_eq!((report.verdict, report.units.bad), (Verdict::Damaged, 3), "{:?}", report.findings);
}

#[test]
fn a_damaged_key_version_misses_no_key_although_no_other_page_has_one() {
    let mut bytes = data();
    bytes.truncate(2 * PAGE);
    bytes[PAGE + 13] ^= 0x41;
    let report = judge_data(&index(), &bytes, &keys());
    assert_eq!(checks(&report), [(Some(1), Check::KeyInfo), (None, Check::FileSize)], "{:?}", report.findings);
}

#[test]
fn the_other_file_of_a_table_tells_that_its_key_is_right() {
    let mut bytes = index();
    for page in 1..3 {
        bytes[page * PAGE + 60] ^= 1;
    }
    assert_found(&judge_index(&bytes, &keys()), Verdict::WrongKey, &[(None, Check::KeyOpens)]);
    let of_data = judge_data(&bytes, &data(), &keys());
    let report = verify_index(&bytes, &header(&bytes).with_other_file(&of_data), &keys()).unwrap();
    assert_found(&report, Verdict::Damaged, &[(Some(1), Check::OpenedChecksum), (Some(2), Check::OpenedChecksum)]);
    let of_data = judge_data(&bytes, &data(), &keys().all_wrong());
    let report = verify_index(&bytes, &header(&bytes).with_other_file(&of_data), &keys().all_wrong()).unwrap();
    assert_found(&report, Verdict::WrongKey, &[(None, Check::KeyOpens)]);
}

#[test]
fn a_clear_page_in_an_encrypted_table_is_found() {
    let (index, mut data) = (index(), data());
    let table = recognise_table(&index).unwrap();
    let end = table.header_bytes as usize;
    let record = CryptRecord::parse(&index[end - CryptRecord::BYTES..end]).unwrap();
    let pages = AriaPages::new(&keys().mariadb(1, KeyVersion(1)).unwrap(), &record).unwrap();
    let page = &mut data[PAGE..2 * PAGE];
    let layout = PageLayout::data(page, true);
    pages.decrypt(Mode::Cbc, &layout, 1, page).unwrap();
    page[12..16].fill(0);
    assert_found(&judge_data(&index, &data, &keys()), Verdict::Damaged, &[(Some(1), Check::ClearUnit)]);
}

#[test]
fn a_table_that_was_changed_since_its_last_repair_is_as_long_as_its_header_says() {
    let mut changed = index();
    changed[27] |= 1;
    assert_found(&judge_data(&changed, &data(), &keys()), Verdict::Ok, &[]);
    assert_eq!(judge_data(&changed, &[], &keys()).verdict, Verdict::Truncated);
    changed.truncate(PAGE);
    assert_eq!(judge_index(&changed, &keys()).verdict, Verdict::Truncated);
}

#[test]
fn a_data_file_is_not_damaged_by_the_header_of_its_index_file() {
    let mut not_marked = index();
    not_marked[263 + 91] &= !1;
    assert_found(&judge_data(&not_marked, &data(), &keys()), Verdict::Unverifiable, &[(None, Check::Unknown)]);
}

#[test]
fn damage_of_index_files_is_found() {
    use Verdict::{BadKeyInfo, Damaged, Truncated};
    let end = header(&index()).table.header_bytes as usize;
    let record = end - CryptRecord::BYTES;
    assert!(matches!(AriaHeader::read(&b"no table".to_vec()), Err(ScanError::NotRecognised { .. })));
    assert!(matches!(AriaHeader::read(&Vec::new()), Err(ScanError::EmptyFile)));
    assert_index(flip(22), Damaged, &[(Some(0), Check::Header)]);
    assert_index(flip(record), BadKeyInfo, &[(None, Check::KeyInfo)]);
    assert_index(flip(record + 1), BadKeyInfo, &[(None, Check::KeyInfo)]);
    let not_marked = |bytes: &mut Vec<u8>| bytes[263 + 91] &= !1;
    assert_index(not_marked, Damaged, &[(Some(0), Check::KeyInfo)]);
    // A clear table marked encrypted.
    let mut clear = sample("aria/dynamic-clear.MAI");
    let base = usize::from(u16::from_be_bytes([clear[12], clear[13]]));
    clear[base + 91] |= 1;
    assert_eq!(judge_index(&clear, &keys()).verdict, BadKeyInfo);
    for page in 1..3_usize {
        let unit = Some(page as u64);
        for at in [0, 8, 17, 21, 60, PAGE - 1] {
            assert_index(flip(page * PAGE + at), Damaged, &[(unit, Check::OpenedChecksum)]);
        }
        assert_index(flip(page * PAGE + 19), Damaged, &[(unit, Check::Length)]);
        // Leftover server memory after the used bytes.
        assert_index(flip(page * PAGE + PAGE - 5), Verdict::Ok, &[]);
    }
    let swap = |bytes: &mut Vec<u8>| bytes[PAGE..3 * PAGE].rotate_left(PAGE);
    assert_index(swap, Damaged, &[(Some(1), Check::OpenedChecksum), (Some(2), Check::OpenedChecksum)]);
    let zero = |bytes: &mut Vec<u8>| bytes[PAGE..2 * PAGE].fill(0);
    assert_index(zero, Damaged, &[(Some(1), Check::AllocatedZero)]);
    assert_index(|bytes| bytes.truncate(2 * PAGE), Truncated, &[(None, Check::FileSize)]);
    // Indexes of a clear table also have checksums.
    let mut clear = sample("aria/dynamic-clear.MAI");
    clear[PAGE + 10] ^= 1;
    assert_found(&judge_index(&clear, &NoKeys), Damaged, &[(Some(1), Check::Checksum)]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics_and_counts_add_up(
        clear in any::<bool>(),
        changes in proptest::collection::vec((prop_oneof![0_usize..600, 0_usize..32_768], any::<u8>()), 0..12),
        cut in prop_oneof![Just(usize::MAX), 0_usize..32_768],
    ) {
        let name = if clear { "dynamic-clear" } else { "encrypted" };
        let files = ["MAI", "MAD"].map(|kind| {
            let mut bytes = sample(&format!("aria/{name}.{kind}"));
            for (at, value) in &changes {
                if let Some(byte) = bytes.get_mut(*at) {
                    *byte = *value;
                }
            }
            bytes.truncate(cut);
            bytes
        });
        for keys in [&keys() as &dyn KeySource, &NoKeys] {
            let Ok(header) = AriaHeader::read(&files[0]) else { continue };
            for report in [verify_data(&files[1], &header, keys), verify_index(&files[0], &header, keys)] {
                let units = report.unwrap().units;
                prop_assert_eq!(units.total, units.encrypted + units.clear + units.empty + units.bad);
            }
        }
    }
}

/// Every Aria file of a server, the system tables included, and its binary logs.
fn check_server(server: &harness::Server, keys: &dyn KeySource) -> Units {
    let mut units = Units::default();
    for directory in ["w", "mysql"] {
        for entry in std::fs::read_dir(server.datadir().join(directory)).unwrap() {
            let index = entry.unwrap().path();
            if index.extension().is_none_or(|extension| extension != "MAI") {
                continue;
            }
            let open = |path: &std::path::Path| std::fs::File::open(path).unwrap();
            let header = AriaHeader::read(&open(&index)).unwrap();
            let reports = [
                verify_index(&open(&index), &header, keys).unwrap(),
                verify_data(&open(&index.with_extension("MAD")), &header, keys).unwrap(),
            ];
            for report in reports {
                assert_found(&report, report.verdict, &[]);
                assert!(matches!(report.verdict, Verdict::Ok | Verdict::Clear), "{}: {report:?}", index.display());
                units.add(&report.units);
            }
        }
    }
    let log = server.datadir().join("binlog.000001");
    let report = innodb::verify::binlog::verify(&std::fs::File::open(log).unwrap(), keys).unwrap();
    assert_found(&report, Verdict::Ok, &[]);
    units
}

/// Tables with and without log, checksums and pages, with large values, many deletions and sorted indexes: while the
/// server runs, after it was killed and after it recovered.
#[test]
fn no_false_damage_is_found_in_tables_of_a_live_server() {
    use harness::{Kind, Server};
    if harness::require(Kind::MariaDb1011).is_none() {
        return;
    }
    let lines = String::from_utf8(sample("keyring/mariadb1011-keyfile")).unwrap();
    let builder = Server::builder(Kind::MariaDb1011).mariadb_keys(&lines).option("--aria-encrypt-tables=ON");
    let mut server = builder.option("--log-bin=binlog").option("--encrypt-binlog=ON").start().unwrap();
    let mut statements = "CREATE DATABASE w; USE w;".to_owned();
    for (number, options) in [
        "",
        "TRANSACTIONAL=0",
        "PAGE_CHECKSUM=0",
        "ROW_FORMAT=DYNAMIC",
        "ROW_FORMAT=DYNAMIC PAGE_CHECKSUM=0",
        "TRANSACTIONAL=0 PAGE_CHECKSUM=0 CHECKSUM=1",
    ]
    .into_iter()
    .enumerate()
    {
        let t = format!("w.t{number}");
        statements += &format!(
            "CREATE TABLE {t}(id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(100), b LONGTEXT, KEY(a), FULLTEXT(b)) \
             ENGINE=Aria {options}; \
             INSERT INTO {t}(a, b) SELECT CONCAT(seq, REPEAT('x', seq % 80)), IF(seq % 100, '', REPEAT('some words ', \
             seq)) FROM seq_1_to_3000; \
             UPDATE {t} SET a = CONCAT('u', id) WHERE id % 5 = 0; DELETE FROM {t} WHERE id BETWEEN 500 AND 2000; \
             CREATE TABLE {t}s LIKE {t}; INSERT INTO {t}s SELECT * FROM {t}; ALTER TABLE {t}s DISABLE KEYS; \
             ALTER TABLE {t}s ENABLE KEYS; OPTIMIZE TABLE {t}s; CREATE TABLE {t}e LIKE {t};"
        );
    }
    server.sql(&statements).unwrap();
    server.sql("FLUSH TABLES").unwrap();
    let units = check_server(&server, &keys());
    assert!(units.encrypted > 500 && units.clear > 100, "{units:?}");
    server.kill();
    check_server(&server, &keys());
    server.start().unwrap();
    check_server(&server, &keys());
    assert!(ReadAt::len(&std::fs::File::open(server.datadir().join("w/t0.MAD")).unwrap()).unwrap() > 0);
}
