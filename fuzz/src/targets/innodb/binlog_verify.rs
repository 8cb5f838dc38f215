//! Binary and relay logs with the keys of the samples; every event is counted once.
//!
//! Control byte: bit 0 corrects the checksums of events and encrypts those of MariaDB's, bit 1 in the
//! other mode; bit 2 does and encrypts the bytes after MySQL's header; bits 4 and 5 choose the keys, 3 is
//! none.

use crate::innodb::{control, is_set, keys::set, repair};
use innodb::{
    crypt::binlog::EventMode,
    keys::{KeySource, NoKeys},
    verify::{MAX_FINDINGS, Verdict, binlog},
};

pub(crate) fn run(input: &[u8]) {
    let Some((control, bytes)) = control(input) else { return };
    let keys: &dyn KeySource = match control >> 4 & 3 {
        3 => &NoKeys,
        number => set(number),
    };
    let mut log = bytes.to_vec();
    if is_set(control, 2) {
        repair::mysql_log(&mut log, keys);
    } else if is_set(control, 0) {
        let mode = if is_set(control, 1) { EventMode::Ctr } else { EventMode::Cbc };
        repair::events(&mut log, keys, mode);
    }
    let Ok(report) = binlog::verify(&log, keys) else { return };
    let units = report.units;
    assert_eq!(units.encrypted + units.clear + units.empty + units.bad, units.total, "{report:?}");
    assert!(report.findings.len() <= MAX_FINDINGS);
    assert!(units.bad == 0 || !matches!(report.verdict, Verdict::Clear | Verdict::Ok), "{report:?}");
}
