//! Tablespaces and doublewrite files; the counts must add up.

use innodb::{
    doublewrite, file_kind,
    tablespace::{Depth, ScanOptions, scan},
};

pub(crate) fn run(bytes: &[u8]) {
    for depth in [Depth::Sample(3), Depth::All] {
        if let Ok(found) = scan(&bytes, depth, &ScanOptions::default()) {
            let counts = found.counts;
            let sum = counts.encrypted
                + counts.clear()
                + counts.empty
                + counts.mislabelled
                + counts.exempt
                + counts.doublewrite
                + counts.unrecognised;
            assert_eq!(sum, counts.scanned);
            assert!(counts.scanned <= counts.total);
        }
    }
    let _ = doublewrite::scan(&bytes, None, u64::MAX);
    let _ = file_kind::recognise(bytes, "", bytes.len() as u64);
}
