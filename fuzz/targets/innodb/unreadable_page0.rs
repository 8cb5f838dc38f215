//! Tablespaces without a page 0.
#![no_main]

use innodb::verify::tablespace::unreadable_page0;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(Some(report)) = unreadable_page0::verify(bytes, unreadable_page0::FileState::default()) {
        assert!(!report.findings.is_empty(), "a file without page 0 is never sound");
    }
});
