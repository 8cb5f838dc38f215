//! The log of a running MariaDB, copied in two steps: the copy is a log that ends where the copying ended.
//!
//! Control byte: bit 0 corrects header and checkpoints, bit 2 the mini-transactions.

use crate::innodb::{control, is_set, repair};
use innodb::{Lsn, keys::NoKeys, log_copy::LogCopy, verify::redo};

pub(crate) fn run(input: &[u8]) {
    let Some((control, bytes)) = control(input) else { return };
    let mut log = bytes.to_vec();
    if is_set(control, 2) {
        repair::redo_chain(&mut log);
    }
    if is_set(control, 0) {
        repair::redo_head(&mut log);
    }
    let Ok(mut copy) = LogCopy::begin(&log) else { return };
    let start = copy.start();
    let Some(half) = start.0.checked_add(log.len() as u64 / 2) else { return };
    let mut out = Vec::new();
    for written in [Lsn(half), Lsn(u64::MAX)] {
        if copy.advance(&log, written, &mut out).is_err() {
            return;
        }
        assert!(copy.position() <= written);
        assert_eq!(copy.position().0 - start.0, out.len() as u64);
    }
    let mut file = copy.head();
    file.extend_from_slice(&out);
    file.resize(LogCopy::file_bytes(out.len() as u64) as usize, 0);
    let report = redo::verify(&file, &NoKeys, None).expect("it has the header of a log");
    assert_eq!((report.checkpoint_lsn, report.end_lsn), (Some(start), Some(copy.position())), "{report:?}");
}
