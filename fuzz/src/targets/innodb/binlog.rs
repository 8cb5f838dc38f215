//! Binary logs, and write-set caches.

use innodb::{binlog, binlog_scan, galera};

pub(crate) fn run(bytes: &[u8]) {
    let _ = binlog::recognise(&bytes);
    let _ = binlog_scan::events(&bytes, u64::MAX, u64::MAX);
    let _ = galera::scan(&bytes, u64::MAX);
}
