//! Binary logs, and write-set caches.
#![no_main]

use innodb::{binlog, binlog_scan, galera};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = binlog::recognise(&bytes);
    let _ = binlog_scan::events(&bytes, u64::MAX, u64::MAX);
    let _ = galera::scan(&bytes, u64::MAX);
});
