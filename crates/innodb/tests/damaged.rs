//! Scans of damaged files; each file has one kind of damage.

mod common;

use common::{sample, samples};
use innodb::{
    Page0Fault, PageNo, ScanError, SpaceId, aria,
    binlog::{self, BinlogEncryption},
    binlog_scan,
    page::checksum::Checksum,
    redo::{self, RedoFormat},
    tablespace::{
        Continuation, Depth, Disagreement, Encryption, Family, Page0, PageCounts, ScanOptions, TablespaceScan,
        Truncation, scan,
    },
};

const PAGE: usize = 16384;

fn encrypted() -> Vec<u8> {
    sample("tablespace/mysql97-16k-encrypted.ibd")
}

fn scan_all(bytes: &[u8]) -> TablespaceScan {
    scan(&bytes, Depth::All, &ScanOptions::default()).expect("page 0 is whole")
}

#[test]
fn an_empty_file_is_an_error_of_its_own() {
    let none: &[u8] = &[];
    assert!(matches!(scan(&none, Depth::All, &ScanOptions::default()), Err(ScanError::EmptyFile)));
    assert!(matches!(redo::scan(&none, u64::MAX), Err(ScanError::EmptyFile)));
}

#[test]
fn a_file_of_zeros_cannot_be_identified() {
    let zero = vec![0; 6 * PAGE];
    assert_eq!(Page0::parse(&zero), Err(Page0Fault::Empty));
    let error = scan(&zero, Depth::All, &ScanOptions::default()).unwrap_err();
    assert!(matches!(error, ScanError::Page(Page0Fault::Empty)));
}

#[test]
fn a_zero_page_zero_before_other_pages_cannot_be_identified_either() {
    let mut bytes = encrypted();
    bytes[..PAGE].fill(0);
    assert_eq!(Page0::parse(&bytes), Err(Page0Fault::Empty));
}

#[test]
fn clear_extent_descriptors_are_exempt_only_in_mariadb() {
    for (name, exempt, structural) in [("mariadb1011-ctr-4k-encrypted.ibd", 2, 0), ("mysql97-4k-encrypted.ibd", 1, 1)] {
        let mut bytes = sample(&format!("tablespace/{name}"));
        let space_id = bytes[38..42].to_vec();
        let at = 4096 * 4096;
        bytes.resize(at + 4096, 0);
        bytes[at + 4..at + 8].copy_from_slice(&4096_u32.to_be_bytes());
        bytes[at + 24..at + 26].copy_from_slice(&9_u16.to_be_bytes());
        bytes[at + 34..at + 38].copy_from_slice(&space_id);
        bytes[at + 150] = 1;
        let found = scan_all(&bytes);
        assert_eq!((found.counts.exempt, found.counts.clear_structural), (exempt, structural), "{name}");
        assert_eq!((found.counts.clear_data, found.foreign), (0, 0), "{name}");
    }
}

#[test]
fn encrypted_free_pages_of_an_import_belong_to_no_other_tablespace() {
    let mut bytes = encrypted();
    let at = bytes.len();
    bytes.extend_from_within(4 * PAGE..5 * PAGE);
    bytes[at..at + 24].fill(0);
    bytes[at + 26..at + 38].fill(0);
    let found = scan_all(&bytes);
    assert_eq!((found.foreign, found.counts.encrypted), (0, 8));
    bytes[at + 7] = 5;
    assert_eq!(scan_all(&bytes).foreign, 1);
}

#[test]
fn less_than_a_page_is_short() {
    for len in [1, 37, 57, 60, 16383] {
        let bytes = &encrypted()[..len];
        assert!(matches!(Page0::parse(bytes), Err(Page0Fault::Short { .. } | Page0Fault::Empty)), "{len}");
    }
}

#[test]
fn missing_pages_and_a_partial_one_are_reported() {
    let found = scan_all(&encrypted()[..3 * PAGE + 100]);
    assert_eq!(found.truncated, Some(Truncation { missing_pages: 6, partial_bytes: 100 }));
    assert_eq!((found.counts.total, found.counts.scanned), (3, 3));
}

#[test]
fn a_later_page_is_not_page_zero() {
    let bytes = &encrypted()[4 * PAGE..];
    assert_eq!(Page0::parse(bytes), Err(Page0Fault::NotFirst { page_no: PageNo(4), page_type: 15 }));
}

#[test]
fn flags_with_no_page_size_are_named() {
    let mut bytes = encrypted();
    bytes[54..58].copy_from_slice(&0x40_u32.to_be_bytes());
    assert_eq!(Page0::parse(&bytes), Err(Page0Fault::PageSize { flags: 0x40 }));
}

#[test]
fn flag_and_information_disagree() {
    let mut unset = encrypted();
    unset[56] &= !0x20;
    let page0 = Page0::parse(&unset).unwrap();
    assert_eq!(page0.disagreement, Some(Disagreement::InfoWithoutFlag));
    assert!(page0.declares_encryption());
    assert_eq!(page0.checksum, Checksum::Mismatch);

    let mut erased = encrypted();
    erased[10390..10390 + 115].fill(0);
    let page0 = Page0::parse(&erased).unwrap();
    assert_eq!((page0.disagreement, &page0.encryption), (Some(Disagreement::FlagWithoutInfo), &Encryption::None));
    assert!(page0.declares_encryption());

    let mut unknown = encrypted();
    unknown[10392] = b'Z';
    let page0 = Page0::parse(&unknown).unwrap();
    assert_eq!(page0.disagreement, Some(Disagreement::UnknownInfo));
}

#[test]
fn percona_scheme_is_recognised() {
    let mut bytes = encrypted();
    for (magic, scheme_at, scheme) in [("PSC", 3, 0), ("PSC", 3, 1), ("PSB", 3, 1), ("PSA", 11, 0), ("PSA", 11, 1)] {
        bytes[10390..10402].fill(0);
        bytes[10390..10393].copy_from_slice(magic.as_bytes());
        bytes[10390 + scheme_at] = scheme;
        let page0 = Page0::parse(&bytes).unwrap();
        assert_eq!(page0.encryption, Encryption::PerconaKeyring { magic: magic.to_owned(), scheme });
        assert_eq!(page0.declares_encryption(), scheme == 1, "{magic} {scheme}");
    }
    let noted: Encryption = serde_json::from_str(r#"{"kind":"percona-keyring","magic":"PSC"}"#).unwrap();
    assert!(noted.is_declared(), "facts from before the scheme was noted");
}

#[test]
fn mariadb_scheme_against_its_option() {
    let mut bytes = sample("tablespace/mariadb1011-16k-encrypted.ibd");
    bytes[10428 + 6] = 0;
    assert_eq!(Page0::parse(&bytes).unwrap().disagreement, Some(Disagreement::SchemeAgainstMode));
}

#[test]
fn clear_body_under_an_encrypted_header_is_mislabelled() {
    let clear = sample("tablespace/mysql97-16k-clear.ibd");
    let mut bytes = encrypted();
    bytes[4 * PAGE + 38..5 * PAGE].copy_from_slice(&clear[4 * PAGE + 38..5 * PAGE]);
    let found = scan_all(&bytes);
    assert_eq!((found.counts.encrypted, found.counts.mislabelled), (6, 1));
    assert_eq!(found.mislabelled_pages[0].offset, 4 * PAGE as u64);
}

#[test]
fn clear_body_of_mariadb_pages_is_mislabelled() {
    for name in ["mariadb1011-16k-encrypted.ibd", "mariadb1011-16k-legacy-encrypted.ibd"] {
        let mut bytes = sample(&format!("tablespace/{name}"));
        bytes[4 * PAGE + 120..5 * PAGE - 8].fill(b'x');
        let found = scan_all(&bytes);
        assert_eq!((found.counts.encrypted, found.counts.mislabelled), (5, 1), "{name}");
    }
}

#[test]
fn a_clear_page_in_an_encrypted_tablespace_is_data() {
    let clear = sample("tablespace/mysql97-16k-clear.ibd");
    let mut bytes = encrypted();
    bytes[4 * PAGE..5 * PAGE].copy_from_slice(&clear[4 * PAGE..5 * PAGE]);
    let found = scan_all(&bytes);
    assert_eq!((found.counts.encrypted, found.counts.clear_data), (6, 1));
    assert_eq!(found.clear_pages[0].page_no, PageNo(4));
    // The page also belongs to another tablespace.
    assert_eq!((found.foreign, found.foreign_pages[0].space_id), (1, Some(SpaceId(2))));
}

#[test]
fn swapped_pages_are_foreign() {
    for name in ["mysql97-16k-encrypted.ibd", "mariadb1011-16k-encrypted.ibd"] {
        let mut bytes = sample(&format!("tablespace/{name}"));
        let (head, tail) = bytes.split_at_mut(5 * PAGE);
        head[4 * PAGE..].swap_with_slice(&mut tail[..PAGE]);
        let found = scan_all(&bytes);
        assert_eq!(found.foreign, 2, "{name}");
    }
}

#[test]
fn garbage_is_unrecognised_not_clear() {
    let mut bytes = encrypted();
    let cipher = bytes[5 * PAGE + 38..6 * PAGE].to_vec();
    bytes[4 * PAGE..4 * PAGE + cipher.len()].copy_from_slice(&cipher);
    bytes[4 * PAGE + 24..4 * PAGE + 26].copy_from_slice(&[0xab, 0xcd]);
    let found = scan_all(&bytes);
    assert_eq!((found.counts.unrecognised, found.counts.clear(), found.counts.encrypted), (1, 0, 6));
}

/// Page 0 and one other page of a sample: few enough bytes to flip every bit.
fn with_one_page(bytes: &[u8], page: usize, page_bytes: usize) -> Vec<u8> {
    let at = page * page_bytes;
    [&bytes[..page_bytes], &bytes[at..at + page_bytes]].concat()
}

/// The size of a sample's pages, and a few of them.
fn some_pages(bytes: &[u8]) -> (usize, Vec<usize>) {
    let page_bytes = usize::try_from(Page0::parse(bytes).expect("a page 0").physical_page_bytes).expect("a length");
    let pages = bytes.len() / page_bytes;
    (page_bytes, [0, 1, 4, pages / 2].into_iter().filter(|page| (0..pages).contains(page)).collect())
}

#[test]
fn no_bit_of_a_type_or_key_version_makes_a_page_encrypted_or_clear() {
    for (name, bytes) in samples("tablespace") {
        let (page_bytes, pages) = some_pages(&bytes);
        for page in pages {
            let mut part = with_one_page(&bytes, page, page_bytes);
            let before = scan_all(&part).counts;
            // A file without the type of page 0 is not recognised as a tablespace.
            let types = if page == 0 { 26..26 } else { 24..26 };
            for at in (0..4).chain(types).chain(26..30) {
                for bit in 0..8 {
                    let at = if page == 0 { at } else { page_bytes + at };
                    part[at] ^= 1 << bit;
                    let after = scan_all(&part).counts;
                    part[at] ^= 1 << bit;
                    let readable = |counts: &PageCounts| counts.clear_data + counts.mislabelled;
                    let context = || format!("{name} page {page} byte {at} bit {bit}: {before:?} {after:?}");
                    assert!(after.encrypted <= before.encrypted, "{}", context());
                    assert!(before.encrypted == 0 || readable(&after) <= readable(&before), "{}", context());
                }
            }
        }
    }
}

#[test]
fn a_random_page_is_not_encrypted_where_a_checksum_shows_that() {
    for name in ["mariadb1011-16k-legacy-clear.ibd", "mariadb1011-16k-clear.ibd"] {
        let mut bytes = sample(&format!("tablespace/{name}"));
        let random: Vec<u8> = encrypted()[4 * PAGE + 38..5 * PAGE].iter().rev().copied().collect();
        let page = bytes.len() - PAGE;
        bytes[page..page + random.len()].copy_from_slice(&random);
        let counts = scan_all(&bytes).counts;
        assert_eq!((counts.encrypted, counts.unrecognised), (0, 1), "{name}");
    }
}

#[test]
fn a_random_page_of_an_encrypted_table_of_mariadb_is_not_encrypted() {
    for name in ["legacy-encrypted", "legacy-encrypted-kbs8", "encrypted"] {
        let mut bytes = sample(&format!("tablespace/mariadb1011-16k-{name}.ibd"));
        let (page_bytes, _) = some_pages(&bytes);
        let before = scan_all(&bytes).counts;
        let random: Vec<u8> = encrypted()[4 * PAGE + 38..5 * PAGE].iter().rev().copied().collect();
        let encrypted = (1..bytes.len() / page_bytes)
            .find(|page| scan_all(&with_one_page(&bytes, *page, page_bytes)).counts.encrypted == 1)
            .expect("an encrypted page");
        let page = encrypted * page_bytes;
        bytes[page..page + page_bytes].copy_from_slice(&[random.as_slice(), &random].concat()[..page_bytes]);
        let after = scan_all(&bytes).counts;
        assert_eq!((after.encrypted, after.unrecognised), (before.encrypted - 1, before.unrecognised + 1), "{name}");
        assert_eq!((after.clear_data, after.mislabelled), (before.clear_data, before.mislabelled), "{name}");
    }
}

#[test]
fn a_torn_page_of_an_aria_table_is_not_clear() {
    const ARIA_PAGE: usize = 8192;
    let table = aria::recognise_table(&sample("aria/encrypted.MAI")).unwrap();
    let whole = sample("aria/encrypted.MAD");
    let counts = |bytes: &[u8]| aria::scan_data(&bytes, &table, u64::MAX).unwrap().counts;
    let before = counts(&whole);
    // Only the start of the page was written; the rest is still zero.
    for written in [2048, 4096] {
        let mut torn = whole.clone();
        torn[ARIA_PAGE + written..2 * ARIA_PAGE].fill(0);
        assert_eq!(counts(&torn), before, "{written}");
    }
    let mut clear = whole;
    clear[ARIA_PAGE + 16..2 * ARIA_PAGE - 4].fill(b'a');
    assert_eq!((counts(&clear).encrypted, counts(&clear).mislabelled), (before.encrypted - 1, 1));
}

#[test]
fn a_clear_tablespace_with_a_damaged_record_is_not_called_encrypted() {
    for name in ["mysql97-16k-clear.ibd", "mariadb1011-16k-clear-page-compressed.ibd", "mariadb1011-16k-clear.ibd"] {
        let bytes = sample(&format!("tablespace/{name}"));
        let page0 = Page0::parse(&bytes).unwrap();
        let at = page0.info_offset() + if page0.family == Family::MySql { 0 } else { 38 };
        for damaged in at..at + 6 {
            let mut bytes = bytes.clone();
            bytes[damaged] ^= 4;
            let found = scan_all(&bytes).page0;
            assert_eq!((found.declares_encryption(), found.disagreement), (false, None), "{name} {damaged}");
        }
    }
}

#[test]
fn flipped_compressed_length_does_not_matter() {
    let mut bytes = sample("tablespace/mysql97-16k-encrypted-zlib.ibd");
    bytes[4 * PAGE + 32..4 * PAGE + 34].fill(0xff);
    let found = scan_all(&bytes);
    assert_eq!(found.counts.encrypted + found.counts.mislabelled, 7);
}

#[test]
fn a_continued_file_is_read_with_the_first_ones_page0() {
    let bytes = sample("tablespace/mysql97-ibdata1-change-buffer");
    let options = ScanOptions {
        continues: Some(Continuation { page0: Page0::parse(&bytes).unwrap(), first_page: PageNo(192) }),
        ..ScanOptions::default()
    };
    let rest = &bytes[192 * PAGE..];
    let found = scan(&rest, Depth::All, &options).unwrap();
    assert_eq!((found.counts.total, found.counts.exempt, found.foreign, found.truncated), (576, 0, 0, None));
    assert_eq!(found.change_buffer_pages, 6);
}

#[test]
fn old_tablespace_without_marks_is_undetermined() {
    let mut bytes = sample("tablespace/mysql97-16k-clear.ibd");
    bytes[8..16].fill(0);
    bytes[54..58].fill(0);
    assert_eq!(Page0::parse(&bytes).unwrap().family, Family::Undetermined);
    assert_eq!(scan_all(&bytes).counts.clear_data, 5);
}

#[test]
fn redo_of_no_known_format_is_counted() {
    let mut bytes = sample("redo/mysql97-mixed");
    bytes[..2048].fill(0);
    let spare = redo::scan(&bytes, u64::MAX).unwrap();
    assert_eq!((spare.format, spare.blocks.clear, spare.blocks.encrypted), (RedoFormat::Blank, 401, 70));
    bytes[..2048].fill(7);
    assert_eq!(redo::scan(&bytes, u64::MAX).unwrap().format, RedoFormat::Unknown);
}

#[test]
fn clear_block_marked_encrypted_is_mislabelled() {
    let mut bytes = sample("redo/mysql97-mixed");
    bytes[2048 + 4] |= 0x80;
    let found = redo::scan(&bytes, u64::MAX).unwrap();
    assert_eq!((found.blocks.mislabelled, found.blocks.clear, found.blocks.encrypted), (1, 400, 70));
}

#[test]
fn cut_binary_log_ends_where_the_damage_is() {
    let bytes = sample("binlog/mysql97-clear");
    let cut = &bytes[..bytes.len() - 10];
    let found = binlog_scan::events(&cut, u64::MAX, u64::MAX).unwrap();
    assert_eq!((found.events, found.complete), (13, false));
    assert!(found.damaged_at.is_some());
}

#[test]
fn a_redo_log_whose_header_is_lost_is_neither_encrypted_nor_clear() {
    for name in ["mariadb10.11.19-encrypted", "mariadb11.8.6-encrypted", "mariadb11.4.5-encrypted-phys"] {
        for zeroed in [4, 512, 2048, 12288] {
            let mut bytes = sample(&format!("redo/{name}"));
            bytes[..zeroed].fill(0);
            let blocks = redo::scan(&bytes, u64::MAX).unwrap().blocks;
            let known = blocks.encrypted + blocks.clear + blocks.mislabelled;
            assert!(blocks.unrecognised > 16 * known, "{name}, {zeroed}: {blocks:?}");
            assert_eq!(blocks.scanned, known + blocks.unrecognised + blocks.empty);
        }
    }
    // Readable text is clear, whatever the header says.
    let mut clear = vec![0; 2048];
    clear.extend(b"a row of a table, in clear, ".repeat(400));
    let blocks = redo::scan(&clear, u64::MAX).unwrap().blocks;
    assert_eq!((blocks.clear, blocks.encrypted, blocks.unrecognised), (blocks.total, 0, 0));
}

#[test]
fn zeros_after_a_short_encrypted_binary_log_do_not_make_it_clear() {
    let whole = sample("binlog/mysql97-encrypted-7-events");
    let encryption = |appended: &[u8]| {
        let log = [&whole[..700], appended].concat();
        binlog::recognise(log.as_slice()).unwrap().encryption
    };
    assert!(matches!(encryption(&[0; 16384]), BinlogEncryption::MySql { key_id: Some(_), .. }));
    assert_eq!(encryption(&b"text of a row ".repeat(200)), BinlogEncryption::Mislabelled);
}

#[test]
fn random_blocks_after_a_redo_file_are_not_encrypted() {
    let mut spare = vec![0; 65536];
    let encrypted = encrypted();
    // Page ciphertext, from an offset at which no block begins.
    spare.extend_from_slice(&encrypted[4 * PAGE + 64..5 * PAGE]);
    spare.truncate(65536 + PAGE - 512);
    let blocks = redo::scan(&spare, u64::MAX).unwrap().blocks;
    assert_eq!((blocks.clear, blocks.encrypted, blocks.unrecognised), (0, 0, 31), "{blocks:?}");
    let mut log = sample("redo/mysql97-mixed");
    let before = redo::scan(&log, u64::MAX).unwrap().blocks;
    log.extend_from_slice(&spare[65536..]);
    let after = redo::scan(&log, u64::MAX).unwrap().blocks;
    assert_eq!((after.encrypted, after.clear, after.unrecognised), (before.encrypted, before.clear, 31));
    let report = innodb::verify::redo::verify(&log, &innodb::keys::NoKeys, None).unwrap();
    assert_eq!(report.file.verdict, innodb::verify::Verdict::Damaged);
}

#[test]
fn a_binary_log_without_its_start_of_encryption_has_no_event_that_can_be_read() {
    let log = sample("binlog/mariadb1011-encrypted-84-events");
    let start = binlog_scan::events(&log, u64::MAX, u64::MAX).unwrap().encrypted_from.unwrap();
    let start = usize::try_from(start).unwrap();
    let readable = |bytes: &[u8]| binlog_scan::events(&bytes, u64::MAX, u64::MAX).unwrap().readable;
    for bytes in [start - 1, start - 20, start - 45, start - 80] {
        assert_eq!(readable(&log[..bytes]), Some(0), "{bytes}");
    }
    let mut zeroed = log;
    zeroed[start - 40..start].fill(0);
    assert_eq!(readable(&zeroed), Some(0));
    // A clear log stays clear, whichever event is damaged.
    let clear = sample("binlog/mysql97-clear");
    let all = readable(&clear).unwrap();
    assert_eq!(all, 13);
    for at in [13, 40, 130, 200] {
        let mut damaged = clear.clone();
        damaged[at] ^= 0x55;
        assert!(readable(&damaged).unwrap() > 8, "{at}: {:?}", readable(&damaged));
    }
}

#[test]
fn a_record_of_mysql_does_not_turn_a_table_of_mariadb_into_one_of_mysql() {
    for (name, encrypted) in
        [("mariadb1011-16k-legacy-encrypted.ibd", true), ("mariadb1011-16k-legacy-clear.ibd", false)]
    {
        let mut bytes = sample(&format!("tablespace/{name}"));
        let before = scan_all(&bytes);
        let at = before.page0.info_offset();
        bytes[at..at + 7].copy_from_slice(b"lCC\0\0\0\x02");
        bytes[at + 7..at + 43].copy_from_slice(b"95b2f013-e4cd-11f1-8c02-02fc00000001");
        let planted = scan_all(&bytes);
        assert_eq!(planted.page0.family, Family::MariaDbLegacy, "{name}");
        assert_eq!(planted.counts.encrypted > 0, encrypted, "{name}");
        assert_eq!(planted.counts.clear_data + planted.counts.mislabelled > 0, !encrypted, "{name}: {planted:?}");
    }
}
