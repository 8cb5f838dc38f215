//! Formats of Percona Server only: a record with scheme 0, a parallel doublewrite file, binary logs encrypted with a
//! key of the keyring, an encrypted system tablespace; and formats of 5.7 and of 8.0 before 8.0.30 that differ from
//! newer servers.

mod common;

use common::{SampleKeys, keys_of, sample};
use innodb::{
    Lsn, SpaceId,
    crypt::{mysql::WrappedKey, redo::key_records::KeyRecords, redo::mysql::MySqlBlockCipher},
    doublewrite,
    keys::{KeySource, NoKeys},
    tablespace::{Depth, Family, Page0, ScanOptions, TablespaceKind, scan},
    verify::{
        Check, FileReport, RequiredKey, Units, Verdict, binlog,
        doublewrite::verify as verify_doublewrite,
        redo::{RedoReport, key_info, verify as verify_redo},
        tablespace::{NoTablespaces, Options, Owner, PageBuffers, Part, TablespaceLookup, TablespaceVerifier},
    },
};

const PAGE: usize = 16384;
/// Offset of MySQL's and Percona's encryption information in pages of 16 KiB.
const INFO: usize = 10390;

fn tablespace(bytes: &[u8], keys: &dyn KeySource) -> FileReport {
    tablespace_from(bytes, keys, 0)
}

/// Verifies the pages from `first` on before the others.
fn tablespace_from(bytes: &[u8], keys: &dyn KeySource, first: usize) -> FileReport {
    let options = Options::new(keys);
    let verifier = TablespaceVerifier::begin(bytes, &options).expect("page 0 is readable");
    let (mut part, mut pages) = (Part::default(), bytes.to_vec());
    let (before, behind) = pages.split_at_mut(first * PAGE);
    verifier.verify(bytes, first as u64, behind, &mut PageBuffers::default(), &mut part);
    verifier.verify(bytes, 0, before, &mut PageBuffers::default(), &mut part);
    verifier.finish([part])
}

fn checks(report: &FileReport) -> Vec<(Option<u64>, Check)> {
    report.findings.iter().map(|finding| (finding.unit, finding.check)).collect()
}

mod redo {
    use super::*;

    const FIRST_ZERO: usize = 794;
    const BLOCK: usize = 512;

    /// The file with the zeros written ahead does not name its key; the header of the other file does.
    fn proof(log: &[u8], keys: &dyn KeySource) -> RedoReport {
        let key = key_info(&sample("redo/percona80-header")).expect("it has the key");
        verify_redo(log, keys, Some(&key)).expect("it is a redo log")
    }

    #[test]
    fn zeros_written_ahead_of_the_end_are_no_damage() {
        let report = proof(&sample("redo/percona80-write-ahead"), &keys_of("percona80-redo")).file;
        assert_eq!(report.verdict, Verdict::Ok, "{report:#?}");
        assert_eq!(report.units, Units { total: 828, encrypted: 822, clear: 0, empty: 6, bad: 0 });
        assert_eq!(report.findings, []);
    }

    #[test]
    fn a_block_that_decrypts_to_other_content_is_damage() {
        let keys = keys_of("percona80-redo");
        let mut log = sample("redo/percona80-write-ahead");
        log[FIRST_ZERO * BLOCK + 300] ^= 1;
        let report = proof(&log, &keys).file;
        assert_eq!((report.verdict, report.units.bad), (Verdict::Damaged, 1));
        assert_eq!(checks(&report), [(Some(794), Check::OpenedChecksum)]);

        let mut log = sample("redo/percona80-write-ahead");
        let zeros = log[FIRST_ZERO * BLOCK..(FIRST_ZERO + 1) * BLOCK].to_vec();
        log[700 * BLOCK..701 * BLOCK].copy_from_slice(&zeros);
        let report = proof(&log, &keys).file;
        assert_eq!(checks(&report), [(Some(700), Check::AllocatedZero)], "inside the log");
    }

    #[test]
    fn the_header_of_another_file_is_damage() {
        let keys = keys_of("percona80-redo");
        let log = sample("redo/percona80-write-ahead");
        // Keys of the other file, of an older log and of a newer log.
        let other = sample("redo/percona80-header");
        let at = |lsn: u64| {
            let mut block = log[..BLOCK].to_vec();
            block[8..16].copy_from_slice(&lsn.to_be_bytes());
            let sum = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, &block[..508]);
            block[508..].copy_from_slice(&sum.to_be_bytes()[4..]);
            block
        };
        let start = u64::from_be_bytes(*log[8..].first_chunk().expect("a header"));
        for (header, expected) in [
            (other[..BLOCK].to_vec(), Verdict::Damaged),
            (at(8704), Verdict::Damaged),
            (at(start + 512), Verdict::Damaged),
            // The server writes the header before the first block of a new pass.
            (at(start + 2 * 828 * 512), Verdict::Ok),
            (at(start), Verdict::Ok),
        ] {
            let log = [&header, &log[BLOCK..]].concat();
            let report = proof(&log, &keys).file;
            assert_eq!(report.verdict, expected, "{report:#?}");
            assert_eq!((report.units.encrypted, report.units.clear), (822, 0));
            let scan = innodb::redo::scan(&log, u64::MAX).expect("read").blocks;
            assert_eq!((scan.clear, scan.encrypted), (0, 828));
        }
    }

    #[test]
    fn blocks_after_a_clear_header_of_mariadb_are_not_clear() {
        let log = sample("redo/percona80-write-ahead");
        let clear_blocks = [&[0x50][..], &sample("redo/mariadb10.5.23-encrypted")[1..BLOCK]].concat();
        let clear_phys = [b"Phys", &sample("redo/mariadb11.8.6-encrypted")[4..48], &[0; 464]].concat();
        for header in [clear_blocks, clear_phys] {
            let found = innodb::redo::scan([&header, &log[BLOCK..]].concat().as_slice(), u64::MAX).expect("read");
            assert_eq!(found.declared_encrypted, Some(false));
            assert_eq!((found.blocks.clear, found.blocks.encrypted), (0, 0), "{:?}", found.blocks);
        }
    }

    #[test]
    fn zeros_written_ahead_hold_no_wrapped_key() {
        let header = sample("redo/percona80-header");
        let log = sample("redo/percona80-write-ahead");
        let mut only_zeros = log[..4 * BLOCK].to_vec();
        only_zeros.extend(&log[FIRST_ZERO * BLOCK..(FIRST_ZERO + 6) * BLOCK]);
        let key: WrappedKey = key_info(&header).expect("it has the key").key;
        let cipher =
            MySqlBlockCipher::new(&key.unwrap(&keys_of("percona80-redo")).expect("it opens")).expect("a cipher");
        let mut records = KeyRecords::new(Lsn(0), Some(&cipher));
        assert!(!records.search(&only_zeros, &mut || {}).expect("read"));
    }
}

mod record_without_encryption {
    use super::*;

    #[test]
    fn the_scheme_decides_and_not_the_record() {
        let bytes = sample("tablespace/percona80-16k-clear.ibd");
        assert_eq!(&bytes[INFO..INFO + 4], b"PSC\0");
        for keys in [&NoKeys as &dyn KeySource, &keys_of("percona80-")] {
            let report = tablespace(&bytes, keys);
            assert_eq!(report.verdict, Verdict::Clear, "{report:#?}");
            assert_eq!(report.units, Units { total: 10, encrypted: 0, clear: 9, empty: 1, bad: 0 });
        }
    }

    #[test]
    fn damage_in_the_record_is_detected() {
        let mut bytes = sample("tablespace/percona80-16k-clear.ibd");
        bytes[4 * PAGE + 200] ^= 1;
        assert_eq!(checks(&tablespace(&bytes, &NoKeys)), [(Some(4), Check::Checksum)]);
    }

    #[test]
    fn pages_of_the_removed_scheme_are_counted_by_their_state() {
        let mut bytes = sample("tablespace/percona80-16k-clear.ibd");
        bytes[INFO + 3] = 1;
        let report = tablespace(&bytes, &NoKeys);
        assert_eq!((report.units.encrypted, report.units.clear), (0, 9));
        assert!(report.findings.iter().any(|finding| finding.check == Check::Unknown), "{report:#?}");
    }
}

mod binary_log {
    use super::*;

    const LOGS: [(&str, u64); 2] = [("percona57-encrypted-4-events", 2), ("percona57-encrypted-24-events", 22)];

    fn log(name: &str) -> Vec<u8> {
        sample(&format!("binlog/{name}"))
    }

    #[test]
    fn events_open_with_the_key_of_the_keyring() {
        for (name, encrypted) in LOGS {
            let report = binlog::verify(&log(name), &keys_of(name)).expect("a log");
            assert_eq!(report.verdict, Verdict::Ok, "{name}: {report:#?}");
            assert_eq!(report.units, Units { total: encrypted + 2, encrypted, clear: 2, empty: 0, bad: 0 }, "{name}");
            assert_eq!(report.key, Some(RequiredKey::MysqlBinlog { name: "percona_binlog:0".to_owned() }));
        }
    }

    #[test]
    fn without_the_key_nothing_is_damaged_and_nothing_clear() {
        for (name, encrypted) in LOGS {
            for (keys, verdict) in [
                (&NoKeys as &dyn KeySource, Verdict::Unverifiable),
                (&SampleKeys::plugin("percona80-plugin-file"), Verdict::MissingKey),
                (&keys_of(name).all_wrong(), Verdict::WrongKey),
                (&SampleKeys::key_file("mariadb1011-keyfile"), Verdict::Unverifiable),
            ] {
                let report = binlog::verify(&log(name), keys).expect("a log");
                assert_eq!(
                    (report.verdict, report.units.encrypted, report.units.bad),
                    (verdict, encrypted, 0),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn a_key_of_5_7_20_has_no_version() {
        let keys = keys_of("percona57-").renamed("percona_binlog:0", "percona_binlog").without("percona_binlog:0");
        assert_eq!(binlog::verify(&log(LOGS[1].0), &keys).expect("a log").verdict, Verdict::Ok);
    }

    #[test]
    fn damage_is_reported_with_its_event() {
        let (name, _) = LOGS[1];
        let mut bytes = log(name);
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        let report = binlog::verify(&bytes, &keys_of(name)).expect("a log");
        assert_eq!(checks(&report), [(Some(23), Check::OpenedChecksum)]);
        let report = binlog::verify(&log(name)[..last], &keys_of(name)).expect("a log");
        assert_eq!((report.verdict, report.units.bad), (Verdict::Truncated, 0));
    }
}

mod temporary_tablespace {
    use super::*;

    /// `ibtmp1` of a killed server: allocated pages are zero.
    fn ibtmp1() -> Vec<u8> {
        sample("tablespace/percona57-ibtmp1")
    }

    #[test]
    fn ibtmp1_is_recognised_and_its_zeros_are_no_damage() {
        let found = scan(&ibtmp1(), Depth::All, &ScanOptions::default()).expect("a tablespace");
        assert_eq!((found.kind, found.page0.family), (TablespaceKind::GlobalTemporary, Family::Undetermined));
        assert!(!found.page0.declares_encryption());
        let report = tablespace(&ibtmp1(), &NoKeys);
        assert_eq!((report.verdict, report.units.bad), (Verdict::Clear, 0), "{report:#?}");
    }

    #[test]
    fn remains_of_an_earlier_use_are_no_record() {
        let info = &sample("tablespace/percona57-16k-encrypted.ibd")[INFO..INFO + 115];
        for left in [&[0x5a; 115][..], info] {
            let mut bytes = ibtmp1();
            bytes[INFO..INFO + left.len()].copy_from_slice(left);
            for keys in [&NoKeys as &dyn KeySource, &keys_of("percona57-"), &keys_of("percona57-").emptied()] {
                let report = tablespace(&bytes, keys);
                assert_eq!((report.verdict, report.units.encrypted), (Verdict::Clear, 0), "{report:#?}");
            }
        }
    }

    #[test]
    fn a_damaged_flag_does_not_make_a_table_temporary() {
        let mut bytes = sample("tablespace/percona57-16k-clear.ibd");
        bytes[56] |= 0x10;
        bytes[5 * PAGE..6 * PAGE].fill(0);
        let report = tablespace(&bytes, &NoKeys);
        assert_eq!(report.verdict, Verdict::Damaged, "{report:#?}");
    }
}

mod system_tablespace {
    use super::*;

    #[test]
    fn copies_of_its_pages_are_opened_with_its_key() {
        let bytes = sample("tablespace/percona80-ibdata1-encrypted");
        let report = tablespace(&bytes, &keys_of("percona80-"));
        assert_eq!(report.verdict, Verdict::Ok, "{report:#?}");
        let stale = report.findings.iter().filter(|finding| finding.check == Check::Stale);
        assert_eq!(stale.count(), 0, "{report:#?}");

        let mut damaged = bytes;
        damaged[65 * PAGE + 5000] ^= 1;
        let report = tablespace(&damaged, &keys_of("percona80-"));
        assert_eq!((report.verdict, report.units.bad), (Verdict::Damaged, 1));

        // Threads take the pages in any order.
        let report = tablespace_from(&damaged, &keys_of("percona80-"), 64);
        assert_eq!((report.verdict, report.units.bad), (Verdict::Damaged, 1), "{report:#?}");
    }

    #[test]
    fn the_system_tablespace_of_5_7_is_clear_and_sound() {
        let report = tablespace(&sample("tablespace/percona57-ibdata1"), &NoKeys);
        assert_eq!((report.verdict, report.findings.len()), (Verdict::Clear, 0), "{report:#?}");
    }
}

mod parallel_doublewrite {
    use super::*;

    /// Ids of the encrypted tablespaces with pages in `xb_doublewrite`; 24 is the clear table.
    struct Encrypted(Vec<u32>);

    impl TablespaceLookup for Encrypted {
        fn owner(&self, space: SpaceId) -> Option<Owner> {
            let encrypted = self.0.contains(&space.0);
            Some(Owner { page_bytes: PAGE, encrypted, key: None, decrypted_from: Lsn(0) })
        }
    }

    #[test]
    fn clear_copies_of_encrypted_pages_are_listed() {
        let bytes = sample("doublewrite/percona57-parallel");
        let report = verify_doublewrite(&bytes, None, &Encrypted(vec![23, 25, 26, 31])).expect("read");
        assert_eq!((report.verdict, report.units.bad), (Verdict::Clear, 0), "{report:#?}");
        assert_eq!((report.units.clear, report.units.encrypted), (120, 0));
        let listed: Vec<&str> = report.findings.iter().map(|finding| finding.detail.as_str()).collect();
        assert!(
            !listed.is_empty() && listed.iter().all(|message| message.contains("encrypted tablespace")),
            "{listed:?}"
        );
        let clear = verify_doublewrite(&bytes, None, &Encrypted(Vec::new())).expect("read");
        assert_eq!(clear.findings, []);
    }

    #[test]
    fn copies_are_counted_by_tablespace() {
        let bytes = sample("doublewrite/percona57-parallel");
        let found = doublewrite::scan(&bytes, None, u64::MAX).expect("read");
        assert_eq!((found.page_bytes, found.copies.slots, found.copies.empty), (16384, 240, 128));
        assert_eq!(found.copies.for_space(SpaceId(23)).map(|pages| pages.clear_data), Some(5));
    }

    #[test]
    fn a_damaged_copy_is_found() {
        let mut bytes = sample("doublewrite/percona57-parallel");
        let slot = bytes.chunks(PAGE).position(|slot| slot[37] == 23 && slot[24..26] == [0x45, 0xbf]).expect("one");
        bytes[slot * PAGE + 4000] ^= 1;
        let report = verify_doublewrite(&bytes, None, &NoTablespaces).expect("read");
        assert_eq!(checks(&report), [(Some(slot as u64), Check::Checksum)]);
    }

    /// With `innodb_parallel_dblwr_encrypt` slots hold the bytes of the tablespace.
    #[test]
    fn a_damaged_copy_of_an_encrypted_page_is_not_clear() {
        const SLOT: usize = 130;
        let table = sample("tablespace/percona57-16k-encrypted.ibd");
        let keys = keys_of("percona57-16k-encrypted.ibd");
        let options = Options::new(&keys);
        let verifier = TablespaceVerifier::begin(table.as_slice(), &options).expect("a tablespace");
        let mut part = Part::default();
        verifier.verify(table.as_slice(), 0, &mut table.clone(), &mut PageBuffers::default(), &mut part);
        let owner = OfTable(verifier.page0().space_id, verifier.owner());
        let mut bytes = sample("doublewrite/percona57-parallel");
        bytes[SLOT * PAGE..(SLOT + 1) * PAGE].copy_from_slice(&table[4 * PAGE..5 * PAGE]);
        let sound = verify_doublewrite(&bytes, None, &owner).expect("read");
        assert_eq!((sound.verdict, sound.units.encrypted, sound.units.bad), (Verdict::Ok, 1, 0), "{sound:#?}");
        // All bytes but those that no checksum covers: 26 to 33, and the space id.
        for at in (0..26).chain((38..PAGE).step_by(97)).chain(PAGE - 8..PAGE) {
            let mut damaged = bytes.clone();
            damaged[SLOT * PAGE + at] ^= 1;
            let report = verify_doublewrite(&damaged, None, &owner).expect("read");
            assert_eq!((report.verdict, report.units.bad), (Verdict::Damaged, 1), "{at}: {report:#?}");
        }
    }

    struct OfTable(SpaceId, Owner);

    impl TablespaceLookup for OfTable {
        fn owner(&self, space: SpaceId) -> Option<Owner> {
            (space == self.0).then(|| self.1.clone())
        }
    }
}

/// A real record of MySQL 5.7.12 and newer; the others are synthetic.
#[test]
fn encrypted_tables_of_5_7_are_decrypted() {
    for name in ["percona57-16k-encrypted.ibd", "percona57-16k-encrypted-kbs8.ibd", "percona57-16k-encrypted-zlib.ibd"]
    {
        let bytes = sample(&format!("tablespace/{name}"));
        let page0 = Page0::parse(&bytes).expect(name);
        assert_eq!(&bytes[page0.info_offset()..page0.info_offset() + 3], b"lCB", "{name}");
        assert_eq!(tablespace(&bytes, &keys_of(name)).verdict, Verdict::Ok, "{name}");
    }
}
