//! No input causes a panic, and the counts add up.

mod common;

use std::sync::LazyLock;

use innodb::{
    aria, binlog, binlog_scan, doublewrite, file_kind, galera, randomness, redo,
    tablespace::{Depth, Page0, PageCounts, ScanOptions, scan},
};
use proptest::prelude::*;

fn sum(counts: &PageCounts) -> u64 {
    counts.encrypted
        + counts.clear()
        + counts.empty
        + counts.mislabelled
        + counts.exempt
        + counts.doublewrite
        + counts.unrecognised
}

fn read_everything(bytes: &[u8]) {
    let _ = Page0::parse(bytes);
    for depth in [Depth::Head, Depth::Sample(3), Depth::All] {
        if let Ok(found) = scan(&bytes, depth, &ScanOptions::default()) {
            assert_eq!(sum(&found.counts), found.counts.scanned);
            assert!(found.counts.scanned <= found.counts.total);
        }
    }
    for page_bytes in [None, Some(4096), Some(7)] {
        let _ = doublewrite::scan(&bytes, page_bytes, 1 << 20);
    }
    for max_bytes in [0, 65536, u64::MAX] {
        if let Ok(found) = redo::scan(&bytes, max_bytes) {
            let blocks = found.blocks;
            let known = blocks.encrypted + blocks.clear + blocks.empty + blocks.mislabelled;
            assert_eq!(known + blocks.unrecognised, blocks.scanned);
        }
        let _ = binlog_scan::events(&bytes, 1000, max_bytes);
        let _ = galera::scan(&bytes, max_bytes);
        let _ = randomness::sample(&bytes, 3, max_bytes);
    }
    let _ = binlog::recognise(&bytes);
    if let Some(table) = aria::recognise_table(bytes) {
        let _ = aria::scan_data(&bytes, &table, u64::MAX);
        let _ = aria::scan_index(&bytes, &table, u64::MAX);
    }
    let _ = file_kind::recognise(bytes, "x", bytes.len() as u64);
}

/// Small samples of every format, cut to 96 KiB.
static SEEDS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    [
        "tablespace/mysql97-16k-encrypted.ibd",
        "tablespace/mysql97-4k-encrypted-kbs2.ibd",
        "tablespace/mysql97-16k-encrypted-zlib.ibd",
        "tablespace/mysql97-undo-mixed",
        "tablespace/mysql97-ibdata1-change-buffer",
        "tablespace/mariadb1011-ctr-4k-encrypted.ibd",
        "tablespace/mariadb1011-ctr-4k-legacy-encrypted-page-compressed.ibd",
        "tablespace/mariadb1011-16k-encrypted-page-compressed.ibd",
        "redo/mysql97-mixed",
        "redo/mariadb10.5.23-encrypted",
        "redo/mariadb11.4.5-encrypted-phys",
        "binlog/mysql97-clear",
        "binlog/mysql97-encrypted-7-events",
        "binlog/mariadb1011-encrypted-ctr",
        "aria/encrypted.MAI",
        "aria/dynamic-clear.MAD",
    ]
    .into_iter()
    .map(|name| {
        let mut bytes = common::sample(name);
        bytes.truncate(96 << 10);
        bytes
    })
    .collect()
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_cause_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..20_000)) {
        read_everything(&bytes);
    }

    #[test]
    fn mutated_samples_cause_no_panic(
        seed in any::<prop::sample::Index>(),
        // Mutations matter most in headers.
        changes in proptest::collection::vec((prop_oneof![0_usize..600, 0_usize..98_304], any::<u8>()), 0..12),
        cut in prop_oneof![Just(usize::MAX), 0_usize..98_304],
    ) {
        let mut bytes = seed.get(&SEEDS).clone();
        for (at, value) in changes {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        bytes.truncate(cut);
        read_everything(&bytes);
    }
}
