//! Redo logs; the counts must add up.

use innodb::redo;

pub(crate) fn run(bytes: &[u8]) {
    for max_bytes in [65536, u64::MAX] {
        if let Ok(found) = redo::scan(&bytes, max_bytes) {
            let blocks = found.blocks;
            let known = blocks.encrypted + blocks.clear + blocks.empty + blocks.mislabelled;
            assert_eq!(known + blocks.unrecognised, blocks.scanned);
        }
    }
}
