//! Every sample is proven with its keys, every damage is reported with its layer.

mod common;

use common::{SampleKeys, keys_of, sample, samples};
use innodb::{
    Lsn, PageNo, SpaceId,
    crypt::mysql::export_key,
    keys::{KeySource, NoKeys},
    tablespace::{Continuation, Family, Page0},
    verify::{
        Check, FileReport, RequiredKey, Verdict,
        tablespace::{
            NoTablespaces, Options, Owner, PageBuffers, Part, TablespaceLookup, TablespaceVerifier,
            unreadable_page0::{self, FileState},
        },
    },
};

fn verify_with(bytes: &[u8], options: &Options<'_>) -> FileReport {
    let verifier = TablespaceVerifier::begin(bytes, options).expect("page 0 is readable");
    let mut part = Part::default();
    let whole = bytes.len() / verifier.page_bytes() * verifier.page_bytes();
    verifier.verify(bytes, 0, &mut bytes[..whole].to_vec(), &mut PageBuffers::default(), &mut part);
    verifier.finish([part])
}

fn verify(bytes: &[u8], keys: &dyn KeySource) -> FileReport {
    verify_with(bytes, &Options::new(keys))
}

/// Verifies one page of a tablespace.
fn verify_page(bytes: &[u8], page: usize, keys: &dyn KeySource) -> FileReport {
    let verifier = TablespaceVerifier::begin(bytes, &Options::new(keys)).expect("page 0 is readable");
    let (mut part, at) = (Part::default(), page * verifier.page_bytes());
    let mut buffer = bytes[at..at + verifier.page_bytes()].to_vec();
    verifier.verify(bytes, page as u64, &mut buffer, &mut PageBuffers::default(), &mut part);
    verifier.finish([part])
}

fn checks(report: &FileReport) -> Vec<(Option<u64>, Check)> {
    report.findings.iter().map(|finding| (finding.unit, finding.check)).collect()
}

/// Samples that are incomplete, or not as a server would write them.
const EXCEPTIONS: [(&str, Verdict); 4] = [
    ("mariadb1011-ibdata1-pages0-7", Verdict::Truncated),
    ("mysql97-ibdata1-change-buffer", Verdict::Clear),
    ("percona57-ibdata1", Verdict::Clear),
    ("percona57-ibtmp1", Verdict::Clear),
];

fn expected(name: &str) -> Verdict {
    let exception = EXCEPTIONS.iter().find(|(exception, _)| name == *exception);
    match exception {
        Some((_, verdict)) => *verdict,
        None if name.contains("clear") || name.contains("checksum") => Verdict::Clear,
        None => Verdict::Ok,
    }
}

#[test]
fn every_sample_is_proven_with_its_keys() {
    for (name, bytes) in samples("tablespace") {
        let report = verify(&bytes, &keys_of(&name));
        assert_eq!(report.verdict, expected(&name), "{name}: {report:#?}");
        let units = report.units;
        assert_eq!(units.total, units.encrypted + units.clear + units.empty + units.bad, "{name}");
        assert_eq!(units.bad, 0, "{name}");
    }
}

#[test]
fn without_keys_encrypted_samples_are_unverifiable_and_clear_ones_clear() {
    for (name, bytes) in samples("tablespace") {
        // The bootstrap key is public and in no key store.
        let public = name.contains("default-master-key");
        let wanted = match expected(&name) {
            Verdict::Ok if !public => Verdict::Unverifiable,
            other => other,
        };
        assert_eq!(verify(&bytes, &NoKeys).verdict, wanted, "{name}");
    }
}

#[test]
fn a_missing_key_is_distinguished_from_another_key() {
    for (name, bytes) in samples("tablespace") {
        let bootstrap = name.contains("default-master-key");
        if expected(&name) != Verdict::Ok || bootstrap {
            continue;
        }
        let missing = verify(&bytes, &keys_of(&name).emptied());
        assert_eq!(missing.verdict, Verdict::MissingKey, "{name}: {missing:#?}");
        let wrong = verify(&bytes, &keys_of(&name).all_wrong());
        assert_eq!(wrong.verdict, Verdict::WrongKey, "{name}: {wrong:#?}");
        assert_eq!(wrong.findings.iter().filter(|finding| finding.check == Check::KeyOpens).count(), 1, "{name}");
        assert_eq!(wrong.units.bad, 0, "{name}: a wrong key damages nothing");
        assert!(wrong.key.is_some(), "{name}");
    }
}

const MYSQL: &str = "tablespace/mysql97-16k-encrypted.ibd";
const MARIADB: &str = "tablespace/mariadb1011-16k-encrypted.ibd";
const LEGACY: &str = "tablespace/mariadb1011-16k-legacy-encrypted.ibd";
const CLEAR: &str = "tablespace/mysql97-16k-clear.ibd";
const PAGE: usize = 16384;

#[test]
fn the_required_key_is_named() {
    let report = verify(&sample(MYSQL), &keys_of(MYSQL));
    let uuid = "95b2f013-e4cd-11f1-8c02-02fc00000001";
    let Some(RequiredKey::MySql { name, server_uuid, .. }) = report.key else { panic!("{:?}", report.key) };
    assert_eq!((name, server_uuid.as_deref()), (format!("INNODBKey-{uuid}-2"), Some(uuid)));
    let report = verify(&sample("tablespace/mariadb1011-16k-encrypted-key34.ibd"), &keys_of(MARIADB));
    let Some(RequiredKey::MariaDb { key_id, versions }) = report.key else { panic!("{:?}", report.key) };
    assert_eq!((key_id, versions.len()), (34, 1));
}

/// Flips one bit, then verifies.
fn flipped(name: &str, at: usize) -> FileReport {
    let mut bytes = sample(name);
    bytes[at] ^= 0x10;
    verify(&bytes, &keys_of(name))
}

#[test]
fn a_flipped_bit_is_found_in_the_layer_it_is_in() {
    let page = 5 * PAGE;
    let cases = [
        (MYSQL, page + 4000, Check::OpenedChecksum),
        (MYSQL, page, Check::OpenedChecksum),
        (MYSQL, page + 7, Check::Position),
        (MYSQL, page + 35, Check::SpaceId),
        (MARIADB, page + 4000, Check::CiphertextChecksum),
        (LEGACY, page + 4000, Check::CiphertextChecksum),
        (LEGACY, page + 35, Check::SpaceId),
        (CLEAR, page + 4000, Check::Checksum),
        (CLEAR, page + 35, Check::SpaceId),
        (CLEAR, page + PAGE - 1, Check::TrailerLsn),
        ("tablespace/mysql97-16k-encrypted-zlib.ibd", page + 60, Check::Decompression),
        ("tablespace/mysql97-16k-clear-zlib.ibd", page + 60, Check::Decompression),
        ("tablespace/mysql97-16k-encrypted-kbs8.ibd", 5 * 8192 + 4000, Check::OpenedChecksum),
        ("tablespace/mariadb1011-16k-clear.ibd", page + 4000, Check::Checksum),
        ("tablespace/mariadb1011-16k-legacy-clear.ibd", page + 4000, Check::Checksum),
        ("tablespace/mariadb1011-16k-legacy-encrypted-page-compressed.ibd", page + 60, Check::CiphertextChecksum),
    ];
    for (name, at, check) in cases {
        let report = flipped(name, at);
        assert_eq!(report.verdict, Verdict::Damaged, "{name} {at}: {report:#?}");
        assert!(checks(&report).contains(&(Some(5), check)), "{name} {at}: {report:#?}");
        assert_eq!(report.units.bad, 1, "{name} {at}: one page is damaged");
        assert!(report.findings.iter().all(|finding| finding.unit == Some(5)), "{name} {at}: {report:#?}");
    }
}

#[test]
fn every_flipped_byte_of_a_page_is_detected() {
    for name in [MYSQL, MARIADB, LEGACY, CLEAR] {
        let bytes = sample(name);
        let keys = keys_of(name);
        for at in (4 * PAGE..5 * PAGE).step_by(211) {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x41;
            let report = verify(&bytes, &keys);
            let location = at % PAGE;
            // The older formats' checksum does not cover bytes 26 to 33, and the checksum over the ciphertext does not
            // cover the header.
            let uncovered = (26..38).contains(&location) && name != MARIADB;
            assert!(report.verdict == Verdict::Damaged || uncovered, "{name} {location}: {report:#?}");
        }
    }
}

#[test]
fn swapped_pages_have_the_wrong_position() {
    for name in [MYSQL, MARIADB, LEGACY, CLEAR] {
        let mut bytes = sample(name);
        let (left, right) = bytes.split_at_mut(5 * PAGE);
        left[4 * PAGE..].swap_with_slice(&mut right[..PAGE]);
        let report = verify(&bytes, &keys_of(name));
        assert_eq!(report.verdict, Verdict::Damaged, "{name}");
        assert_eq!(checks(&report), [(Some(4), Check::Position), (Some(5), Check::Position)], "{name}: {report:#?}");
    }
}

#[test]
fn a_page_of_another_tablespace_is_foreign() {
    let mut bytes = sample(CLEAR);
    let other = sample("tablespace/synthetic-checksum-none.ibd");
    bytes[4 * PAGE..5 * PAGE].copy_from_slice(&other[4 * PAGE..5 * PAGE]);
    bytes[4 * PAGE + 37] ^= 1;
    let report = verify(&bytes, &keys_of(CLEAR));
    assert_eq!(checks(&report), [(Some(4), Check::SpaceId)]);
}

#[test]
fn a_zeroed_page_is_allocated_but_empty() {
    for name in [MYSQL, MARIADB, LEGACY, CLEAR] {
        let mut bytes = sample(name);
        bytes[4 * PAGE..5 * PAGE].fill(0);
        let keys = keys_of(name);
        let report = verify(&bytes, &keys);
        assert_eq!(checks(&report), [(Some(4), Check::AllocatedZero)], "{name}: {report:#?}");
        let live = verify_with(&bytes, &Options { live: true, ..Options::new(&keys) });
        assert_ne!(live.verdict, Verdict::Damaged, "{name}: a running server writes later");
        let older = Options { checkpoint: Some(Lsn(1)), ..Options::new(&keys) };
        assert_ne!(verify_with(&bytes, &older).verdict, Verdict::Damaged, "{name}: after the checkpoint");
        let newer = Options { checkpoint: Some(Lsn(u64::MAX)), ..Options::new(&keys) };
        assert_eq!(verify_with(&bytes, &newer).verdict, Verdict::Damaged, "{name}: before the checkpoint");
    }
}

#[test]
fn a_clear_page_in_an_encrypted_tablespace_is_damage_and_in_an_undo_tablespace_mixed() {
    let mut bytes = sample(MYSQL);
    let clear = sample(CLEAR);
    bytes[4 * PAGE..5 * PAGE].copy_from_slice(&clear[4 * PAGE..5 * PAGE]);
    let space = bytes[38..42].to_vec();
    bytes[4 * PAGE + 34..4 * PAGE + 38].copy_from_slice(&space);
    let report = verify(&bytes, &keys_of(MYSQL));
    assert_eq!(report.verdict, Verdict::Damaged);
    assert_eq!(checks(&report), [(Some(4), Check::ClearUnit)]);

    let undo = verify(&sample("tablespace/mysql97-undo-mixed"), &keys_of(MYSQL));
    assert_eq!((undo.verdict, undo.units.encrypted), (Verdict::Ok, 6));
    assert!(undo.findings.iter().all(|finding| finding.check == Check::Mixed));
    assert!(!undo.findings.is_empty());
}

#[test]
fn an_encrypted_page_in_a_clear_tablespace_is_damage() {
    let mut bytes = sample(CLEAR);
    let encrypted = sample(MYSQL);
    bytes[4 * PAGE..5 * PAGE].copy_from_slice(&encrypted[4 * PAGE..5 * PAGE]);
    let space = bytes[38..42].to_vec();
    bytes[4 * PAGE + 34..4 * PAGE + 38].copy_from_slice(&space);
    assert_eq!(checks(&verify(&bytes, &keys_of(CLEAR))), [(Some(4), Check::EncryptedUnit)]);
}

#[test]
fn a_shortened_file_is_truncated() {
    for name in [MYSQL, MARIADB, LEGACY, CLEAR] {
        let bytes = sample(name);
        let pages = verify(&bytes[..bytes.len() - PAGE], &keys_of(name));
        assert_eq!((pages.verdict, pages.findings[0].check), (Verdict::Truncated, Check::FileSize), "{name}");
        let partial = verify(&bytes[..bytes.len() - 100], &keys_of(name));
        assert_eq!(partial.verdict, Verdict::Truncated, "{name}");
        assert!(partial.findings.iter().any(|finding| finding.check == Check::PartialUnit), "{name}");
        let keyless = verify(&bytes[..bytes.len() - PAGE], &NoKeys);
        assert_eq!(keyless.verdict, Verdict::Truncated, "{name}: needs no key");
    }
}

#[test]
fn damaged_key_information_is_distinguished_from_a_wrong_key() {
    // In the wrapped key: the checksum of page 0 also fails, so it counts as damage.
    let report = flipped(MYSQL, 10390 + 60);
    assert_eq!(report.verdict, Verdict::BadKeyInfo, "{report:#?}");
    // As before, with a corrected checksum of page 0: no damage is visible, so it looks like a wrong key.
    let mut bytes = sample(MYSQL);
    bytes[10390 + 60] ^= 0x10;
    seal_crc32(&mut bytes[..PAGE]);
    assert_eq!(verify(&bytes, &keys_of(MYSQL)).verdict, Verdict::WrongKey);
    // The flag says encrypted, but the information is missing.
    let mut bytes = sample(MYSQL);
    bytes[10390..10390 + 111].fill(0);
    seal_crc32(&mut bytes[..PAGE]);
    assert_eq!(verify(&bytes, &keys_of(MYSQL)).verdict, Verdict::BadKeyInfo);
    // Only the checksum of page 0 covers MariaDB's record.
    assert_eq!(flipped(MARIADB, 10428 + 10).verdict, Verdict::BadKeyInfo);
    assert_eq!(flipped(MARIADB, 10428 + 2).verdict, Verdict::BadKeyInfo);
    assert_eq!(
        verify(
            &{
                let mut b = sample(MYSQL);
                b[10390 + 60] ^= 1;
                b
            },
            &NoKeys
        )
        .verdict,
        Verdict::BadKeyInfo
    );
}

/// The range of the key's record.
fn record_at(bytes: &[u8]) -> usize {
    let page0 = Page0::parse(bytes).expect("page 0");
    let mariadb = matches!(page0.family, Family::MariaDbFullCrc32 | Family::MariaDbLegacy);
    page0.info_offset() + if mariadb { 38 } else { 0 }
}

#[test]
fn a_clear_tablespace_with_a_damaged_page_0_misses_no_key() {
    // Damage cannot be found where nothing has a checksum, or where page 0 is rewritten at every start.
    let not_proven = ["synthetic-checksum-none.ibd", "percona57-ibtmp1", "mysql97-ibdata1-change-buffer"];
    for (name, bytes) in samples("tablespace") {
        let mysql = !name.starts_with("mariadb");
        if expected(&name) != Verdict::Clear || not_proven.contains(&name.as_str()) {
            continue;
        }
        let record = record_at(&bytes);
        let flips = [(record, 0x10), (record + 3, 0x10), (record + 5, 1), (record + 7, 0x10)];
        for (at, mask) in flips.into_iter().chain(mysql.then_some((56, 0x20))) {
            let mut bytes = bytes.clone();
            bytes[at] ^= mask;
            let report = verify(&bytes, &keys_of(&name));
            assert_eq!(report.verdict, Verdict::Damaged, "{name} {at}: {report:#?}");
            assert!(report.findings.iter().all(|finding| finding.unit == Some(0)), "{name} {at}: {report:#?}");
            assert!(report.key.is_none(), "{name} {at}");
        }
    }
}

#[test]
fn an_encrypted_tablespace_whose_record_is_damaged_is_not_called_clear() {
    for (name, bytes) in samples("tablespace") {
        if expected(&name) != Verdict::Ok && name != "mysql97-undo-mixed" {
            continue;
        }
        let record = record_at(&bytes);
        for length in [1, 100] {
            let mut bytes = bytes.clone();
            bytes[record..record + length].fill(0x21);
            assert_eq!(verify(&bytes, &keys_of(&name)).verdict, Verdict::BadKeyInfo, "{name} {length}");
        }
    }
}

#[test]
fn a_page_whose_type_is_damaged_is_not_called_clear() {
    for name in [MYSQL, "tablespace/mysql97-16k-encrypted-zlib.ibd", "tablespace/mysql97-16k-encrypted-kbs8.ibd"] {
        let bytes = sample(name);
        let page = usize::try_from(Page0::parse(&bytes).unwrap().physical_page_bytes).unwrap();
        let whole = verify(&bytes, &keys_of(name)).units;
        let mut bytes = bytes;
        bytes[4 * page + 24] ^= 4;
        let report = verify(&bytes, &keys_of(name));
        assert_eq!((report.verdict, checks(&report)), (Verdict::Damaged, vec![(Some(4), Check::Header)]), "{name}");
        assert_eq!((report.units.clear, report.units.bad), (whole.clear, 1), "{name}");
    }
}

#[test]
fn a_clear_copy_whose_type_is_damaged_is_not_encrypted() {
    let name = "mysql97-ibdata1-change-buffer";
    let mut bytes = sample(&format!("tablespace/{name}"));
    // An unused slot in which one flipped bit looks like an encrypted page.
    let at = 112 * PAGE + 24;
    assert_eq!(bytes[at..at + 2], 13_u16.to_be_bytes());
    bytes[at..at + 2].copy_from_slice(&15_u16.to_be_bytes());
    let report = verify(&bytes, &keys_of(name));
    assert_eq!((report.verdict, report.units.encrypted, report.units.bad), (Verdict::Damaged, 0, 1), "{report:#?}");
}

#[test]
fn a_damaged_flag_or_space_id_damages_page_0_alone() {
    for (name, bytes) in samples("tablespace") {
        let without_checksums = name.contains("checksum-") || name.contains("ibtmp1");
        let whole = verify(&bytes, &keys_of(&name));
        if whole.verdict > Verdict::Ok || without_checksums || whole.units.total > 64 {
            continue;
        }
        for (at, bit) in [41, 54, 55, 56, 57].into_iter().flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << bit;
            // An invalid page size: the file is judged without its page 0.
            if Page0::parse(&bytes).is_err() {
                continue;
            }
            let report = verify(&bytes, &keys_of(&name));
            let expected = if whole.verdict == Verdict::Clear { Verdict::Damaged } else { Verdict::BadKeyInfo };
            let context = || format!("{name} byte {at} bit {bit}: {report:#?}");
            assert_eq!(report.verdict, expected, "{}", context());
            assert_eq!((report.units.encrypted, report.units.bad), (whole.units.encrypted, 1), "{}", context());
        }
    }
}

#[test]
fn no_bit_of_a_type_or_key_version_makes_a_page_encrypted_or_clear() {
    for (name, bytes) in samples("tablespace") {
        if name.contains("ibdata1") || name.contains("ibtmp1") || name.contains("undo") {
            continue;
        }
        let page_bytes = usize::try_from(Page0::parse(&bytes).unwrap().physical_page_bytes).unwrap();
        let keys = keys_of(&name);
        // Page 4 is the root of the first index of a table.
        for page in [1, 4].into_iter().filter(|page| *page < bytes.len() / page_bytes) {
            let mut part = bytes[..bytes.len().min(9 * page_bytes)].to_vec();
            for (at, bit) in [3, 24, 25, 29].into_iter().flat_map(|at| (0..8).map(move |bit| (at, bit))) {
                part[page * page_bytes + at] ^= 1 << bit;
                for report in [verify_page(&part, page, &keys), verify_page(&part, page, &NoKeys)] {
                    let context = || format!("{name} page {page} byte {at} bit {bit}: {report:#?}");
                    let wrong = |check| matches!(check, Check::ClearUnit | Check::EncryptedUnit);
                    assert!(!report.findings.iter().any(|finding| wrong(finding.check)), "{}", context());
                    assert_ne!(report.verdict, Verdict::BadKeyInfo, "{}", context());
                }
                part[page * page_bytes + at] ^= 1 << bit;
            }
        }
    }
}

/// Writes the crc32 of a page of the older formats.
fn seal_crc32(page: &mut [u8]) {
    let sum = innodb::page::checksum::crc32(page).to_be_bytes();
    let end = page.len();
    page[..4].copy_from_slice(&sum);
    page[end - 8..end - 4].copy_from_slice(&sum);
}

#[test]
fn an_export_file_opens_its_tablespace_without_a_keyring() {
    let key = export_key(&sample("export/mysql97-16k-encrypted.cfp"));
    assert!(key.is_some());
    let with = Options { export_key: key.clone(), ..Options::new(&NoKeys) };
    assert_eq!(verify_with(&sample(MYSQL), &with).verdict, Verdict::Ok);
    let other = Options { export_key: key, ..Options::new(&NoKeys) };
    assert_eq!(verify_with(&sample("tablespace/mysql97-16k-encrypted-lz4.ibd"), &other).verdict, Verdict::Unverifiable);
}

#[test]
fn the_second_file_of_a_system_tablespace_continues_the_first() {
    let whole = sample("tablespace/mysql97-ibdata1-change-buffer");
    let (first, second) = whole.split_at(400 * PAGE);
    let pages_in_other_files = u64::try_from(second.len() / PAGE).unwrap();
    let report = verify_with(first, &Options { pages_in_other_files, ..Options::new(&NoKeys) });
    assert_eq!(report.verdict, Verdict::Clear, "{report:#?}");
    let continuation = Continuation { page0: Page0::parse(first).unwrap(), first_page: PageNo(400) };
    let continues = Some((continuation, first[..65536].to_vec()));
    let report = verify_with(second, &Options { continues, ..Options::new(&NoKeys) });
    assert_eq!(report.verdict, Verdict::Clear, "{report:#?}");
}

#[test]
fn without_page_0_the_other_pages_show_what_is_lost() {
    for (name, verdict) in [(MYSQL, Verdict::BadKeyInfo), (MARIADB, Verdict::BadKeyInfo), (CLEAR, Verdict::Damaged)] {
        for fill in [0, 0xab] {
            let mut bytes = sample(name);
            bytes[..PAGE].fill(fill);
            assert_eq!(
                unreadable_page0::verify(bytes.as_slice(), FileState::default()).unwrap().unwrap().verdict,
                verdict,
                "{name} {fill}"
            );
        }
    }
    let zeros = vec![0; 7 * PAGE];
    assert_eq!(
        unreadable_page0::verify(zeros.as_slice(), FileState::default()).unwrap().unwrap().verdict,
        Verdict::Unidentified
    );
    assert_eq!(
        unreadable_page0::verify(vec![0x5a; 7 * PAGE].as_slice(), FileState::default()).unwrap().unwrap().verdict,
        Verdict::Unidentified
    );
}

#[test]
fn a_page_0_that_a_server_has_not_written_yet_is_no_damage() {
    let mut bytes = sample(CLEAR);
    bytes[..PAGE].fill(0);
    let verdict = |live, checkpoint| {
        unreadable_page0::verify(bytes.as_slice(), FileState { live, checkpoint, ..FileState::default() })
            .unwrap()
            .unwrap()
            .verdict
    };
    assert_eq!(verdict(true, None), Verdict::Unidentified);
    assert_eq!(verdict(false, Some(Lsn(1))), Verdict::Unidentified, "all of it changed after the checkpoint");
    assert_eq!(verdict(false, Some(Lsn(u64::MAX))), Verdict::Damaged);
    assert_eq!(verdict(false, None), Verdict::Damaged);
}

/// The tablespaces whose pages a doublewrite file of the tests copies.
struct OneOwner(Owner);

impl TablespaceLookup for OneOwner {
    fn owner(&self, space: SpaceId) -> Option<Owner> {
        (space == Page0::parse(&sample(MYSQL)).expect("a sample").space_id).then(|| self.0.clone())
    }
}

#[test]
fn copies_in_a_doublewrite_file_are_opened_with_their_owners_keys() {
    let tablespace = sample(MYSQL);
    let keys = keys_of(MYSQL);
    let options = Options::new(&keys);
    let verifier = TablespaceVerifier::begin(tablespace.as_slice(), &options).unwrap();
    let mut part = Part::default();
    verifier.verify(tablespace.as_slice(), 0, &mut tablespace.clone(), &mut PageBuffers::default(), &mut part);
    let owners = OneOwner(verifier.owner());
    let slots = [&tablespace[4 * PAGE..6 * PAGE], &[0; PAGE], &sample(CLEAR)[4 * PAGE..5 * PAGE]].concat();

    let verify = |bytes: &[u8], owners: &dyn TablespaceLookup| {
        innodb::verify::doublewrite::verify(bytes, Some(16384), owners).unwrap()
    };
    let report = verify(&slots, &owners);
    assert_eq!((report.verdict, report.units.encrypted, report.units.clear), (Verdict::Ok, 2, 1), "{report:#?}");

    let orphaned = verify(&slots, &NoTablespaces);
    assert_eq!(orphaned.verdict, Verdict::Unverifiable, "no key opened them");
    assert_eq!(checks(&orphaned), [(Some(0), Check::Unknown), (Some(1), Check::Unknown)]);
    let dropped = [&slots[..PAGE], &sample("tablespace/mysql97-16k-encrypted-lz4.ibd")[4 * PAGE..5 * PAGE]].concat();
    let dropped = verify(&dropped, &owners);
    assert_eq!((dropped.verdict, checks(&dropped)), (Verdict::Ok, vec![(Some(1), Check::Stale)]));

    let mut damaged = slots.clone();
    damaged[9000] ^= 1;
    assert_eq!(checks(&verify(&damaged, &owners)), [(Some(0), Check::OpenedChecksum)]);
    let mut damaged = slots.clone();
    damaged[3 * PAGE + 9000] ^= 1;
    assert_eq!(checks(&verify(&damaged, &owners)), [(Some(3), Check::Checksum)]);
    assert_eq!(verify(&slots[..slots.len() - 5], &owners).verdict, Verdict::Truncated);

    let older = OneOwner(Owner { decrypted_from: Lsn(u64::MAX), ..verifier.owner() });
    let mut of_another_key = slots.clone();
    (38..PAGE).step_by(16).for_each(|at| of_another_key[at] ^= 1);
    assert_eq!(checks(&verify(&of_another_key, &older)), [(Some(0), Check::Stale)]);
    let mut damaged = slots;
    damaged[9000] ^= 1;
    assert_eq!(checks(&verify(&damaged, &older)), [(Some(0), Check::OpenedChecksum)], "its key opens the rest");
}

#[test]
fn names_of_keys_are_distinguished() {
    let keys = SampleKeys::component("mysql97-4k-component-file.json");
    assert_eq!(verify(&sample(MYSQL), &keys).verdict, Verdict::MissingKey, "another server's keyring");
}
