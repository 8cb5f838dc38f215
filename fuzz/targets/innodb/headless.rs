//! Tablespaces without a page 0.
#![no_main]

use innodb::verify::tablespace::headless;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(Some(report)) = headless::verify(bytes, headless::Circumstances::default()) {
        assert!(!report.findings.is_empty(), "a file without page 0 is never sound");
    }
});
