//! Redo logs of all formats with the keys of the samples; every block is counted once.
//!
//! Control byte: bit 0 corrects header and checkpoints, bit 1 the blocks (and seals MySQL's), bit 2
//! the mini-transactions; bits 4 and 5 choose the keys, 3 is none; with bit 6 the key information comes
//! from another file of the log.

use crate::innodb::{control, is_set, keys::set, repair};
use innodb::{
    keys::{KeySource, NoKeys},
    verify::{MAX_FINDINGS, Verdict, redo},
};

/// The sample's newest checkpoint is within this range.
const OTHER_FILE: &[u8] = include_bytes!("../../../corpus/innodb_redo_verify/mysql-9.7");

pub(crate) fn run(input: &[u8]) {
    let Some((control, bytes)) = control(input) else { return };
    let keys: &dyn KeySource = match control >> 4 & 3 {
        3 => &NoKeys,
        number => set(number),
    };
    let mut log = bytes.to_vec();
    if is_set(control, 2) {
        repair::redo_chain(&mut log);
    }
    if is_set(control, 1) {
        repair::redo_blocks(&mut log, keys);
    }
    if is_set(control, 0) {
        repair::redo_head(&mut log);
    }
    let sibling = redo::key_info(OTHER_FILE).filter(|_| is_set(control, 6));
    let Ok(report) = redo::verify(&log, keys, sibling.as_ref()) else { return };
    let file = report.file;
    let units = file.units;
    assert_eq!(units.encrypted + units.clear + units.empty + units.bad, units.total, "{file:?}");
    assert!(file.findings.len() <= MAX_FINDINGS);
    assert!(units.bad == 0 || !matches!(file.verdict, Verdict::Clear | Verdict::Ok), "{file:?}");
}
