//! Aria tables: the header, and the rest of the input as data and as index.

use innodb::aria;

pub(crate) fn run(bytes: &[u8]) {
    let _ = aria::is_log(bytes);
    if let Some(table) = aria::recognise_table(bytes) {
        let rest = bytes.get(512..).unwrap_or_default();
        let _ = aria::scan_data(&rest, &table, u64::MAX);
        let _ = aria::scan_index(&bytes, &table, u64::MAX);
    }
}
