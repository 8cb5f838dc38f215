//! The counts of the real files in testdata/.

mod common;

use common::{sample, samples};
use innodb::{
    KeyVersion, Lsn, MasterKeyId, PageNo, SpaceId,
    aria::{self, RowFormat},
    binlog::{self, BinlogEncryption},
    binlog_scan::{self, StatementKind},
    doublewrite,
    file_kind::{self, FileKind},
    page::{
        checksum::Checksum,
        types::{ClearClass, PageType},
    },
    redo::{self, RedoFormat, RedoKey},
    tablespace::{
        Depth, Encryption, Family, MariaDbMode, MySqlMagic, Page0, ScanOptions, TablespaceKind, TablespaceScan, scan,
    },
};

const UUID: &str = "95b2f013-e4cd-11f1-8c02-02fc00000001";

fn scan_all(name: &str) -> TablespaceScan {
    scan(&sample(&format!("tablespace/{name}")), Depth::All, &ScanOptions::default()).expect(name)
}

/// Name, family, logical and physical page bytes, pages, encrypted, clear data,
/// clear structural, empty, exempt, page-compressed.
type Row = (&'static str, Family, u32, u32, [u64; 7]);

const TABLESPACES: &[Row] = {
    use Family::{MariaDbFullCrc32 as Full, MariaDbLegacy as Legacy, MySql, Undetermined};
    &[
        ("mysql97-16k-encrypted.ibd", MySql, 16384, 16384, [9, 7, 0, 0, 1, 1, 0]),
        ("mysql97-16k-encrypted-blob.ibd", MySql, 16384, 16384, [11, 9, 0, 0, 1, 1, 0]),
        ("mysql97-16k-encrypted-empty.ibd", MySql, 16384, 16384, [7, 4, 0, 0, 2, 1, 0]),
        ("mysql97-16k-encrypted-rtree.ibd", MySql, 16384, 16384, [8, 5, 0, 0, 2, 1, 0]),
        ("mysql97-16k-encrypted-kbs8.ibd", MySql, 16384, 8192, [9, 7, 0, 0, 1, 1, 0]),
        ("mysql97-16k-encrypted-zlib.ibd", MySql, 16384, 16384, [9, 7, 0, 0, 1, 1, 7]),
        ("mysql97-16k-encrypted-lz4.ibd", MySql, 16384, 16384, [9, 7, 0, 0, 1, 1, 7]),
        ("mysql97-16k-encrypted-general.ibd", MySql, 16384, 16384, [7, 4, 0, 0, 2, 1, 0]),
        ("mysql97-16k-clear.ibd", MySql, 16384, 16384, [9, 0, 5, 2, 1, 1, 0]),
        ("mysql97-16k-clear-zlib.ibd", MySql, 16384, 16384, [9, 0, 5, 2, 1, 1, 7]),
        ("mysql97-undo-mixed", MySql, 16384, 16384, [1024, 6, 173, 131, 713, 1, 0]),
        ("mysql97-4k-encrypted.ibd", MySql, 4096, 4096, [19, 17, 0, 0, 1, 1, 0]),
        ("mysql97-4k-encrypted-kbs2.ibd", MySql, 4096, 2048, [19, 17, 0, 0, 1, 1, 0]),
        ("mysql97-8k-encrypted.ibd", MySql, 8192, 8192, [13, 11, 0, 0, 1, 1, 0]),
        ("mysql97-8k-encrypted-zlib.ibd", MySql, 8192, 8192, [13, 11, 0, 0, 1, 1, 11]),
        ("mysql97-8k-encrypted-kbs4.ibd", MySql, 8192, 4096, [12, 10, 0, 0, 1, 1, 0]),
        ("mysql97-32k-encrypted.ibd", MySql, 32768, 32768, [8, 6, 0, 0, 1, 1, 0]),
        ("mysql97-32k-encrypted-zlib.ibd", MySql, 32768, 32768, [8, 6, 0, 0, 1, 1, 6]),
        ("mysql97-64k-encrypted.ibd", MySql, 65536, 65536, [7, 4, 0, 0, 2, 1, 0]),
        ("mysql97-64k-encrypted-zlib.ibd", MySql, 65536, 65536, [7, 4, 0, 0, 2, 1, 4]),
        ("synthetic-lCA-serverid951.ibd", MySql, 16384, 16384, [9, 7, 0, 0, 1, 1, 0]),
        ("synthetic-lCB.ibd", MySql, 16384, 16384, [9, 7, 0, 0, 1, 1, 0]),
        ("synthetic-lCB-8byte-id.ibd", MySql, 16384, 16384, [9, 7, 0, 0, 1, 1, 0]),
        ("synthetic-lCC-default-master-key.ibd", MySql, 16384, 16384, [9, 7, 0, 0, 1, 1, 0]),
        ("synthetic-zlib-v1-block4096.ibd", MySql, 16384, 16384, [9, 7, 0, 0, 1, 1, 7]),
        ("synthetic-checksum-innodb.ibd", MySql, 16384, 16384, [9, 0, 5, 2, 1, 1, 0]),
        ("synthetic-checksum-none.ibd", MySql, 16384, 16384, [9, 0, 5, 2, 1, 1, 0]),
        ("percona57-16k-encrypted.ibd", MySql, 16384, 16384, [7, 6, 0, 0, 0, 1, 0]),
        ("percona57-16k-encrypted-kbs8.ibd", MySql, 16384, 8192, [8, 5, 0, 0, 2, 1, 0]),
        ("percona57-16k-encrypted-zlib.ibd", MySql, 16384, 16384, [6, 5, 0, 0, 0, 1, 5]),
        ("percona57-16k-clear.ibd", Undetermined, 16384, 16384, [9, 0, 5, 2, 1, 1, 0]),
        ("percona80-16k-clear.ibd", MySql, 16384, 16384, [10, 0, 6, 2, 1, 1, 0]),
        ("mariadb1011-16k-encrypted.ibd", Full, 16384, 16384, [7, 6, 0, 0, 0, 1, 0]),
        ("mariadb1011-16k-encrypted-key2.ibd", Full, 16384, 16384, [7, 6, 0, 0, 0, 1, 0]),
        ("mariadb1011-16k-encrypted-key34.ibd", Full, 16384, 16384, [7, 6, 0, 0, 0, 1, 0]),
        ("mariadb1011-16k-encrypted-blob.ibd", Full, 16384, 16384, [9, 8, 0, 0, 0, 1, 0]),
        ("mariadb1011-16k-encrypted-rtree.ibd", Full, 16384, 16384, [5, 4, 0, 0, 0, 1, 0]),
        ("mariadb1011-16k-encrypted-page-compressed.ibd", Full, 16384, 16384, [7, 6, 0, 0, 0, 1, 6]),
        ("mariadb1011-16k-encrypted-page-compressed-lz4.ibd", Full, 16384, 16384, [7, 6, 0, 0, 0, 1, 6]),
        ("mariadb1011-16k-encrypted-page-compressed-lzo.ibd", Full, 16384, 16384, [7, 6, 0, 0, 0, 1, 6]),
        ("mariadb1011-16k-encrypted-page-compressed-lzma.ibd", Full, 16384, 16384, [7, 6, 0, 0, 0, 1, 6]),
        ("mariadb1011-16k-encrypted-page-compressed-bzip2.ibd", Full, 16384, 16384, [7, 6, 0, 0, 0, 1, 6]),
        ("mariadb1011-16k-encrypted-page-compressed-snappy.ibd", Full, 16384, 16384, [7, 6, 0, 0, 0, 1, 6]),
        ("mariadb1011-16k-encrypted-page-compressed-stale.ibd", Full, 16384, 16384, [4, 3, 0, 0, 0, 1, 3]),
        ("mariadb1011-16k-clear.ibd", Full, 16384, 16384, [7, 0, 4, 2, 0, 1, 0]),
        ("mariadb1011-16k-clear-page-compressed.ibd", Full, 16384, 16384, [7, 0, 6, 0, 0, 1, 6]),
        ("mariadb1011-16k-encrypted-kbs8.ibd", Legacy, 16384, 8192, [8, 6, 0, 0, 1, 1, 0]),
        ("mariadb1011-16k-legacy-encrypted.ibd", Legacy, 16384, 16384, [7, 6, 0, 0, 0, 1, 0]),
        ("mariadb1011-16k-legacy-encrypted-kbs8.ibd", Legacy, 16384, 8192, [8, 6, 0, 0, 1, 1, 0]),
        ("mariadb1011-16k-legacy-encrypted-page-compressed.ibd", Legacy, 16384, 16384, [7, 6, 0, 0, 0, 1, 6]),
        ("mariadb1011-16k-legacy-encrypted-page-compressed-stale.ibd", Legacy, 16384, 16384, [4, 3, 0, 0, 0, 1, 3]),
        ("mariadb1011-16k-legacy-clear-page-compressed-snappy.ibd", Legacy, 16384, 16384, [7, 0, 6, 0, 0, 1, 6]),
        ("mariadb1011-16k-legacy-clear.ibd", Legacy, 16384, 16384, [7, 0, 4, 2, 0, 1, 0]),
        ("mariadb1011-ibdata1-pages0-7", Full, 16384, 16384, [8, 6, 0, 0, 0, 2, 0]),
        ("mariadb1011-ctr-4k-encrypted.ibd", Full, 4096, 4096, [18, 16, 0, 0, 1, 1, 0]),
        ("mariadb1011-ctr-4k-legacy-encrypted.ibd", Legacy, 4096, 4096, [18, 16, 0, 0, 1, 1, 0]),
        ("mariadb1011-ctr-4k-legacy-encrypted-page-compressed.ibd", Legacy, 4096, 4096, [18, 16, 0, 0, 1, 1, 16]),
        ("mariadb1011-ctr-8k-encrypted.ibd", Full, 8192, 8192, [12, 10, 0, 0, 1, 1, 0]),
        ("mariadb1011-ctr-8k-legacy-encrypted.ibd", Legacy, 8192, 8192, [12, 10, 0, 0, 1, 1, 0]),
        ("mariadb1011-ctr-8k-legacy-encrypted-page-compressed.ibd", Legacy, 8192, 8192, [12, 10, 0, 0, 1, 1, 10]),
        ("mariadb1011-ctr-32k-encrypted.ibd", Full, 32768, 32768, [6, 5, 0, 0, 0, 1, 0]),
        ("mariadb1011-ctr-32k-legacy-encrypted.ibd", Legacy, 32768, 32768, [6, 5, 0, 0, 0, 1, 0]),
        ("mariadb1011-ctr-32k-legacy-encrypted-page-compressed.ibd", Legacy, 32768, 32768, [6, 5, 0, 0, 0, 1, 5]),
        ("mariadb1011-ctr-64k-encrypted.ibd", Full, 65536, 65536, [4, 3, 0, 0, 0, 1, 0]),
        ("mariadb1011-ctr-64k-legacy-encrypted-page-compressed.ibd", Legacy, 65536, 65536, [4, 3, 0, 0, 0, 1, 3]),
    ]
};

#[test]
fn pages_of_every_tablespace_are_counted() {
    for (name, family, logical, physical, expected) in TABLESPACES {
        let found = scan_all(name);
        assert_eq!(found.page0.family, *family, "{name}");
        assert_eq!(found.page0.logical_page_bytes, *logical, "{name}");
        assert_eq!(found.page0.physical_page_bytes, *physical, "{name}");
        let counts = found.counts;
        let pages = [
            counts.total,
            counts.encrypted,
            counts.clear_data,
            counts.clear_structural,
            counts.empty,
            counts.exempt,
            found.compressed_pages,
        ];
        assert_eq!(pages, *expected, "{name}");
        assert_eq!(counts.scanned, counts.total, "{name}");
        assert_eq!(counts.mislabelled + counts.unrecognised, 0, "{name}");
        assert_eq!((found.foreign, found.page0.disagreement), (0, None), "{name}");
        assert!(found.complete && found.page0.checksum.is_ok(), "{name}");
        let declared = counts.encrypted > 0;
        assert_eq!(found.page0.declares_encryption(), declared, "{name}");
    }
}

#[test]
fn every_tablespace_sample_is_in_the_table() {
    for (name, _) in samples("tablespace") {
        let listed = TABLESPACES.iter().any(|row| row.0 == name);
        assert!(listed || name.contains("ibdata1") || name.contains("ibtmp1"), "{name}");
    }
}

#[test]
fn encryption_information_of_mysql_is_parsed() {
    for (name, magic, key, uuid) in [
        ("mysql97-16k-encrypted.ibd", MySqlMagic::V3, 2, Some(UUID)),
        ("synthetic-lCA-serverid951.ibd", MySqlMagic::V1, 2, None),
        ("synthetic-lCB.ibd", MySqlMagic::V2, 2, Some(UUID)),
        ("synthetic-lCB-8byte-id.ibd", MySqlMagic::V2, 2, Some(UUID)),
        ("synthetic-lCC-default-master-key.ibd", MySqlMagic::V3, 0, Some(UUID)),
    ] {
        let expected = Encryption::MySql {
            magic,
            master_key_id: MasterKeyId(key),
            server_uuid: uuid.map(str::to_owned),
            flag_set: true,
        };
        assert_eq!(scan_all(name).page0.encryption, expected, "{name}");
    }
}

#[test]
fn crypt_data_of_mariadb_is_parsed() {
    for (name, scheme, key_id, version, mode) in [
        ("mariadb1011-16k-encrypted.ibd", 1, 1, 1, MariaDbMode::On),
        ("mariadb1011-16k-encrypted-key34.ibd", 1, 34, 1, MariaDbMode::On),
        ("mariadb1011-16k-clear.ibd", 0, 1, 0, MariaDbMode::Off),
        ("mariadb1011-ctr-64k-encrypted.ibd", 1, 1, 1, MariaDbMode::Default),
    ] {
        let found = scan_all(name);
        let expected = Encryption::MariaDb { scheme, key_id, min_key_version: KeyVersion(version), mode };
        assert_eq!(found.page0.encryption, expected, "{name}");
        let versions: Vec<_> = found.key_versions.iter().map(|seen| (seen.version.0, seen.pages)).collect();
        let pages = found.counts.encrypted;
        assert_eq!(versions, if pages > 0 { vec![(1, pages)] } else { vec![] }, "{name}");
    }
}

#[test]
fn kinds_and_checksums_of_tablespaces_are_found() {
    for (name, kind, checksum) in [
        ("mysql97-16k-encrypted.ibd", TablespaceKind::FilePerTable, Checksum::Crc32),
        ("mysql97-16k-encrypted-general.ibd", TablespaceKind::General, Checksum::Crc32),
        ("mysql97-undo-mixed", TablespaceKind::Undo, Checksum::Crc32),
        ("mysql97-ibdata1-change-buffer", TablespaceKind::System, Checksum::Crc32),
        ("mysql97-16k-encrypted-kbs8.ibd", TablespaceKind::FilePerTable, Checksum::ZipCrc32),
        ("synthetic-checksum-innodb.ibd", TablespaceKind::FilePerTable, Checksum::Innodb),
        ("synthetic-checksum-none.ibd", TablespaceKind::FilePerTable, Checksum::None),
        ("mariadb1011-16k-encrypted.ibd", TablespaceKind::FilePerTable, Checksum::FullCrc32),
        ("mariadb1011-ibdata1-pages0-7", TablespaceKind::System, Checksum::FullCrc32),
    ] {
        let found = scan_all(name);
        assert_eq!((found.kind, found.page0.checksum), (kind, checksum), "{name}");
    }
}

#[test]
fn every_clear_mariadb_page_carries_its_checksum() {
    let bytes = sample("tablespace/mariadb1011-16k-legacy-clear.ibd");
    for page in bytes.chunks_exact(16384) {
        assert_eq!(innodb::page::checksum::classic(page), Checksum::Crc32);
    }
    let bytes = sample("tablespace/mariadb1011-16k-encrypted.ibd");
    for page in bytes.chunks_exact(16384) {
        assert_eq!(innodb::page::checksum::full_crc32(page), Checksum::FullCrc32);
    }
}

#[test]
fn clear_pages_of_an_encrypted_undo_tablespace_are_evidence() {
    let found = scan_all("mysql97-undo-mixed");
    assert_eq!(found.clear_undo_pages, 173);
    assert_eq!(found.counts.clear(), 304);
    let first = &found.clear_pages[0];
    assert_eq!(first.class, ClearClass::Data);
    assert_eq!(PageType(first.page_type), PageType::UNDO);
    assert_eq!(first.offset, u64::from(first.page_no.0) * 16384);
    let structural = found.clear_pages.iter().filter(|page| page.class == ClearClass::Structural);
    assert_eq!(structural.count(), ScanOptions::default().evidence);
}

#[test]
fn change_buffer_of_an_encrypted_table_is_found() {
    let bytes = sample("tablespace/mysql97-ibdata1-change-buffer");
    let found = scan(&bytes, Depth::All, &ScanOptions::default()).unwrap();
    assert_eq!((found.change_buffer_pages, found.clear_index_pages), (30, 30));
    assert_eq!(found.clear_undo_pages, 0);
    assert_eq!((found.counts.clear_data, found.counts.clear_structural), (30, 58));
    assert_eq!((found.counts.doublewrite, found.doublewrite.empty), (128, 128));
    // 19 of them hold values of the encrypted table, all among the pages counted.
    let leaks = bytes.chunks_exact(16384).enumerate().filter(|(_, page)| {
        page.windows(6).any(|window| window == b"CBLEAK") && page[24..26] == 17855_u16.to_be_bytes()
    });
    assert_eq!(leaks.count(), 19);
}

#[test]
fn head_and_sample_read_less() {
    let bytes = sample("tablespace/mysql97-undo-mixed");
    let head = scan(&bytes, Depth::Head, &ScanOptions::default()).unwrap();
    assert_eq!((head.counts.scanned, head.counts.exempt, head.complete), (1, 1, false));
    let some = scan(&bytes, Depth::Sample(64), &ScanOptions::default()).unwrap();
    assert!((64..=135).contains(&some.counts.scanned));
    assert!(some.counts.clear_data > 0 && !some.complete);
    let all = scan(&bytes, Depth::Sample(5000), &ScanOptions::default()).unwrap();
    assert!(all.complete);
}

#[test]
fn open_files_and_bytes_give_the_same_result() {
    let path = common::testdata().join("tablespace/mysql97-16k-encrypted.ibd");
    let file = std::fs::File::open(path).unwrap();
    let from_file = scan(&file, Depth::All, &ScanOptions::default()).unwrap();
    assert_eq!(from_file, scan_all("mysql97-16k-encrypted.ibd"));
}

#[test]
fn results_survive_json() {
    for (name, bytes) in samples("tablespace") {
        let found = scan(&bytes, Depth::All, &ScanOptions::default()).unwrap();
        let text = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<TablespaceScan>(&text).unwrap(), found, "{name}");
    }
    let page0 = serde_json::to_value(scan_all("mysql97-16k-encrypted.ibd").page0).unwrap();
    assert_eq!(page0["family"], "mysql");
    assert_eq!(page0["encryption"]["kind"], "mysql");
    assert_eq!(page0["kind"], "file-per-table");
}

#[test]
fn blocks_of_every_redo_log_are_counted() {
    use RedoFormat::{MariaDbBlocks, MariaDbEncrypted, MariaDbPhys, MySql};
    for (name, format, encrypted, [total, cipher, clear, empty]) in [
        ("mysql97-mixed", MySql, None, [508, 70, 401, 37]),
        ("mariadb10.5.23-encrypted", MariaDbBlocks, Some(true), [16380, 435, 0, 15945]),
        ("mariadb10.11.19-encrypted", MariaDbEncrypted, Some(true), [8168, 1775, 0, 6393]),
        ("mariadb11.4.5-encrypted-phys", MariaDbPhys, Some(true), [16360, 240, 0, 16120]),
        ("mariadb11.8.6-encrypted", MariaDbEncrypted, Some(true), [16360, 429, 0, 15931]),
    ] {
        let found = redo::scan(&sample(&format!("redo/{name}")), u64::MAX).unwrap();
        assert_eq!((found.format, found.declared_encrypted), (format, encrypted), "{name}");
        let blocks = found.blocks;
        assert_eq!(
            [blocks.total, blocks.encrypted, blocks.clear, blocks.empty],
            [total, cipher, clear, empty],
            "{name}"
        );
        assert_eq!((blocks.mislabelled, found.complete), (0, true), "{name}");
        assert_eq!(found.names_clear, format == MariaDbPhys, "{name}");
    }
}

#[test]
fn the_redo_header_of_mysql_is_parsed() {
    let found = redo::scan(&sample("redo/mysql97-mixed"), u64::MAX).unwrap();
    assert_eq!(found.creator.as_deref(), Some("MySQL 9.7.4"));
    assert_eq!((found.format_id, found.start_lsn), (6, Some(Lsn(0x0133_1000))));
    assert_eq!(
        found.key,
        Some(RedoKey::MySql {
            magic: MySqlMagic::V3,
            master_key_id: MasterKeyId(2),
            server_uuid: Some(UUID.to_owned())
        })
    );
    assert_eq!(found.clear_offsets[0], 2048);
}

#[test]
fn redo_sampling_is_bounded() {
    let bytes = sample("redo/mariadb10.5.23-encrypted");
    let found = redo::scan(&bytes, 1 << 20).unwrap();
    assert!(!found.complete && found.blocks.scanned <= 2048);
    assert!(found.blocks.encrypted > 0);
}

#[test]
fn binary_logs() {
    let mysql = BinlogEncryption::MySql { version: 1, key_id: Some(format!("MySQLReplicationKey_{UUID}_2")) };
    let mariadb = BinlogEncryption::MariaDb { scheme: 1, key_version: KeyVersion(1) };
    let percona = BinlogEncryption::Percona { scheme: 1, key_version: KeyVersion(0) };
    for (name, encryption, version) in [
        ("mysql97-clear", &BinlogEncryption::Clear, Some("9.7.4-2")),
        ("percona57-encrypted-4-events", &percona, Some("5.7.22-22-log")),
        ("percona57-encrypted-24-events", &percona, Some("5.7.22-22-log")),
        ("mysql97-encrypted-83-events", &mysql, None),
        ("mysql97-encrypted-13-events", &mysql, None),
        ("mysql97-encrypted-7-events", &mysql, None),
        ("mariadb1011-encrypted-84-events", &mariadb, Some("10.11.19-MariaDB-0+deb12u1-log")),
        ("mariadb1011-encrypted-14-events", &mariadb, Some("10.11.19-MariaDB-0+deb12u1-log")),
        ("mariadb1011-encrypted-ctr", &mariadb, Some("10.11.19-MariaDB-0+deb12u1-log")),
    ] {
        let bytes = sample(&format!("binlog/{name}"));
        let head = binlog::recognise(&bytes).unwrap();
        assert_eq!(&head.encryption, encryption, "{name}");
        assert_eq!(head.server_version.as_deref(), version, "{name}");
        assert_eq!(head.created.is_some(), version.is_some(), "{name}");
        let events = binlog_scan::events(&bytes, u64::MAX, u64::MAX).unwrap();
        assert_eq!(events.complete, head.is_clear(), "{name}");
        assert_eq!(events.encrypted_from.is_none(), head.is_clear(), "{name}");
        assert_eq!((events.damaged_at, events.statements.len()), (None, 0), "{name}");
    }
    let events = binlog_scan::events(&sample("binlog/mysql97-clear"), u64::MAX, u64::MAX).unwrap();
    assert_eq!(events.events, 14);
}

/// A query event as servers write it: 5 bytes of status variables, database `demo`, and 4 bytes for the checksum.
fn query_event(timestamp: u32, text: &str) -> Vec<u8> {
    let mut event = Vec::new();
    event.extend(timestamp.to_le_bytes());
    event.extend([2, 1, 0, 0, 0]);
    event.extend([0; 4 + 4 + 2]);
    event.extend([0; 8]);
    event.push(4);
    event.extend([0, 0]);
    event.extend(5_u16.to_le_bytes());
    event.extend([0; 5]);
    event.extend(b"demo\0");
    event.extend(text.as_bytes());
    event.extend([9; 4]);
    let length = u32::try_from(event.len()).expect("short events").to_le_bytes();
    event[9..13].copy_from_slice(&length);
    event
}

#[test]
fn key_rotations_are_found_and_nothing_else() {
    let mut log = sample("binlog/mysql97-clear");
    let at = log.len() as u64;
    log.extend(query_event(1_700_000_001, "ALTER INSTANCE ROTATE INNODB MASTER KEY"));
    log.extend(query_event(1_700_000_002, "/* x */ alter  instance\nrotate binlog master key;"));
    log.extend(query_event(1_700_000_003, "ALTER INSTANCE ROTATE INNODB"));
    log.extend(query_event(1_700_000_004, "INSERT INTO t VALUES ('ALTER INSTANCE ROTATE INNODB MASTER KEY')"));
    let found = binlog_scan::events(&log, u64::MAX, u64::MAX).unwrap();
    let statements: Vec<_> = found.statements.iter().map(|found| (found.timestamp, found.kind)).collect();
    assert_eq!(
        statements,
        [(1_700_000_001, StatementKind::RotateInnodbMasterKey), (1_700_000_002, StatementKind::RotateBinlogMasterKey)]
    );
    assert_eq!((found.statements[0].offset, found.events, found.complete), (at, 18, true));
}

#[test]
fn aria_tables() {
    let index = sample("aria/encrypted.MAI");
    let table = aria::recognise_table(&index).unwrap();
    assert_eq!((table.encrypted, table.row_format, table.block_bytes), (true, RowFormat::Page, 8192));
    assert!(table.transactional);
    let data = aria::scan_data(&sample("aria/encrypted.MAD"), &table, u64::MAX).unwrap();
    assert_eq!([data.counts.total, data.counts.encrypted, data.counts.exempt, data.counts.clear], [4, 3, 1, 0]);
    assert_eq!(data.key_versions, Some((KeyVersion(1), KeyVersion(1))));
    let random: Vec<u8> = (0..8192_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for (file, of_index) in [("aria/encrypted.MAD", false), ("aria/encrypted.MAI", true)] {
        let mut bytes = sample(file);
        bytes[8192..16384].copy_from_slice(&random);
        let scan = if of_index { aria::scan_index } else { aria::scan_data };
        let counts = scan(&bytes, &table, u64::MAX).unwrap().counts;
        assert_eq!((counts.unrecognised, counts.encrypted), (1, counts.total - 2), "{file}");
        bytes[8192..16384].fill(b'x');
        assert_eq!(scan(&bytes, &table, u64::MAX).unwrap().counts.mislabelled, 1, "{file}");
    }
    let keys = aria::scan_index(&index, &table, u64::MAX).unwrap();
    assert_eq!([keys.counts.total, keys.counts.encrypted, keys.counts.exempt, keys.counts.clear], [3, 2, 1, 0]);

    let index = sample("aria/dynamic-clear.MAI");
    let table = aria::recognise_table(&index).unwrap();
    assert_eq!((table.encrypted, table.row_format), (false, RowFormat::Dynamic));
    let data = aria::scan_data(&sample("aria/dynamic-clear.MAD"), &table, u64::MAX).unwrap();
    assert_eq!([data.counts.clear, data.counts.encrypted], [3, 0]);
    assert!(aria::is_log(&sample("aria/aria_log.00000001")));
}

#[test]
fn aria_pages_in_clear_behind_an_encrypted_header_are_mislabelled() {
    let table = aria::recognise_table(&sample("aria/encrypted.MAI")).unwrap();
    let mut data = sample("aria/encrypted.MAD");
    let rows = b"sealant-name-0001 sealant note 1 ".repeat(300);
    data[8192 + 16..16384 - 4].copy_from_slice(&rows[..8192 - 20]);
    data[16384 + 12..16384 + 16].fill(0);
    let found = aria::scan_data(&data, &table, u64::MAX).unwrap();
    assert_eq!([found.counts.encrypted, found.counts.mislabelled, found.counts.clear], [1, 1, 1]);
    assert_eq!(found.clear_offsets, [8192, 16384]);
}

/// A doublewrite file made of pages of other samples, in slots of `slot` bytes.
fn doublewrite_file(slot: usize, pages: &[&[u8]]) -> Vec<u8> {
    let mut file = Vec::new();
    for page in pages {
        let start = file.len();
        file.extend_from_slice(page);
        file.resize(start + slot, 0);
    }
    file
}

#[test]
fn doublewrite_slots_are_counted_by_tablespace() {
    let encrypted = sample("tablespace/mysql97-16k-encrypted.ibd");
    let zip = sample("tablespace/mysql97-16k-encrypted-kbs8.ibd");
    let clear = sample("tablespace/mysql97-16k-clear.ibd");
    let mut pages: Vec<&[u8]> = vec![&[]];
    pages.extend(encrypted.chunks_exact(16384).skip(3));
    pages.extend(zip.chunks_exact(8192).skip(3));
    pages.extend(clear.chunks_exact(16384).skip(2));
    let file = doublewrite_file(16384, &pages);
    for page_bytes in [None, doublewrite::page_bytes_of_name("#ib_16384_0.dblwr")] {
        let found = doublewrite::scan(&file, page_bytes, u64::MAX).unwrap();
        assert_eq!((found.page_bytes, found.complete), (16384, true));
        let copies = &found.copies;
        assert_eq!([copies.encrypted, copies.clear_data, copies.clear_structural, copies.mislabelled], [10, 5, 1, 0]);
        assert_eq!(copies.for_space(SpaceId(4)).unwrap().encrypted, 5);
        assert_eq!(copies.for_space(SpaceId(10)).unwrap().encrypted, 5);
        assert_eq!(found.clear_slots.len(), 6);
        assert_eq!(copies.clear_types["index"], 4);
    }
    assert_eq!(doublewrite::page_bytes_of_name("#ib_16384_1.dblwr"), Some(16384));
    assert_eq!(doublewrite::page_bytes_of_name("#ib_12345_1.dblwr"), None);
    assert_eq!(doublewrite::page_bytes_of_name("ibdata1"), None);
}

#[test]
fn the_page_size_of_a_doublewrite_file_is_detected() {
    for (name, size) in [("4k", 4096), ("8k", 8192), ("32k", 32768), ("64k", 65536)] {
        let bytes = sample(&format!("tablespace/mysql97-{name}-encrypted.ibd"));
        let found = doublewrite::scan(&bytes, None, u64::MAX).unwrap();
        assert_eq!(found.page_bytes, size, "{name}");
    }
}

#[test]
fn the_doublewrite_area_of_the_system_tablespace_is_found() {
    let mut file = sample("tablespace/mysql97-ibdata1-change-buffer");
    let clear = sample("tablespace/mysql97-16k-clear.ibd");
    let encrypted = sample("tablespace/mysql97-16k-encrypted.ibd");
    file[64 * 16384..65 * 16384].copy_from_slice(&clear[4 * 16384..5 * 16384]);
    file[191 * 16384..192 * 16384].copy_from_slice(&encrypted[4 * 16384..5 * 16384]);
    let found = scan(&file, Depth::All, &ScanOptions::default()).unwrap();
    assert_eq!((found.counts.doublewrite, found.counts.clear_data, found.foreign), (128, 30, 0));
    let copies = &found.doublewrite;
    assert_eq!((copies.empty, copies.clear_data, copies.encrypted), (126, 1, 1));
    assert_eq!(copies.for_space(SpaceId(4)).unwrap().encrypted, 1);
}

#[test]
fn copies_of_both_mariadb_formats_are_distinguished() {
    let mut file = sample("tablespace/mariadb1011-ibdata1-pages0-7");
    file.resize(192 * 16384, 0);
    let full = sample("tablespace/mariadb1011-16k-encrypted.ibd");
    let legacy = sample("tablespace/mariadb1011-16k-legacy-encrypted.ibd");
    let clear = sample("tablespace/mariadb1011-16k-legacy-clear.ibd");
    for (slot, page) in [&full, &legacy, &clear].into_iter().enumerate() {
        let at = (64 + slot) * 16384;
        file[at..at + 16384].copy_from_slice(&page[4 * 16384..5 * 16384]);
    }
    let found = scan(&file, Depth::All, &ScanOptions::default()).unwrap();
    let copies = &found.doublewrite;
    assert_eq!((copies.encrypted, copies.clear_data, copies.empty), (2, 1, 125));
    // The space id of the full_crc32 copy is ciphertext.
    assert_eq!(copies.by_space.len(), 2);
    assert_eq!(copies.for_space(SpaceId(16)).unwrap().encrypted, 1);
    assert_eq!(copies.for_space(SpaceId(15)).unwrap().clear_data, 1);
}

#[test]
fn files_are_recognised_by_content() {
    for (directory, expected) in [("tablespace", FileKind::Tablespace), ("redo", FileKind::Redo)] {
        for (name, bytes) in samples(directory) {
            let kind = file_kind::recognise(&bytes, "renamed.bak", bytes.len() as u64);
            assert_eq!(kind, Some(expected), "{name}");
        }
    }
    for (name, expected) in [
        ("binlog/mysql97-clear", FileKind::Binlog),
        ("binlog/mysql97-encrypted-7-events", FileKind::BinlogEncrypted),
        ("aria/aria_log.00000001", FileKind::AriaLog),
        ("aria/encrypted.MAI", FileKind::AriaIndex),
        ("export/mysql97-16k-encrypted.cfp", FileKind::ExportKey),
    ] {
        let bytes = sample(name);
        assert_eq!(file_kind::recognise(&bytes, "x", bytes.len() as u64), Some(expected), "{name}");
    }
    for (name, bytes) in samples("keyring") {
        assert_eq!(file_kind::recognise(&bytes, &name, bytes.len() as u64), None, "{name}");
    }
}

#[test]
fn page0_needs_only_its_page() {
    let bytes = sample("tablespace/mysql97-16k-encrypted.ibd");
    let page0 = Page0::parse(&bytes[..16384]).unwrap();
    assert_eq!((page0.space_id, page0.size_in_pages, page0.free_limit), (SpaceId(4), 9, 64));
    assert_eq!(page0.server_version, Some(90704));
    assert_eq!(PageNo(0), PageNo::default());
}
